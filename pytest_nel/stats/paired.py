"""The difference of two runs on the same problems: its interval and its p-value."""

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, NamedTuple

from pytest_nel.stats._clusters import Clusters, clusters_of
from pytest_nel.stats._score import (
    Scale,
    Units,
    lower_bound,
    scale_of,
    squared_statistic,
    units_of,
)

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Values = Sequence[float] | npt.NDArray[np.float64]

_NOISE = 1e-9  # a mean over repeats may leave [0, 1] by rounding


@dataclass(frozen=True, slots=True)
class Difference:
    """Candidate minus baseline, averaged over the problems.

    Attributes:
        n: Problems on both sides.
        value: The mean difference.
        low: Lower bound.
        high: Upper bound.
        method: ``tango`` (single answers, 0 or 1), ``score`` (any values) or ``score_clustered``,
            with ``_t`` appended where Student's t stands for the normal quantile: below 100
            problems or clusters. ``one_cluster``: nothing is known about the spread.
        confidence: Nominal coverage of ``low`` to ``high``.
        reliable: False where no coverage is promised: fewer than five clusters. Nothing should be
            decided on such an interval.
    """

    n: int
    value: float
    low: float
    high: float
    method: str
    confidence: float
    reliable: bool = True


def paired_difference(
    baseline: "Values",
    candidate: "Values",
    clusters: Sequence[Hashable] | None = None,
    confidence: float = 0.95,
) -> Difference | None:
    """The mean difference with an interval that is monotone and never of zero width.

    For 0 and 1 it is Tango's score interval (Tango 1998), for other values the same construction
    (:mod:`pytest_nel.stats._score`), which takes them to lie in [0, 1], or, where some do not, in
    the range seen on both sides together. With clusters the clusters are the units of sampling.

    Args:
        baseline: One value a problem: its mean over repeats.
        candidate: The same problems in the same order.
        clusters: The cluster of each problem; None in it for a problem that stands alone.
        confidence: Nominal coverage.

    Returns:
        None where there is no problem.

    Raises:
        ValueError: The sides differ in length, a value is not finite, or ``confidence`` is not in
            (0, 1).
    """
    pairs = _paired(baseline, candidate, clusters)
    if pairs is None:
        return None
    deltas, span, grouping = pairs.deltas, pairs.span, pairs.clusters
    n, value = len(deltas), math.fsum(deltas.tolist()) / len(deltas)
    if grouping is not None and len(grouping.sizes) == 1:
        return Difference(n, value, -span, span, "one_cluster", confidence, reliable=False)
    quantile = pairs.scale.squared_quantile(confidence)
    low = lower_bound(pairs.gains(), quantile) - span
    high = span - lower_bound(pairs.losses(), quantile)
    low, high = min(low, value), max(high, value)  # but for rounding
    return Difference(n, value, low, high, pairs.method, confidence, pairs.reliable)


def p_value(
    baseline: "Values",
    candidate: "Values",
    clusters: Sequence[Hashable] | None = None,
    *,
    null: float,
    alternative: Literal["less", "greater"],
) -> float:
    """The one-sided p-value of ``null``, by the statistic that the interval inverts.

    Below (1 - confidence) / 2 exactly when ``null`` lies outside that side of
    :func:`paired_difference`'s interval. ``greater`` asks whether the difference is greater than
    ``null``. 1 for no problems, and for a single cluster: nothing is then known.

    Raises:
        ValueError: As :func:`paired_difference`.
    """
    pairs = _paired(baseline, candidate, clusters)
    if pairs is None or (pairs.clusters is not None and len(pairs.clusters.sizes) == 1):
        return 1.0
    above = squared_statistic(pairs.gains(), pairs.span + null)
    below = squared_statistic(pairs.losses(), pairs.span - null)
    statistic = math.sqrt(above) - math.sqrt(below)  # one of the two is 0
    return pairs.scale.upper_tail(statistic if alternative == "greater" else -statistic)


class _Pairs(NamedTuple):
    deltas: "npt.NDArray[np.float64]"
    span: float
    binary: bool
    clusters: Clusters | None

    @property
    def scale(self) -> Scale:
        if self.clusters is None:
            return scale_of(len(self.deltas))
        return self.clusters.scale()

    @property
    def reliable(self) -> bool:
        return self.clusters is None or self.clusters.reliable

    @property
    def method(self) -> str:
        name = "score_clustered" if self.clusters else "tango" if self.binary else "score"
        return name if math.isinf(self.scale.degrees) else f"{name}_t"

    def gains(self) -> Units:
        return self._units(self.span + self.deltas)

    def losses(self) -> Units:
        return self._units(self.span - self.deltas)

    def _units(self, distances: "npt.NDArray[np.float64]") -> Units:
        if self.clusters is None:
            return units_of(distances, self.span)
        return self.clusters.units(distances.clip(min=0.0))


def _paired(
    baseline: "Values", candidate: "Values", clusters: Sequence[Hashable] | None
) -> _Pairs | None:
    import numpy as np  # noqa: PLC0415 - heavy

    before, after = np.asarray(baseline, dtype=float), np.asarray(candidate, dtype=float)
    if before.shape != after.shape or before.ndim != 1:
        msg = f"wanted one value a problem on both sides, got {before.shape} and {after.shape}"
        raise ValueError(msg)
    grouping = None if clusters is None else clusters_of(clusters, len(before))
    if not len(before):
        return None
    if not (np.isfinite(before).all() and np.isfinite(after).all()):
        msg = "wanted finite values on both sides, got NaN or infinity"
        raise ValueError(msg)
    least, most = min(before.min(), after.min()), max(before.max(), after.max())
    inside = least >= -_NOISE and most <= 1.0 + _NOISE
    span = 1.0 if inside else float(most - least)
    binary = bool(((before == 0) | (before == 1)).all() and ((after == 0) | (after == 1)).all())
    return _Pairs(after - before, span or 1.0, binary, grouping)
