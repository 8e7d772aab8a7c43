"""Two runs problem by problem: what is paired, what is missing, and what that could hide."""

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from operator import attrgetter
from typing import NamedTuple, TypeAlias

from pytest_nel.gate.evidence import Row, Side
from pytest_nel.gate.metrics import (
    METRIC,
    Try,
    Value,
    attempts_needed,
    in_range,
    scorer_of,
    value_of,
)

Key: TypeAlias = str | int
_UNSEEN = "?"
_Reward: TypeAlias = Callable[[Row], float | None]
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


@dataclass(frozen=True)
class Pairs:
    """Two runs of a benchmark, problem by problem.

    Attributes:
        metric: What the values are.
        problems: Every problem that either run was to attempt, ordered by key.
        bounded: Whether all rewards lie in [0, 1]: only then is what is missing bounded.
        baseline: The baseline's score over all that it has a score for, whatever the candidate
            has; None without any.
    """

    metric: str
    problems: Sequence[ProblemPair]
    bounded: bool = True
    baseline: float | None = None

    @cached_property
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

    def by_category(self) -> dict[str, "Pairs"]:
        """The problems of each category, and in each those of which nothing is known."""
        groups: dict[str, list[ProblemPair]] = defaultdict(list)
        unseen = list[ProblemPair]()
        for one in self.problems:
            known = one.key != _UNSEEN or one.where != "neither"
            (groups[one.category] if known else unseen).append(one)
        groups.pop("", None)
        return {name: replace(self, problems=group + unseen) for name, group in groups.items()}


@dataclass(frozen=True, slots=True)
class Values:
    """Values of the same problems on both sides, in the same order.

    Attributes:
        baseline: One per problem.
        candidate: One per problem.
        clusters: One per problem, of its own for one that has none; None where all have none.
    """

    baseline: Sequence[float]
    candidate: Sequence[float]
    clusters: Sequence[str] | None = None

    @classmethod
    def of(cls, paired: Sequence[tuple[ProblemPair, Two]]) -> "Values":
        """Columns of rows."""
        clusters = None
        if any(one.cluster for one, _ in paired):
            clusters = [one.cluster or f"\0{at}" for at, (one, _) in enumerate(paired)]
        return cls(
            [two.baseline for _, two in paired], [two.candidate for _, two in paired], clusters
        )

    def __len__(self) -> int:
        return len(self.baseline)


def pair(baseline: Side, candidate: Side, metric: str = METRIC) -> Pairs:
    """Pair two runs by (problem, repeat).

    Problems are known by their ids where every problem on both sides has one of its own,
    otherwise by their position in the dataset. Where the numbers of repeats differ, only those
    that both sides were to make count. Problems that a run planned and neither has a row of count
    as missing.
    """
    sides = (baseline, candidate)
    by_id = known_by_id(baseline, candidate)
    repeats = min(baseline.repeats, candidate.repeats)
    if repeats < attempts_needed(metric):
        return Pairs(metric, [])
    reward = _reward_of(metric)
    if repeats == 1 and all(map(_single, sides)):
        problems, score = _singles(sides, reward if metric != "pass@1" else _solved, by_id=by_id)
    else:
        problems, score = _repeated(sides, metric, repeats, by_id=by_id)
    unseen = max(baseline.planned or 0, candidate.planned or 0) - len(problems)
    if unseen > 0:
        problems += [_unseen(repeats, value_of(metric))] * unseen
    return Pairs(metric, problems, _bounded(sides, metric, reward), score)


def known_by_id(baseline: Side, candidate: Side) -> bool:
    """Whether every problem of both sides has an id of its own: then ids are their keys."""
    return _has_ids(baseline.rows) and _has_ids(candidate.rows)


def _has_ids(rows: Sequence[Row]) -> bool:
    return are_keys([row.id for row in rows], [row.problem for row in rows])


def are_keys(ids: Sequence[str], problems: Sequence[int]) -> bool:
    """Whether ids and positions, one of each for an attempt, name the same problems."""
    names, places = set(ids), set(problems)
    if "" in names or len(names) != len(places):
        return False
    return len(names) == len(ids) or len(set(zip(ids, problems, strict=True))) == len(names)


def _reward_of(metric: str) -> _Reward:
    scorer = scorer_of(metric)
    if scorer is None:
        return attrgetter("reward")
    return lambda row: row.others.get(scorer)


def _solved(row: Row) -> float | None:
    return None if row.reward is None else float(row.correct)


def _bounded(sides: Iterable[Side], metric: str, reward: _Reward) -> bool:
    if metric.startswith("pass@"):
        return True
    return in_range(one for side in sides for row in side.rows if (one := reward(row)) is not None)


