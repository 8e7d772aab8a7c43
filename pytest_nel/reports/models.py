"""Models side by side, as lines of the summary."""

from collections.abc import Iterable, Iterator

from pytest_nel.records.variants import Variant
from pytest_nel.reports.summary import Line

_HEADER = ("benchmark", "model", "score", "Δ (95 % CI), pp", "worse", "better", "missing")
_WORDS = 2


def model_lines(variants: Iterable[Variant]) -> Iterator[Line]:
    """One table of all that were asked several models; nothing where there are none."""
    rows = [_row(variant) for variant in variants]
    if not rows:
        return
    widths = [max(len(row[at]) for row in [_HEADER, *rows]) for at in range(len(_HEADER))]
    yield Line("models, each compared with the first on the same problems:")
    for row in [_HEADER, *rows]:
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
