"""Problems that share something, such as a text, are one unit of sampling: their cluster."""

from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from pytest_nel.stats._score import Scale, Units, scale_of

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

_FEWEST = 5  # clusters; with fewer, docs/explanation/statistics.md promises nothing


class Clusters(NamedTuple):
    """How problems are grouped.

    Attributes:
        codes: The cluster of each problem, as a number from 0.
        sizes: Problems in each cluster.
    """

    codes: "npt.NDArray[np.intp]"
    sizes: "npt.NDArray[np.float64]"

    @property
    def reliable(self) -> bool:
        """Whether there are clusters enough to say how much they differ."""
        return len(self.sizes) >= _FEWEST

    def units(self, distances: "npt.NDArray[np.float64]") -> Units:
        """One unit a cluster, in an order that the order of rows does not change."""
        import numpy as np  # noqa: PLC0415 - heavy

        order = np.lexsort((distances, self.codes))
        sums = np.bincount(self.codes[order], weights=distances[order]).astype(float)
        rank = np.lexsort((self.sizes, sums))
        return Units(sums[rank], self.sizes[rank], np.ones(len(rank)))

    def scale(self) -> Scale:
        """Student's t with degrees of freedom that count what unequal sizes cost.

        They depend on the sizes only. How alike the problems of a cluster are is not estimated:
        the less favourable of the two extremes is taken.
        """
        return scale_of(
            len(self.sizes), min(satterthwaite(self.sizes, alike=alike) for alike in (False, True))
        )


def clusters_of(names: Sequence[Hashable], problems: int) -> Clusters | None:
    """The grouping, or None where each problem stands alone; a problem named None does.

    Raises:
        ValueError: Not one name a problem.
    """
    import numpy as np  # noqa: PLC0415 - heavy

    if len(names) != problems:
        msg = f"wanted one cluster for each of {problems} problems, got {len(names)}"
        raise ValueError(msg)
    numbers: dict[Hashable, int] = {}
    codes = np.empty(problems, dtype=np.intp)
    for index, name in enumerate(names):
        own = (None, index) if name is None else name
        codes[index] = numbers.setdefault(own, len(numbers))
    if len(numbers) == problems and problems > 1:
        return None
    return Clusters(codes, np.bincount(codes).astype(float))


def satterthwaite(sizes: "npt.NDArray[np.float64]", *, alike: bool) -> float:
    """Degrees of freedom of the cluster-robust variance of a mean.

    Bell & McCaffrey 2002, as Imbens & Kolesár 2016 recommend: those of the CR2 estimator under a
    working model. For a mean they have a closed form; clusters - 1 when all are of one size.

    Args:
        sizes: Problems in each cluster; at least two clusters.
        alike: The model: all problems of a cluster turn out the same, else all are independent.
    """
    share = sizes / sizes.sum()
    variance = sizes * sizes if alike else sizes
    total = variance.sum()
    weight = 1.0 / (1.0 - share)  # CR2's correction of each cluster's squared residual
    cross = share * (total * share - 2.0 * variance)  # what the common mean does to a residual
    s20, s11 = (weight * share * share).sum(), (weight * share * variance).sum()
    s02 = (weight * variance * variance).sum()
    trace = (weight * (variance + cross)).sum()
    between = (total * s20) ** 2 + 2.0 * s20 * s02 - 4.0 * total * s20 * s11 + 2.0 * s11 * s11
    within = (weight * weight * variance * (variance + 2.0 * cross)).sum()
    return float(trace * trace / (between + within))
