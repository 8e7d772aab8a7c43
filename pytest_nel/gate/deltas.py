"""What differs between two runs beside the verdict: scores, speed, categories."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias

from pytest_nel.gate.evidence import Row, Side
from pytest_nel.gate.findings import CLOSE
from pytest_nel.gate.flips import Counts, Flips
from pytest_nel.gate.metrics import METRIC, supported
from pytest_nel.gate.pairs import Pairs, ProblemPair, Two, Values
from pytest_nel.gate.score import Score, score_of
from pytest_nel.gate.significance import TestName, test_of
from pytest_nel.stats.hypothesis_tests import holm

Label: TypeAlias = Literal["BROKE", "WARN", "HELD"]
_NO_METRICS = frozenset({"summary", "runtime", "failures", "rates", "breakdowns"})
_RUNTIME = ("total_tokens", "steps_per_second", "tokens_per_second")


@dataclass(frozen=True, slots=True)
class ScoreDelta:
    """One metric of two runs, each on all problems that it has a score for.

    Attributes:
        baseline: Its value.
        candidate: As above.
        overlap: Whether the two intervals meet; None where one of them is not known.
    """

    baseline: float
    candidate: float
    overlap: bool | None

    @property
    def delta(self) -> float:
        """Candidate minus baseline."""
        return self.candidate - self.baseline

    def as_json(self) -> dict[str, Any]:
        """Under the reference system's names; of 0 there is no share, so none is given."""
        relative = 100 * self.delta / abs(self.baseline) if self.baseline else None
        return {
            "baseline": round(self.baseline, 6),
            "candidate": round(self.candidate, 6),
            "delta": round(self.delta, 4),
            "relative_pct": None if relative is None else round(relative, 2),
            "ci_overlap": self.overlap,
        }


def score_deltas(baseline: Side, candidate: Side) -> dict[str, ScoreDelta]:
    """The metrics that both runs have; from the rows where there are some.

    The reference system's stored scores count what failed as wrong; its rows do not need to.
    """
    names = [METRIC, *_metrics(baseline.bundle), *_metrics(candidate.bundle)]
    found = {}
    for name in dict.fromkeys(names):
        one, other = _score(baseline, name), _score(candidate, name)
        if one.value is not None and other.value is not None:
            found[name] = ScoreDelta(one.value, other.value, _overlap(one, other))
    return found


def _metrics(bundle: Mapping[str, Any]) -> list[str]:
    scores = (bundle.get("benchmark") or {}).get("scores") or {}
    return [
        name
        for name, said in scores.items()
        if name not in _NO_METRICS and isinstance(said, Mapping) and "value" in said
    ]


def _score(side: Side, metric: str) -> Score:
    stored = replace(side, rows=())
    if not supported(metric):
        return score_of(stored, metric)
    try:
        return score_of(side, metric)
    except ValueError:  # rewards outside [0, 1] have no interval
        return score_of(stored, metric)


def _overlap(one: Score, other: Score) -> bool | None:
    if "none" in (one.method, other.method):
        return None
    return one.low <= other.high and other.low <= one.high


def runtime_deltas(
    baseline: Mapping[str, Any], candidate: Mapping[str, Any]
) -> dict[str, dict[str, float]]:
    """Tokens and speed, where both bundles say them."""
    before, after = (_runtime(bundle) for bundle in (baseline, candidate))
    found = {}
    for name in _RUNTIME:
        one, other = before.get(name), after.get(name)
        if one is not None and other is not None:
            found[name] = {"baseline": one, "candidate": other, "delta": round(other - one, 4)}
    return found


def _runtime(bundle: Mapping[str, Any]) -> dict[str, float]:
    found = ((bundle.get("benchmark") or {}).get("scores") or {}).get("runtime")
    said = found if isinstance(found, Mapping) else {}
    return {name: said[name] for name in _RUNTIME if type(said.get(name)) in (int, float)}


