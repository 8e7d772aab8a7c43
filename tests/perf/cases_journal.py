"""Cases about what is kept: writing it, reading it again, going on where a run has ended."""

import json
import subprocess
import tempfile
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

from tests.perf.bench import Bench, median
from tests.perf.cases_run import ideal
from tests.perf.figures import Figure
from tests.perf.machine import ROOT, Running
from tests.perf.plugin_run import CaseFailed, Load, PluginRun, command_line, run_plugin, started
from tests.support.endpoint import running_endpoint

SMALL = 100  # a run whose CPU is all start-up
_SCRIPT = str(Path(__file__).with_name("journal_loop.py"))


def loop(python: str, *arguments: str) -> dict[str, Any]:
    """What journal_loop.py says."""
    command = [python, _SCRIPT, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT)
    if done.returncode:
        msg = f"journal_loop.py {arguments[0]}: exit {done.returncode}\n{done.stderr[-2000:]}"
        raise CaseFailed(msg)
    found: dict[str, Any] = json.loads(done.stdout or "{}")
    return found


def scan(bench: Bench) -> Iterator[Figure]:
    """What a resumed run reads before it goes on, and what it holds in memory of a million."""
    yield from _scan_time(bench)
    yield from _memory(bench)


def _scan_time(bench: Bench) -> Iterator[Figure]:
    count = bench.size(100_000, 10_000)
    with tempfile.TemporaryDirectory(prefix="nelspeed-") as folder:
        loop(bench.python, "fill", folder, str(count))

        def seconds() -> float:
            found = loop(bench.python, "scan", folder)
            if (found["attempts"], found["problems"]) != (count, 0):
                msg = f"expected {count} attempts and no problem, got {found}"
                raise CaseFailed(msg)
            return float(found["seconds"])

        [column], span = bench.interleaved(seconds)
    yield Figure(
        f"resume scan, {count:,} attempts",
        median(column),
        "s",
        target=3.0,
        span=span,
        note="three lines each, answers of 1.5 kB",
        detail={"seconds": column},
    )


def _memory(bench: Bench) -> Iterator[Figure]:
    count = bench.size(1_000_000, 50_000)
    first = bench.calibration.read()
    with tempfile.TemporaryDirectory(prefix="nelspeed-") as folder:
        loop(bench.python, "fill", folder, str(count), "--chars", "70")
        found = {what: loop(bench.python, what, folder) for what in ("scan", "derive")}
    span = (first, bench.calibration.read())
    for what, target in (("scan", 400.0), ("derive", 1000.0)):
        yield Figure(
            f"memory of {what}, {count:,} attempts",
            found[what]["grown_mb"] * 1e6 / count,
            "B each",
            target=target,
            span=span,
            note=f"{found[what]['grown_mb']:.0f} MB, {found[what]['seconds']:.1f} s",
            detail=found[what],
        )


def journalling(bench: Bench) -> Iterator[Figure]:
    """CPU of keys and journal lines, as a share of the CPU that an attempt costs in all."""
    count, lines = bench.size(4000, 1000), bench.size(20_000, 5000)

    def plugin(size: int) -> float:
        return run_plugin(bench.python, endpoint, Load(size)).cost.cpu

    def journal() -> float:
        with tempfile.TemporaryDirectory(prefix="nelspeed-") as folder:
            return float(loop(bench.python, "write", folder, str(lines))["seconds"])

    with running_endpoint(mode="gold") as endpoint:
        plugin(SMALL)  # compiles what is not compiled yet
        columns, span = bench.interleaved(partial(plugin, SMALL), partial(plugin, count), journal)
    small, big, written = (median(column) for column in columns)
    own, kept = (big - small) / (count - SMALL) * 1e6, written / lines * 1e6
    yield Figure(
        "journalling / CPU per attempt",
        kept / own,
        "ratio",
        target=0.10,
        span=span,
        note=f"{kept:.0f} us of {own:.0f} us, answers of 1.5 kB",
        detail={"cpu_s": columns, "N": count, "lines": lines},
    )


def distributed(bench: Bench) -> Iterator[Figure]:
    """2,000 answers of half a second each, by two workers that share the concurrency."""
    count, latency = bench.size(2000, 320), 0.5
    runs: list[PluginRun] = []

    def measured() -> float:
        load = Load(count, extra=("-p", "xdist", "-n", "2"))
        runs.append(run_plugin(bench.python, endpoint, load))
        return runs[-1].run / ideal(count, latency)

    with running_endpoint(mode="gold", latency=latency) as endpoint:
        [ratios], span = bench.interleaved(measured)
    yield Figure(
        "run/ideal, 0.5 s, -n 2",
        median(ratios),
        "ratio",
        target=1.10,
        span=span,
        note=f"N={count}, most {max(run.stats['max_in_flight'] for run in runs)} in flight",
        detail={"ratios": ratios, "wall_s": [run.cost.wall for run in runs]},
    )


def resumed(bench: Bench) -> Iterator[Figure]:
    """A run that has ended, said again with ``--nel-resume``: nothing is asked."""
    count = bench.size(10_000, 1000)
    first = bench.calibration.read()
    load = Load(count)
    with running_endpoint(mode="gold") as endpoint:  # noqa: SIM117 - one is about the other
        with started(bench.python, endpoint, load) as (running, out):
            running.wait(load.limit)
            endpoint.reset()
            line = [*command_line(bench.python, endpoint.url, load, out), "--nel-resume"]
            env = {"PYTHONPATH": str(ROOT), "NEL_PERF_PROBE": str(out / "probe.json")}
            again = Running(line, out / "again.log", env, out).wait(load.limit)
            moments = json.loads((out / "probe.json").read_text())
            asked = endpoint.stats()["requests"]
    span = (first, bench.calibration.read())
    if again.status != 0 or asked:
        msg = f"expected exit 0 and no request, got {again.status}, {asked}\n{again.output[-2000:]}"
        raise CaseFailed(msg)
    yield Figure(
        f"resumed attempts per second, {count:,} finished",
        count / (moments["reported"] - moments["collected"]),
        "/s",
        better="higher",
        adjust="rate",
        span=span,
        note=f"0 requests, wall {again.wall:.1f} s, results written anew",
    )
