"""What a comparison of two runs says: one object a benchmark, and the verdict over them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from pytest_nel.core.errors import ConfigError
from pytest_nel.gate.deltas import CategoryDelta, ScoreDelta
from pytest_nel.gate.flips import Flips
from pytest_nel.gate.significance import TESTS, Case, Chosen, TestName
from pytest_nel.gate.verdict import severest

Verdict: TypeAlias = Literal["PASS", "WARN", "BLOCK", "INCONCLUSIVE"]
_TEST_KEYS: Mapping[TestName, str] = {
    "mcnemar": "mcnemar",
    "sign": "sign_test",
    "permutation": "permutation_test",
}
_NAMED = 20


@dataclass(frozen=True, slots=True)
class Rules:
    """What decides.

    Attributes:
        max_drop: The drop of the score, on its own scale, that is accepted.
        correct_above: Where given, an attempt is solved when its reward is greater.
        test: auto, mcnemar, sign or permutation.
        alpha: A p-value below it is significant.
    """

    max_drop: float = 0.05
    correct_above: float | None = None
    test: str = "auto"
    alpha: float = 0.05

    def __post_init__(self) -> None:
        if not 0.0 <= self.max_drop <= 1.0:
            msg = f"max_drop must be in [0, 1], got {self.max_drop}: 0.05 is five points of a score"
            raise ConfigError(msg)
        if not 0.0 < self.alpha < 1.0:
            msg = f"alpha must be between 0 and 1, got {self.alpha}"
            raise ConfigError(msg)
        if self.correct_above is not None and not -1e300 < self.correct_above < 1e300:
            msg = f"correct_above must be a number, got {self.correct_above}"
            raise ConfigError(msg)
        if self.test not in TESTS:
            msg = f"no such test: {self.test!r}; known: {', '.join(TESTS)}"
            raise ConfigError(msg)


@dataclass(frozen=True, slots=True)
class Run:
    """Which run a side is."""

    run_id: str
    config: Mapping[str, Any] = field(default_factory=dict)

    def as_json(self) -> dict[str, Any]:
        """Under the reference system's names."""
        return {"run_id": self.run_id, "config": dict(self.config)}


@dataclass(frozen=True, slots=True)
class Missing:
    """What a side has no score for.

    Attributes:
        unscored: Attempts that failed for a reason other than the model.
        absent: Attempts without a record.
    """

    unscored: int
    absent: int

    def as_json(self) -> dict[str, int]:
        """For reports."""
        return {"n_unscored": self.unscored, "n_absent": self.absent}


@dataclass(frozen=True, slots=True)
class Measured:
    """One benchmark of two runs before anything is decided.

    Attributes:
        name: Of the benchmark.
        runs: Baseline, candidate.
        n_paired: Problems with a score on both sides.
        only: Problems with scores on one side alone: baseline, candidate.
        unpaired: Names of problems that are not paired, the first of them.
        missing: By side: baseline, candidate.
        chosen: The test.
        flips: Which problems changed.
        case: What was measured.
        bounds: The worst and the best that may be missing; None where nothing is, or where
            rewards outside [0, 1] leave it without bounds.
        categories: Without labels.
        scores: By metric.
        runtime: By name.
        warnings: What a reader must know.
        biased: Why the scores are no fair sample, or None.
        partial: Why what was measured is a part and passes nothing, or None.
        allowed: Fields that differ and were allowed to.
    """

    name: str
    runs: tuple[Run, Run]
    n_paired: int
    only: tuple[int, int]
    unpaired: Sequence[str]
    missing: tuple[Missing, Missing]
    chosen: Chosen
    flips: Flips
    case: Case
    bounds: tuple[Case, Case] | None
    categories: Sequence[CategoryDelta]
    scores: Mapping[str, ScoreDelta]
    runtime: Mapping[str, Mapping[str, float]]
    warnings: Sequence[str] = ()
    biased: str | None = None
    partial: str | None = None
    allowed: Sequence[str] = ()

    @property
    def n_missing(self) -> int:
        """Attempts without a score, of both sides."""
        return sum(side.unscored + side.absent for side in self.missing)


