"""Show what data benchmarks read: id, revision, size, hash, licence, and where it is.

Nothing but lists of files is downloaded.
"""

import argparse
import json
import sys

from pytest_nel.cli._data import add_names, described, looked_at, wanted
from pytest_nel.cli._mistakes import mistake
from pytest_nel.core.errors import NelError
from pytest_nel.gate.verdict import Exit


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.usage = "nel data info BENCH... [--json]"
    add_names(parser, "BENCH")
    parser.add_argument("--json", action="store_true", help="Print a JSON list")


def main(options: argparse.Namespace) -> int:
    """Print it; 1 where some data cannot be had, 4 for a mistake."""
    if options.rest:
        options.usage_error(f"takes nothing after --, got {' '.join(options.rest)}")
    try:
        benchmarks = wanted(options.names)
    except (NelError, OSError) as error:
        return mistake("data info", error)
    found = [looked_at(one, fetch=False) for one in benchmarks]
    if options.json:
        sys.stdout.write(json.dumps(found, indent=2) + "\n")
    else:
        sys.stdout.write("\n".join(map(described, found)))
    return 1 if any(facts["trouble"] for facts in found) else Exit.GO
