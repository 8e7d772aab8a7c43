"""What a gate can compare: metrics that have a value for each problem."""

import math
import re
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple, TypeAlias

from pytest_nel.stats.pass_at_k import pass_all_k, pass_at_k

METRIC = "mean_reward"
SUPPORTED = "mean_reward, pass@1, pass@<k>, pass^<k>, scorer:<name>"
_AT_K = re.compile(r"pass([@^])([1-9]\d{0,4})")
_SCORER = "scorer:"
_NOISE = 1e-9


class Try(NamedTuple):
    """One scored attempt as a metric sees it.

    Attributes:
        reward: Of the benchmark's own scorer, or of the further one that is asked about.
        correct: Whether it counts as solved.
    """

    reward: float
    correct: bool


Value: TypeAlias = Callable[[Sequence[Try]], float | None]
"""From the attempts at one problem to its value; None where they are too few."""


def in_range(rewards: Iterable[float]) -> bool:
    """Whether all lie in [0, 1], but for rounding."""
    known = list(rewards)
    return not known or (min(known) >= -_NOISE and max(known) <= 1.0 + _NOISE)


def supported(metric: str) -> bool:
    """Whether a gate can compare it."""
    return metric == METRIC or bool(_AT_K.fullmatch(metric)) or scorer_of(metric) is not None


def solves(metric: str) -> bool:
    """Whether it counts solved attempts, whatever their rewards: ``pass@<k>``, ``pass^<k>``."""
    return _AT_K.fullmatch(metric) is not None


def scorer_of(metric: str) -> str | None:
    """The name in ``scorer:<name>``."""
    return (
        metric.removeprefix(_SCORER)
        if len(metric) > len(_SCORER) and metric.startswith(_SCORER)
        else None
    )


def attempts_needed(metric: str) -> int:
    """How many attempts a problem needs for a value."""
    found = _AT_K.fullmatch(metric)
    return int(found[2]) if found else 1


def value_of(metric: str) -> Value:
    """The metric's value of one problem.

    Raises:
        ValueError: It is not :func:`supported`.
    """
    if metric == METRIC or scorer_of(metric) is not None:
        return _mean
    found = _AT_K.fullmatch(metric)
    if found is None:
        msg = f"a gate cannot compare {metric!r}"
        raise ValueError(msg)
    estimate, k = pass_at_k if found[1] == "@" else pass_all_k, int(found[2])

    def passed(tries: Sequence[Try]) -> float | None:
        solved = sum(one.correct for one in tries)
        return estimate(len(tries), solved, k) if len(tries) >= k else None

    return passed


def _mean(tries: Sequence[Try]) -> float | None:
    if not tries:
        return None
    if len(tries) == 1:
        return tries[0].reward
    return math.fsum(one.reward for one in tries) / len(tries)
