"""Measures the plugin's speed and prints each figure beside its target: one command.

``python tests/perf/run.py [--quick] [--only NAME…] [--peers]``; docs/performance.md says how to
read it. It needs Linux, pytest-nel with its test dependencies, and a machine with little else to
do.
"""

import argparse
import math
import sys
import time
from dataclasses import replace
from pathlib import Path
from tempfile import gettempdir

if not __package__:  # run as a script: only this folder is on the path
    sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from tests.perf import (
    cases_containers,
    cases_cost,
    cases_gate,
    cases_installed,
    cases_journal,
    cases_peers,
    cases_report,
    cases_run,
    cases_transport,
)
from tests.perf.bench import Bench, Case
from tests.perf.figures import Figure, document, judge, markdown, table
from tests.perf.peers import CACHE, PeerFailed
from tests.perf.plugin_run import CaseFailed

CASES: dict[str, Case] = {
    "endpoint": cases_cost.endpoint_itself,
    "transports": cases_transport.transports,
    "installed": cases_installed.installed,
    "interrupt": cases_cost.interrupt,
    "half-second": cases_run.half_second,
    "attempt": cases_cost.attempt,
    "wall": cases_peers.compared,
    "large": cases_run.large,
    "lognormal": cases_run.lognormal,
    "collect": cases_run.collect,
    "scan": cases_journal.scan,
    "journalling": cases_journal.journalling,
    "distributed": cases_journal.distributed,
    "resumed": cases_journal.resumed,
    "page": cases_report.page,
    "gate": cases_gate.gate,
    "containers": cases_containers.containers,
}


JSON = Path(gettempdir()) / "pytest-nel-perf.json"


def measured(name: str, bench: Bench) -> list[Figure]:
    """A case's figures; a case that broke gives one that says so."""
    start = time.monotonic()
    bench.say(f"{name} …")
    try:
        figures = [
            replace(figure, target=None, busy_target=None)
            if bench.quick
            else figure  # targets are for full sizes
            for figure in CASES[name](bench)
        ]
    except (CaseFailed, PeerFailed) as error:
        bench.say(str(error))
        reading = bench.calibration.read()
        note = str(error).splitlines()[0][:120]
        figures = [Figure(name, math.nan, "", span=(reading, reading), note=note)]
    bench.say(f"{name}: {time.monotonic() - start:.0f} s")
    return figures


def arguments_of(argv: list[str] | None) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="Small sizes, one round: a smoke test")
    parser.add_argument("--only", nargs="+", choices=list(CASES), metavar="NAME",
                        help=f"These cases: {' '.join(CASES)}")  # fmt: skip
    parser.add_argument("--peers", action="store_true", help="Run the peers in the case 'wall' too")
    parser.add_argument("--peers-cache", type=Path, default=CACHE, help="Their environments")
    parser.add_argument("--rounds", type=int, help="Rounds that a median is taken of (3)")
    parser.add_argument("--python", default=sys.executable, help="The one with the plugin")
    parser.add_argument("--json", type=Path, default=JSON, help=f"Where every number goes ({JSON})")
    parser.add_argument("--markdown", type=Path, help="Write the table for a document, too")
    return parser.parse_args(argv)


def main(argv: list[str] | None = None) -> int:
    """0 when every case worked and every target was met, 1 otherwise."""
    arguments = arguments_of(argv)
    bench = Bench(
        python=arguments.python,
        quick=arguments.quick,
        rounds=arguments.rounds or (1 if arguments.quick else 3),
        peers=arguments.peers,
        cache=arguments.peers_cache,
        say=lambda line: print(line, file=sys.stderr, flush=True),
    )
    figures = [figure for name in arguments.only or CASES for figure in measured(name, bench)]
    rows = [judge(figure, bench.calibration) for figure in figures]
    print(table(rows))
    arguments.json.write_text(document(rows, bench.calibration), encoding="utf-8")
    bench.say(f"every number: {arguments.json}")
    if arguments.markdown:
        arguments.markdown.write_text(markdown(rows) + "\n", encoding="utf-8")
    return int(any(row.verdict in {"MISSED", "ERROR"} for row in rows))


if __name__ == "__main__":
    sys.exit(main())
