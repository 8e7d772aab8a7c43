"""Show the summary of runs, or write a report of them, as they ended or derived again."""

import argparse
import sys
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from pytest_nel.cli._mistakes import mistake
from pytest_nel.cli._report_files import add_format_arguments, asked, emit
from pytest_nel.cli._selected import store
from pytest_nel.core.errors import ConfigError, NelError
from pytest_nel.gate.verdict import worst
from pytest_nel.records.conclude import Concluded, rebuild, stored
from pytest_nel.records.found import MERGE, MERGED, is_run, refuse_no_run, runs_below
from pytest_nel.records.rundir import kept_still
from pytest_nel.reports.gate import kept_lines
from pytest_nel.reports.summary import run_lines


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.usage = (
        "nel eval report DIR...|-r ID [--rebuild] [-f FORMAT] [-o FILE] [--all-formats] "
        "[--baseline DIR]"
    )
    parser.add_argument("directories", metavar="DIR", nargs="*", type=Path, help="A run directory")
    parser.add_argument(
        "-r", "--run", metavar="ID", help="The run's id, or how it begins, in place of DIR"
    )
    parser.add_argument(
        "--rebuild",
        action="store_true",
        help="First derive results, statistics, bundles and checks again from the journals",
    )
    add_format_arguments(parser)


def main(options: argparse.Namespace) -> int:
    """Print one table of all, or write a report; the exit status is the worst of the runs'."""
    if options.rest:
        options.usage_error(f"takes nothing after --, got {' '.join(options.rest)}")
    if bool(options.directories) == (options.run is not None):
        options.usage_error("name runs: nel eval report DIR..., or -r ID")
    try:
        wanted = asked(options)
        if options.run is not None:
            options.directories = [Path(store().find(options.run).directory)]
        directories = [_run(directory) for directory in options.directories]
        runs = _rebuilt(directories) if options.rebuild else [stored(one) for one in directories]
        if wanted:
            emit(wanted, [run.directory for run in runs], options)
            return worst(run.code for run in runs)
    except (NelError, OSError) as error:
        if isinstance(error, BrokenPipeError):
            raise
        return mistake("eval report", error)
    _print(runs)
    return worst(run.code for run in runs)


def _run(directory: Path) -> Path:
    """The run that a directory is, or whose parts it holds."""
    if directory.is_dir() and not is_run(directory):
        merged = directory / MERGED
        if (merged / MERGE).is_file():
            return merged
        below = [path for path in runs_below(directory) if is_run(path)]
        if below:
            msg = (
                f"{directory} is no run, but holds {len(below)}: join the parts of one run by "
                f"`nel eval merge {directory}`, or name the runs themselves"
            )
            raise ConfigError(msg)
    refuse_no_run(directory)
    return directory


def _rebuilt(directories: Sequence[Path]) -> list[Concluded]:
    """Derive all again, or, where a run writes to one of them, none."""
    with ExitStack() as stack:
        for directory in directories:
            stack.enter_context(kept_still(directory))
        return [rebuild(directory) for directory in directories]


def _print(runs: Sequence[Concluded]) -> None:
    several = len(runs) > 1
    results = [
        (_named(derived.bundle, run) if several else derived.bundle, derived.problems)
        for run in runs
        for derived in run.derived
    ]
    checks = [check for run in runs for check in run.checks]
    for line in run_lines(results, checks, most=len(results)):
        sys.stdout.write(f"{line.text}\n")
    for run in runs:
        for line in [] if run.gate is None else kept_lines(run.gate):
            sys.stdout.write(f"{line.text}\n")
        sys.stdout.write(f"results: {run.directory}\n")


def _named(bundle: Mapping[str, Any], run: Concluded) -> Mapping[str, Any]:
    """The bundle under a name that says whose it is."""
    name = f"{run.directory.name}/{bundle['benchmark']['name']}"
    return {**bundle, "benchmark": {**bundle["benchmark"], "name": name}}
