"""Look-ahead: each attempt once, never too many at a time, never a dead-lock."""

import asyncio
import threading
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_nel.core.errors import RunStopped
from pytest_nel.engine.lookahead import LookAhead
from pytest_nel.engine.loop import LoopThread


class Bench:
    """Counts what the look-ahead begins; written by the loop's thread alone."""

    def __init__(self, pauses: list[float] | None = None) -> None:
        self.pauses = pauses or []
        self.made: Counter[int] = Counter()
        self.running = 0
        self.most_running = 0

    async def attempt(self, key: int) -> str:
        self.made[key] += 1
        self.running += 1
        self.most_running = max(self.most_running, self.running)
        await asyncio.sleep(self.pauses[key % len(self.pauses)] if self.pauses else 0)
        self.running -= 1
        return f"answer {key}"


@pytest.fixture(scope="module")
def loop() -> Iterator[LoopThread]:
    thread = LoopThread("test-engine")
    yield thread
    thread.close()


def opened(
    loop: LoopThread,
    attempt: Callable[[int], Awaitable[str]],
    size: int,
    limit: int = 4,
    window: int = 8,
) -> LookAhead[int, str]:
    ahead = LookAhead(range(size), attempt, limit=limit, window=window)
    loop.call(ahead.open())
    return ahead


@settings(max_examples=60)
@given(data=st.data(), limit=st.integers(1, 6), window=st.integers(1, 12))
def test_each_attempt_is_made_once_in_whatever_order_it_is_asked(
    loop: LoopThread, data: st.DataObject, limit: int, window: int
) -> None:
    order = data.draw(st.permutations(range(data.draw(st.integers(1, 24)))))
    pauses = data.draw(st.lists(st.sampled_from([0.0, 0.0005, 0.002]), min_size=1, max_size=5))
    bench = Bench(pauses)
    ahead = opened(loop, bench.attempt, len(order), limit, window)

    answers = [ahead.result(position) for position in order]
    loop.call(ahead.close())

    assert answers == [f"answer {position}" for position in order]
    assert bench.made == Counter(order)
    assert bench.most_running <= limit


@settings(max_examples=25)
@given(limit=st.integers(1, 6), window=st.integers(1, 12), asked=st.integers(0, 10))
def test_what_is_begun_and_not_asked_for_fits_the_window(
    loop: LoopThread, limit: int, window: int, asked: int
) -> None:
    bench = Bench()
    ahead = opened(loop, bench.attempt, 60, limit, window)

    for position in range(asked):
        ahead.result(position)
    time.sleep(0.01)
    begun = sum(bench.made.values())
    loop.call(ahead.close())

    assert begun - asked <= window


def test_what_is_asked_out_of_turn_is_made_although_the_window_is_full(loop: LoopThread) -> None:
    bench = Bench()
    ahead = opened(loop, bench.attempt, 50, limit=2, window=2)
    while sum(bench.made.values()) < 2:
        time.sleep(0.001)

    last_first = [ahead.result(position) for position in reversed(range(50))]
    loop.call(ahead.close())

    assert last_first == [f"answer {position}" for position in reversed(range(50))]
    assert set(bench.made.values()) == {1}


@settings(max_examples=25)
@given(st.lists(st.integers(0, 5), min_size=1, max_size=30))
def test_asking_again_makes_the_attempt_again(loop: LoopThread, asks: list[int]) -> None:
    bench = Bench()
    ahead = opened(loop, bench.attempt, 6, limit=2, window=3)

    for position in asks:
        ahead.result(position)
    loop.call(ahead.close())

    asked = Counter(asks)
    assert {position: bench.made[position] for position in asked} == dict(asked)


class Overtaken(set[int]):
    """Between the asker's look and its next line, the loop begins what it asks for."""

    def __init__(self, go: threading.Event) -> None:
        super().__init__()
        self.go = go

    def __contains__(self, position: object) -> bool:
        found = super().__contains__(position)
        if not found and threading.current_thread() is threading.main_thread():
            self.go.set()
            while not super().__contains__(position):
                time.sleep(0.001)
        return found


