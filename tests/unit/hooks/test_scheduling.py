"""Who gets which items when a worker dies."""

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from pytest_nel.hooks.scheduling import ShardScheduling

ITEMS = [f"t[{i}]" for i in range(9)]


class Node:
    """A worker as the scheduler sees it."""

    def __init__(self, shard: int) -> None:
        self.workerinput = {"nel": {"shard": shard}}
        self.sent: list[int] = []
        self.shutting_down = False

    def send_runtest_some(self, indices: Sequence[int]) -> None:
        self.sent += indices


class Judge:
    """Decides about deaths as it was told."""

    def __init__(
        self, *, blamed: int | None = None, replaced: bool = True, done: Sequence[str] = ()
    ) -> None:
        self.blamed, self.comes, self.finished = blamed, replaced, done
        self.handed: list[list[int]] = []
        self.asked: list[int] = []

    def blame(self, node: Any, pending: Mapping[int, str]) -> int | None:
        del node
        self.asked = list(pending)
        return self.blamed

    def done(self, nodeid: str) -> bool:
        return nodeid in self.finished

    def replaced(self) -> bool:
        return self.comes

    def hand_over(self, shares: Mapping[Any, Sequence[int]]) -> None:
        self.handed = [list(share) for share in shares.values()]


def started(judge: Judge, count: int = 3) -> tuple[ShardScheduling, list[Node]]:
    scheduler, nodes = ShardScheduling(count, judge), [Node(shard) for shard in range(count)]
    for node in nodes:
        scheduler.add_node(node)
        scheduler.add_node_collection(node, ITEMS)
    scheduler.schedule()
    return scheduler, nodes


def test_each_worker_gets_its_whole_shard_at_once() -> None:
    _, nodes = started(Judge())

    assert [node.sent for node in nodes] == [[0, 3, 6], [1, 4, 7], [2, 5, 8]]


def test_a_successor_gets_everything_that_was_left_where_nobody_is_to_blame() -> None:
    scheduler, nodes = started(Judge())
    scheduler.mark_test_complete(nodes[1], 1)

    item = scheduler.remove_node(nodes[1])

    assert item is None
    assert scheduler.left(1) == [4, 7]
    assert not scheduler.tests_finished


def test_what_is_to_blame_is_reported_and_never_run_again() -> None:
    scheduler, nodes = started(Judge(blamed=4))
    scheduler.mark_test_complete(nodes[1], 1)

    item = scheduler.remove_node(nodes[1])

    assert item == "t[4]"
    assert scheduler.left(1) == [7]


def test_an_item_that_has_reported_is_neither_blamed_nor_run_again() -> None:
    judge = Judge(done=["t[1]"])
    scheduler, nodes = started(judge)

    scheduler.remove_node(nodes[1])

    assert judge.asked == [4, 7]
    assert scheduler.left(1) == [4, 7]


def test_without_a_successor_the_others_get_what_is_left() -> None:
    judge = Judge(replaced=False)
    scheduler, nodes = started(judge)

    scheduler.remove_node(nodes[0])

    assert judge.handed == [[0, 6], [3]]
    assert [node.sent for node in nodes[1:]] == [[1, 4, 7, 0, 6], [2, 5, 8, 3]]
    assert scheduler.orphans == 0


def test_a_worker_that_was_told_to_shut_down_gets_nothing_more() -> None:
    judge = Judge(replaced=False)
    scheduler, nodes = started(judge)
    nodes[1].shutting_down = True

    scheduler.remove_node(nodes[0])

    assert judge.handed == [[0, 3, 6]]
    assert nodes[1].sent == [1, 4, 7]


def test_what_nobody_can_take_is_counted() -> None:
    scheduler, nodes = started(Judge(replaced=False))
    for node in nodes:
        node.shutting_down = True

    scheduler.remove_node(nodes[0])

    assert scheduler.orphans == 3
    assert not scheduler.tests_finished


def test_the_shard_of_a_successor_that_died_early_goes_to_the_others_as_well() -> None:
    judge = Judge()
    scheduler, nodes = started(judge)
    scheduler.remove_node(nodes[0])
    judge.comes = False

    with pytest.raises(KeyError):
        scheduler.remove_node(Node(0))

    assert [node.sent for node in nodes[1:]] == [[1, 4, 7, 0, 6], [2, 5, 8, 3]]


def test_a_worker_that_has_ended_by_itself_is_not_blamed() -> None:
    judge = Judge(blamed=0)
    scheduler, nodes = started(judge)
    nodes[0].workeroutput = {}  # type: ignore[attr-defined]  # xdist sets it at a worker's end

    item = scheduler.remove_node(nodes[0])

    assert item is None
    assert judge.asked == []
