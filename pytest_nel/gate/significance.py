"""Which test answers whether a candidate differs from a baseline, and what it says."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from pytest_nel.gate.flips import Counts
from pytest_nel.gate.pairs import Values
from pytest_nel.stats.hypothesis_tests import (
    McNemar,
    PermutationTest,
    SignTest,
    mcnemar,
    permutation_test,
    sign_test,
)
from pytest_nel.stats.paired import Difference, paired_difference

TestName: TypeAlias = Literal["mcnemar", "sign", "permutation"]
Result: TypeAlias = McNemar | SignTest | PermutationTest
_Z = 1.959964  # of 95 %
TESTS = ("auto", "mcnemar", "sign", "permutation")


@dataclass(frozen=True, slots=True)
class Chosen:
    """A test and why it was taken.

    Attributes:
        name: What is done.
        reason: Why.
        doubt: Why its p-value may be too small, or None.
    """

    name: TestName
    reason: str
    doubt: str | None = None


def choose(wanted: str, values: Values, *, plain: bool) -> Chosen:
    """The test for these values.

    Args:
        wanted: One of :data:`TESTS`.
        values: Of the paired problems.
        plain: Whether they are single answers, 1 where solved and 0 where not.
    """
    grouped = clustered(values)
    if wanted == "mcnemar":
        doubt = "McNemar's test takes the problems of a cluster as independent"
        return Chosen("mcnemar", "asked for", doubt if grouped else None)
    if wanted != "auto":
        return Chosen("sign" if wanted == "sign" else "permutation", "asked for")
    if grouped:
        return Chosen("permutation", "problems have clusters: those of one cluster flip together")
    if plain:
        return Chosen("mcnemar", "one answer a problem, right or wrong")
    return Chosen("permutation", "values other than a single right or wrong")


def test_of(name: TestName, values: Values, counts: Counts) -> Result:
    """Do it: McNemar's on the counts, the others on the values, or on the sums of clusters."""
    if name == "mcnemar":
        return mcnemar(counts.baseline_only_correct, counts.candidate_only_correct, counts.n)
    before, after = _units(values)
    return sign_test(before, after) if name == "sign" else permutation_test(before, after)


def clustered(values: Values) -> bool:
    """Whether any two problems are of one cluster."""
    return values.clusters is not None and len(set(values.clusters)) < len(values)


@dataclass(frozen=True, slots=True)
class Case:
    """The test and the interval on one set of values: those measured, or a bound of them.

    Attributes:
        difference: Candidate minus baseline; None where there is no problem.
        result: Of the test.
        grouped: Whether the problems have clusters.
        spread: Standard deviation of the problems' differences; with clusters, what makes their
            interval as wide as it is.
    """

    difference: Difference | None
    result: Result
    grouped: bool
    spread: float

    @property
    def drop(self) -> float:
        """How much lower the candidate's mean is; 0 where there is no problem."""
        return 0.0 if self.difference is None else 0.0 - self.difference.value

    @property
    def most(self) -> float:
        """Upper bound of the drop; 1 where nothing is known."""
        return 1.0 if self.difference is None else 0.0 - self.difference.low

    @property
    def least(self) -> float:
        """Lower bound of the drop."""
        return -1.0 if self.difference is None else 0.0 - self.difference.high

    def as_json(self, alpha: float) -> dict[str, Any]:
        """The result under the reference system's names, and more.

        ``effect_size`` is the drop on the score's own scale, whatever the test; what the
        reference system gives for permutations, Cohen's d, is ``standardized_effect``.
        """
        result = self.result
        said: dict[str, Any] = {
            "p_value": round(result.p_worse, 6),
            "p_value_better": round(result.p_better, 6),
            "p_value_two_sided": round(result.p_two_sided, 6),
            "significant": result.p_worse < alpha,
            "hypothesis": "one-sided (degradation)",
            "effect_size": round(self.drop, 6),
        }
        if isinstance(result, McNemar):
            n = result.regressions + result.improvements
            return said | {"n_discordant": n, "method": "exact_binomial" if n else "exact"}
        if isinstance(result, SignTest):
            counts = {"n_positive": result.worse, "n_negative": result.better}
            return said | counts | {"n_ties": result.ties, "method": "exact_binomial"}
        standardized = result.standardized
        return said | {
            "observed_mean_diff": round(self.drop, 6),
            "standardized_effect": None if standardized is None else round(standardized, 6),
            "n_permutations": result.permutations,
            "method": "sign_flip_of_clusters" if self.grouped else "sign_flip",
        }


def case_of(name: TestName, values: Values, counts: Counts) -> Case:
    """Both, on the same problems."""
    difference = paired_difference(values.baseline, values.candidate, values.clusters)
    grouped = clustered(values)
    result = test_of(name, values, counts)
    return Case(difference, result, grouped, _spread(values, difference, grouped=grouped))


def _spread(values: Values, difference: Difference | None, *, grouped: bool) -> float:
    if difference is None:
        return 0.0
    if grouped:
        return (difference.high - difference.low) / (2 * _Z) * math.sqrt(len(values))
    rows = zip(values.baseline, values.candidate, strict=True)
    squares = math.fsum((after - before - difference.value) ** 2 for before, after in rows)
    return math.sqrt(squares / max(1, len(values) - 1))


def _units(values: Values) -> tuple[Sequence[float], Sequence[float]]:
    """What may be taken as independent: the problems, or their sums over clusters."""
    if values.clusters is None or not clustered(values):
        return values.baseline, values.candidate
    sums: dict[str, tuple[list[float], list[float]]] = {}
    rows = zip(values.clusters, values.baseline, values.candidate, strict=True)
    for name, before, after in rows:
        own = sums.setdefault(name, ([], []))
        own[0].append(before)
        own[1].append(after)
    return (
        [math.fsum(before) for before, _ in sums.values()],
        [math.fsum(after) for _, after in sums.values()],
    )
