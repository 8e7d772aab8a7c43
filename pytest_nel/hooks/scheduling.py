"""Each xdist worker gets its whole shard at once, so that looking ahead never pays twice."""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import pytest


class Deaths(Protocol):
    """Decides what a worker's death means."""

    def blame(self, node: Any, pending: Mapping[int, str]) -> int | None:
        """The item, by index, that killed a worker; None when nobody can tell.

        Args:
            node: The worker.
            pending: Its items, by index, in the order in which it runs them.
        """
        ...

    def done(self, nodeid: str) -> bool:
        """Whether an item has reported all that it has to say."""
        ...

    def replaced(self) -> bool:
        """Whether the worker that died just now gets a successor."""
        ...

    def hand_over(self, shares: Mapping[Any, Sequence[int]]) -> None:
        """Tell workers which items of others they will be sent."""
        ...


class ShardScheduling:
    """Worker ``i`` of ``n`` runs every n-th item, from the i-th on; a replacement inherits.

    Implements xdist's ``Scheduling`` protocol.
    """

    def __init__(self, shards: int, deaths: Deaths) -> None:
        self._shards = shards
        self._deaths = deaths
        self._collections: dict[Any, list[str]] = {}
        self._nodes: list[Any] = []
        self._pending: dict[Any, dict[int, None]] = {}
        self._left: dict[int, dict[int, None]] = {}
        self._started = False

    @property
    def nodes(self) -> list[Any]:
        """The workers alive."""
        return list(self._nodes)

    @property
    def collection_is_completed(self) -> bool:
        """Whether every worker of the first set has collected."""
        return len(self._collections) >= self._shards or self._started

    @property
    def tests_finished(self) -> bool:
        """At most one item is left anywhere: a worker runs its last when told to shut down."""
        if not self._started or self._left:
            return False
        return all(len(pending) < 2 for pending in self._pending.values())

    @property
    def has_pending(self) -> bool:
        """Whether any item is not done."""
        return bool(self._left) or any(self._pending.values())

    @property
    def orphans(self) -> int:
        """Items whose worker has died and that no other has got."""
        return sum(len(left) for left in self._left.values())

    def left(self, shard: int) -> list[int] | None:
        """What a dead worker has left of a shard, or None while nothing was handed out."""
        return list(self._left.get(shard, {})) if self._started else None

    def add_node(self, node: Any) -> None:
        """A worker is ready."""
        self._nodes.append(node)

    def add_node_collection(self, node: Any, collection: Sequence[str]) -> None:
        """A worker has collected; all must have the same items.

        Raises:
            pytest.UsageError: They differ, so shards would overlap or leave gaps.
        """
        mine = list(collection)
        first = next(iter(self._collections.values()), mine)
        if mine != first:
            differ = sorted(set(mine) ^ set(first))[:3]
            msg = (
                "the workers collected different items, so attempts would be lost or made twice: "
                f"{', '.join(differ) or 'the order differs'}; make the dataset the same each "
                "time it is loaded"
            )
            raise pytest.UsageError(msg)
        self._collections[node] = first

    def schedule(self) -> None:
        """Send every waiting shard to its worker."""
        if not self._started:
            self._started = True
            count = len(next(iter(self._collections.values())))
            for shard in range(self._shards):
                self._left[shard] = dict.fromkeys(range(shard, count, self._shards))
        for node in self._nodes:
            shard = node.workerinput["nel"]["shard"]
            if node in self._collections and shard in self._left and node not in self._pending:
                self._pending[node] = self._left.pop(shard)
                node.send_runtest_some(list(self._pending[node]))

    def mark_test_complete(self, node: Any, item_index: int, duration: float = 0) -> None:
        """An item has reported."""
        del duration
        self._pending[node].pop(item_index, None)

    def mark_test_pending(self, item: str) -> None:
        """An item of a dead worker is to be run again."""
        index = next(iter(self._collections.values())).index(item)
        shard = index % self._shards
        self._left[shard] = {index: None, **self._left.get(shard, {})}

    def remove_pending_tests_from_node(self, node: Any, indices: Sequence[int]) -> None:
        """Nothing is ever stolen."""
        raise NotImplementedError

    def remove_node(self, node: Any) -> str | None:
        """A worker is gone: what it left waits for its successor, or goes to the others.

        Returns:
            The item that has killed it, if that is certain; xdist reports it.

        Raises:
            KeyError: It never was ready, and xdist need not report anything.
        """
        pending = self._pending.pop(node, {})
        ended = hasattr(node, "workeroutput")  # by itself
        blamed = None
        if pending and not ended:
            blamed = self._blame(node, pending)
        if pending:
            self._left[node.workerinput["nel"]["shard"]] = pending
        known = node in self._nodes
        if known:
            self._nodes.remove(node)
        if not ended and not self._deaths.replaced():
            self._spread()
        if not known:
            raise KeyError(node)
        return None if blamed is None else self._collections[node][blamed]

    def _blame(self, node: Any, pending: dict[int, None]) -> int | None:
        names = self._collections[node]
        first = next(iter(pending))
        if self._deaths.done(names[first]):  # it died before it could say that it goes on
            del pending[first]
        if not pending:
            return None
        blamed = self._deaths.blame(node, {index: names[index] for index in pending})
        if blamed is not None:
            del pending[blamed]
        return blamed

    def _spread(self) -> None:
        """Nobody comes any more: give what is left to those who still listen."""
        orphans = [index for left in self._left.values() for index in left]
        takers = [node for node in self._pending if not node.shutting_down]
        if not orphans or not takers:
            return
        self._left.clear()
        shares = {node: orphans[i :: len(takers)] for i, node in enumerate(takers)}
        shares = {node: share for node, share in shares.items() if share}
        self._deaths.hand_over(shares)
        for node, share in shares.items():
            self._pending[node].update(dict.fromkeys(share))
            try:
                node.send_runtest_some(share)
            except OSError:  # it has died, too; we hear of that next
                continue
