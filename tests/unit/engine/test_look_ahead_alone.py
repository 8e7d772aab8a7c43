"""Look-ahead past suspects: what may kill the process runs and is judged by itself."""

import asyncio
import threading
import time
from collections import Counter
from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_nel.core.errors import RunStopped
from pytest_nel.engine.lookahead import LookAhead
from pytest_nel.engine.loop import LoopThread

PATIENCE_SECONDS = 10.0


class GaveUp(Exception):  # no error: an asker that is called away
    """Raised by a tick."""


class Watch:
    """Notes what the look-ahead begins, and when it should not have."""

    def __init__(self, pauses: list[float] | None = None, stop_after: int | None = None) -> None:
        self.pauses = pauses or [0.0]
        self.stop_after = stop_after
        self.ahead: LookAhead[int, str] | None = None
        self.held: set[int] = set()  # these do not end
        self.made: Counter[int] = Counter()
        self.alone: Counter[int] = Counter()
        self.running: set[int] = set()
        self.most_running = 0
        self.faults: list[str] = []
        self.judged: int | None = None  # the suspect that the asker's thread is busy with

    async def attempt(self, key: int) -> str:
        ahead = self.ahead
        assert ahead is not None
        self.made[key] += 1
        self.running.add(key)
        self.most_running = max(self.most_running, len(self.running))
        if sum(self.made.values()) == self.stop_after:
            ahead.stop("enough")
        self._look(key, ahead)
        try:
            await asyncio.sleep(self.pauses[key % len(self.pauses)])
            while key in self.held:  # noqa: ASYNC110  # let go by another thread
                await asyncio.sleep(0.001)
            self._look(key, ahead)
        finally:
            self.running.discard(key)
        if key % 7 == 3:
            msg = f"answer {key}"
            raise ValueError(msg)
        return f"answer {key}"

    def _look(self, key: int, ahead: LookAhead[int, str]) -> None:
        if self.judged is not None:
            self.faults.append(f"{key} ran while {self.judged} was judged")
        if ahead.running_alone:
            self.alone[key] += 1
            if self.running != {key}:
                self.faults.append(f"{key} was alone among {self.running}")

    def ask(self, position: int, seconds: float = 0.0) -> str:
        """Ask and judge as an engine does; never waits longer than PATIENCE_SECONDS."""
        ahead = self.ahead
        assert ahead is not None
        until = time.monotonic() + PATIENCE_SECONDS
        suspect = position in ahead._alone

        def tick() -> None:
            if time.monotonic() > until:
                msg = f"{position} never came"
                raise TimeoutError(msg)

        try:
            answer = ahead.result(position, tick)
        except ValueError as error:
            answer = str(error)
        if suspect:
            self.judged = position
            if self.running:
                self.faults.append(f"{self.running} ran when {position} was handed over")
            time.sleep(seconds)
            self.judged = None
        return answer


@pytest.fixture(scope="module")
def loop() -> Iterator[LoopThread]:
    thread = LoopThread("test-alone")
    yield thread
    thread.close()


def opened(
    loop: LoopThread,
    watch: Watch,
    size: int,
    alone: set[int],
    limit: int = 4,
    window: int = 8,
) -> LookAhead[int, str]:
    ahead = LookAhead(range(size), watch.attempt, limit=limit, window=window, alone=alone)
    watch.ahead = ahead
    loop.call(ahead.open())
    return ahead


def settle(loop: LoopThread) -> None:
    """Give the loop's thread enough turns to begin whatever it is going to begin."""
    for _ in range(5):
        loop.call(asyncio.sleep(0.002))


def away() -> None:
    raise GaveUp


def test_a_suspect_is_passed_over_until_it_is_asked_for(loop: LoopThread) -> None:
    watch = Watch()
    ahead = opened(loop, watch, 5, {1, 4})

    settle(loop)
    unasked = set(watch.made)
    answer = watch.ask(4)
    loop.call(ahead.close())

    assert unasked == {0, 2, 3}
    assert answer == "answer 4"
    assert watch.made[1] == 0


