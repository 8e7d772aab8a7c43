"""Whether a candidate has fallen further than allowed, and how sure that is."""

from collections.abc import Sequence
from dataclasses import dataclass

from pytest_nel.gate.feasible import needed_for_drop
from pytest_nel.gate.findings import Finding, Status, both_ways, within
from pytest_nel.gate.pairs import Pairs, Values
from pytest_nel.gate.policy import Thresholds
from pytest_nel.stats.paired import Difference, p_value, paired_difference

MIN_PAIRED = 10
"""Fewer paired problems decide nothing."""


@dataclass(frozen=True, slots=True)
class Drop:
    """What became of ``max_drop`` and ``max_relative_drop``.

    Attributes:
        findings: One for each of the two that is set.
        difference: Candidate minus baseline over the paired problems; None without any.
        p_breach: Evidence for a breach, one-sided; 1 where there is none. For Holm's correction.
    """

    findings: Sequence[Finding]
    difference: Difference | None
    p_breach: float = 1.0


def judge_drop(pairs: Pairs, limits: Thresholds, prefix: str = "") -> Drop:
    """Compare the damage with its limits.

    The damage is how much worse the candidate is: minus the difference of the means, plus where
    lower is better. Whatever is missing counts both ways: a limit holds when it holds even if
    all of it went badly for the candidate.
    """
    measured = pairs.measured
    difference = _difference(measured)
    if len(measured) < MIN_PAIRED or difference is None:
        reason = f"Only {len(measured)} paired items (minimum {MIN_PAIRED})"
        rule = f"{prefix}max_drop"
        return Drop([Finding(rule, "INSUFFICIENT_EVIDENCE", reason)], difference)
    cases = [measured]
    if missing := pairs.n_missing:
        cases = [pairs.worst, pairs.best] if pairs.bounded else []
    findings, p_values = [], []
    for margin in _margins(measured, limits):
        findings.append(margin.finding(prefix, cases, missing))
        if cases:
            p_values.append(margin.p_breach(cases[-1]))
    p = min([1.0, *(len(p_values) * one for one in p_values)])
    return Drop(findings, difference, p)


@dataclass(frozen=True, slots=True)
class _Margin:
    """One limit: damage against ``base`` times the baseline is at most ``most``."""

    rule: str
    most: float
    base: float
    sign: float
    ci: bool
    shown: str

    def finding(self, prefix: str, cases: Sequence[Values], missing: int) -> Finding:
        """Decide it; the last case is the best one."""
        if not cases:
            reason = (
                f"{missing:,} attempts have no score, and rewards outside [0, 1] have no bounds"
            )
            return Finding(f"{prefix}{self.rule}", "INSUFFICIENT_EVIDENCE", reason)
        bounds = [self._damage(values) for values in cases]
        statuses = [within(low, high, self.most) for low, high in bounds]
        status = statuses[0] if len(cases) == 1 else both_ways(statuses[0], statuses[1])
        unreliable = self.ci and any(not _reliable(values) for values in cases)
        if unreliable:
            status = "INSUFFICIENT_EVIDENCE"
        reason = self._reason(status, bounds, missing)
        if unreliable:
            reason += ": too few clusters for an interval that can be trusted"
        elif status == "INSUFFICIENT_EVIDENCE" and not missing:
            reason += self._too_few(len(cases[0]))
        numbers = {"limit": self.most, "damage_ci": [round(x, 6) for x in bounds[0]]}
        if missing:
            numbers |= {
                "n_missing": missing,
                "damage_ci_best_case": [round(x, 6) for x in bounds[1]],
            }
        return Finding(f"{prefix}{self.rule}", status, reason, numbers)

    def p_breach(self, values: Values) -> float:
        """How well chance explains what is seen if the damage were just the limit."""
        null, scaled = self.sign * self.most, self._scaled(values)
        if self.sign < 0:
            return p_value(*scaled, values.clusters, null=null, alternative="less")
        return p_value(*scaled, values.clusters, null=null, alternative="greater")

    def _damage(self, values: Values) -> tuple[float, float]:
        found = paired_difference(*self._scaled(values), values.clusters)
        assert found is not None
        ends = (found.low, found.high) if self.ci else (found.value, found.value)
        low, high = sorted(self.sign * end for end in ends)
        return low, high

    def _scaled(self, values: Values) -> tuple[Sequence[float], Sequence[float]]:
        if self.base == 1.0:
            return values.baseline, values.candidate
        return [self.base * value for value in values.baseline], values.candidate

    def _reason(self, status: Status, bounds: Sequence[tuple[float, float]], missing: int) -> str:
        says = {"PASS": "is within", "BREACH": "exceeds"}.get(status, "straddles")
        what = "95% CI on damage" if self.ci else "Damage"
        shown = ", ".join(dict.fromkeys(f"{x:.4f}" for x in bounds[0]))
        text = f"{what} [{shown}] {says} threshold {self.shown}"
        if not missing:
            return text
        best = ", ".join(dict.fromkeys(f"{x:.4f}" for x in bounds[1]))
        return (
            f"{missing:,} attempts have no score: damage [{shown}] in the worst case, [{best}] in "
            f"the best, {says} threshold {self.shown}"
        )

    def _too_few(self, n: int) -> str:
        if not self.ci or self.base != 1.0:
            return ""
        needed = needed_for_drop(self.most)
        if needed is None:
            return "; no number of problems could show a drop of 0 at most"
        if n >= needed:
            return ""
        return f"; with equal answers {needed:,} problems are needed, there are {n:,}"


def _margins(values: Values, limits: Thresholds) -> list[_Margin]:
    sign = -1.0 if limits.direction == "higher_is_better" else 1.0
    ci = limits.evidence == "ci"
    margins = []
    if limits.max_drop is not None:
        margins.append(_Margin("max_drop", limits.max_drop, 1.0, sign, ci, f"{limits.max_drop:g}"))
    relative, guard = limits.max_relative_drop, limits.relative_guard_below
    baseline = sum(values.baseline) / len(values)
    if relative is not None and baseline > 0 and (guard is None or baseline < guard):
        shown = f"{100 * relative:g}% of the baseline"
        base = 1.0 + sign * relative
        margins.append(_Margin("max_relative_drop", 0.0, base, sign, ci, shown))
    return margins


def _difference(values: Values) -> Difference | None:
    return paired_difference(values.baseline, values.candidate, values.clusters)


def _reliable(values: Values) -> bool:
    found = _difference(values)
    return found is None or getattr(found, "reliable", True)
