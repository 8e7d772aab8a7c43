"""Whether a candidate has fallen further than allowed, and how sure that is."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from pytest_nel.gate.feasible import MIN_PAIRED, needed_for_drop
from pytest_nel.gate.findings import CLOSE, Finding, Status, both_ways, within
from pytest_nel.gate.margin import margin_problems
from pytest_nel.gate.pairs import Pairs, Values
from pytest_nel.gate.policy import Thresholds
from pytest_nel.stats.paired import Difference, p_value, paired_difference


@dataclass(frozen=True, slots=True)
class Drop:
    """What became of ``max_drop`` and ``max_relative_drop``.

    Attributes:
        findings: One for each of the two that is set; a single one where too few are paired.
        difference: Candidate minus baseline over the paired problems; None without any.
        p_breach: For Holm's correction: the smallest one-sided p-value of the limits that are
            breached, 1 where none is; None where no limit was asked about by its interval.
        margin: Problems between the candidate and ``max_drop``
            (:func:`pytest_nel.gate.margin.margin_problems`).
    """

    findings: Sequence[Finding]
    difference: Difference | None
    p_breach: float | None = None
    margin: int | None = None


def judge_drop(pairs: Pairs, limits: Thresholds, prefix: str = "") -> Drop:
    """Compare the damage with its limits.

    The damage is how much worse the candidate is: minus the difference of the means, plus where
    lower is better. Whatever is missing counts both ways: a limit holds when it holds even if
    all of it went badly for the candidate.

    Args:
        pairs: The problems.
        limits: What is allowed.
        prefix: Of the names of the rules; with one, there is no margin.
    """
    measured, missing = _Case(pairs.measured), pairs.n_missing
    extremes = [_Case(pairs.worst), _Case(pairs.best)] if missing else [measured]
    margins, spared = _margins(pairs, extremes, limits)
    named = [replace(one, rule=f"{prefix}{one.rule}") for one in spared]
    cases = extremes if pairs.bounded or not missing else []
    if limits.direction == "lower_is_better":
        cases = cases[::-1]
    p_breach = 1.0 if margins and limits.evidence == "ci" else None
    n = len((cases[0] if cases else measured).values)
    if margins and (measured.difference is None or n < MIN_PAIRED):
        reason = f"Only {len(measured.values)} paired items (minimum {MIN_PAIRED})"
        few = Finding(f"{prefix}{margins[0].rule}", "INSUFFICIENT_EVIDENCE", reason)
        return Drop([few, *named], measured.difference, p_breach)
    reliable = _reliable(pairs, measured)
    found = [one.finding(prefix, cases, missing, reliable=reliable) for one in margins]
    if p_breach is not None:
        breached = [at for at, one in enumerate(found) if one.status == "BREACH"]
        p_breach = min([1.0, *(margins[at].p_breach(cases[-1].values) for at in breached)])
    margin = _room(cases, limits) if reliable and not prefix else None
    return Drop([*found, *named], measured.difference, p_breach, margin)


@dataclass(frozen=True)
class _Case:
    """Values of the problems, and their difference, which is worked out once."""

    values: Values

    @cached_property
    def difference(self) -> Difference | None:
        return paired_difference(self.values.baseline, self.values.candidate, self.values.clusters)

    @property
    def baseline(self) -> float | None:
        """The baseline's score."""
        values = self.values.baseline
        return math.fsum(values) / len(values) if values else None


@dataclass(frozen=True, slots=True)
class _Margin:
    """One limit: damage is at most ``most``, with the sides scaled first where it is relative.

    Attributes:
        rule: The policy's key.
        most: The limit.
        scale: What each side is multiplied by; None for an absolute limit.
        sign: -1 where higher is better.
        ci: Whether the whole interval must be inside.
        shown: The limit as it is said.
        doubt: Why it may not have to be asked at all, which no breach can stand against.
    """

    rule: str
    most: float
    scale: tuple[float, float] | None
    sign: float
    ci: bool
    shown: str
    doubt: str | None = None

    def finding(
        self, prefix: str, cases: Sequence[_Case], missing: int, *, reliable: bool
    ) -> Finding:
        """Decide it; the last case is the best one."""
        if not cases:
            reason = (
                f"{missing:,} attempts have no score, and rewards outside [0, 1] have no bounds"
            )
            return Finding(f"{prefix}{self.rule}", "INSUFFICIENT_EVIDENCE", reason)
        bounds = [self._damage(case) for case in cases]
        statuses = [within(low, high, self.most) for low, high in bounds]
        status = statuses[0] if len(cases) == 1 else both_ways(statuses[0], statuses[1])
        unreliable = self.ci and not reliable
        doubted = status == "BREACH" and self.doubt is not None
        if unreliable or doubted:
            status = "INSUFFICIENT_EVIDENCE"
        reason = self._reason(status, bounds, missing)
        if unreliable:
            reason += ": too few clusters for an interval that can be trusted"
        elif doubted:
            reason += f"; {self.doubt}"
        elif status == "INSUFFICIENT_EVIDENCE" and not missing:
            reason += self._too_few(len(cases[0].values))
        numbers: dict[str, Any] = {
            "limit": self.most,
            "damage_ci": [round(x, 6) for x in bounds[0]],
        }
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

    def _damage(self, case: _Case) -> tuple[float, float]:
        found = case.difference
        if self.scale is not None:
            found = paired_difference(*self._scaled(case.values), case.values.clusters)
        assert found is not None
        ends = (found.low, found.high) if self.ci else (found.value, found.value)
        low, high = sorted(self.sign * end for end in ends)
        return low, high

    def _scaled(self, values: Values) -> tuple[Sequence[float], Sequence[float]]:
        if self.scale is None:
            return values.baseline, values.candidate
        one, other = self.scale
        return [one * x for x in values.baseline], [other * x for x in values.candidate]

    def _reason(self, status: Status, bounds: Sequence[tuple[float, float]], missing: int) -> str:
        says = {"PASS": "is within", "BREACH": "exceeds"}.get(status, "straddles")
        if status == "INSUFFICIENT_EVIDENCE" and min(low for low, _ in bounds) > self.most:
            says = "exceeds"  # but for what is said next
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
        if not self.ci or self.scale is not None:
            return ""
        needed = needed_for_drop(self.most)
        if needed is None:
            return "; no number of problems could show a drop of 0 at most"
        if n >= needed:
            return ""
        return f"; with equal answers {needed:,} problems are needed, there are {n:,}"


