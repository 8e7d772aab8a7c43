"""Show how a run fares: state, progress, scores so far, and what came of it."""

import argparse
import json
import sys
import time
from pathlib import Path
from typing import Any

from pytest_nel.cli._mistakes import mistake
from pytest_nel.cli._selected import Selected, add_selectors, selected
from pytest_nel.cli._when import ago, utc
from pytest_nel.cluster.progress import BenchmarkProgress, ended, progress
from pytest_nel.core.errors import ConfigError, NelError
from pytest_nel.core.text import showable
from pytest_nel.gate.verdict import Exit

_CLEAR = "\x1b[2J\x1b[H"
_WORDS = {
    Exit.GO: "every check passed",
    Exit.NO_GO: "a check or a test failed",
    Exit.INTERRUPTED: "interrupted",
    Exit.INTERNAL: "internal error",
    Exit.USAGE: "a mistake: nothing was measured",
    Exit.NOTHING: "nothing to run",
    Exit.INCONCLUSIVE: "inconclusive",
    Exit.INCOMPLETE: "incomplete: nel eval resume goes on",
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.usage = "nel eval status [-r ID | -o DIR] [-w [SECONDS]] [--json]"
    add_selectors(parser)
    parser.add_argument(
        "-w",
        "--watch",
        metavar="SECONDS",
        nargs="?",
        const=5.0,
        type=float,
        help="Look again every so many seconds (default: 5) until the run is over",
    )
    parser.add_argument("--json", action="store_true", help="Print one JSON object")


def main(options: argparse.Namespace) -> int:
    """Print it; 0 whatever came of the run, 4 where there is none."""
    if options.rest:
        options.usage_error(f"takes nothing after --, got {' '.join(options.rest)}")
    if options.watch is not None and not 0.1 <= options.watch <= 86_400:
        options.usage_error(f"--watch wants seconds from 0.1 to 86400, got {options.watch:g}")
    try:
        run = selected(options)
        while True:
            facts = facts_of(run)
            text = json.dumps(facts) + "\n" if options.json else text_of(facts)
            fresh = _CLEAR if options.watch and sys.stdout.isatty() and not options.json else ""
            sys.stdout.write(fresh + text)
            sys.stdout.flush()
            if options.watch is None or facts["state"] != "running":
                return Exit.GO
            time.sleep(options.watch)
            run = selected(_same(options, run))
    except NelError as error:
        return mistake("eval status", error)


def _same(options: argparse.Namespace, run: Selected) -> argparse.Namespace:
    """The run that was found at first: another may have begun since."""
    return argparse.Namespace(**{**vars(options), "run": None, "output_dir": run.directory})


def facts_of(run: Selected) -> dict[str, Any]:  # Any: JSON
    """What is known of it, as ``--json`` prints it."""
    run = run.settled()
    entry, state = run.entry, run.state
    benchmarks, trouble = _progress(run.directory)
    over = None if state == "running" else ended(run.directory)
    code = entry.exit_code if entry is not None else None
    if code is None and over is not None and state != "died":
        code = over.exit_code
    return {
        "run_id": entry.run_id if entry is not None else run.directory.name,
        "state": state,
        "target": None if entry is None else entry.target,
        "directory": str(run.directory),
        "pid": None if entry is None else entry.pid,
        "started": None if entry is None else utc(entry.started),
        "ended": None if entry is None else utc(entry.ended),
        "log": None if entry is None else entry.log,
        "exit_code": code,
        "verdict": None if over is None else over.verdict,
        "open_checks": [] if over is None else over.open,
        "benchmarks": [one._asdict() for one in benchmarks],
        "trouble": trouble,
    }


def _progress(directory: Path) -> tuple[list[BenchmarkProgress], str | None]:
    try:
        return progress(directory), None
    except (ConfigError, OSError) as error:  # a run that begins afresh sets journals aside
        return [], f"its records cannot be read now: {error}"


def text_of(facts: dict[str, Any]) -> str:  # Any: JSON
    """The same in lines."""
    lines = [
        f"run        {facts['run_id']}",
        f"state      {_state(facts)}",
        f"directory  {facts['directory']}",
    ]
    if facts["target"]:
        lines.insert(1, f"target     {facts['target']}")
    if facts["started"]:
        lines.append(f"started    {facts['started']}{ago(facts['started'], facts['ended'])}")
    if facts["verdict"]:
        lines.append(f"verdict    {facts['verdict']}")
    if facts["log"]:
        lines.append(f"log        {facts['log']}")
    lines += _table(facts["benchmarks"])
    lines += [f"open       {reason}" for reason in facts["open_checks"]]
    if facts["trouble"]:
        lines.append(facts["trouble"])
    return "".join(f"{showable(line)}\n" for line in lines)


def _state(facts: dict[str, Any]) -> str:
    code, state = facts["exit_code"], str(facts["state"])
    if code is not None:
        said = _WORDS.get(code, "")
        return f"ended with {code}{said and f' ({said})'}"
    if state == "died":
        return "died: its process is gone and said nothing; nel eval resume goes on"
    return f"running (process {facts['pid']})" if facts["pid"] and state == "running" else state


def _table(benchmarks: list[dict[str, Any]]) -> list[str]:
    if not benchmarks:
        return []
    width = max(len("benchmark"), *(len(one["name"]) for one in benchmarks))
    lines = [f"{'benchmark':{width}}  {'scored':>15}  {'unscored':>8}  {'score':>6}"]
    for one in benchmarks:
        done = f"{one['scored']:,}/{one['expected']:,}"
        score = "–" if one["score"] is None else f"{one['score']:.4f}"
        lines.append(f"{one['name']:{width}}  {done:>15}  {one['unscored']:>8,}  {score:>6}")
    return lines
