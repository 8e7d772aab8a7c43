"""Two runs problem by problem: what is paired, what is missing, and what that could hide."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple, TypeAlias

from pytest_nel.gate.evidence import Row, Side
from pytest_nel.gate.metrics import METRIC, Try, Value, scorer_of, value_of

Key: TypeAlias = str | int
_GOOD, _BAD = Try(1.0, correct=True), Try(0.0, correct=False)


class Two(NamedTuple):
    """A problem's value on either side."""

    baseline: float
    candidate: float


class ProblemPair(NamedTuple):
    """One problem in two runs.

    Attributes:
        key: Its id, or its position where one side has no ids.
        category: Empty for none.
        cluster: Empty for none.
        measured: Values from the repeats that both sides have a score for; None without any.
        worst: Values when everything missing went as badly for the candidate as it can.
        best: As above, as well as it can.
        missing: Attempts without a score, of both sides together.
        where: ``both``, or the only side that has any score for it.
    """

    key: Key
    category: str
    cluster: str
    measured: Two | None
    worst: Two
    best: Two
    missing: int
    where: str


@dataclass(frozen=True, slots=True)
class Pairs:
    """Two runs of a benchmark, problem by problem.

    Attributes:
        metric: What the values are.
        problems: Every problem that either run was to attempt, ordered by key.
        bounded: Whether all rewards lie in [0, 1]: only then is what is missing bounded.
    """

    metric: str
    problems: Sequence[ProblemPair]
    bounded: bool = True

    @property
    def measured(self) -> "Values":
        """Values of the paired problems."""
        paired = [(one, one.measured) for one in self.problems if one.measured is not None]
        return Values.of(paired)

    @property
    def worst(self) -> "Values":
        """Values of all problems with the worst that may be missing."""
        return Values.of([(one, one.worst) for one in self.problems])

    @property
    def best(self) -> "Values":
        """As above, with the best."""
        return Values.of([(one, one.best) for one in self.problems])

    @property
    def n_missing(self) -> int:
        """Attempts without a score, of both sides together."""
        return sum(one.missing for one in self.problems)

    def only_in(self, side: str) -> int:
        """Problems that have scores on that side alone."""
        return sum(one.where == side for one in self.problems)

    def within(self, category: str) -> "Pairs":
        """The problems of one category."""
        return replace(self, problems=[one for one in self.problems if one.category == category])


@dataclass(frozen=True, slots=True)
class Values:
    """Values of the same problems on both sides, in the same order.

    Attributes:
        baseline: One per problem.
        candidate: One per problem.
        clusters: One per problem, or None where a problem has none.
    """

    baseline: Sequence[float]
    candidate: Sequence[float]
    clusters: Sequence[str] | None = None

    @classmethod
    def of(cls, paired: Sequence[tuple[ProblemPair, Two]]) -> "Values":
        """Columns of rows."""
        clusters = [one.cluster for one, _ in paired]
        return cls(
            [two.baseline for _, two in paired],
            [two.candidate for _, two in paired],
            clusters if clusters and all(clusters) else None,
        )

    def __len__(self) -> int:
        return len(self.baseline)


def pair(baseline: Side, candidate: Side, metric: str = METRIC) -> Pairs:
    """Pair two runs by (problem, repeat).

    Problems are known by their ids where every row on both sides has one, otherwise by their
    position in the dataset. Where the numbers of repeats differ, only those that both sides
    were to make count. Problems that a run planned and neither has a row of count as missing.
    """
    by_id = known_by_id(baseline, candidate)
    repeats = min(baseline.repeats, candidate.repeats)
    scorer = scorer_of(metric)
    ours, theirs = (
        _grouped(side.rows, by_id=by_id, scorer=scorer) for side in (baseline, candidate)
    )
    value = value_of(metric)
    problems = [
        found
        for key in _sorted({**ours, **theirs})
        if (found := _paired(key, ours.get(key), theirs.get(key), repeats, value)) is not None
    ]
    unseen = max(baseline.planned or 0, candidate.planned or 0) - len({**ours, **theirs})
    problems += [_unseen(number, repeats, value) for number in range(unseen)]
    rewards = (row.reward for side in (baseline, candidate) for row in side.rows)
    bounded = all(0.0 <= reward <= 1.0 for reward in rewards if reward is not None)
    return Pairs(metric, problems, bounded)


def known_by_id(baseline: Side, candidate: Side) -> bool:
    """Whether every row of both sides has an id, so that ids are the keys of the problems."""
    return all(row.id for side in (baseline, candidate) for row in side.rows)


class _Problem(NamedTuple):
    category: str
    cluster: str
    tries: dict[int, Try | None]


def _grouped(rows: Iterable[Row], *, by_id: bool, scorer: str | None) -> dict[Key, _Problem]:
    found: dict[Key, _Problem] = {}
    for row in rows:
        reward = row.reward if scorer is None else row.others.get(scorer)
        key = row.id if by_id else row.problem
        problem = found.get(key)
        if problem is None:
            problem = found[key] = _Problem(row.category, row.cluster, {})
        problem.tries[row.repeat] = None if reward is None else Try(reward, row.correct)
    return found


def _sorted(keys: Mapping[Key, object]) -> list[Key]:
    return sorted(keys, key=lambda key: (isinstance(key, str), key))


def _paired(
    key: Key, one: _Problem | None, other: _Problem | None, repeats: int, value: Value
) -> ProblemPair | None:
    mine: Mapping[int, Try | None] = one.tries if one else {}
    yours: Mapping[int, Try | None] = other.tries if other else {}
    both, worst, best, missing = [], [], [], 0
    for repeat in range(repeats):
        left, right = mine.get(repeat), yours.get(repeat)
        missing += (left is None) + (right is None)
        if left is not None and right is not None:
            both.append((left, right))
        worst.append((left or _GOOD, right or _BAD))
        best.append((left or _BAD, right or _GOOD))
    measured = _two(both, value)
    if measured is None and not missing:  # too few repeats for this metric on any side
        return None
    scored = [any(tries.values()) for tries in (mine, yours)]
    where = {(True, True): "both", (True, False): "baseline", (False, True): "candidate"}
    return ProblemPair(
        key,
        (one.category if one else "") or (other.category if other else ""),
        (one.cluster if one else "") or (other.cluster if other else ""),
        measured,
        _two(worst, value) or Two(1.0, 0.0),
        _two(best, value) or Two(0.0, 1.0),
        missing,
        where.get((scored[0], scored[1]), "neither"),
    )


def _two(tries: Sequence[tuple[Try, Try]], value: Value) -> Two | None:
    if not tries:
        return None
    left = value([one for one, _ in tries])
    right = value([other for _, other in tries])
    return None if left is None or right is None else Two(left, right)


def _unseen(number: int, repeats: int, value: Value) -> ProblemPair:
    """A problem that was planned and of which nothing is known, not even its name."""
    good, bad = (value([one] * repeats) for one in (_GOOD, _BAD))
    high, low = 1.0 if good is None else good, 0.0 if bad is None else bad
    worst, best = Two(high, low), Two(low, high)
    return ProblemPair(f"?{number}", "", "", None, worst, best, 2 * repeats, "neither")
