"""Download the data of benchmarks or suites, for a run where there is no network."""

import argparse
import json
import sys
from typing import Any

from pytest_nel.cli._data import add_names, looked_at, rows_text, wanted
from pytest_nel.cli._mistakes import mistake
from pytest_nel.core.errors import NelError
from pytest_nel.core.text import showable
from pytest_nel.core.units import size_text
from pytest_nel.gate.verdict import Exit


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.usage = "nel data prefetch BENCH_OR_SUITE... [--json]"
    add_names(parser, "BENCH_OR_SUITE")
    parser.add_argument("--json", action="store_true", help="Print a JSON list, as nel data info")


def main(options: argparse.Namespace) -> int:
    """Say what is here then; 1 where something could not be had, 4 for a mistake."""
    if options.rest:
        options.usage_error(f"takes nothing after --, got {' '.join(options.rest)}")
    try:
        benchmarks = wanted(options.names)
    except (NelError, OSError) as error:
        return mistake("data prefetch", error)
    found = []
    for one in benchmarks:
        facts = looked_at(one, fetch=True)
        found.append(facts)
        if facts["trouble"]:
            text = showable(facts["trouble"])
            sys.stderr.write(f"nel data prefetch: {showable(one.name)}: {text}\n")
        elif not options.json:
            sys.stdout.write(f"{_line(facts)}\n")
            sys.stdout.flush()
    if options.json:
        sys.stdout.write(json.dumps(found, indent=2) + "\n")
    return 1 if any(facts["trouble"] for facts in found) else Exit.GO


def _line(facts: dict[str, Any]) -> str:
    words = [rows_text(facts["rows"])]
    if facts.get("size") is not None:
        words.append(size_text(facts["size"]))
    words.append("in a local file" if facts.get("state") == "local" else "here")
    return f"{showable(facts['benchmark'])}: {', '.join(words)}"
