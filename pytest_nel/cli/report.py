"""Write a report of bundles, runs or folders of runs, also of the reference system's."""

import argparse

from pytest_nel.cli._mistakes import mistake
from pytest_nel.cli._report_files import add_format_arguments, add_paths, asked, emit
from pytest_nel.core.errors import NelError
from pytest_nel.gate.verdict import Exit

_DEFAULT = "markdown"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.usage = "nel report PATH... [-f FORMAT] [-o FILE] [--all-formats] [--baseline DIR]"
    add_paths(parser)
    add_format_arguments(parser)


def main(options: argparse.Namespace) -> int:
    """Write it; what the scores are does not change the exit status."""
    if options.rest:
        options.usage_error(f"takes nothing after --, got {' '.join(options.rest)}")
    if not (options.format or options.output or options.all_formats):
        options.format = _DEFAULT
    try:
        emit(asked(options), options.paths, options)
    except (NelError, OSError) as error:
        if isinstance(error, BrokenPipeError):
            raise
        return mistake("report", error)
    return Exit.GO
