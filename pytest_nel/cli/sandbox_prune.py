"""Remove containers of sandboxes that runs which died have left.

A run removes its own when it ends, and those of dead runs of its machine when it begins.
"""

import argparse
import json
import sys
from collections.abc import Sequence

from pytest_nel.cli._mistakes import mistake
from pytest_nel.core.errors import NelError
from pytest_nel.core.text import showable
from pytest_nel.gate.verdict import Exit
from pytest_nel.sandboxes.leftovers import Leftover, Swept, hangs, pruned


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.usage = "nel sandbox prune [--dry-run] [--all-dead] [--json]"
    add = parser.add_argument
    add("--dry-run", action="store_true", help="Say which they are, and remove nothing")
    add(
        "--all-dead",
        action="store_true",
        help="Also those that have stopped and were another machine's, or from before a restart",
    )
    add("--json", action="store_true", help="Print a JSON list")


def main(options: argparse.Namespace) -> int:
    """Prune and say what went; 4 where no daemon answers, 7 where one hangs on some."""
    if options.rest:
        options.usage_error(f"takes nothing after --, got {' '.join(options.rest)}")
    try:
        found = pruned(dry_run=options.dry_run, all_dead=options.all_dead)
    except NelError as error:
        return mistake("sandbox prune", error)
    return told(found, options)


def told(found: Swept, options: argparse.Namespace) -> int:
    """Say what went and what did not; the exit status."""
    if options.json:
        sys.stdout.write(json.dumps([one._asdict() for one in found.removed], indent=2) + "\n")
    else:
        sys.stdout.write(_text(found.removed, "would be removed" if options.dry_run else "removed"))
    for one in found.stuck:
        sys.stderr.write(f"nel sandbox prune: {hangs(one.name)}\n")
    return Exit.INCOMPLETE if found.stuck else Exit.GO


def _text(found: Sequence[Leftover], verb: str) -> str:
    lines = [f"{one.name}  {one.state}  {one.run}  {one.attempt}" for one in found]
    return "".join(f"{showable(line)}\n" for line in [*lines, f"{len(found)} {verb}"])
