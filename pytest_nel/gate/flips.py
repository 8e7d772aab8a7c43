"""Problems that were solved in one run and not in the other."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from pytest_nel.gate.evidence import Row, Side
from pytest_nel.gate.pairs import Key, Pairs, ProblemPair, known_by_id

_SHOWN = 80


class Counts(NamedTuple):
    """Problems by what became of them on either side."""

    both_correct: int = 0
    baseline_only_correct: int = 0
    candidate_only_correct: int = 0
    both_wrong: int = 0

    @property
    def n(self) -> int:
        """All of them."""
        return sum(self)


class Place(NamedTuple):
    """An attempt of a side: where it stands, and whether it counts as solved."""

    problem: int
    repeat: int
    reward: float
    solved: bool
    id: str


@dataclass(frozen=True, slots=True)
class Flip:
    """One problem that changed sides.

    With repeats, a problem is solved where more than half of the repeats that both runs have a
    score for are.

    Attributes:
        baseline: The attempt that is shown: the first repeat that itself changed, else the first.
        candidate: The same repeat of the other run.
        rewards: Means over the paired repeats: baseline, candidate.
        solved: Repeats solved: baseline, candidate.
        repeats: Paired repeats.
        category: Empty for none.
        expected: What was expected; as the candidate's row says it, else the baseline's.
        responses: What was answered: baseline, candidate; long ones cut in the middle.
        same_question: Whether both rows expect the same answer.
    """

    baseline: Place
    candidate: Place
    rewards: tuple[float, float]
    solved: tuple[int, int]
    repeats: int
    category: str = ""
    expected: str = ""
    responses: tuple[str, str] = ("", "")
    same_question: bool = True

    @property
    def problem_id(self) -> str:
        """The problem's own name, or its position where it has none."""
        return self.baseline.id or self.candidate.id or str(self.baseline.problem)

    def as_json(self) -> dict[str, Any]:
        """Under the reference system's names, and more; what is not known is left out."""
        said: dict[str, Any] = {
            "problem_idx": self.baseline.problem,
            "problem_id": self.baseline.id or self.candidate.id or None,
            "repeat": self.baseline.repeat,
            "expected_answer": self.expected or None,
            "baseline_reward": round(self.rewards[0], 6),
            "candidate_reward": round(self.rewards[1], 6),
            "category": self.category or None,
            "baseline_response": cut(self.responses[0]) or None,
            "candidate_response": cut(self.responses[1]) or None,
        }
        if self.repeats > 1:
            said |= {
                "n_repeats": self.repeats,
                "baseline_n_solved": self.solved[0],
                "candidate_n_solved": self.solved[1],
            }
        if self.candidate.problem != self.baseline.problem:
            said["candidate_problem_idx"] = self.candidate.problem
        return {name: value for name, value in said.items() if value is not None}


def cut(text: str, most: int = _SHOWN) -> str:
    """The beginning, with an ellipsis where that is not all."""
    return text if len(text) <= most else f"{text[: most - 3]}..."


@dataclass(frozen=True, slots=True)
class Flips:
    """What changed.

    Attributes:
        counts: Of the paired problems.
        worst: Of all problems, if everything missing went as badly for the candidate as it can.
        best: As above, as well as it can.
        regressions: Solved before, not solved after; in the order of the dataset.
        improvements: The other way.
        plain: Whether a problem has one attempt a run, with reward 1 where solved and 0 where not.
    """

    counts: Counts
    worst: Counts
    best: Counts
    regressions: Sequence[Flip]
    improvements: Sequence[Flip]
    plain: bool


def flips_of(
    pairs: Pairs, baseline: Side, candidate: Side, correct_above: float | None = None
) -> Flips:
    """Look at each problem of :func:`~pytest_nel.gate.pairs.pair`.

    An attempt is solved when its record says correct or, where ``correct_above`` is given, when
    its reward is greater. Attempts without a score are neither solved nor failed.
    """
    by_id = known_by_id(baseline, candidate)
    repeats = min(baseline.repeats, candidate.repeats)
    mine = _places(baseline.rows, correct_above, by_id=by_id)
    yours = _places(candidate.rows, correct_above, by_id=by_id)
    looked = [
        _look(one, mine.get(one.key, {}), yours.get(one.key, {}), repeats) for one in pairs.problems
    ]
    found = [one.flip for one in looked if one.flip is not None]
    found.sort(key=lambda flip: (flip.baseline.problem, flip.baseline.repeat))
    return Flips(
        _counted(one.measured for one in looked),
        _counted(one.worst for one in looked),
        _counted(one.best for one in looked),
        [flip for flip in found if 2 * flip.solved[0] > flip.repeats],
        [flip for flip in found if 2 * flip.solved[1] > flip.repeats],
        repeats == 1 and all(one.plain for one in looked),
    )


class _Looked(NamedTuple):
    measured: tuple[bool, bool] | None
    worst: tuple[bool, bool]
    best: tuple[bool, bool]
    plain: bool
    flip: Flip | None = None


def _places(
    rows: Iterable[Row], above: float | None, *, by_id: bool
) -> Mapping[Key, Mapping[int, Place]]:
    found: dict[Key, dict[int, Place]] = {}
    for row in rows:
        if row.reward is None:
            continue
        solved = row.correct if above is None else row.reward > above
        place = Place(row.problem, row.repeat, row.reward, solved, row.id)
        found.setdefault(row.id if by_id else row.problem, {})[row.repeat] = place
    return found


def _look(
    pair: ProblemPair, mine: Mapping[int, Place], yours: Mapping[int, Place], repeats: int
) -> _Looked:
    both = [
        (mine[repeat], yours[repeat])
        for repeat in range(repeats)
        if repeat in mine and repeat in yours
    ]
    bounds = [
        tuple(
            _most(side, repeats, fill=fill) for side, fill in zip((mine, yours), fills, strict=True)
        )
        for fills in ((True, False), (False, True))
    ]
    worst, best = ((one[0], one[1]) for one in bounds)
    if not both:
        return _Looked(None, worst, best, plain=True)
    solved = sum(one.solved for one, _ in both), sum(other.solved for _, other in both)
    before, after = (2 * count > len(both) for count in solved)
    plain = all(place.reward == float(place.solved) for two in both for place in two)
    flip = _flip(pair, both, solved) if before != after else None
    return _Looked((before, after), worst, best, plain, flip)


def _most(places: Mapping[int, Place], repeats: int, *, fill: bool) -> bool:
    """Whether more than half are solved, where every missing one is ``fill``."""
    return 2 * sum(places[at].solved if at in places else fill for at in range(repeats)) > repeats


def _flip(pair: ProblemPair, both: Sequence[tuple[Place, Place]], solved: tuple[int, int]) -> Flip:
    worse = solved[0] > solved[1]
    shown = next(
        (two for two in both if two[0].solved == worse and two[1].solved != worse), both[0]
    )
    rewards = [sum(place.reward for place in side) / len(both) for side in zip(*both, strict=True)]
    return Flip(*shown, (rewards[0], rewards[1]), solved, len(both), pair.category)


def _counted(solved: Iterable[tuple[bool, bool] | None]) -> Counts:
    cells = {(True, True): 0, (True, False): 0, (False, True): 0, (False, False): 0}
    for two in solved:
        if two is not None:
            cells[two] += 1
    return Counts(*cells.values())
