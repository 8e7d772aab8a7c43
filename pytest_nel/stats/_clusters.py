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
        """One unit a cluster, in an order that the order of rows does not change.

        An unseen cluster may be at the end of the range as a whole, however little the answers
        within those that were seen are alike: what strikes whole clusters need not have struck
        one of them. It has the size of the cluster of a problem drawn at random.

        Args:
            distances: Of each problem from the end of the range.
        """
        import numpy as np  # noqa: PLC0415 - heavy

        order = np.lexsort((distances, self.codes))
        sums = np.bincount(self.codes[order], weights=distances[order]).astype(float)
        rank = np.lexsort((self.sizes, sums))
        sizes = self.sizes[rank]
        usual = float((sizes * sizes).sum() / sizes.sum())
        return Units(sums[rank], sizes, np.ones(len(rank)), usual)

    def scale(self) -> Scale:
        """Student's t with degrees of freedom that count what unequal sizes cost.

        They depend on the sizes only: those of the less favourable of two models, problems of a
        cluster independent or all alike.
        """
        fewest = min(satterthwaite(self.sizes, alike=share) for share in (0.0, 1.0))
        return scale_of(len(self.sizes), fewest)


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
