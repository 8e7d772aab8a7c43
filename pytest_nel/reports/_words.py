"""How numbers are written in reports."""

from pytest_nel.core.text import showable
from pytest_nel.reports.table import Metric, Row, Usage

UNKNOWN = "–"


_LARGE = 1e6  # from here on decimals say nothing, and a damaged number has hundreds of digits


def score(value: float | None) -> str:
    """Four decimals; of a large number six digits."""
    return UNKNOWN if value is None else _written(value, ".4f", ".6g")


def signed(value: float | None) -> str:
    """With a sign."""
    return UNKNOWN if value is None else _written(value, "+.4f", "+.6g")


def _written(value: float, usual: str, large: str = ".6g") -> str:
    return format(value, usual if abs(value) < _LARGE else large)


def interval(metric: Metric | None) -> str:
    """``[0.1234, 0.5678]``; a bound of 0 is a bound."""
    if metric is None or metric.low is None or metric.high is None:
        return UNKNOWN
    return f"[{score(metric.low)}, {score(metric.high)}]"


def method(metric: Metric) -> str:
    """How the interval was made, and whether that is good enough."""
    if metric.reliable:
        return metric.method
    return f"{metric.method}, not reliable".removeprefix(", ")


def count(number: int | None) -> str:
    """With thousands separators."""
    return UNKNOWN if number is None else f"{number:,}"


def share(number: int | None, of: int | None) -> str:
    """``4 (2.5 %)``."""
    if number is None:
        return UNKNOWN
    return f"{number:,} ({100 * number / of:.1f} %)" if number and of else f"{number:,}"


def tokens(usage: Usage) -> str:
    """With a plus sign where some attempts reported none."""
    return count(usage.tokens) + ("+" if usage.tokens is not None and usage.tokens_partial else "")


def millis(value: float | None) -> str:
    """Milliseconds, or seconds from ten on."""
    if value is None:
        return UNKNOWN
    return seconds(value / 1000) if value >= 10_000 else f"{_written(value, ',.0f')} ms"


def seconds(value: float | None) -> str:
    """With one decimal."""
    return UNKNOWN if value is None else f"{_written(value, ',.1f')} s"


def speed(value: float | None) -> str:
    """Of something per second."""
    return UNKNOWN if value is None else _written(value, ",.1f")


def percent(low: float, high: float) -> str:
    """``12.3–45.6 %`` of shares."""
    return f"{_written(100 * low, '.1f')}–{_written(100 * high, '.1f')} %"


def cost(usage: Usage) -> str:
    """With the currency, where it is known."""
    if usage.cost is None:
        return UNKNOWN
    least = "≥ " if usage.cost_partial else ""
    return f"{least}{_written(usage.cost, ',.4f')} {usage.currency}".strip()


def scored(row: Row) -> str:
    """How many attempts have a reward, of how many that were planned."""
    counts = row.counts
    of = counts.attempted if counts.planned is None else counts.planned
    return f"{count(counts.scored)}/{count(of)}" if counts.scored is not None else count(of)


def line(text: str, limit: int = 300) -> str:
    """Text of others on one line, without control characters."""
    return " ".join(showable(text, limit).split())
