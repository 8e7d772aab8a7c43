"""One benchmark of one run, as a gate sees it."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple


class Row(NamedTuple):
    """What a gate must know of an attempt.

    Attributes:
        problem: Position in the dataset.
        repeat: Counted from 0.
        reward: None when it has no score.
        correct: Whether it counts as solved.
        id: The problem's own name; empty where the run has none.
        category: Empty for none.
        cluster: Empty for none.
        others: Rewards of further scorers, by name.
        outcome: correct, wrong, unparsed or unscored.
    """

    problem: int
    repeat: int
    reward: float | None
    correct: bool
    id: str = ""
    category: str = ""
    cluster: str = ""
    others: Mapping[str, float | None] = {}
    outcome: str = ""


@dataclass(frozen=True, slots=True)
class Side:
    """One benchmark of one run.

    Attributes:
        bundle: The object of its eval-*.json.
        rows: Its attempts; empty where results.jsonl is missing.
        trouble: Why there are no rows, or fewer than there should be.
        asked: Digest of what was asked, by (problem, repeat), where the bundle itself has none.
        ask: Finds out what was asked where ``asked`` does not say it; None where nothing can.
    """

    bundle: Mapping[str, Any]
    rows: Sequence[Row] = ()
    trouble: str | None = None
    asked: Mapping[tuple[int, int], int] = field(default_factory=dict)
    ask: Callable[[], Mapping[tuple[int, int], int]] | None = None

    @property
    def name(self) -> str:
        """The benchmark's."""
        return str((self.bundle.get("benchmark") or {}).get("name"))

    @property
    def repeats(self) -> int:
        """Attempts per problem."""
        return int((self.bundle.get("benchmark") or {}).get("repeats") or 1)

    @property
    def planned(self) -> int | None:
        """Problems that were to be attempted; of a bundle that does not say, those it counts."""
        planned = self._problems("n_planned")
        counted = (self.bundle.get("benchmark") or {}).get("samples")
        return counted if planned is None and isinstance(counted, int) else planned

    @property
    def total(self) -> int | None:
        """Problems of the whole dataset; None where the bundle does not say."""
        return self._problems("n_total")

    @property
    def biased(self) -> str | None:
        """Why its score says nothing about its problems, or None."""
        again = self.bundle.get("n_made_again")
        return f"{again} attempts were made again because of their outcome" if again else None

    @property
    def shard(self) -> str | None:
        """``shard 2/8`` where it is one of a run, not the whole run."""
        shard = self.bundle.get("shard")
        return f"shard {shard[0]}/{shard[1]}" if shard else None

    @property
    def incomplete(self) -> str | None:
        """Why its problems are not those of the whole dataset, or None."""
        if shard := self.shard:
            return f"it is {shard} alone: join the shards by nel eval merge"
        planned, attempted = self.bundle.get("n_planned"), self.bundle.get("n_attempted")
        if planned is not None and attempted is not None and attempted < planned:
            return f"{attempted:,} of {planned:,} planned attempts were made"
        return self.trouble if self.rows else None

    @property
    def questions(self) -> Mapping[tuple[int, int], int]:
        """Digest of what was asked, by (problem, repeat)."""
        return self.asked or (self.ask() if self.ask is not None else {})

    def _problems(self, name: str) -> int | None:
        attempts = self.bundle.get(name)
        return attempts // self.repeats if isinstance(attempts, int) else None
