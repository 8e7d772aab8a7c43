"""Show what an answer cache holds."""

import argparse
import json
import sys
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

from pytest_nel.core.errors import ConfigError
from pytest_nel.core.text import showable
from pytest_nel.core.units import size_text
from pytest_nel.records.cache import CacheInfo, ResponseCache

_USAGE_ERROR = 4  # as pytest's


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.usage = "nel cache info DIR [--json]"
    parser.add_argument("directory", metavar="DIR", type=Path, help="What --nel-cache was given")
    parser.add_argument("--json", action="store_true", help="Print one JSON object")


def main(options: argparse.Namespace) -> int:
    """Print it; 4 where there is no cache."""
    if options.rest:
        options.usage_error(f"takes nothing after --, got {' '.join(options.rest)}")
    try:
        with closing(ResponseCache(options.directory, limit=None, create=False)) as cache:
            info = cache.info()
    except ConfigError as error:
        sys.stderr.write(f"nel cache info: {showable(str(error))}\n")
        return _USAGE_ERROR
    sys.stdout.write(_as_json(info) if options.json else _as_text(info))
    return 0


def _as_json(info: CacheInfo) -> str:
    facts = info._asdict() | {
        "path": str(info.path),
        "oldest_use": _utc(info.oldest_use),
        "newest_use": _utc(info.newest_use),
    }
    return json.dumps(facts, indent=2) + "\n"


def _as_text(info: CacheInfo) -> str:
    used = f"{_utc(info.oldest_use)} to {_utc(info.newest_use)}" if info.entries else "never"
    return (
        f"path     {showable(str(info.path))}\n"
        f"answers  {info.entries:,}\n"
        f"size     {size_text(info.bytes)} ({size_text(info.disk_bytes)} on disk)\n"
        f"used     {used}\n"
    )


def _utc(when: float | None) -> str | None:
    return None if when is None else datetime.fromtimestamp(when, UTC).strftime("%FT%TZ")