def _single(side: Side) -> bool:
    return not any(row.repeat for row in side.rows)


def _singles(
    sides: tuple[Side, Side], value: _Reward, *, by_id: bool
) -> tuple[list[ProblemPair], float | None]:
    """As :func:`_repeated` for one attempt a problem, in a third of the time."""
    key = attrgetter("id" if by_id else "problem")
    ours, theirs = ({key(row): row for row in side.rows} for side in sides)
    values = [one for row in ours.values() if (one := value(row)) is not None]
    score = math.fsum(values) / len(values) if values else None
    problems = []
    for name in sorted(ours | theirs):
        mine, yours = ours.get(name), theirs.get(name)
        left = None if mine is None else value(mine)
        right = None if yours is None else value(yours)
        if mine is None or yours is None or left is None or right is None:
            problems.append(_gap(name, _about(mine, yours), left, right))
            continue
        two, category = Two(left, right), mine.category or yours.category
        cluster = mine.cluster or yours.cluster
        problems.append(ProblemPair(name, category, cluster, two, two, two, 0, "both"))
    return problems, score


def _gap(key: Key, about: tuple[str, str], left: float | None, right: float | None) -> ProblemPair:
    worst = Two(1.0 if left is None else left, 0.0 if right is None else right)
    best = Two(0.0 if left is None else left, 1.0 if right is None else right)
    missing = (left is None) + (right is None)
    where = _WHERE[left is not None, right is not None]
    return ProblemPair(key, *about, None, worst, best, missing, where)


_WHERE = {
    (True, True): "both",
    (True, False): "baseline",
    (False, True): "candidate",
    (False, False): "neither",
}


class _Problem(NamedTuple):
    category: str
    cluster: str
    tries: dict[int, Try | None]


def _about(one: "Row | _Problem | None", other: "Row | _Problem | None") -> tuple[str, str]:
    """Category and cluster, from whichever side says them."""
    if one is None or other is None:
        known = one or other
        assert known is not None
        return known.category, known.cluster
    return one.category or other.category, one.cluster or other.cluster


def _repeated(
    sides: tuple[Side, Side], metric: str, repeats: int, *, by_id: bool
) -> tuple[list[ProblemPair], float | None]:
    """The pairs, and the baseline's own score."""
    reward, value = _reward_of(metric), value_of(metric)
    ours, theirs = (_grouped(side.rows, reward, by_id=by_id) for side in sides)
    problems = [
        _paired(key, ours.get(key), theirs.get(key), repeats, value)
        for key in sorted(ours | theirs)
    ]
    scores = [one for problem in ours.values() for one in _own(problem, repeats, value)]
    return problems, math.fsum(scores) / len(scores) if scores else None


def _own(problem: _Problem, repeats: int, value: Value) -> Iterator[float]:
    tries = (problem.tries.get(repeat) for repeat in range(repeats))
    found = value([one for one in tries if one is not None])
    if found is not None:
        yield found


def _grouped(rows: Iterable[Row], reward: _Reward, *, by_id: bool) -> dict[Key, _Problem]:
    found: dict[Key, _Problem] = {}
    for row in rows:
        scored = reward(row)
        key = row.id if by_id else row.problem
        problem = found.get(key)
        if problem is None:
            problem = found[key] = _Problem(row.category, row.cluster, {})
        problem.tries[row.repeat] = None if scored is None else Try(scored, row.correct)
    return found


def _paired(
    key: Key, one: _Problem | None, other: _Problem | None, repeats: int, value: Value
) -> ProblemPair:
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
    return ProblemPair(
        key,
        *_about(one, other),
        _two(both, value),
        _two(worst, value) or Two(1.0, 0.0),
        _two(best, value) or Two(0.0, 1.0),
        missing,
        _WHERE[any(mine.values()), any(yours.values())],
    )


def _two(tries: Sequence[tuple[Try, Try]], value: Value) -> Two | None:
    if not tries:
        return None
    left = value([one for one, _ in tries])
    right = value([other for _, other in tries])
    return None if left is None or right is None else Two(left, right)


def _unseen(repeats: int, value: Value) -> ProblemPair:
    """A problem that was planned and of which nothing is known, not even its name."""
    good, bad = (value([one] * repeats) for one in (_GOOD, _BAD))
    high, low = 1.0 if good is None else good, 0.0 if bad is None else bad
    worst, best = Two(high, low), Two(low, high)
    return ProblemPair(_UNSEEN, "", "", None, worst, best, 2 * repeats, "neither")
