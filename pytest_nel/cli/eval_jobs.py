"""List the runs that ``nel eval run`` has started here, the newest first."""

import argparse
import json
import sys
from dataclasses import asdict

from pytest_nel.cli._mistakes import mistake
from pytest_nel.cli._selected import entries_of, store
from pytest_nel.cli._when import utc
from pytest_nel.cluster.runs import RunEntry
from pytest_nel.core.errors import NelError
from pytest_nel.core.text import showable
from pytest_nel.gate.verdict import Exit


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.usage = "nel eval jobs [--json]"
    parser.add_argument("--json", action="store_true", help="Print a JSON list")


def main(options: argparse.Namespace) -> int:
    """Print them; what is damaged in the store is named on stderr."""
    if options.rest:
        options.usage_error(f"takes nothing after --, got {' '.join(options.rest)}")
    try:
        entries = entries_of(store())
    except NelError as error:
        return mistake("eval jobs", error)
    sys.stdout.write(_as_json(entries) if options.json else _as_text(entries))
    return Exit.GO


def _as_json(entries: list[RunEntry]) -> str:
    listed = []
    for entry in entries:
        facts = {name: value for name, value in asdict(entry).items() if name != "mark"}
        times = {"started": utc(entry.started), "ended": utc(entry.ended)}
        listed.append(facts | times | {"state": entry.state})
    return json.dumps(listed, indent=2) + "\n"


def _as_text(entries: list[RunEntry]) -> str:
    if not entries:
        return "no runs\n"
    rows = [("run", "state", "started", "target", "directory")]
    for entry in entries:
        state = entry.state if entry.exit_code is None else f"exit {entry.exit_code}"
        when = utc(entry.started) or ""
        rows.append((entry.run_id, state, when, entry.target, entry.directory))
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]) - 1)]
    lines = (
        "  ".join([*(f"{cell:{width}}" for cell, width in zip(row, widths, strict=False)), row[-1]])
        for row in rows
    )
    return "".join(f"{showable(line)}\n" for line in lines)