def test_a_suspect_waits_for_what_runs_and_knows_that_it_is_alone(loop: LoopThread) -> None:
    watch = Watch([0.03, 0.0])
    ahead = opened(loop, watch, 6, {5}, limit=3, window=3)
    while not watch.running:
        time.sleep(0.001)

    watch.ask(5)
    loop.call(ahead.close())

    assert watch.faults == []
    assert set(watch.alone) == {5}


def test_nothing_is_begun_while_a_suspect_is_judged(loop: LoopThread) -> None:
    watch = Watch()
    ahead = opened(loop, watch, 40, {0}, limit=4, window=4)

    watch.ask(0, seconds=0.03)
    loop.call(ahead.close())

    assert watch.faults == []


def test_after_the_release_others_are_begun_with_nobody_asking(loop: LoopThread) -> None:
    watch = Watch([0.01])
    ahead = opened(loop, watch, 1000, {0}, limit=2, window=1000)
    watch.ask(0)
    begun = sum(watch.made.values())

    settle(loop)
    before = sum(watch.made.values())
    ahead.release()
    settle(loop)
    after = sum(watch.made.values())
    loop.call(ahead.close())

    assert before == begun
    assert after > before


def test_a_suspect_that_was_handed_over_is_one_like_others(loop: LoopThread) -> None:
    watch = Watch()
    ahead = opened(loop, watch, 3, {2})

    answers = [watch.ask(2), watch.ask(2), watch.ask(0)]
    loop.call(ahead.close())

    assert answers == ["answer 2", "answer 2", "answer 0"]
    assert watch.made[2] == 2
    assert watch.alone[2] == 2  # it looks twice, and only the first attempt was alone


def test_between_two_suspects_in_a_row_nothing_is_begun(loop: LoopThread) -> None:
    watch = Watch()
    ahead = opened(loop, watch, 60, set(range(20)), limit=4, window=4)
    settle(loop)
    made_ahead = sum(watch.made.values())

    for position in range(20):
        watch.ask(position)
    made = sum(watch.made.values())
    loop.call(ahead.close())

    assert made == made_ahead + 20
    assert watch.faults == []


def test_a_suspect_made_for_an_asker_who_went_away_is_still_judged_alone(loop: LoopThread) -> None:
    watch = Watch([0.02, 0.0, 0.02, 0.02, 0.02])
    ahead = opened(loop, watch, 300, {1}, limit=4, window=300)
    with pytest.raises(GaveUp):
        ahead.result(1, away)
    others = [watch.ask(0), watch.ask(299)]
    while not watch.running:
        time.sleep(0.001)

    answer = watch.ask(1, seconds=0.03)
    loop.call(ahead.close())

    assert others == ["answer 0", "answer 299"]
    assert answer == "answer 1"
    assert watch.made[1] == 1
    assert watch.faults == []


def test_a_suspect_that_runs_on_without_its_asker_stays_alone_to_its_end(loop: LoopThread) -> None:
    watch = Watch([0.01])
    watch.held.add(1)
    ahead = opened(loop, watch, 300, {1}, limit=4, window=300)
    with pytest.raises(GaveUp):
        ahead.result(1, away)  # it ticks after 0.2 s
    made = sum(watch.made.values())

    watch.ask(0)  # it was done before the quiet
    runs_on = 1 in watch.running
    settle(loop)
    then = sum(watch.made.values())
    watch.held.clear()
    until = time.monotonic() + PATIENCE_SECONDS
    while len(watch.running) < 4 and time.monotonic() < until:
        time.sleep(0.001)
    at_once = len(watch.running)
    loop.call(ahead.close())

    assert runs_on
    assert then == made
    assert at_once == 4  # nobody asked, and all workers are back
    assert watch.faults == []


def test_the_quiet_comes_although_the_last_worker_beside_it_dies(loop: LoopThread) -> None:
    go = threading.Event()

    async def attempt(key: int) -> str:
        while key == 0 and not go.is_set():  # noqa: ASYNC110  # set by another thread
            await asyncio.sleep(0.001)
        if key == 0:
            raise GeneratorExit
        return str(key)

    watch = Watch()
    ahead: LookAhead[int, str] = LookAhead(range(2), attempt, limit=2, window=2, alone={1})
    watch.ahead = ahead
    loop.call(ahead.open())
    threading.Timer(0.05, go.set).start()

    answer = watch.ask(1)
    loop.call(ahead.close())

    assert answer == "1"


