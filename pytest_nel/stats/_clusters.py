"""Problems that share something, such as a text, are one unit of sampling: their cluster."""

from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from pytest_nel.stats._score import Scale, Units, scale_of

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

_FEWEST = 5  # clusters; with fewer, docs/explanation/statistics.md promises nothing
_LARGEST = 1 / 3  # of the problems in one cluster: then that one decides


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
        """Whether simulation supports the interval: enough clusters, none of them too large."""
        largest = float(self.sizes.max() / self.sizes.sum())
        few = len(self.sizes) < _FEWEST
        return not few and largest <= max(_LARGEST, 2.0 / len(self.sizes))

    def units(self, distances: "npt.NDArray[np.float64]") -> Units:
        """One unit a cluster, in an order that the order of rows does not change."""
        import numpy as np  # noqa: PLC0415 - heavy

        order = np.lexsort((distances, self.codes))
        sums = np.bincount(self.codes[order], weights=distances[order]).astype(float)
        rank = np.lexsort((self.sizes, sums))
        return Units(sums[rank], self.sizes[rank], np.ones(len(rank)))

    def scale(self) -> Scale:
        """Student's t with degrees of freedom that count what unequal sizes cost."""
        return scale_of(len(self.sizes), satterthwaite(self.sizes))


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


def satterthwaite(sizes: "npt.NDArray[np.float64]") -> float:
    """Degrees of freedom of the cluster-robust variance of a mean.

    Bell & McCaffrey 2002, as Imbens & Kolesár 2016 recommend it, for the CR2 estimator with
    independent errors as the working model. For a mean it has a closed form: with ``h`` the share
    of each cluster and ``c = h² / (1 - h)``, ``1 / (Σh² + (Σc)² - Σc²)``; clusters - 1 when all
    are of one size.
    """
    share = sizes / sizes.sum()
    lever = share * share / (1.0 - share)
    return float(1.0 / (share @ share + lever.sum() ** 2 - lever @ lever))
