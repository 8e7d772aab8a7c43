"""Look-ahead whose order grows and whose limit moves while it runs."""

import asyncio
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_nel.engine.lookahead import LookAhead
from pytest_nel.engine.loop import LoopThread

PATIENCE_SECONDS = 10.0


class Gate:
    """Attempts that last until they are let through; counts what runs."""

    def __init__(self, *, shut: bool = False) -> None:
        self.made: Counter[int] = Counter()
        self.running: set[int] = set()
        self.most_running = 0
        self.cancelled = 0
        self.shut = shut

    async def attempt(self, key: int) -> int:
        self.made[key] += 1
        self.running.add(key)
        self.most_running = max(self.most_running, len(self.running))
        try:
            await asyncio.sleep(0)
            while self.shut:  # noqa: ASYNC110  # set by another thread
                await asyncio.sleep(0.001)
        except asyncio.CancelledError:
            self.cancelled += 1
            raise
        finally:
            self.running.discard(key)
        return key


@pytest.fixture(scope="module")
def loop() -> Iterator[LoopThread]:
    thread = LoopThread("test-change")
    yield thread
    thread.close()


@pytest.fixture(
    params=[range(6), [0, 1, 2, 3, 4, 5], (0, 1, 2, 3, 4, 5)], ids=["range", "list", "tuple"]
)
def six(request: pytest.FixtureRequest) -> "range | list[int] | tuple[int, ...]":
    """An order as any caller may have it."""
    order: range | list[int] | tuple[int, ...] = request.param
    return order


def eventually(true: Callable[[], bool]) -> None:
    until = time.monotonic() + PATIENCE_SECONDS
    while not true():
        assert time.monotonic() < until, "it never came about"
        time.sleep(0.001)


async def workers(ahead: LookAhead[int, int]) -> int:
    """How many there are, two turns after whatever was sent to the loop before."""
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    return len(ahead._workers)


def opened(
    loop: LoopThread, gate: Gate, size: int, limit: int = 2, window: int = 50
) -> LookAhead[int, int]:
    ahead = LookAhead(range(size), gate.attempt, limit=limit, window=window)
    loop.call(ahead.open())
    return ahead


def test_what_is_added_to_an_idle_look_ahead_is_made_with_nobody_asking(loop: LoopThread) -> None:
    gate = Gate()
    ahead = opened(loop, gate, 3)
    eventually(lambda: ahead.ahead == 3)

    first = ahead.extend([3, 4])
    eventually(lambda: ahead.ahead == 5)
    loop.call(ahead.close())

    assert first == 3
    assert set(gate.made.values()) == {1}


def test_what_is_added_after_all_was_handed_out_is_made(
    loop: LoopThread, six: "range | list[int] | tuple[int, ...]"
) -> None:
    gate = Gate()
    ahead = LookAhead(six, gate.attempt, limit=2, window=4)
    loop.call(ahead.open())
    before = [ahead.result(position) for position in range(6)]

    first = ahead.extend((6, 7, 8))
    after = [ahead.result(position) for position in (first + 2, first, first + 1)]
    loop.call(ahead.close())

    assert before == [0, 1, 2, 3, 4, 5]
    assert after == [8, 6, 7]
    assert len(six) == 6  # the caller's own is left as it is
    assert gate.made == Counter(range(9))


def test_an_order_may_begin_empty(loop: LoopThread) -> None:
    gate = Gate()
    ahead = opened(loop, gate, 0, limit=8)

    first = ahead.extend(range(20))
    answers = [ahead.result(position) for position in range(20)]
    loop.call(ahead.close())

    assert first == 0
    assert answers == list(range(20))
    assert 1 < gate.most_running <= 8


def test_an_order_may_grow_before_the_start(loop: LoopThread) -> None:
    gate = Gate()
    ahead = LookAhead([0], gate.attempt, limit=1, window=4)

    ahead.extend([1])
    ahead.set_limit(2)
    loop.call(ahead.open())
    answers = [ahead.result(1), ahead.result(0)]
    loop.call(ahead.close())

    assert answers == [1, 0]


def test_what_is_added_while_others_run_is_begun_as_there_is_room(loop: LoopThread) -> None:
    gate = Gate(shut=True)
    ahead = opened(loop, gate, 2, limit=5)
    eventually(lambda: len(gate.running) == 2)

    ahead.extend(range(2, 10))
    eventually(lambda: len(gate.running) == 5)
    gate.shut = False
    answers = [ahead.result(position) for position in range(10)]
    loop.call(ahead.close())

    assert answers == list(range(10))
    assert gate.most_running == 5


def test_what_is_added_while_the_asker_waits_is_no_hindrance(loop: LoopThread) -> None:
    gate = Gate(shut=True)
    ahead = opened(loop, gate, 2)
    grown: list[int] = []

    def tick() -> None:
        if not grown:
            grown.append(ahead.extend([2, 3]))
            gate.shut = False

    answers = [ahead.result(0, tick), ahead.result(3), ahead.result(2)]
    loop.call(ahead.close())

    assert grown == [2]
    assert answers == [0, 3, 2]


