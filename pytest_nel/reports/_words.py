"""How numbers are written in reports."""

from pytest_nel.core.text import showable
from pytest_nel.reports.table import Metric, Row, Usage

UNKNOWN = "–"


def score(value: float | None) -> str:
    """Four decimals."""
    return UNKNOWN if value is None else f"{value:.4f}"


def signed(value: float | None) -> str:
    """Four decimals with a sign."""
    return UNKNOWN if value is None else f"{value:+.4f}"


def interval(metric: Metric | None) -> str:
    """``[0.1234, 0.5678]``; a bound of 0 is a bound."""
    if metric is None or metric.low is None or metric.high is None:
        return UNKNOWN
    return f"[{metric.low:.4f}, {metric.high:.4f}]"


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
    return f"{value / 1000:,.1f} s" if value >= 10_000 else f"{value:,.0f} ms"


def cost(usage: Usage) -> str:
    """With the currency, where it is known."""
    if usage.cost is None:
        return UNKNOWN
    least = "≥ " if usage.cost_partial else ""
    return f"{least}{usage.cost:,.4f} {usage.currency}".strip()


def scored(row: Row) -> str:
    """How many attempts have a reward, of how many that were planned."""
    counts = row.counts
    of = counts.attempted if counts.planned is None else counts.planned
    return f"{count(counts.scored)}/{count(of)}" if counts.scored is not None else count(of)


def line(text: str, limit: int = 300) -> str:
    """Text of others on one line, without control characters."""
    return " ".join(showable(text, limit).split())
