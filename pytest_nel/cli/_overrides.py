"""``-O``: what the commands that read a suite put into it."""

import argparse

from pytest_nel.config.overrides import Override, read_override


def add_override_argument(parser: argparse.ArgumentParser) -> None:
    """Declare ``-O``."""
    parser.add_argument(
        "-O",
        "--override",
        metavar="PATH=VALUE",
        action="append",
        default=[],
        help="Put a value into the suite: benchmarks[0].repeats=4; may be given several times",
    )


def overrides_of(options: argparse.Namespace) -> list[Override]:
    """What ``-O`` says, in its order.

    Raises:
        ConfigError: One of them is malformed.
    """
    return [read_override(text) for text in options.override]
