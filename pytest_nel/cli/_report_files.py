"""What the commands that write reports share: their options, and where the report goes."""

import argparse
import sys
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from pathlib import Path

from pytest_nel.core.errors import ConfigError
from pytest_nel.core.text import storable
from pytest_nel.records.whole import whole
from pytest_nel.reports import REGISTRY
from pytest_nel.reports.bundles import Found, find, refuse_two
from pytest_nel.reports.rows import table_of
from pytest_nel.reports.table import Format

_NAME = "report"


def add_paths(parser: argparse.ArgumentParser) -> None:
    """Declare ``paths``, the bundles that a command reads."""
    parser.add_argument(
        "paths",
        metavar="PATH",
        nargs="+",
        type=Path,
        help="A bundle (eval-*.json), a run directory, or a folder that holds some",
    )


def add_format_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare ``-f``, ``-o``, ``--all-formats`` and ``--baseline``."""
    parser.add_argument(
        "-f", "--format", metavar="FORMAT", help="markdown, html, csv, json or latex"
    )
    parser.add_argument(
        "-o",
        "--output",
        metavar="FILE",
        type=Path,
        help="Where it goes (default: stdout); its ending says the format where -f does not",
    )
    parser.add_argument(
        "--all-formats",
        action="store_true",
        help="Write report.md, .html, .csv, .json and .tex into the directory -o",
    )
    parser.add_argument(
        "--baseline", metavar="DIR", type=Path, help="A run whose scores are shown beside these"
    )


def asked(options: argparse.Namespace) -> Mapping[str, Format]:
    """The formats that the options ask for, by name; none where they ask for no report.

    Raises:
        ConfigError: They contradict each other, or name what is no format.
    """
    if options.all_formats:
        if options.format or options.output is None:
            msg = "--all-formats wants a directory, -o DIR, and no -f"
            raise ConfigError(msg)
        return {name: REGISTRY.load(name)() for name in REGISTRY.rows}
    name = options.format or _of_suffix(options.output)
    if name is not None:
        return {name: REGISTRY.load(name)()}
    if options.baseline is not None:
        msg = "--baseline is for a report: say its format by -f, or a file by -o"
        raise ConfigError(msg)
    return {}


def _of_suffix(path: Path | None) -> str | None:
    if path is None:
        return None
    suffixes = {REGISTRY.load(name).suffix: name for name in REGISTRY}
    name = suffixes.get(path.suffix.removeprefix("."))
    if name is None:
        listed = ", ".join(f".{suffix}" for suffix in sorted(suffixes))
        msg = f"-o {path}: its ending tells no format (one of {listed}): say it by -f"
        raise ConfigError(msg)
    return name


def emit(formats: Mapping[str, Format], paths: Sequence[Path], options: argparse.Namespace) -> None:
    """Write the reports, each whole or not at all; one without ``-o`` to stdout.

    Raises:
        ConfigError: There is no bundle, or one cannot be read.
        OSError: A file cannot be written.
    """
    found, left_out = find(paths)
    table = table_of(
        found, _baseline(options.baseline), version=version("pytest-nel"), notes=left_out
    )
    for made in formats.values():
        target = _target(made, options)
        if target is None:
            for piece in made.pieces(table):
                sys.stdout.write(storable(piece))
            continue
        target.parent.mkdir(parents=True, exist_ok=True)
        with whole(target) as file:
            file.writelines(made.pieces(table))
        sys.stdout.write(f"report: {target}\n")


def _baseline(directory: Path | None) -> list[Found]:
    if directory is None:
        return []
    found, _ = find([directory])
    refuse_two(found)
    return found


def _target(made: Format, options: argparse.Namespace) -> Path | None:
    output: Path | None = options.output
    if output is not None and (options.all_formats or output.is_dir()):
        return output / f"{_NAME}.{made.suffix}"
    return output
