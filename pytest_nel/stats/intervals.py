"""Confidence intervals for scores in [0, 1], each with the name of its method.

The problem (or the cluster of problems) is the unit of sampling, because a benchmark is a sample of
problems, and repeats of one problem are not independent.
"""

import math
from collections.abc import Hashable, Mapping, Sequence
from statistics import NormalDist
from typing import TYPE_CHECKING, NamedTuple

from pytest_nel.stats._clusters import Clusters, clusters_of
from pytest_nel.stats._score import Scale, lower_bound, scale_of, units_of

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

_NOISE = 1e-9  # a mean over repeats may leave [0, 1] by rounding


class Interval(NamedTuple):
    """A two-sided confidence interval.

    Attributes:
        low: Lower bound, at least 0.
        high: Upper bound, at most 1.
        method: ``wilson`` (single answers, 0 or 1), ``score`` (any values, or repeats) or
            ``score_clustered``, with ``_t`` appended where Student's t stands for the normal
            quantile: below 100 problems or clusters. ``one_cluster``: nothing is known about the
            spread.
        confidence: Nominal coverage, 0.95 for 95 %.
        reliable: False where no coverage is promised: fewer than five clusters. Nothing should be
            decided on such an interval.
    """

    low: float
    high: float
    method: str
    confidence: float
    reliable: bool = True


def wilson(successes: float, n: float, confidence: float = 0.95) -> Interval | None:
    """Wilson's score interval (Wilson 1927); cheap, no scipy; None for ``n`` = 0.

    ``n`` and ``successes`` may be fractional: an effective sample size and its share.

    Raises:
        ValueError: ``successes`` is not in [0, n], or ``confidence`` not in (0, 1).
    """
    if not 0.0 < confidence < 1.0:
        msg = f"confidence must be between 0 and 1, got {confidence}"
        raise ValueError(msg)
    if n < 0 or not 0 <= successes <= n:
        msg = f"successes must be in [0, n], got {successes} of {n}"
        raise ValueError(msg)
    if n == 0:
        return None
    quantile = NormalDist().inv_cdf((1.0 + confidence) / 2.0) ** 2
    return Interval(*_wilson_bounds(successes / n, n, quantile), "wilson", confidence)


def mean_interval(
    rewards_by_problem: Mapping[Hashable, Sequence[float]] | Sequence[Sequence[float]],
    confidence: float = 0.95,
    clusters: Sequence[Hashable] | None = None,
) -> tuple[float | None, Interval | None]:
    """The mean over problems of the mean over repeats, and the interval that fits the data.

    Problems without rewards do not count; without any, ``(None, None)``. ``clusters`` names the
    cluster of each problem, in the order of the problems.

    Raises:
        ValueError: As :func:`interval_of_sums`.
    """
    groups = (
        list(rewards_by_problem.values())
        if isinstance(rewards_by_problem, Mapping)
        else rewards_by_problem
    )
    kept = [index for index, rewards in enumerate(groups) if len(rewards)]
    sums = [(math.fsum(groups[index]), len(groups[index])) for index in kept]
    binary = all(reward in (0, 1) for rewards in groups for reward in rewards)
    if clusters is not None:
        _check_names(clusters, len(groups))
        clusters = [clusters[index] for index in kept]
    return interval_of_sums(sums, binary=binary, confidence=confidence, clusters=clusters)