@dataclass(frozen=True, slots=True)
class BenchmarkComparison:
    """One benchmark of two runs, judged.

    Attributes:
        measured: The facts.
        rules: What decided.
        verdict: PASS, WARN, BLOCK or INCONCLUSIVE.
        reasons: Why; the first one alone says it.
        p_worse: One-sided, as it was used: adjusted where several benchmarks were compared.
        p_two_sided: As above.
        adjusted: Whether it was.
        categories: With labels.
        n_needed: Problems that could decide; None where it is decided, or no number could.
    """

    measured: Measured
    rules: Rules
    verdict: Verdict
    reasons: Sequence[str]
    p_worse: float
    p_two_sided: float
    adjusted: bool
    categories: Sequence[CategoryDelta]
    n_needed: int | None = None

    @property
    def name(self) -> str:
        """Of the benchmark."""
        return self.measured.name

    @property
    def significant(self) -> bool:
        """Whether the candidate is worse beyond chance."""
        return self.p_worse < self.rules.alpha

    @property
    def improved(self) -> bool:
        """Whether the candidate is better beyond chance; asked both ways, so two-sided."""
        result = self.measured.case.result
        return self.p_two_sided < self.rules.alpha and result.p_better < result.p_worse

    def as_json(self) -> dict[str, Any]:
        """Under the reference system's names, and more."""
        found = self.measured
        said: dict[str, Any] = {
            "report_version": 1,
            "benchmark": self.name,
            "baseline": found.runs[0].as_json(),
            "candidate": found.runs[1].as_json(),
            "score_deltas": {name: one.as_json() for name, one in found.scores.items()},
            "runtime_deltas": {name: dict(one) for name, one in found.runtime.items()},
            "verdict": self.verdict,
            "verdict_reasons": list(self.reasons),
            "threshold": self.rules.max_drop,
            "alpha": self.rules.alpha,
            "correct_above": self.rules.correct_above,
            "difference": _difference(found.case),
            "significant": self.significant,
            "improved": self.improved,
            "n_needed": self.n_needed,
            "warnings": list(found.warnings),
            "allowed_differences": list(found.allowed),
            "n_missing": found.n_missing,
            "only_in_baseline": found.only[0],
            "only_in_candidate": found.only[1],
            "missing": self._missing(),
            "flip_report": _flip_report(found),
            "test_used": found.chosen.name,
            "test_reason": found.chosen.reason,
            _TEST_KEYS[found.chosen.name]: self._test(),
        }
        if self.categories:
            said["category_deltas"] = {one.name: one.as_json() for one in self.categories}
        return said

    def _missing(self) -> dict[str, Any]:
        found = self.measured
        said: dict[str, Any] = {
            "baseline": found.missing[0].as_json(),
            "candidate": found.missing[1].as_json(),
            "unpaired_problems": list(found.unpaired[:_NAMED]),
            "n_unpaired_problems": len(found.unpaired),
        }
        if found.bounds is not None:
            worst, best = found.bounds
            said |= {
                "worst_case": {**_difference(worst), "p_value": round(worst.result.p_worse, 6)},
                "best_case": {**_difference(best), "p_value": round(best.result.p_worse, 6)},
            }
        return said

    def _test(self) -> dict[str, Any]:
        said = self.measured.case.as_json(self.rules.alpha)
        if self.adjusted:
            said |= {
                "p_value_adjusted": round(self.p_worse, 6),
                "p_value_two_sided_adjusted": round(self.p_two_sided, 6),
                "correction": "holm over the benchmarks",
                "significant": self.significant,
            }
        return {name: value for name, value in said.items() if value is not None}


def _difference(case: Case) -> dict[str, Any]:
    found = case.difference
    if found is None:
        return {"value": None, "low": None, "high": None, "method": None, "n": 0}
    return {
        "value": round(found.value, 6),
        "low": round(found.low, 6),
        "high": round(found.high, 6),
        "method": found.method,
        "confidence": found.confidence,
        "n": found.n,
        "reliable": found.reliable,
    }


def _flip_report(found: Measured) -> dict[str, Any]:
    counts = found.flips.counts
    before = counts.both_correct + counts.baseline_only_correct
    rest = counts.n - before
    lost, won = counts.baseline_only_correct, counts.candidate_only_correct
    by_category = {
        one.name: {"regressions": one.regressions, "improvements": one.improvements}
        for one in found.categories
        if one.regressions or one.improvements
    }
    return {
        "contingency": counts._asdict(),
        "regressions": [flip.as_json() for flip in found.flips.regressions],
        "improvements": [flip.as_json() for flip in found.flips.improvements],
        "summary": {
            "n_paired": counts.n,
            "n_regressions": lost,
            "n_improvements": won,
            "n_stable_correct": counts.both_correct,
            "n_stable_wrong": counts.both_wrong,
            "regression_rate": round(lost / before, 4) if before else None,
            "improvement_rate": round(won / rest, 4) if rest else None,
            "category_breakdown": by_category or None,
        },
    }


@dataclass(frozen=True, slots=True)
class RunComparison:
    """Two runs compared.

    Attributes:
        rules: What decided.
        benchmarks: Those that both runs have, judged; in alphabetical order.
        only_in_baseline: Names of the others.
        only_in_candidate: As above.
        warnings: What was found wrong while looking for them.
        whole: Whether two whole runs were named, so that the candidate should have all that the
            baseline has.
    """

    rules: Rules
    benchmarks: Sequence[BenchmarkComparison]
    only_in_baseline: Sequence[str] = ()
    only_in_candidate: Sequence[str] = ()
    warnings: Sequence[str] = ()
    whole: bool = True

    @property
    def lacking(self) -> bool:
        """Whether the candidate lacks a benchmark that it should have."""
        return self.whole and bool(self.only_in_baseline)

    @property
    def verdict(self) -> Verdict:
        """The severest; PASS only where no benchmark of the baseline is missing."""
        verdicts = [one.verdict for one in self.benchmarks]
        if self.lacking or not verdicts:
            verdicts.append("INCONCLUSIVE")
        return severest(verdicts)

    @property
    def reasons(self) -> list[str]:
        """Why."""
        many = len(self.benchmarks) > 1 or self.lacking
        said = [
            f"{one.name}: {reason}" if many else reason
            for one in self.benchmarks
            if one.verdict == self.verdict
            for reason in one.reasons
        ]
        if self.lacking:
            said.append(f"not measured in the candidate: {', '.join(self.only_in_baseline)}")
        return said or ["nothing to compare"]

    def as_json(self) -> dict[str, Any]:
        """One benchmark as the reference system has it; of several, each of them in a list."""
        around = {
            "only_in_baseline": list(self.only_in_baseline),
            "only_in_candidate": list(self.only_in_candidate),
        }
        if len(self.benchmarks) == 1 and not self.lacking:
            said = self.benchmarks[0].as_json()
            said["warnings"] = [*self.warnings, *said["warnings"]]
            return said | {"unmatched_benchmarks": around}
        return {
            "report_version": 1,
            "verdict": self.verdict,
            "verdict_reasons": self.reasons,
            "threshold": self.rules.max_drop,
            "warnings": list(self.warnings),
            "benchmarks": [one.as_json() for one in self.benchmarks],
            "unmatched_benchmarks": around,
        }
