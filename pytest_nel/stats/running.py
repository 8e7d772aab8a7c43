"""The score so far, for a live line: constant work per reward, constant memory per problem."""

from collections.abc import Hashable

from pytest_nel.stats.intervals import Interval, interval_of_sums


class RunningScore:
    """Rewards as they come in.

    Attributes:
        count: Rewards so far.
        is_binary: Whether every reward was 0 or 1.
    """

    def __init__(self) -> None:
        self.count = 0
        self.is_binary = True
        self._sums: dict[Hashable, tuple[float, int]] = {}

    def add(self, problem: Hashable, reward: float) -> None:
        """Take in one attempt's reward.

        Raises:
            ValueError: The reward is not in [0, 1].
        """
        if not 0.0 <= reward <= 1.0:
            msg = f"rewards must be in [0, 1], got {reward} for problem {problem!r}"
            raise ValueError(msg)
        total, repeats = self._sums.get(problem, (0.0, 0))
        self._sums[problem] = (total + float(reward), repeats + 1)
        self.count += 1
        self.is_binary = self.is_binary and reward in (0, 1)

    @property
    def problems(self) -> int:
        """Problems with at least one reward."""
        return len(self._sums)

    @property
    def total(self) -> float:
        """The sum of all rewards: the number correct when they are binary."""
        return sum(total for total, _ in self._sums.values())

    @property
    def mean(self) -> float | None:
        """The mean over problems of the mean over repeats; None before the first reward."""
        if not self._sums:
            return None
        return sum(total / repeats for total, repeats in self._sums.values()) / len(self._sums)

    def interval(self, confidence: float = 0.95) -> Interval | None:
        """The interval that :func:`~pytest_nel.stats.intervals.mean_interval` would choose."""
        sums = list(self._sums.values())
        return interval_of_sums(sums, binary=self.is_binary, confidence=confidence)[1]
