"""Problems that share something, such as a text, are one unit of sampling: their cluster."""

from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from pytest_nel.stats._score import Scale, Units, scale_of

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

_NOISE = 1e-12  # a sum of squares that is 0 but for rounding
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

    def units(self, distances: "npt.NDArray[np.float64]", alike: float = 1.0) -> Units:
        """One unit a cluster, in an order that the order of rows does not change.

        Args:
            distances: Of each problem from the end of the range.
            alike: Correlation within a cluster, should one be at the end of the range unseen.
        """
        import numpy as np  # noqa: PLC0415 - heavy

        order = np.lexsort((distances, self.codes))
        sums = np.bincount(self.codes[order], weights=distances[order]).astype(float)
        rank = np.lexsort((self.sizes, sums))
        sizes = self.sizes[rank]
        usual = float((sizes * sizes).sum() / sizes.sum())  # of the cluster of a problem
        return Units(sums[rank], sizes, np.ones(len(rank)), 1.0 + (usual - 1.0) * alike)

    def scale(self, alike: float = 1.0) -> Scale:
        """Student's t with degrees of freedom that count what unequal sizes cost.

        They depend on the sizes only, and on how alike problems of a cluster may be at most.
        """
        fewest = min(satterthwaite(self.sizes, alike=share) for share in (0.0, alike))
        return scale_of(len(self.sizes), fewest)

    def alike(self, values: "npt.NDArray[np.float64]") -> float:
        """How alike the values within a cluster may be: a 95 % upper limit of their correlation.

        The intraclass correlation of a one-way analysis of variance and its limit by the F
        distribution (Searle 1971; Donner 1986 for unequal sizes). 1 where the values say nothing:
        all the same, or no cluster of two.
        """
        import numpy as np  # noqa: PLC0415 - heavy
        from scipy.special import fdtri  # heavy

        size, groups = float(self.sizes.sum()), len(self.sizes)
        means = np.bincount(self.codes, weights=values) / self.sizes
        inside = float(((values - means[self.codes]) ** 2).sum())
        if groups < 2 or size <= groups or inside <= _NOISE:
            return 1.0
        between = float((self.sizes * (means - values.mean()) ** 2).sum()) / (groups - 1)
        ratio = between / (inside / (size - groups)) / float(fdtri(groups - 1, size - groups, 0.05))
        usual = (size - float((self.sizes**2).sum()) / size) / (groups - 1)
        return min(1.0, max(0.0, (ratio - 1.0) / (ratio + usual - 1.0)))


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


def satterthwaite(sizes: "npt.NDArray[np.float64]", *, alike: float) -> float:
    """Degrees of freedom of the cluster-robust variance of a mean.

    Bell & McCaffrey 2002, as Imbens & Kolesár 2016 recommend: those of the CR2 estimator under a
    working model. For a mean they have a closed form; clusters - 1 when all are of one size.

    Args:
        sizes: Problems in each cluster; at least two clusters.
        alike: The model's correlation of the problems of a cluster; 0: they are independent.
    """
    share = sizes / sizes.sum()
    variance = sizes * (1.0 + (sizes - 1.0) * alike)
    total = variance.sum()
    weight = 1.0 / (1.0 - share)  # CR2's correction of each cluster's squared residual
    cross = share * (total * share - 2.0 * variance)  # what the common mean does to a residual
    s20, s11 = (weight * share * share).sum(), (weight * share * variance).sum()
    s02 = (weight * variance * variance).sum()
    trace = (weight * (variance + cross)).sum()
    between = (total * s20) ** 2 + 2.0 * s20 * s02 - 4.0 * total * s20 * s11 + 2.0 * s11 * s11
    within = (weight * weight * variance * (variance + 2.0 * cross)).sum()
    return float(trace * trace / (between + within))