def test_suspects_among_what_is_added_wait_until_they_are_asked_for(loop: LoopThread) -> None:
    gate = Gate()
    ahead = opened(loop, gate, 2)

    first = ahead.extend([2, 3, 4], alone={1})
    eventually(lambda: ahead.ahead == 4)
    loop.call(asyncio.sleep(0.005))
    made_ahead = set(gate.made)
    answer = ahead.result(first + 1)
    loop.call(ahead.close())

    assert made_ahead == {0, 1, 2, 4}
    assert answer == 3


def test_a_higher_limit_begins_more_at_once(loop: LoopThread) -> None:
    gate = Gate(shut=True)
    ahead = opened(loop, gate, 30, limit=2)
    eventually(lambda: len(gate.running) == 2)

    ahead.set_limit(7)
    eventually(lambda: len(gate.running) == 7)
    gate.shut = False
    answers = [ahead.result(position) for position in range(30)]
    loop.call(ahead.close())

    assert answers == list(range(30))
    assert gate.most_running == 7


def test_a_lower_limit_cancels_nothing_and_holds_once_they_are_through(loop: LoopThread) -> None:
    gate = Gate(shut=True)
    ahead = opened(loop, gate, 60, limit=8)
    eventually(lambda: len(gate.running) == 8)

    ahead.set_limit(3)
    loop.call(asyncio.sleep(0.005))
    still = len(gate.running)
    gate.shut = False
    for position in range(8):
        ahead.result(position)
    gate.most_running = 0
    for position in range(8, 60):
        ahead.result(position)
    left = loop.call(workers(ahead))
    loop.call(ahead.close())

    assert still == 8
    assert gate.cancelled == 0
    assert gate.most_running <= 3
    assert left == 3
    assert set(gate.made.values()) == {1}


@pytest.mark.parametrize("limit", [0, -5])
def test_the_limit_never_sinks_below_one(loop: LoopThread, limit: int) -> None:
    gate = Gate()
    ahead = opened(loop, gate, 20, limit=4, window=2)

    ahead.set_limit(limit)
    left = loop.call(workers(ahead))
    answers = [ahead.result(position) for position in range(20)]
    loop.call(ahead.close())

    assert left == 1
    assert answers == list(range(20))


def test_a_limit_beyond_what_is_left_starts_no_idle_workers(loop: LoopThread) -> None:
    gate = Gate(shut=True)
    ahead = opened(loop, gate, 500, limit=1, window=500)
    gate.shut = False
    for position in range(490):
        ahead.result(position)
    gate.shut = True

    ahead.set_limit(100_000)
    started = loop.call(workers(ahead))
    gate.shut = False
    answers = [ahead.result(position) for position in range(490, 500)]
    loop.call(ahead.close())

    assert started <= 12
    assert answers == list(range(490, 500))


def test_a_close_waits_for_what_a_lower_limit_left_running(loop: LoopThread) -> None:
    gate = Gate(shut=True)
    ahead = opened(loop, gate, 8, limit=8)
    eventually(lambda: len(gate.running) == 8)
    ahead.set_limit(1)
    threading.Timer(0.05, setattr, [gate, "shut", False]).start()

    loop.call(ahead.close(grace=PATIENCE_SECONDS))

    assert ahead.ahead == 8
    assert gate.cancelled == 0


def test_after_the_close_a_change_is_harmless(loop: LoopThread) -> None:
    gate = Gate()
    ahead = opened(loop, gate, 2)
    loop.call(ahead.close())
    made = sum(gate.made.values())

    ahead.extend([2, 3])
    ahead.set_limit(9)
    left = loop.call(workers(ahead))

    assert left == 0
    assert sum(gate.made.values()) == made


@settings(max_examples=40)
@given(
    limits=st.lists(st.integers(1, 9), min_size=1, max_size=12),
    window=st.integers(1, 40),
    grow=st.integers(0, 5),
)
def test_a_limit_that_moves_under_load_is_kept_and_each_is_made_once(
    loop: LoopThread, limits: list[int], window: int, grow: int
) -> None:
    gate = Gate()
    ahead = opened(loop, gate, 10, limit=limits[0], window=window)
    size, asked = 10, 0

    for limit in limits:
        ahead.set_limit(limit)
        assert ahead.extend(range(size, size + grow)) == size
        size += grow
        for _ in range(min(4, size - asked)):
            assert ahead.result(asked) == asked
            asked += 1
    rest = [ahead.result(position) for position in range(asked, size)]
    left = loop.call(workers(ahead))
    loop.call(ahead.close())

    assert rest == list(range(asked, size))
    assert left <= limits[-1]
    assert gate.most_running <= max(limits)
    assert gate.made == Counter(range(size))
