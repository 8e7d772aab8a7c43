"""Where no rows are left to pair: what two stored scores can still say."""

from collections.abc import Sequence
from dataclasses import dataclass

from pytest_nel.gate.findings import Finding, points, within
from pytest_nel.gate.limits import Score
from pytest_nel.gate.policy import Rule
from pytest_nel.stats.intervals import difference_of_intervals


@dataclass(frozen=True, slots=True)
class Stored:
    """What became of it.

    Attributes:
        findings: One, where the rule has a ``max_drop``.
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
    most = limits.max_drop
    if baseline.value is None or candidate.value is None:
        return Stored(
            [Finding("max_drop", "INSUFFICIENT_EVIDENCE", f"{why}; no stored {rule.metric}")]
        )
    sign = -1.0 if limits.direction == "higher_is_better" else 1.0
    known = baseline.method != "none" and candidate.method != "none"
    interval = None
    if known:
        one = (baseline.value, baseline.low, baseline.high)
        interval = difference_of_intervals(one, (candidate.value, candidate.low, candidate.high))
    if most is None:
        return Stored([], interval)
    if limits.evidence == "point" or (not known and not rule.gates):
        damage = sign * (candidate.value - baseline.value)
        reason = f"{why}; by the scores alone {points(-damage)} of {points(-most)}"
        return Stored([Finding("max_drop", within(damage, damage, most), reason)], interval)
    if interval is None:
        reason = f"{why}; No confidence interval available for required benchmark"
        return Stored([Finding("max_drop", "INSUFFICIENT_EVIDENCE", reason)])
    low, high = sorted(sign * end for end in interval)
    status = within(low, high, most)
    reason = (
        f"{why}; 95% CI on damage [{low:.4f}, {high:.4f}] from stored intervals, threshold {most:g}"
    )
    return Stored([Finding("max_drop", status, reason)], interval)
