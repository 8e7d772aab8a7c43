"""List the installed benchmarks with what they need, or plugins and policies of one kind."""

import argparse
import json
import sys
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from pytest_nel.authoring.catalog import builtin_names
from pytest_nel.cli._benchmarks import first_comment, first_line, known
from pytest_nel.core.registry import Registry
from pytest_nel.core.text import showable
from pytest_nel.gate.catalog import policies
from pytest_nel.gate.verdict import Exit
from pytest_nel.scoring.catalog import SCORERS

_REGISTRIES = (
    *("datasets", "environments", "exporters", "interceptors", "reports"),
    *("sandboxes", "services", "solvers"),
)
KINDS = sorted(("benchmarks", "policies", "scorers", *_REGISTRIES))
Row = Mapping[str, Any]  # Any: JSON


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.usage = "nel list [KIND] [--json]"
    parser.add_argument(
        "kind",
        metavar="KIND",
        nargs="?",
        choices=KINDS,
        default="benchmarks",
        help=f"{', '.join(KINDS)} (default: benchmarks)",
    )
    parser.add_argument("--json", action="store_true", help="Print a JSON list")


def main(options: argparse.Namespace) -> int:
    """Print the list."""
    if options.rest:
        options.usage_error(f"takes no arguments, got {' '.join(options.rest)}")
    made: Callable[[], list[Row]] | None = _SPECIAL.get(options.kind)
    rows = made() if made is not None else _registered(options.kind)
    sys.stdout.write(json.dumps(rows, indent=2) + "\n" if options.json else _text(rows, options))
    return Exit.GO


def _benchmarks() -> list[Row]:
    return [{**one._asdict(), "needs": one.needs} for one in map(known, builtin_names())]


def _scorers() -> list[Row]:
    return [_row(name, scorer.__doc__) for name, scorer in sorted(SCORERS.items())]


def _policies() -> list[Row]:
    return [
        {**_row(name, first_comment(path)), "path": str(path)} for name, path in policies().items()
    ]


_SPECIAL = {"benchmarks": _benchmarks, "scorers": _scorers, "policies": _policies}


def _registered(kind: str) -> list[Row]:
    """The rows of a registry, their modules read and not imported; none where there is none."""
    if find_spec(f"pytest_nel.{kind}") is None:
        return []
    registry: Registry[object] = import_module(f"pytest_nel.{kind}").REGISTRY
    return [_row(name, _described(registry, name)) for name in registry]


def _described(registry: Registry[object], name: str) -> str | None:
    row = registry.rows.get(name)
    if row is not None:
        return first_line(row.partition(":")[0])
    try:
        return registry.load(name).__doc__
    except Exception as error:  # noqa: BLE001 - others' code is imported: anything may come
        return f"(cannot be loaded: {type(error).__name__}: {error})"


def _row(name: str, text: str | None) -> dict[str, Any]:
    return {"name": name, "description": (text or "").strip().partition("\n")[0]}


def _text(rows: Sequence[Row], options: argparse.Namespace) -> str:
    if not rows:
        return f"no {options.kind}\n"
    columns = ["name", "description"]
    if options.kind == "benchmarks":
        columns = ["name", "size", "type", "answer", "needs", "description"]
    cells = [columns, *([_cell(row, column) for column in columns] for row in rows)]
    widths = [max(len(line[at]) for line in cells) for at in range(len(columns))]
    lines = ("  ".join(f"{cell:{widths[at]}}" for at, cell in enumerate(line)) for line in cells)
    return "".join(f"{showable(line).rstrip()}\n" for line in lines)


def _cell(row: Row, column: str) -> str:
    if column == "description" and row.get("trouble"):
        return f"{row['description']} (cannot be loaded: {row['trouble']})".replace("\n", " ")
    value = row[column]
    if column == "size":
        return "–" if value is None else f"{value:,}"
    return str(value) or "–"
