"""Where no rows are left to pair: what two stored scores can still say."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import NormalDist

from pytest_nel.gate.feasible import MIN_PAIRED
from pytest_nel.gate.findings import Finding, points, within
from pytest_nel.gate.policy import Rule, Thresholds
from pytest_nel.gate.score import Score
from pytest_nel.stats.intervals import difference_of_intervals


@dataclass(frozen=True, slots=True)
class Stored:
    """What became of it.

    Attributes:
        findings: One for each limit on a drop.
        interval: Of candidate minus baseline; None where a score has no interval.
        p_breach: One-sided, as :class:`pytest_nel.gate.drop.Drop` has it; None where no interval
            was asked about a limit.
    """

    findings: Sequence[Finding]
    interval: tuple[float, float] | None = None
    p_breach: float | None = None


def stored_drop(rule: Rule, baseline: Score, candidate: Score, why: str) -> Stored:
    """Compare stored scores by their intervals, as if the runs were independent.

    On the same problems that is wider than a paired interval, as a rule; without intervals only an
    advisory benchmark is decided, by the values alone.
    """
    limits = rule.limits
    unpaired = list(_unpaired(rule, why))
    lacks = _lacks(rule, baseline, candidate)
    if lacks is not None or baseline.value is None or candidate.value is None:
        return Stored([*unpaired, *_open(limits.max_drop, f"{why}; {lacks}")])
    interval = None
    if baseline.method != "none" and candidate.method != "none":
        one = (baseline.value, baseline.low, baseline.high)
        interval = difference_of_intervals(one, (candidate.value, candidate.low, candidate.high))
    delta = candidate.value - baseline.value
    if limits.evidence == "point" or (interval is None and not rule.gates):
        return Stored([*unpaired, *_by_scores(limits, delta, why)], interval)
    if interval is None:
        reason = f"{why}; No confidence interval available for required benchmark"
        return Stored([*unpaired, *_open(limits.max_drop, reason)])
    findings, p_breach = _by_interval(limits, delta, interval, why)
    return Stored([*unpaired, *findings], interval, p_breach)


def _lacks(rule: Rule, baseline: Score, candidate: Score) -> str | None:
    """Why the scores decide nothing at all, or None."""
    if missing := baseline.n_missing + candidate.n_missing:
        return f"{missing:,} attempts have no score"
    if baseline.value is None or candidate.value is None:
        return f"no stored {rule.metric}"
    fewest = min(baseline.n, candidate.n)
    return f"scores of {fewest:,} problems (minimum {MIN_PAIRED})" if fewest < MIN_PAIRED else None


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


def _by_interval(
    limits: Thresholds, delta: float, interval: tuple[float, float], why: str
) -> tuple[list[Finding], float | None]:
    """The finding, and its p-value: normal, with the half of the interval as 1.96 deviations.

    So it is below 0.025 just where the interval is beyond the limit.
    """
    most = limits.max_drop
    if most is None:
        return [], None
    sign = -1.0 if limits.direction == "higher_is_better" else 1.0
    low, high = sorted(sign * end for end in interval)
    says = f"95% CI on damage [{low:.4f}, {high:.4f}] from stored intervals, threshold {most:g}"
    found = Finding("max_drop", within(low, high, most), f"{why}; {says}")
    damage, normal = sign * delta, NormalDist()
    if found.status != "BREACH":
        return [found], 1.0
    if damage <= low:
        return [found], 0.0
    deviations = normal.inv_cdf(0.975) * (damage - most) / (damage - low)
    return [found], normal.cdf(-deviations)