@dataclass(frozen=True, slots=True)
class CategoryDelta:
    """The problems of one category.

    Attributes:
        name: Of the category.
        baseline: Mean over the paired problems; where none is paired, over those that the run
            has a score for, and None where it has none.
        candidate: As above.
        n: Paired problems.
        n_missing: Attempts without a score, of both sides.
        regressions: Paired problems that were lost.
        improvements: Paired problems that were won.
        p: One-sided, of being no worse, within this category alone.
        p_adjusted: The same after Holm's correction over the categories.
        label: BROKE: worse beyond the limit, and significantly so; WARN: one of the two; HELD:
            neither; None where nothing is paired.
    """

    name: str
    baseline: float | None
    candidate: float | None
    n: int
    n_missing: int
    regressions: int = 0
    improvements: int = 0
    p: float | None = None
    p_adjusted: float | None = None
    label: Label | None = None

    @property
    def delta(self) -> float | None:
        """Candidate minus baseline over the paired problems."""
        if not self.n or self.baseline is None or self.candidate is None:
            return None
        return self.candidate - self.baseline

    def as_json(self) -> dict[str, Any]:
        """Under the reference system's names, and more."""
        return {
            "baseline": _rounded(self.baseline),
            "candidate": _rounded(self.candidate),
            "delta": _rounded(self.delta, 4),
            "n_paired": self.n,
            "n_missing": self.n_missing,
            "n_regressions": self.regressions,
            "n_improvements": self.improvements,
            "p_value": _rounded(self.p),
            "p_value_adjusted": _rounded(self.p_adjusted),
            "label": self.label,
        }


def _rounded(value: float | None, digits: int = 6) -> float | None:
    return None if value is None else round(value, digits)


def category_deltas(
    pairs: Pairs, sides: tuple[Side, Side], flips: Flips, test: TestName
) -> list[CategoryDelta]:
    """Each category with a test of its own, in alphabetical order; labels are still to come."""
    grouped: dict[str, list[ProblemPair]] = {}
    for one in pairs.problems:
        if one.category:
            grouped.setdefault(one.category, []).append(one)
    lost = _by_category(flip.category for flip in flips.regressions)
    won = _by_category(flip.category for flip in flips.improvements)
    found = []
    for name, problems in sorted(grouped.items()):
        paired = [(one, one.measured) for one in problems if one.measured is not None]
        missing = sum(one.missing for one in problems)
        if not paired:
            before, after = (_mean_of(side.rows, name) for side in sides)
            found.append(CategoryDelta(name, before, after, 0, missing))
            continue
        changed = lost.get(name, 0), won.get(name, 0)
        found.append(_category(name, paired, missing, changed, test))
    return found


def _category(
    name: str,
    paired: Sequence[tuple[ProblemPair, Two]],
    missing: int,
    changed: tuple[int, int],
    test: TestName,
) -> CategoryDelta:
    values, n = Values.of(paired), len(paired)
    before, after = (math.fsum(side) / n for side in (values.baseline, values.candidate))
    p = test_of(test, values, Counts(0, *changed, n - sum(changed))).p_worse
    return CategoryDelta(name, before, after, n, missing, *changed, p)


def labelled(deltas: Sequence[CategoryDelta], max_drop: float, alpha: float) -> list[CategoryDelta]:
    """The categories with their labels, by p-values that know how many there are."""
    tested = [one for one in deltas if one.p is not None]
    adjusted = dict(
        zip((one.name for one in tested), holm([one.p or 0.0 for one in tested]), strict=True)
    )
    return [
        replace(
            one,
            p_adjusted=adjusted[one.name],
            label=_label(one, max_drop, significant=adjusted[one.name] < alpha),
        )
        if one.name in adjusted
        else one
        for one in deltas
    ]


def _label(one: CategoryDelta, max_drop: float, *, significant: bool) -> Label:
    beyond = -(one.delta or 0.0) > max_drop + CLOSE
    if beyond and significant:
        return "BROKE"
    return "WARN" if beyond or significant else "HELD"


def _by_category(names: Iterable[str]) -> dict[str, int]:
    counted: dict[str, int] = {}
    for name in names:
        counted[name] = counted.get(name, 0) + 1
    return counted


def _mean_of(rows: Sequence[Row], category: str) -> float | None:
    """Mean over its problems of the mean over their repeats."""
    rewards: dict[int, list[float]] = {}
    for row in rows:
        if row.category == category and row.reward is not None:
            rewards.setdefault(row.problem, []).append(row.reward)
    means = [math.fsum(own) / len(own) for own in rewards.values()]
    return math.fsum(means) / len(means) if means else None