def interval_of_sums(
    sums: Sequence[tuple[float, int]],
    *,
    binary: bool,
    confidence: float = 0.95,
    clusters: Sequence[Hashable] | None = None,
) -> tuple[float | None, Interval | None]:
    """As :func:`mean_interval`, from (sum of rewards, number of repeats) of each problem.

    Single answers that are 0 or 1: Wilson's score interval (Wilson 1927). Anything else: the same
    construction over the means of the problems (:mod:`pytest_nel.stats._score`), or over clusters.
    Every bound is monotone (no reward may rise and a bound fall) and no width is zero.

    Args:
        sums: One pair a problem; repeats at least 1.
        binary: Every single reward is 0 or 1.
        confidence: Nominal coverage.
        clusters: The cluster of each problem; None in it for a problem that stands alone.

    Raises:
        ValueError: A mean is not in [0, 1], ``confidence`` not in (0, 1), or the clusters are not
            as many as the problems.
    """
    if clusters is not None:
        _check_names(clusters, len(sums))
    if not sums:
        return None, None
    means = [total / count for total, count in sums]
    mean = math.fsum(means) / len(means)
    grouping = None if clusters is None else clusters_of(clusters, len(means))
    if grouping is not None:
        return mean, _clustered(_in_range(means), grouping, mean, confidence)
    scale = scale_of(len(means))
    quantile = scale.squared_quantile(confidence)
    if binary and all(count == 1 for _, count in sums):
        low, high = _wilson_bounds(mean, len(means), quantile)
        return mean, Interval(low, high, _named("wilson", scale), confidence)
    values = _in_range(means)
    low = lower_bound(units_of(values, 1.0), quantile)
    high = 1.0 - lower_bound(units_of(1.0 - values, 1.0), quantile)
    return mean, _around(mean, (low, high), _named("score", scale), confidence)


def difference_of_intervals(
    baseline: tuple[float, float, float], candidate: tuple[float, float, float]
) -> tuple[float, float]:
    """Bounds of candidate - baseline, each (value, low, high), as if from independent samples.

    For runs of which only the scores are left. Newcombe 1998 (method 10, square and add) for
    proportions; Zou & Donner 2008 (MOVER) for any other parameter. On the same problems it is
    wider than a paired interval, as a rule.
    """
    before, before_low, before_high = baseline
    after, after_low, after_high = candidate
    difference = after - before
    low = difference - math.hypot(after - after_low, before_high - before)
    high = difference + math.hypot(after_high - after, before - before_low)
    return low, high


def _clustered(
    values: "npt.NDArray[np.float64]", grouping: Clusters, mean: float, confidence: float
) -> Interval:
    scale = grouping.scale() if len(grouping.sizes) > 1 else Scale(1.0)
    quantile = scale.squared_quantile(confidence)
    if len(grouping.sizes) == 1:
        return Interval(0.0, 1.0, "one_cluster", confidence, reliable=False)
    low = lower_bound(grouping.units(values), quantile)
    high = 1.0 - lower_bound(grouping.units(1.0 - values), quantile)
    name = _named("score_clustered", scale)
    return _around(mean, (low, high), name, confidence)._replace(reliable=grouping.reliable)


def _around(mean: float, bounds: tuple[float, float], method: str, confidence: float) -> Interval:
    """The interval, which holds the mean but for rounding."""
    low, high = bounds
    return Interval(max(0.0, min(low, mean)), min(1.0, max(high, mean)), method, confidence)


def _named(method: str, scale: Scale) -> str:
    return method if math.isinf(scale.degrees) else f"{method}_t"


def _in_range(means: Sequence[float]) -> "npt.NDArray[np.float64]":
    import numpy as np  # noqa: PLC0415 - heavy

    values = np.asarray(means, dtype=float)
    wrong = ~((values >= -_NOISE) & (values <= 1.0 + _NOISE))
    if wrong.any():
        msg = f"rewards must be in [0, 1], got {values[wrong][0]}"
        raise ValueError(msg)
    return values.clip(0.0, 1.0)


def _check_names(clusters: Sequence[Hashable], problems: int) -> None:
    if len(clusters) != problems:
        msg = f"wanted one cluster for each of {problems} problems, got {len(clusters)}"
        raise ValueError(msg)


def _wilson_bounds(p: float, n: float, quantile: float) -> tuple[float, float]:
    shrink = 1.0 + quantile / n
    centre = (p + quantile / (2.0 * n)) / shrink
    half = math.sqrt(quantile * (p * (1.0 - p) / n + quantile / (4.0 * n * n))) / shrink
    low = 0.0 if p <= 0.0 else max(0.0, centre - half)
    high = 1.0 if p >= 1.0 else min(1.0, centre + half)
    return low, high
