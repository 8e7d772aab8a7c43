"""Forget runs that have ended; with ``--results``, also delete what they have measured."""

import argparse
import json
import shutil
import sys
import time
from pathlib import Path

from pytest_nel.cli._mistakes import mistake
from pytest_nel.cli._selected import entries_of, store
from pytest_nel.cli._when import age_of, utc
from pytest_nel.cluster.runs import RunEntry, RunStore
from pytest_nel.core.errors import ConfigError, NelError
from pytest_nel.core.text import showable
from pytest_nel.gate.verdict import Exit
from pytest_nel.records.plans import planned
from pytest_nel.records.rundir import kept_still, read_run

_FILES = (
    "checks.json",
    "merge.json",
    "suite.nel.yaml",
    *(f"report.{end}" for end in ("csv", "html", "json", "md", "tex")),
    ".control.json",
    "run.json",
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.usage = "nel eval clean [--older-than AGE] [--results] [--dry-run] [-y] [--json]"
    parser.add_argument(
        "--older-than", metavar="AGE", help="Only those that began longer ago: 12h, 7d, 2w, 1m"
    )
    parser.add_argument("--results", action="store_true", help="Delete their run directories, too")
    parser.add_argument("--dry-run", action="store_true", help="Say what would go, change nothing")
    parser.add_argument("-y", "--yes", action="store_true", help="Do not ask")
    parser.add_argument("--json", action="store_true", help="Print a JSON list of what went")


def main(options: argparse.Namespace) -> int:
    """Remove them; 1 where some could not be, 4 for a mistake."""
    if options.rest:
        options.usage_error(f"takes nothing after --, got {' '.join(options.rest)}")
    try:
        runs = store()
        entries = _old(entries_of(runs), options.older_than)
    except (NelError, ValueError) as error:
        return mistake("eval clean", ConfigError(str(error)))
    if not entries:
        sys.stdout.write("[]\n" if options.json else "nothing to remove\n")
        return Exit.GO
    if not options.dry_run and not options.yes and not _agreed(entries, options):
        return Exit.USAGE
    return _remove(entries, runs, options)


def _old(entries: list[RunEntry], age: str | None) -> list[RunEntry]:
    """Those that are over; whether one on another machine is, nobody here knows."""
    limit = time.time() - (0.0 if age is None else age_of(age))
    return [one for one in entries if one.state in {"ended", "died"} and one.started <= limit]


def _agreed(entries: list[RunEntry], options: argparse.Namespace) -> bool:
    if not sys.stdin.isatty():
        sys.stderr.write("nel eval clean: nobody is there to ask: say -y, or --dry-run\n")
        return False
    what = "entries and run directories" if options.results else "entries (results stay)"
    for entry in entries:
        sys.stdout.write(f"{showable(_line(entry))}\n")
    sys.stdout.write(f"remove {len(entries)} {what}? [y/N] ")
    sys.stdout.flush()
    return sys.stdin.readline().strip().lower() in {"y", "yes"}


def _remove(entries: list[RunEntry], runs: RunStore, options: argparse.Namespace) -> int:
    status: int = Exit.GO
    gone = []
    for entry in entries:
        try:
            note = "" if options.dry_run else _forget(entry, runs, results=options.results)
        except (NelError, OSError) as error:
            sys.stderr.write(f"nel eval clean: {showable(str(error))}\n")
            status = 1
            continue
        gone.append({"run_id": entry.run_id, "directory": entry.directory, "note": note or None})
        if not options.json:
            word = "would remove" if options.dry_run else "removed"
            sys.stdout.write(f"{word}  {showable(_line(entry))}{note and f'  ({note})'}\n")
    if options.json:
        sys.stdout.write(json.dumps(gone, indent=2) + "\n")
    return status


def _line(entry: RunEntry) -> str:
    return f"{entry.run_id}  {utc(entry.started)}  {entry.directory}"


def _forget(entry: RunEntry, runs: RunStore, *, results: bool) -> str:
    note = _delete_run(Path(entry.directory), entry.run_id) if results else ""
    runs.remove(entry)
    return note


def _delete_run(directory: Path, run_id: str) -> str:
    """Delete what a run makes, and the directory where nothing else is left in it."""
    if not directory.is_dir():
        return "its directory is gone already"
    facts = read_run(directory)
    if facts is None or facts.run_id != run_id:
        msg = f"{directory} is not the directory of run {run_id} any more: look at it yourself"
        raise ConfigError(msg)
    with kept_still(directory):
        for path in [*planned(directory), directory / "logs"]:
            if path.is_dir():
                shutil.rmtree(path)
        for name in _FILES:
            (directory / name).unlink(missing_ok=True)
    try:
        directory.rmdir()
    except OSError:
        return "its directory stays: it holds other files"
    return ""
