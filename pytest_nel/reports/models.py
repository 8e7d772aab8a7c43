"""Models side by side, as lines of the summary."""

from collections.abc import Iterable, Iterator

from pytest_nel.records.variants import Table, Variant
from pytest_nel.reports.summary import Line

_HEADER = ("benchmark", "model", "score", "Δ (95 % CI), pp", "worse", "better", "missing")
_WORDS = 2


def model_lines(tables: Iterable[Table]) -> Iterator[Line]:
    """A table of each list of models; nothing where there are none."""
    shown = [table for table in tables if table.rows]
    for table in shown:
        of = f" of {table.name}" if len(shown) > 1 and table.name is not None else ""
        rows = [_HEADER, *map(_row, table.rows)]
        widths = [max(len(row[at]) for row in rows) for at in range(len(_HEADER))]
        yield Line(f"models{of}, each compared with the first on the same problems:")
        for row in rows:
            yield Line(_joined(row, widths))


def _row(one: Variant) -> tuple[str, ...]:
    score = "–" if one.score is None else f"{one.score:.3f}"
    found = one.difference
    if found is None:
        return (one.benchmark, one.model, score, "–", "", "", "")
    low, high = 100 * found.low, 100 * found.high
    delta = f"{100 * found.value:+.2f} [{low:+.2f}, {high:+.2f}]{'' if found.reliable else ' ?'}"
    counts = (one.regressions, one.improvements, one.n_missing)
    return (one.benchmark, one.model, score, delta, *(f"{count:,}" for count in counts))


def _joined(cells: tuple[str, ...], widths: list[int]) -> str:
    parts = [
        cell.ljust(width) if at < _WORDS else cell.rjust(width)
        for at, (cell, width) in enumerate(zip(cells, widths, strict=True))
    ]
    return "  ".join(parts).rstrip()
