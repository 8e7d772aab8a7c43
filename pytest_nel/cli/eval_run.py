"""Run a suite file, or one benchmark against one model.

Builds pytest's arguments and calls pytest: the same engine as ``pytest -p nel``, by another door.
What stands after ``--`` goes to pytest as it is.
"""

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import pytest


class _Option(NamedTuple):
    """An option of ours that becomes ``--nel-…`` of the same name; the plugin judges its value."""

    name: str
    metavar: str
    help: str
    short: str | None = None


_OPTIONS = (
    _Option("bench", "NAME", "Benchmark: a built-in's name, file.py or file.py:name", "-b"),
    _Option("model-url", "URL", "OpenAI-compatible endpoint, such as http://HOST:PORT/v1"),
    _Option("model-id", "ID", "Model name to send"),
    _Option("model", "MODEL", "'demo' or a .gguf file, served here"),
    _Option("api-key-env", "NAME", "Environment variable that holds the key"),
    _Option("repeats", "N", "Attempts per problem", "-n"),
    _Option("max-problems", "N", "Take that many problems"),
    _Option("max-concurrent", "N", "Requests in flight"),
    _Option("window", "N", "Attempts solved or in flight but not yet reported"),
    _Option("temperature", "T", "Sampling temperature"),
    _Option("max-tokens", "N", "Tokens per answer"),
    _Option("system-prompt", "TEXT", "System message of every request"),
    _Option("timeout", "SECONDS", "Time for one attempt in all"),
    _Option("output-dir", "DIR", "Where runs leave their folders", "-o"),
    _Option("show", "WHICH", "Print attempts: wrong, unparsed, unscored or all"),
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.usage = "nel eval run [SUITE] [options] [-- pytest arguments]"
    parser.add_argument("suite", nargs="?", metavar="SUITE", type=Path, help="A suite file")
    for option in _OPTIONS:
        flags = [f"--{option.name}"] if option.short is None else [option.short, f"--{option.name}"]
        parser.add_argument(*flags, metavar=option.metavar, help=option.help)
    parser.add_argument("--strict", action="store_true", help="Wrong answers fail their item")
    parser.add_argument("-v", "--verbose", action="count", default=0, help="As pytest's")


def main(options: argparse.Namespace) -> int:
    """Run pytest and return its exit status."""
    if options.suite is None and options.bench is None:
        options.usage_error("name a suite file, or a benchmark with --bench")
    if options.suite is not None and not options.suite.is_file():
        options.usage_error(f"no such suite file: {options.suite}")
    return int(pytest.main(pytest_arguments(options, options.rest)))


def pytest_arguments(options: argparse.Namespace, rest: Sequence[str] = ()) -> list[str]:
    """What to say to pytest for these options.

    Values are joined to their option by ``=``: a system prompt may begin with a dash.
    """
    arguments = ["-p", "nel"]
    for option in _OPTIONS:
        value = getattr(options, option.name.replace("-", "_"))
        if value is not None:
            arguments.append(f"--nel-{option.name}={value}")
    if options.strict:
        arguments.append("--nel-strict")
    arguments += ["-v"] * options.verbose
    arguments += rest
    if options.suite is not None:
        arguments.append(str(options.suite))
    return arguments
