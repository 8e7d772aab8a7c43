"""End a run: nothing more is asked, what was measured is kept, and its servers end with it."""

import argparse
import signal
import sys
from dataclasses import replace

from pytest_nel.cli._mistakes import mistake
from pytest_nel.cli._selected import add_selectors, entries_of, selected, store
from pytest_nel.cluster.processes import ends, send
from pytest_nel.cluster.runs import RunEntry
from pytest_nel.core.errors import ConfigError, NelError
from pytest_nel.gate.verdict import Exit

_WAIT = 60.0


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.usage = "nel eval stop [-r ID | -o DIR] [--wait SECONDS]"
    add_selectors(parser)
    parser.add_argument(
        "--wait",
        metavar="SECONDS",
        type=float,
        default=_WAIT,
        help=f"How long its end is waited for (default: {_WAIT:g})",
    )


def main(options: argparse.Namespace) -> int:
    """Ask it to end and wait; 1 where it has not ended by then, 4 for a mistake."""
    if options.rest:
        options.usage_error(f"takes nothing after --, got {' '.join(options.rest)}")
    if not 0 <= options.wait <= 86_400:
        options.usage_error(f"--wait wants seconds from 0 to 86400, got {options.wait:g}")
    try:
        return _stop(_meant(options), options.wait)
    except (NelError, PermissionError) as error:
        return mistake("eval stop", error)


def _meant(options: argparse.Namespace) -> RunEntry:
    if options.run is None and options.output_dir is None:
        running = [entry for entry in entries_of(store()) if entry.state == "running"]
        if len(running) != 1:
            listed = ", ".join(entry.run_id for entry in running)
            msg = f"say which run with -r ID: {len(running)} are running{listed and f': {listed}'}"
            raise ConfigError(msg)
        return running[0]
    run = selected(options)
    if run.entry is None:
        msg = (
            f"{run.directory}: `nel eval run` has not started this run, so its process is not "
            "known: end it where it was started"
        )
        raise ConfigError(msg)
    if run.entry.state == "elsewhere":
        msg = f"run {run.entry.run_id} was started on {run.entry.host}: stop it there"
        raise ConfigError(msg)
    return run.entry


def _stop(entry: RunEntry, wait: float) -> int:
    name = f"run {entry.run_id}"
    if entry.state != "running" or not send(entry.pid, entry.mark, signal.SIGTERM):
        sys.stdout.write(f"{name} is not running{_status(entry)}\n")
        return Exit.GO
    sys.stdout.write(f"{name}: asked process {entry.pid} to end\n")
    sys.stdout.flush()
    if not ends(entry.pid, entry.mark, wait):
        sys.stdout.write(
            f"{name} has not ended within {wait:g} s; a second `nel eval stop -r {entry.run_id}` "
            "ends it at once\n"
        )
        return 1
    newest = next((one for one in store().list().entries if _same(one, entry)), entry)
    sys.stdout.write(f"{name} has ended{_status(newest)}\n")
    return Exit.GO


def _same(one: RunEntry, other: RunEntry) -> bool:
    return replace(one, ended=None, exit_code=None, log=None) == replace(
        other, ended=None, exit_code=None, log=None
    )


def _status(entry: RunEntry) -> str:
    if entry.exit_code is None:
        return " (it left no exit status: it died)"
    more = ": nel eval resume goes on" if entry.exit_code == Exit.INCOMPLETE else ""
    return f" (exit status {entry.exit_code}{more})"