def _margins(
    pairs: Pairs, extremes: Sequence[_Case], limits: Thresholds
) -> tuple[list[_Margin], list[Finding]]:
    """The limits to ask about, and what is said of one that need not be asked."""
    sign = -1.0 if limits.direction == "higher_is_better" else 1.0
    ci = limits.evidence == "ci"
    margins = []
    if limits.max_drop is not None:
        shown = f"{limits.max_drop:g}"
        margins.append(_Margin("max_drop", limits.max_drop, None, sign, ci, shown))
    share = limits.max_relative_drop
    if share is None:
        return margins, []
    rule, baseline = "max_relative_drop", _baseline(pairs, extremes)
    why, doubt = _not_asked(baseline, limits, bounded=pairs.bounded)
    if why is not None:
        numbers = {"limit": share, "asked": False}
        return margins, [Finding(rule, "PASS", f"{why}: not asked", numbers)]
    negative = not pairs.bounded and baseline is not None and baseline[0] < 0
    shown = f"{100 * share:g}% of the baseline"
    scale = _scale(share, sign, negative=negative)
    margins.append(_Margin(rule, 0.0, scale, sign, ci, shown, doubt))
    return margins, []


def _baseline(pairs: Pairs, extremes: Sequence[_Case]) -> tuple[float, float] | None:
    """Between what the baseline's own score lies; None where it is not known."""
    if not pairs.n_missing:
        return None if pairs.baseline is None else (pairs.baseline, pairs.baseline)
    known = [score for case in extremes if (score := case.baseline) is not None]
    if not known or (not pairs.bounded and min(known) != max(known)):
        return None
    return min(known), max(known)


def _not_asked(
    baseline: tuple[float, float] | None, limits: Thresholds, *, bounded: bool
) -> tuple[str | None, str | None]:
    """Why a relative limit need not be asked, and why perhaps not."""
    guard = limits.relative_guard_below
    if baseline is None:
        return None, None
    low, high = baseline
    shown = " to ".join(dict.fromkeys(f"{score:.4f}" for score in baseline))
    if guard is not None and low >= guard:
        return f"baseline {shown} is not below relative_guard_below {guard:g}", None
    if bounded and high <= CLOSE and limits.direction == "higher_is_better":
        return "the baseline is 0, of which nothing can be lost", None
    if guard is not None and high >= guard:
        doubt = f"the baseline is {shown}, and may not be below relative_guard_below {guard:g}"
        return None, doubt
    return None, None


def _scale(share: float, sign: float, *, negative: bool) -> tuple[float, float]:
    """Factors of the sides after which a relative damage of ``share`` is one of 0.

    Of the baseline's size: a negative one may fall, or rise, by that share of it, too. Otherwise
    the larger of the two sides is made smaller, so that what is in [0, 1] stays there.
    """
    if negative:
        return 1.0 - sign * share, 1.0
    return (max(0.0, 1.0 - share), 1.0) if sign < 0 else (1.0, 1.0 / (1.0 + share))


def _room(cases: Sequence[_Case], limits: Thresholds) -> int | None:
    if limits.max_drop is None or not cases:
        return None
    return margin_problems(
        cases[0].values,
        limits.max_drop,
        higher_is_better=limits.direction == "higher_is_better",
        ci=limits.evidence == "ci",
    )


def _reliable(pairs: Pairs, measured: _Case) -> bool:
    """Whether there are clusters enough, of those that a run names.

    A problem of which nothing is known is put in no cluster, and makes none.
    """
    known = _Case(pairs.known) if pairs.n_missing and pairs.clustered else measured
    return known.difference is None or known.difference.reliable
