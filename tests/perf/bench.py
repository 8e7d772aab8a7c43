"""What every case is given: the settings of this run and its calibration."""

import statistics
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tests.perf.figures import Figure
from tests.perf.machine import Calibration
from tests.perf.peers import CACHE

CONCURRENCY = 64


@dataclass(frozen=True, slots=True)
class Bench:
    """One run of the harness.

    Attributes:
        python: The interpreter that has the plugin.
        quick: Smaller sizes and one round: to see that everything works, not to judge.
        rounds: How often short cases are measured; their median counts.
        peers: Whether the peers run too.
        cache: Where the peers' environments are.
        say: Takes a line of progress.
    """

    python: str
    quick: bool
    rounds: int
    peers: bool = False
    say: Callable[[str], None] = print
    cache: Path = CACHE
    calibration: Calibration = field(default_factory=Calibration)

    def size(self, full: int, quick: int) -> int:
        """How many problems."""
        return quick if self.quick else full

    def interleaved(
        self, *kinds: Callable[[], float], rounds: int | None = None
    ) -> tuple[list[list[float]], tuple[int, int]]:
        """Measure each kind in turn, round after round, with the calibration loop in between.

        Returns:
            The values of each kind, and the numbers of the readings around them all.
        """
        values: list[list[float]] = [[] for _ in kinds]
        first = last = self.calibration.read()
        for _ in range(rounds or self.rounds):
            for kind, column in zip(kinds, values, strict=True):
                column.append(kind())
                last = self.calibration.read()
        return values, (first, last)


Case = Callable[[Bench], Iterable[Figure]]


def median(values: Sequence[float]) -> float:
    """The middle one, or between the middle two."""
    return statistics.median(values)
