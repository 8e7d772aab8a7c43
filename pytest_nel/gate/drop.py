"""Whether a candidate has fallen further than allowed, and how sure that is."""

from collections.abc import Sequence
from dataclasses import dataclass

from pytest_nel.gate.feasible import MIN_PAIRED, needed_for_drop
from pytest_nel.gate.findings import Finding, Status, both_ways, within
from pytest_nel.gate.pairs import Pairs, Values
from pytest_nel.gate.policy import Thresholds
from pytest_nel.stats.paired import Difference, p_value, paired_difference


@dataclass(frozen=True, slots=True)
class Drop:
    """What became of ``max_drop`` and ``max_relative_drop``.

    Attributes:
        findings: One for each of the two that is set.
        difference: Candidate minus baseline over the paired problems; None without any.
        p_values: Of no breach of each limit, one-sided, where that can be said. For Holm's
            correction.
    """

    findings: Sequence[Finding]
    difference: Difference | None
    p_values: Sequence[float] = ()


def judge_drop(pairs: Pairs, limits: Thresholds, prefix: str = "") -> Drop:
    """Compare the damage with its limits.

    The damage is how much worse the candidate is: minus the difference of the means, plus where
    lower is better. Whatever is missing counts both ways: a limit holds when it holds even if
    all of it went badly for the candidate.
    """
    measured, missing = pairs.measured, pairs.n_missing
    difference = _difference(measured)
    margins = _margins(pairs, limits)
    cases = [measured]
    if missing:
        cases = [pairs.worst, pairs.best] if pairs.bounded else []
        if limits.direction == "lower_is_better":
            cases.reverse()
    n = len(cases[0]) if cases else len(measured)
    if margins and (difference is None or n < MIN_PAIRED):
        reason = f"Only {len(measured)} paired items (minimum {MIN_PAIRED})"
        rule = f"{prefix}{margins[0].rule}"
        return Drop([Finding(rule, "INSUFFICIENT_EVIDENCE", reason)], difference)
    reliable = all(_reliable(values) for values in cases)
    findings = [margin.finding(prefix, cases, missing, reliable=reliable) for margin in margins]
    if not cases or not reliable:
        return Drop(findings, difference)
    return Drop(findings, difference, [margin.p_breach(cases[-1]) for margin in margins])


@dataclass(frozen=True, slots=True)
class _Margin:
    """One limit: damage is at most ``most``, with a side scaled first where that is relative."""

    rule: str
    most: float
    relative: float | None
    sign: float
    ci: bool
    shown: str

    def finding(
        self, prefix: str, cases: Sequence[Values], missing: int, *, reliable: bool
    ) -> Finding:
        """Decide it; the last case is the best one."""
        if not cases:
            reason = (
                f"{missing:,} attempts have no score, and rewards outside [0, 1] have no bounds"
            )
            return Finding(f"{prefix}{self.rule}", "INSUFFICIENT_EVIDENCE", reason)
        bounds = [self._damage(values) for values in cases]
        statuses = [within(low, high, self.most) for low, high in bounds]
        status = statuses[0] if len(cases) == 1 else both_ways(statuses[0], statuses[1])
        unreliable = self.ci and not reliable
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
        """The larger of the two is made smaller, so that what is in [0, 1] stays there."""
        if self.relative is None:
            return values.baseline, values.candidate
        if self.sign < 0:
            kept = max(0.0, 1.0 - self.relative)
            return [kept * value for value in values.baseline], values.candidate
        more = 1.0 + self.relative
        return values.baseline, [value / more for value in values.candidate]

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
        if not self.ci or self.relative is not None:
            return ""
        needed = needed_for_drop(self.most)
        if needed is None:
            return "; no number of problems could show a drop of 0 at most"
        if n >= needed:
            return ""
        return f"; with equal answers {needed:,} problems are needed, there are {n:,}"


def _margins(pairs: Pairs, limits: Thresholds) -> list[_Margin]:
    sign = -1.0 if limits.direction == "higher_is_better" else 1.0
    ci = limits.evidence == "ci"
    margins = []
    if limits.max_drop is not None:
        shown = f"{limits.max_drop:g}"
        margins.append(_Margin("max_drop", limits.max_drop, None, sign, ci, shown))
    relative, guard = limits.max_relative_drop, limits.relative_guard_below
    baseline = pairs.baseline
    if relative is None or baseline is None or (guard is not None and baseline >= guard):
        return margins
    if baseline > 0 or (baseline == 0 and sign > 0):  # of nothing, nothing can be lost
        shown = f"{100 * relative:g}% of the baseline"
        margins.append(_Margin("max_relative_drop", 0.0, relative, sign, ci, shown))
    return margins


def _difference(values: Values) -> Difference | None:
    return paired_difference(values.baseline, values.candidate, values.clusters)


def _reliable(values: Values) -> bool:
    found = _difference(values)
    return found is None or found.reliable
