"""Show what a run that was started with ``--background`` has printed."""

import argparse
import sys
import time
from collections import deque
from pathlib import Path

from pytest_nel.cli._mistakes import mistake
from pytest_nel.cli._selected import Selected, add_selectors, selected
from pytest_nel.core.errors import ConfigError, NelError
from pytest_nel.gate.verdict import Exit

_PAUSE = 0.2


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.usage = "nel eval logs [-r ID | -o DIR] [-f] [-n LINES]"
    add_selectors(parser)
    parser.add_argument(
        "-f", "--follow", action="store_true", help="Print what is added, until the run is over"
    )
    parser.add_argument(
        "-n", "--lines", metavar="LINES", type=int, help="Only the last so many (default: all)"
    )


def main(options: argparse.Namespace) -> int:
    """Print it; 4 where there is no log."""
    if options.rest:
        options.usage_error(f"takes nothing after --, got {' '.join(options.rest)}")
    if options.lines is not None and options.lines < 0:
        options.usage_error(f"-n wants a number of lines from 0, got {options.lines}")
    try:
        run = selected(options)
        _show(_log(run), run, options)
    except (NelError, OSError) as error:
        if isinstance(error, BrokenPipeError):
            raise
        return mistake("eval logs", error)
    return Exit.GO


def _log(run: Selected) -> Path:
    """The newest log of a run."""
    if run.entry is not None and run.entry.log is not None:
        return Path(run.entry.log)
    logs = sorted((run.directory / "logs").glob("nel-*.log"))
    if logs and run.entry is None:
        return logs[-1]
    others = sorted((run.directory / "logs").glob("*.log"))
    beside = f"; others lie there: {', '.join(map(str, others))}" if others else ""
    msg = f"{run.directory}: this run printed to its terminal, so there is no log{beside}"
    raise ConfigError(msg)


def _show(log: Path, run: Selected, options: argparse.Namespace) -> None:
    with log.open(encoding="utf-8", errors="replace", newline="") as file:
        if options.lines is None:
            while text := file.read(65_536):
                sys.stdout.write(text)
        else:
            sys.stdout.writelines(deque(file, maxlen=options.lines))
        while options.follow:
            over = run.state != "running"  # asked before the last words are read
            text = file.read()
            sys.stdout.write(text)
            sys.stdout.flush()
            if over and not text:
                return
            if not over:
                time.sleep(_PAUSE)
