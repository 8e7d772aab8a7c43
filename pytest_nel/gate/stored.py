"""Where no rows are left to pair: what two stored scores can still say."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from pytest_nel.gate.findings import Finding, points, within
from pytest_nel.gate.limits import Score
from pytest_nel.gate.policy import Rule, Thresholds
from pytest_nel.stats.intervals import difference_of_intervals


@dataclass(frozen=True, slots=True)
class Stored:
    """What became of it.

    Attributes:
        findings: One for each limit on a drop.
        interval: Of candidate minus baseline; None where a score has no interval.
    """

    findings: Sequence[Finding]
    interval: tuple[float, float] | None = None


def stored_drop(rule: Rule, baseline: Score, candidate: Score, why: str) -> Stored:
    """Compare stored scores by their intervals, as if the runs were independent.

    That is wider than a paired interval, and sound; without intervals only an advisory
    benchmark is decided, by the values alone.
    """
    limits = rule.limits
    unpaired = _unpaired(rule, why)
    missing = baseline.n_missing + candidate.n_missing
    if baseline.value is None or candidate.value is None or missing:
        what = f"{missing:,} attempts have no score" if missing else f"no stored {rule.metric}"
        return Stored([*unpaired, *_open(limits.max_drop, f"{why}; {what}")])
    interval = None
    if baseline.method != "none" and candidate.method != "none":
        one = (baseline.value, baseline.low, baseline.high)
        interval = difference_of_intervals(one, (candidate.value, candidate.low, candidate.high))
    if limits.evidence == "point" or (interval is None and not rule.gates):
        drop = _by_scores(limits, candidate.value - baseline.value, why)
        return Stored([*unpaired, *drop], interval)
    if interval is None:
        reason = f"{why}; No confidence interval available for required benchmark"
        return Stored([*unpaired, *_open(limits.max_drop, reason)])
    return Stored([*unpaired, *_by_interval(limits, interval, why)], interval)


def _unpaired(rule: Rule, why: str) -> Iterator[Finding]:
    """What needs values of single problems."""
    if rule.limits.max_relative_drop is not None:
        yield Finding("max_relative_drop", "INSUFFICIENT_EVIDENCE", f"{why}: it needs them")
    for name, own in (rule.limits.per_category or {}).items():
        if own.max_drop is not None:
            key = f"per_category.{name}.max_drop"
            yield Finding(key, "INSUFFICIENT_EVIDENCE", f"{why}: it needs them")


def _open(most: float | None, reason: str) -> list[Finding]:
    return [] if most is None else [Finding("max_drop", "INSUFFICIENT_EVIDENCE", reason)]


def _by_scores(limits: Thresholds, delta: float, why: str) -> list[Finding]:
    if limits.max_drop is None:
        return []
    damage = -delta if limits.direction == "higher_is_better" else delta
    says = f"by the scores alone {points(-damage)}, allowed {points(-limits.max_drop)}"
    return [Finding("max_drop", within(damage, damage, limits.max_drop), f"{why}; {says}")]


def _by_interval(limits: Thresholds, interval: tuple[float, float], why: str) -> list[Finding]:
    most = limits.max_drop
    if most is None:
        return []
    sign = -1.0 if limits.direction == "higher_is_better" else 1.0
    low, high = sorted(sign * end for end in interval)
    says = f"95% CI on damage [{low:.4f}, {high:.4f}] from stored intervals, threshold {most:g}"
    return [Finding("max_drop", within(low, high, most), f"{why}; {says}")]
