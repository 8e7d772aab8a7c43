"""Print a composed suite: each value with the file and line it comes from, secrets masked."""

import argparse
import sys
from pathlib import Path

from pytest_nel.cli._mistakes import mistake
from pytest_nel.cli._overrides import add_override_argument, overrides_of
from pytest_nel.config.composed import compose
from pytest_nel.config.show import shown_json, shown_yaml
from pytest_nel.core.errors import ConfigError


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.usage = "nel config show FILE [-O PATH=VALUE]... [--json]"
    parser.add_argument("file", metavar="FILE", type=Path, help="A suite file")
    add_override_argument(parser)
    parser.add_argument("--json", action="store_true", help="One object: suite, and places by path")


def main(options: argparse.Namespace) -> int:
    """Print it; what is wrong with values is for ``nel config check``."""
    if options.rest:
        options.usage_error(f"takes nothing after --, got {' '.join(options.rest)}")
    try:
        composed = compose(options.file, overrides=overrides_of(options), complete=False)
    except ConfigError as error:
        return mistake("config show", error)
    sys.stdout.write(f"{shown_json(composed)}\n" if options.json else shown_yaml(composed))
    return 0