@pytest.mark.parametrize("end", ["stop", "close"])
def test_an_end_reaches_who_waits_for_the_quiet(loop: LoopThread, end: str) -> None:
    watch = Watch([60.0])
    ahead = opened(loop, watch, 2, {1}, limit=1)
    while not watch.running:
        time.sleep(0.001)
    call = ahead.stop if end == "stop" else lambda _: loop.call(ahead.close(grace=0))
    timer = threading.Timer(0.05, call, ["enough"])
    timer.start()

    with pytest.raises(RunStopped):
        ahead.result(1)
    timer.join()
    loop.call(ahead.close(grace=0))

    assert watch.made[1] == 0


def test_a_suspect_whose_attempt_ends_its_worker_leaves_the_others_running(
    loop: LoopThread,
) -> None:
    async def attempt(key: int) -> str:
        await asyncio.sleep(0)
        if key == 0:
            raise GeneratorExit
        return str(key)

    ahead: LookAhead[int, str] = LookAhead(range(9), attempt, limit=2, window=2, alone={0})
    loop.call(ahead.open())

    with pytest.raises(GeneratorExit):
        ahead.result(0)
    others = [ahead.result(position) for position in range(1, 9)]
    loop.call(ahead.close())

    assert others == [str(position) for position in range(1, 9)]


ACTIONS = st.one_of(
    st.tuples(st.just("ask"), st.integers(0, 60)),
    st.tuples(st.just("ask"), st.integers(0, 60)),
    st.tuples(st.just("leave"), st.integers(0, 60)),
    st.tuples(st.just("limit"), st.integers(0, 7)),
    st.tuples(st.just("extend"), st.integers(0, 7)),
    st.tuples(st.just("release"), st.just(0)),
)


def act(watch: Watch, action: str, number: int, asked: Counter[int], size: int) -> int:
    """One step of an asker; gives the size of the order after it."""
    ahead = watch.ahead
    assert ahead is not None
    position = number % size
    if action == "ask":
        assert watch.ask(position) == f"answer {position}"
        asked[position] += 1
    elif action == "leave" and not asked[position]:
        try:
            ahead.result(position, away)
        except GaveUp:
            return size
        except ValueError:  # handed over after all
            pass
        asked[position] += 1
    elif action == "limit":
        ahead.set_limit(number)
    elif action == "extend":
        first = ahead.extend(range(size, size + number), {i for i in range(number) if i % 3 == 1})
        assert first == size
        size += number
    elif action == "release":
        ahead.release()
    return size


@settings(max_examples=150)
@given(
    size=st.integers(1, 20),
    alone=st.sets(st.integers(0, 19), max_size=8),
    limit=st.integers(1, 6),
    window=st.integers(1, 12),
    pauses=st.lists(st.sampled_from([0.0, 0.0005, 0.002]), min_size=1, max_size=5),
    steps=st.lists(ACTIONS, max_size=25),
    stop_after=st.one_of(st.none(), st.integers(1, 30)),
)
def test_whatever_the_asker_does_suspects_are_alone_and_nothing_hangs(
    *,
    loop: LoopThread,
    size: int,
    alone: set[int],
    limit: int,
    window: int,
    pauses: list[float],
    steps: list[tuple[str, int]],
    stop_after: int | None,
) -> None:
    watch = Watch(pauses, stop_after)
    alone = {position for position in alone if position < size}
    ahead = opened(loop, watch, size, alone, limit, window)
    highest = max([limit, *(number for action, number in steps if action == "limit")])
    asked: Counter[int] = Counter()

    try:
        for action, number in steps:
            size = act(watch, action, number, asked, size)
    except RunStopped:
        assert stop_after is not None
    loop.call(ahead.close())

    assert watch.faults == []
    assert watch.most_running <= highest
    assert not watch.running
    for position, times in watch.made.items():
        assert times <= max(asked[position], 1) + (ahead.stopped == "enough")
    if ahead.stopped != "enough":
        assert all(watch.made[position] == times for position, times in asked.items() if times)
