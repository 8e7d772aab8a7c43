"""Run a suite file, or one benchmark against one model.

Builds pytest's arguments and calls pytest: the same engine as ``pytest -p nel``, by another door.
The options are the plugin's own without ``--nel-``; it judges their values. What stands after
``--`` goes to pytest as it is.
"""

import argparse
from collections.abc import Sequence
from pathlib import Path

import pytest

from pytest_nel.hooks.options import FLAGS, OPTIONS

_SHORT = {"bench": "-b", "repeats": "-n", "output-dir": "-o", "override": "-O"}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.usage = "nel eval run [SUITE] [options] [-- pytest arguments]"
    parser.add_argument("suite", nargs="?", metavar="SUITE", type=Path, help="A suite file")
    for option in OPTIONS:
        short = [_SHORT[option.name]] if option.name in _SHORT else []
        parser.add_argument(
            *short,
            f"--{option.name}",
            action="append" if option.many else "store",
            metavar=option.metavar,
            help=option.help.replace("%", "%%"),
        )
    for flag in FLAGS:
        parser.add_argument(f"--{flag.name}", action="store_true", help=flag.help)
    parser.add_argument("-v", "--verbose", action="count", default=0, help="As pytest's")


def main(options: argparse.Namespace) -> int:
    """Run pytest and return its exit status."""
    check(options)
    return int(pytest.main(pytest_arguments(options, options.rest)))


def check(options: argparse.Namespace) -> None:
    """Refuse a line that names nothing to measure."""
    if options.suite is None and options.bench is None:
        options.usage_error("name a suite file, or a benchmark with --bench")
    if options.suite is not None and not options.suite.is_file():
        options.usage_error(f"no such suite file: {options.suite}")


def pytest_arguments(options: argparse.Namespace, rest: Sequence[str] = ()) -> list[str]:
    """What to say to pytest for these options.

    Values are joined to their option by ``=``: a system prompt may begin with a dash.
    """
    arguments = ["-p", "nel"]
    for option in OPTIONS:
        value = getattr(options, option.name.replace("-", "_"))
        if value is not None:
            values = value if option.many else [value]
            arguments += [f"{option.flag}={each}" for each in values]
    arguments += [flag.flag for flag in FLAGS if getattr(options, flag.name.replace("-", "_"))]
    arguments += ["-v"] * options.verbose
    arguments += rest
    if options.suite is not None:
        arguments.append(str(options.suite))
    return arguments
