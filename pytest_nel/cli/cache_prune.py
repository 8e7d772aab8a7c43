"""Delete answers from an answer cache, those used longest ago first."""

import argparse
import sys
from contextlib import closing
from pathlib import Path

from pytest_nel.core.errors import ConfigError
from pytest_nel.core.text import showable
from pytest_nel.core.units import seconds_of, size_of, size_text
from pytest_nel.records.cache import ResponseCache

_USAGE_ERROR = 4  # as pytest's


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.usage = "nel cache prune DIR [--max-size SIZE] [--unused-for TIME]"
    parser.add_argument("directory", metavar="DIR", type=Path, help="What --nel-cache was given")
    parser.add_argument("--max-size", metavar="SIZE", help="What may stay, such as 2GB or 512MiB")
    parser.add_argument(
        "--unused-for", metavar="TIME", help="Delete what was not used for so long, such as 30d"
    )


def main(options: argparse.Namespace) -> int:
    """Prune and say what went; 4 where that cannot be done."""
    if options.rest:
        options.usage_error(f"takes nothing after --, got {' '.join(options.rest)}")
    try:
        limit, unused_for = _bounds(options)
        with closing(ResponseCache(options.directory, limit=None, create=False)) as cache:
            pruned = cache.prune(limit=limit, unused_for=unused_for)
            left = cache.info()
    except ConfigError as error:
        sys.stderr.write(f"nel cache prune: {showable(str(error))}\n")
        return _USAGE_ERROR
    sys.stdout.write(
        f"deleted {pruned.entries:,} answers ({size_text(pruned.bytes)}), "
        f"{left.entries:,} are left ({size_text(left.bytes)})\n"
    )
    return 0


def _bounds(options: argparse.Namespace) -> tuple[int | None, float | None]:
    if options.max_size is None and options.unused_for is None:
        msg = "say what to delete: --max-size 2GB, --unused-for 30d, or both"
        raise ConfigError(msg)
    name = "--max-size"
    try:
        limit = None if options.max_size is None else size_of(options.max_size)
        name = "--unused-for"
        unused_for = None if options.unused_for is None else seconds_of(options.unused_for)
    except ValueError as error:
        msg = f"{name}: {error}"
        raise ConfigError(msg) from None
    return limit, unused_for