def test_an_attempt_that_begins_while_it_is_asked_for_is_made_once(loop: LoopThread) -> None:
    go = threading.Event()
    bench = Bench()

    async def attempt(key: int) -> str:
        while key == 0 and not go.is_set():  # noqa: ASYNC110  # set by another thread
            await asyncio.sleep(0.001)
        return await bench.attempt(key)

    ahead: LookAhead[int, str] = LookAhead(range(2), attempt, limit=1, window=2)
    ahead._begun = Overtaken(go)
    loop.call(ahead.open())

    answers = [ahead.result(1), ahead.result(0)]
    time.sleep(0.02)
    loop.call(ahead.close())

    assert answers == ["answer 1", "answer 0"]
    assert bench.made == {0: 1, 1: 1}


@pytest.mark.parametrize(
    "error", [ValueError("bug"), SystemExit(3), asyncio.CancelledError("own")], ids=repr
)
def test_an_attempt_that_raises_fails_its_asker_and_nobody_else(
    loop: LoopThread, error: BaseException
) -> None:
    async def attempt(key: int) -> str:
        if key == 1:
            raise error
        return str(key)

    ahead = opened(loop, attempt, 4)

    with pytest.raises(type(error)):
        ahead.result(1)
    others = [ahead.result(position) for position in (0, 2, 3)]
    loop.call(ahead.close())

    assert others == ["0", "2", "3"]


def test_a_stop_reaches_who_waits_and_keeps_what_is_done(loop: LoopThread) -> None:
    async def attempt(key: int) -> str:
        if key:
            await asyncio.sleep(60)
        return str(key)

    ahead = opened(loop, attempt, 3, limit=3)
    while not ahead.ahead:
        time.sleep(0.001)
    threading.Timer(0.05, ahead.stop, ["enough"]).start()

    with pytest.raises(RunStopped, match="enough"):
        ahead.result(1)
    kept = ahead.result(0)
    loop.call(ahead.close(grace=0))

    assert kept == "0"


def test_nothing_is_begun_after_a_stop(loop: LoopThread) -> None:
    bench = Bench([0.01])
    ahead = opened(loop, bench.attempt, 100, limit=2, window=100)
    while not bench.running:
        time.sleep(0.001)

    ahead.stop("enough")
    begun = sum(bench.made.values())
    time.sleep(0.05)
    loop.call(ahead.close())

    assert sum(bench.made.values()) <= begun + 1  # one may have been taken during the count


def test_dead_workers_fail_the_asker_instead_of_hanging_it(loop: LoopThread) -> None:
    async def attempt(key: int) -> str:
        await asyncio.sleep(60)
        return str(key)

    ahead = opened(loop, attempt, 1, limit=1)
    workers = list(ahead._workers)
    loop.loop.call_soon_threadsafe(workers[0].cancel)  # type: ignore[union-attr]  # it runs

    with pytest.raises(RunStopped, match="workers have ended"):
        ahead.result(0)


def test_ten_thousand_positions_cost_little(loop: LoopThread) -> None:
    async def attempt(key: int) -> str:
        return str(key)

    began = time.process_time()
    ahead = opened(loop, attempt, 10_000, limit=64, window=1024)
    for position in range(10_000):
        ahead.result(position)
    spent = time.process_time() - began
    loop.call(ahead.close())

    assert spent < 3.0  # it is 0.2 s on a quiet machine


def test_waiting_calls_the_tick(loop: LoopThread) -> None:
    ticks: list[float] = []
    bench = Bench([0.5])
    ahead = opened(loop, bench.attempt, 1)

    ahead.result(0, lambda: ticks.append(time.monotonic()))
    loop.call(ahead.close())

    assert ticks


@pytest.mark.parametrize(
    "raised",
    [pytest.skip.Exception("x"), BaseExceptionGroup("x", [SystemExit(1)]), GeneratorExit()],
    ids=repr,
)
def test_whatever_ends_an_attempt_is_handed_to_its_asker(
    loop: LoopThread, raised: BaseException
) -> None:
    async def attempt(key: int) -> str:
        if key == 0:
            raise raised
        return "answer"

    ahead = opened(loop, attempt, 2, limit=2)

    with pytest.raises(type(raised)):
        ahead.result(0)
    later = ahead.result(1)
    loop.call(ahead.close())

    assert later == "answer"
