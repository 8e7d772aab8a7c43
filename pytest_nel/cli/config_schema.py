"""Print the JSON schema of suite files, for editors; it knows the options of every plugin."""

import argparse
import json
import sys

from pytest_nel.config.fields_page import fields_page
from pytest_nel.config.json_schema import suite_schema
from pytest_nel.engine.plugin_options import option_models
from pytest_nel.sandboxes import REGISTRY as SANDBOXES
from pytest_nel.services import REGISTRY as SERVICES
from pytest_nel.solvers import REGISTRY as SOLVERS


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.usage = "nel config schema [--markdown]"
    parser.add_argument(
        "--markdown", action="store_true", help="The reference page of all fields instead"
    )


def main(options: argparse.Namespace) -> int:
    """Print it."""
    if options.rest:
        options.usage_error(f"takes nothing after --, got {' '.join(options.rest)}")
    kinds = (option_models(SERVICES), option_models(SOLVERS), option_models(SANDBOXES))
    if options.markdown:
        sys.stdout.write(fields_page(*kinds))
        return 0
    sys.stdout.write(json.dumps(suite_schema(*kinds), indent=2) + "\n")
    return 0
