"""Several verdicts on one answer become one reward: of two orders, several judges, many points."""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from statistics import fmean, median
from typing import Any, Literal, NamedTuple

from pytest_nel.core.errors import ScorerError

WIN, TIE, LOSS = "win", "tie", "loss"
SHARES: Mapping[str, float] = {WIN: 1.0, TIE: 0.5, LOSS: 0.0}
Aggregation = Literal["mean", "median", "majority_vote"]
_DIGITS = 9  # rewards that differ less are the same vote


class Compared(NamedTuple):
    """What comparing two answers came to.

    Attributes:
        result: win, tie or loss of the answer that is judged.
        biased: Which place won in both orders, ``first`` or ``second``; None where none did.
        consistent: Whether both orders gave the same result.
    """

    result: str
    biased: str | None = None
    consistent: bool = True


def compared(first: str, second: str | None) -> Compared:
    """Put the results of both orders together.

    Where they contradict each other, nobody has won: it is a tie.

    Args:
        first: win, tie or loss where the judged answer was shown first.
        second: The same where it was shown second; None where it was not.
    """
    if second is None or first == second:
        return Compared(first)
    pair = (first, second)
    biased = {(WIN, LOSS): "first", (LOSS, WIN): "second"}.get(pair)
    return Compared(TIE, biased, consistent=False)


def aggregated(shares: Sequence[float], how: Aggregation) -> float:
    """One reward of several.

    ``majority_vote`` takes the most common; of equally common ones their mean, so that no order
    of the judges decides.
    """
    if how == "mean":
        return fmean(shares)
    if how == "median":
        return median(shares)
    votes = Counter(round(share, _DIGITS) for share in shares)
    most = max(votes.values())
    return fmean(share for share, count in votes.items() if count == most)


def agreement(shares: Sequence[float]) -> float:
    """The share of judges that gave the most common reward."""
    return max(Counter(round(share, _DIGITS) for share in shares).values()) / len(shares)


class Criterion(NamedTuple):
    """One thing that an answer may do, and the points it gets for that; they may be negative."""

    text: str
    points: float


def criteria_of(value: object, where: str) -> list[Criterion]:
    """The criteria of a row: a list of mappings with ``criterion`` and ``points``.

    Raises:
        ScorerError: It is none, or no points can be won.
    """
    if not isinstance(value, Sequence) or isinstance(value, str) or not value:
        found = "nothing" if value is None else type(value).__name__
        msg = f"{where}: expected a list of criteria with points, got {found}"
        raise ScorerError(msg)
    criteria = [_criterion(entry, where) for entry in value]
    if not any(each.points > 0 for each in criteria):
        msg = f"{where}: no criterion has points above 0, so there is nothing to win"
        raise ScorerError(msg)
    return criteria


def _criterion(entry: Any, where: str) -> Criterion:  # Any: what a dataset holds
    text = entry.get("criterion") if isinstance(entry, Mapping) else None
    points = entry.get("points") if isinstance(entry, Mapping) else None
    number = isinstance(points, int | float) and not isinstance(points, bool)
    if not isinstance(text, str) or not number or not math.isfinite(points or 0):
        msg = f"{where}: a criterion needs `criterion`, a text, and `points`, a number: {entry!r}"
        raise ScorerError(msg[:500])
    return Criterion(text, float(points or 0))


def points_share(criteria: Sequence[Criterion], met: Sequence[bool]) -> float:
    """Points of the criteria that are met, as a share of all that can be won.

    Points below 0 are for what an answer must not do, so it may be negative.
    """
    won = sum(each.points for each, is_met in zip(criteria, met, strict=True) if is_met)
    return won / sum(each.points for each in criteria if each.points > 0)
