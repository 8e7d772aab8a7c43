"""What a gate reports: a row per benchmark and the verdict over them."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from pytest_nel.gate.findings import Finding, Status, worst_status
from pytest_nel.gate.policy import Policy, Rule

Verdict: TypeAlias = Literal["GO", "NO-GO", "INCONCLUSIVE"]


@dataclass(frozen=True, slots=True)
class BenchmarkGate:
    """What a policy says of one benchmark.

    Attributes:
        rule: What holds for it.
        findings: One for each limit.
        baseline: Score over the paired problems, or as stored; None where there is none.
        candidate: As above.
        delta: Candidate minus baseline.
        interval: 95 % of ``delta``.
        method: Of the interval.
        n_paired: Problems with a score on both sides.
        n_missing: Attempts without one, of both sides.
        only: Problems with scores in one side alone: (baseline, candidate).
        notes: What a reader must know beside.
        regression: Which problems changed, and whether by chance; None without pairs.
        margin_problems: How many further problems could be lost before ``max_drop`` no longer
            holds; negative where it does not, by so many to be won. None where nobody can say.
    """

    rule: Rule
    findings: Sequence[Finding]
    baseline: float | None = None
    candidate: float | None = None
    delta: float | None = None
    interval: tuple[float, float] | None = None
    method: str | None = None
    n_paired: int = 0
    n_missing: int = 0
    only: tuple[int, int] = (0, 0)
    notes: Sequence[str] = ()
    regression: Mapping[str, Any] | None = None
    margin_problems: int | None = None

    @property
    def status(self) -> Status:
        """The worst of the findings; where no limit was asked about, nothing was decided."""
        if not any(one.numbers.get("asked", True) for one in self.findings):
            return "INSUFFICIENT_EVIDENCE"
        return worst_status(finding.status for finding in self.findings)

    @property
    def reasons(self) -> list[str]:
        """Of what stands; all of them where everything passed."""
        status = self.status
        found = [one.reason for one in self.findings if one.status == status]
        if found:
            return found
        others = "set max_drop, min_score or another limit"
        if self.findings:
            return [*(one.reason for one in self.findings), f"no other limit is set: {others}"]
        return [f"no rule of the policy applies: {others}"]

    def as_json(self) -> dict[str, Any]:
        """Under the reference system's names, and more."""
        limits, low_high = self.rule.limits, self.interval or (None, None)
        relative = None
        if self.delta is not None and self.baseline and math.isfinite(self.delta / self.baseline):
            relative = round(100 * self.delta / self.baseline, 2)
        breached = {one.rule for one in self.findings if one.status == "BREACH"}
        return {
            "benchmark": self.rule.benchmark,
            "tier": limits.tier,
            "status": self.status,
            "metric": self.rule.metric,
            "baseline_score": _rounded(self.baseline),
            "candidate_score": _rounded(self.candidate),
            "delta": _rounded(self.delta),
            "relative_drop_pct": relative,
            "delta_ci_lower": _rounded(low_high[0]),
            "delta_ci_upper": _rounded(low_high[1]),
            "delta_ci_method": self.method,
            "n_paired": self.n_paired,
            "n_missing": self.n_missing,
            "n_baseline_only": self.only[0],
            "n_candidate_only": self.only[1],
            "margin_problems": self.margin_problems,
            "max_drop_threshold": limits.max_drop,
            "max_relative_drop_threshold": limits.max_relative_drop,
            "direction": limits.direction,
            "evidence": limits.evidence,
            "absolute_breached": "max_drop" in breached,
            "relative_breached": "max_relative_drop" in breached,
            "reasons": self.reasons,
            "findings": [finding.as_json() for finding in self.findings],
            "notes": list(self.notes),
            "regression_report": None if self.regression is None else dict(self.regression),
        }


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 6)


@dataclass(frozen=True, slots=True)
class GateReport:
    """The verdict, and what it is made of.

    Attributes:
        policy: Its name.
        rows: One per benchmark, listed ones first.
        verdict: Over critical and supporting benchmarks.
        reasons: Why.
        warnings: What was not looked at.
        allowed: Fields of the fingerprint that differ and were allowed to.
    """

    policy: str
    rows: Sequence[BenchmarkGate]
    verdict: Verdict
    reasons: Sequence[str]
    warnings: Sequence[str] = ()
    allowed: Sequence[str] = ()

    def as_json(self) -> dict[str, Any]:
        """Under the reference system's names, and more."""
        return {
            "report_version": 1,
            "policy": self.policy,
            "verdict": self.verdict,
            "verdict_reasons": list(self.reasons),
            "benchmarks": [row.as_json() for row in self.rows],
            "missing": [row.rule.benchmark for row in self.rows if row.status == "MISSING"],
            "warnings": list(self.warnings),
            "allowed_differences": list(self.allowed),
        }


def verdict_of(policy: Policy, rows: Sequence[BenchmarkGate]) -> tuple[Verdict, list[str]]:
    """The verdict over critical and supporting benchmarks, and why; advisory ones do not count."""
    if not policy.states:
        return "INCONCLUSIVE", ["The policy states nothing: list benchmarks, or set defaults"]
    gated = [row for row in rows if row.rule.gates]
    if gated:
        return _over(gated)
    if any(row.candidate is not None for row in rows):
        return "GO", ["No gated benchmarks evaluated: all are advisory"]
    return "INCONCLUSIVE", ["No benchmarks evaluated"]


def _over(gated: Sequence[BenchmarkGate]) -> tuple[Verdict, list[str]]:
    by_status: dict[Status, list[str]] = {}
    for row in gated:
        name = f"{row.rule.benchmark} [{row.rule.limits.tier}]"
        by_status.setdefault(row.status, []).append(name)
    said = {status: f"{status}: {', '.join(names)}" for status, names in by_status.items()}
    bad = [said[status] for status in ("BREACH", "MISSING") if status in said]
    if bad:
        return "NO-GO", bad
    if "INSUFFICIENT_EVIDENCE" in said:
        action = (
            "Action: re-run with more items, add repeats, or relax thresholds for these benchmarks."
        )
        return "INCONCLUSIVE", [said["INSUFFICIENT_EVIDENCE"], action]
    return "GO", [f"All {len(gated)} gated benchmark(s) passed"]
