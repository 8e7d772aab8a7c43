"""Location and spread of a list of numbers."""

import math
from array import array
from collections.abc import Iterable, Sequence


def summary(rewards: Iterable[float]) -> dict[str, float]:
    """``mean``, ``std`` (n - 1; 0 for one value), ``min``, ``max``, ``median`` and ``n``.

    One pass over any iterable, eight bytes a value. All zero when there is none.

    Raises:
        ValueError: A value is not finite.
    """
    values = sorted(_finite(rewards))
    n = len(values)
    if n == 0:
        return {"mean": 0.0, "std": 0.0, "min": 0.0, "max": 0.0, "median": 0.0, "n": 0}
    mean = math.fsum(values) / n
    squares = math.fsum((value - mean) ** 2 for value in values)
    return {
        "mean": mean,
        "std": math.sqrt(squares / (n - 1)) if n > 1 else 0.0,
        "min": values[0],
        "max": values[-1],
        "median": _quantile(values, 0.5),
        "n": n,
    }


def percentiles(
    values: Iterable[float], points: Sequence[float] = (50, 90, 95, 99)
) -> dict[float, float]:
    """Percentiles by linear interpolation between closest ranks; empty without values.

    Raises:
        ValueError: A value is not finite, or a point not in [0, 100].
    """
    for point in points:
        if not 0 <= point <= 100:
            msg = f"percentiles lie in [0, 100], got {point}"
            raise ValueError(msg)
    ordered = sorted(_finite(values))
    return {point: _quantile(ordered, point / 100) for point in points} if ordered else {}


def _finite(values: Iterable[float]) -> "array[float]":
    kept = array("d", values)
    for value in kept:
        if not math.isfinite(value):
            msg = f"wanted finite numbers, got {value}"
            raise ValueError(msg)
    return kept


def _quantile(ordered: Sequence[float], share: float) -> float:
    rank = share * (len(ordered) - 1)
    below = math.floor(rank)
    above = min(below + 1, len(ordered) - 1)
    low, high = ordered[below], ordered[above]
    return low + (high - low) * (rank - below)
