"""Run a suite file, or one benchmark against one model.

Builds pytest's arguments and calls pytest: the same engine as ``pytest -p nel``, by another door.
The options are the plugin's own without ``--nel-``; it judges their values. What stands after
``--`` goes to pytest as it is.
"""

import argparse
import signal
import sys
from pathlib import Path

import pytest

from pytest_nel.cli._background import start
from pytest_nel.cli._command_line import (
    add_run_arguments,
    pytest_arguments,
    without_secrets,
    words_of,
)
from pytest_nel.cli._mistakes import mistake
from pytest_nel.cli._noted import Noted, run_noted
from pytest_nel.cluster.runs import RunStore, default_folder
from pytest_nel.config.interpolate import getenv
from pytest_nel.core.errors import ConfigError

__all__ = ["add_arguments", "check", "main", "pytest_arguments", "run"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.usage = "nel eval run [SUITE] [options] [-- pytest arguments]"
    add_run_arguments(parser)


def main(options: argparse.Namespace) -> int:
    """Run pytest and return its exit status; in the background, 0 once it has begun."""
    check(options)
    return run(options)


def check(options: argparse.Namespace) -> None:
    """Refuse a line that names nothing to measure."""
    if options.suite is None and options.bench is None:
        options.usage_error("name a suite file, or a benchmark with --bench")
    if options.suite is not None and not options.suite.is_file():
        options.usage_error(f"no such suite file: {options.suite}")


def run(options: argparse.Namespace) -> int:
    """Run what the options say, here or in the background, in this folder."""
    if options.background and getattr(options, "dry_run", False):
        options.usage_error("--dry-run says it at once: leave --background out")
    words = words_of(options, options.rest)
    if options.background:
        try:
            return start(words, RunStore(default_folder(getenv)), Path.cwd())
        except ConfigError as error:
            return mistake("eval run", error)
    if options.detached_log is not None:
        # who starts it may ignore Ctrl-C, as shells do for what runs behind a &
        signal.signal(signal.SIGINT, signal.default_int_handler)  # noqa: TID251 - as said
    noted = _noted(words, options.detached_log)
    return run_noted(pytest_arguments(options, options.rest), noted, pytest.main)


def _noted(words: list[str], log: Path | None) -> Noted | None:
    try:
        store = RunStore(default_folder(getenv))
    except ConfigError as error:
        sys.stderr.write(f"nel eval run: this run is not noted: {error}\n")
        return None
    return Noted(store, without_secrets(words), log)
