"""The score interval for a mean of values in a known range, and the statistic that it inverts.

One construction for every interval of this package. The values of ``n`` independent units
(problems, or clusters of them) lie in a known range. To test whether their mean is ``m``, give each
observed value, and the end of the range towards which ``m`` pulls, the probabilities that fit the
data best among those with mean ``m`` (empirical likelihood: Owen 1988; Owen 2001, §2). With
``x = value - m``, a value gets ``1 / (n (1 + λ x))``, where ``λ`` solves ``Σ x / (1 + λ x) = 0``;
the end of the range gets what is left when ``λ`` reaches ``1 / (m - end)``. Under these
probabilities the mean has variance ``σ²(m) / n``, and the score statistic

    T² = (mean - m)² / (σ²(m) / n) = n λ (mean - m)

is compared with a quantile (the Lagrange multiplier test of Imbens, Spady & Johnson 1998). The
interval holds every ``m`` that is not rejected.

- For values 0 and 1 it is Wilson's interval (1927); for -1, 0 and 1, Tango's for paired
  differences (1998): their restricted maximum likelihood is this one.
- It never has zero width: where nothing spread, an end of the range may still have been missed, and
  the bound is ``n · mean / (n + q)`` above it (``q``: the squared quantile).
- It is monotone: raise any value, and ``λ`` and ``mean - m`` both rise, so both bounds do. A t
  interval is not: a gain that stands out widens it.
"""

import math
from statistics import NormalDist
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt


_ENOUGH = 50.0  # degrees of freedom from which the normal quantile is used: 100 problems
_NOISE = 1e-12  # of the range: a value so near its end is at it, but for rounding


class Units(NamedTuple):
    """Independent units, each with the sum of its values' distances from the end of the range.

    Attributes:
        sums: Sum of distances, at least 0; one number a unit (or a group of equal units).
        sizes: Values in each unit.
        counts: How many units are like this one.
        unseen: Values that a unit at the end of the range, which was not seen, counts for.
    """

    sums: "npt.NDArray[np.float64]"
    sizes: "npt.NDArray[np.float64]"
    counts: "npt.NDArray[np.float64]"
    unseen: float = 1.0


class Scale(NamedTuple):
    """The distribution that the statistic is compared with.

    Attributes:
        degrees: Degrees of freedom of Student's t; infinite for the normal distribution.
    """

    degrees: float

    def squared_quantile(self, confidence: float) -> float:
        """The square of the two-sided critical value.

        Raises:
            ValueError: ``confidence`` is not in (0, 1).
        """
        if not 0.0 < confidence < 1.0:
            msg = f"confidence must be between 0 and 1, got {confidence}"
            raise ValueError(msg)
        upper = (1.0 + confidence) / 2.0
        if math.isinf(self.degrees):
            return NormalDist().inv_cdf(upper) ** 2
        from scipy.special import stdtrit  # heavy, and Wilson's interval needs none

        return float(stdtrit(self.degrees, upper)) ** 2

    def upper_tail(self, statistic: float) -> float:
        """The probability of a greater statistic."""
        from scipy.special import ndtr, stdtr  # heavy

        if math.isinf(self.degrees):
            return float(ndtr(-statistic))
        return float(stdtr(self.degrees, -statistic))


def scale_of(units: int, degrees: float | None = None) -> Scale:
    """Student's t with half as many degrees of freedom as units, normal from 100 units on.

    Half, because the exact coverage of Wilson's and Tango's intervals at n < 100 needs it (see
    docs/explanation/statistics.md); it depends on the number of units only, never on their values.

    Args:
        units: Independent units.
        degrees: Satterthwaite's degrees of freedom where units differ in size; the fewer count.
    """
    fewest = min(units / 2.0, math.inf if degrees is None else degrees)
    return Scale(math.inf if fewest >= _ENOUGH else fewest)


def units_of(distances: "npt.NDArray[np.float64]", span: float) -> Units:
    """Each value its own unit; equal ones are counted, so that the order of rows is nothing."""
    import numpy as np  # noqa: PLC0415 - heavy

    sums, counts = np.unique(
        np.where(distances < _NOISE * span, 0.0, distances), return_counts=True
    )
    return Units(sums, np.ones(len(sums)), counts.astype(float))


def lower_bound(units: Units, quantile: float) -> float:
    """The smallest mean distance from the end of the range that is not rejected.

    Args:
        units: What was observed.
        quantile: The squared critical value.
    """
    from scipy.optimize import brentq  # heavy

    sums, sizes, counts, unseen = units
    size, total = _total(counts, sizes), _total(counts, sums)
    number = float(counts.sum())
    mean = total / size
    if mean <= 0.0:
        return 0.0
    # Where the end of the range takes a share, λ is 1 / distance, and the bound has this form.
    highest = total / (size + quantile * unseen)

    def excess(bound: float) -> float:
        """Positive where ``bound`` is rejected: λ is then greater than what T² = q allows."""
        x = (sums - sizes * bound) * (number / size)
        room = number * (mean - bound) / quantile
        least = float(x.min())
        if room + least <= 0.0:
            return least
        return _total(counts, x / (room + x)) * (room + least)

    if excess(highest) >= 0.0:
        return highest
    return float(brentq(excess, 0.0, highest, xtol=1e-15, rtol=1e-14))


def squared_statistic(units: Units, mean_distance: float) -> float:
    """T² of the hypothesis that the mean is ``mean_distance`` from the end of the range.

    0 where the observed mean is no farther than that.
    """
    from scipy.optimize import brentq  # heavy

    sums, sizes, counts, unseen = units
    size, number = _total(counts, sizes), float(counts.sum())
    above = _total(counts, sums) / size - mean_distance
    if above <= 0.0:
        return 0.0
    if mean_distance <= 0.0:
        return math.inf
    x = (sums - sizes * mean_distance) * (number / size)
    most = size / (mean_distance * unseen * number)
    least = float(x.min())
    if least < 0.0:
        most = min(most, (1.0 - 1e-15) / -least)

    def slope(multiplier: float) -> float:
        return _total(counts, x / (1.0 + multiplier * x))

    if slope(0.0) <= 0.0:  # what lies above is rounding
        return 0.0
    if slope(most) < 0.0:
        most = float(brentq(slope, 0.0, most, xtol=1e-15, rtol=1e-14))
    return number * most * above


def _total(counts: "npt.NDArray[np.float64]", values: "npt.NDArray[np.float64]") -> float:
    """A weighted sum; not ``@``, which starts threads for large arrays and waits for them."""
    return float((counts * values).sum())
