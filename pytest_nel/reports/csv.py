"""CSV: one line per run, benchmark and metric."""

import csv
import io
from collections.abc import Iterator, Sequence

from pytest_nel.core.text import showable
from pytest_nel.reports import _words
from pytest_nel.reports.table import Metric, Row, Table, against, difference

_REFERENCE = ("benchmark", "samples", "repeats", "metric", "score", "ci_lower", "ci_upper")
_OURS = (
    *("ci_method", "headline", "run", "run_id", "model"),
    *("planned", "attempted", "scored", "correct", "wrong", "unparsed", "unscored"),
    *("truncated", "empty", "refusals"),
    *("tokens", "latency_p50_ms", "cost", "currency", "notes"),
)
_BASELINE = ("baseline_score", "baseline_ci_lower", "baseline_ci_upper", "difference")
_COUNTS = _OURS[_OURS.index("planned") : _OURS.index("tokens")]
_FORMULA = ("=", "+", "-", "@", "\t", "\r")  # a spreadsheet would calculate it


class CsvReport:
    """The columns of the reference system first, then ours; unknown numbers are empty."""

    suffix = "csv"

    def pieces(self, table: Table) -> Iterator[str]:
        """A header, then one line per metric; those of the headline say ``headline`` = 1."""
        compared = table.baseline is not None
        yield _line([*_REFERENCE, *_OURS, *(_BASELINE if compared else ())])
        for row in table.rows:
            for metric in row.metrics:
                cells = [*_metric(row, metric), *_row(row)]
                yield _line([*cells, *(_compared(row, metric) if compared else ())])


def _metric(row: Row, metric: Metric) -> list[object]:
    score = [metric.name, metric.value, metric.low, metric.high, _words.method(metric)]
    return [row.benchmark, row.samples, row.repeats, *score, int(metric is row.headline)]


def _row(row: Row) -> list[object]:
    usage = row.usage
    counts = [getattr(row.counts, name) for name in _COUNTS]
    used = [usage.tokens, usage.p50, usage.cost, usage.currency]
    return [row.run, row.run_id, row.model, *counts, *used, "; ".join(row.notes)]


def _compared(row: Row, metric: Metric) -> list[object]:
    other = against(row, metric)
    found = (None, None, None) if other is None else (other.value, other.low, other.high)
    gap = difference(row, metric)
    return [*found, None if gap is None else round(gap, 6)]


def _line(cells: Sequence[object]) -> str:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerow([_cell(cell) for cell in cells])
    return text.getvalue()


def _cell(value: object) -> object:
    if not isinstance(value, str):
        return "" if value is None else value
    clean = showable(value)
    return f"'{clean}" if clean.startswith(_FORMULA) else clean
