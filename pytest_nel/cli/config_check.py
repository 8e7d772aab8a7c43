"""Compose and validate suite files, options of services and solvers included; start nothing."""

import argparse
import sys
from pathlib import Path

from pytest_nel.cli._mistakes import mistake
from pytest_nel.cli._overrides import add_override_argument, overrides_of
from pytest_nel.config.load import load_suite
from pytest_nel.core.errors import ConfigError
from pytest_nel.engine.plugin_options import check_names_and_options
from pytest_nel.exporters.chosen import refuse_exports
from pytest_nel.gate.verdict import Exit
from pytest_nel.hooks.reports import refuse_unknown_formats
from pytest_nel.scoring.catalog import SCORERS


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.usage = "nel config check FILE... [-O PATH=VALUE]..."
    parser.add_argument("files", metavar="FILE", nargs="+", type=Path, help="A suite file")
    add_override_argument(parser)


def main(options: argparse.Namespace) -> int:
    """Say ``ok`` for each file, or everything that is wrong with it."""
    if options.rest:
        options.usage_error(f"takes nothing after --, got {' '.join(options.rest)}")
    try:
        overrides = overrides_of(options)
    except ConfigError as error:
        return mistake("config check", error)
    status = Exit.GO
    for file in options.files:
        try:
            suite = load_suite(file, scorers=SCORERS, overrides=overrides)
            check_names_and_options(suite)
            refuse_unknown_formats(suite.config.output.report)
            refuse_exports(suite)
        except ConfigError as error:
            status = Exit(mistake("config check", error))
            continue
        sys.stdout.write(f"{file}: ok\n")
    return status
