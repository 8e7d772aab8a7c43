"""The adaptive limit: fair, leak-free, halved when throttled, regrown while calm."""

import asyncio
import random
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_nel.http.limiter import AdaptiveLimiter


class Clock:
    """Seconds that pass when told."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.mark.asyncio
async def test_no_more_than_the_limit_are_in_flight() -> None:
    limiter = AdaptiveLimiter(3)
    most = 0

    async def use() -> None:
        nonlocal most
        async with limiter.slot():
            most = max(most, limiter.in_flight)
            await asyncio.sleep(0.001)

    await asyncio.gather(*[use() for _ in range(20)])

    assert most == 3
    assert limiter.in_flight == 0


@pytest.mark.asyncio
async def test_slots_are_given_in_order_of_asking() -> None:
    limiter = AdaptiveLimiter(1)
    order: list[int] = []

    async def use(number: int) -> None:
        async with limiter.slot():
            order.append(number)
            await asyncio.sleep(0)

    await asyncio.gather(*[use(number) for number in range(10)])

    assert order == list(range(10))


def test_throttling_halves_at_most_once_per_second() -> None:
    clock = Clock()
    limiter = AdaptiveLimiter(64, clock=clock)

    limiter.throttled()
    limiter.throttled()
    once = limiter.limit
    clock.now += 1.0
    limiter.throttled()

    assert once == 32
    assert limiter.limit == (32 + 1) // 2  # a second had passed since: one step of growth, halved


def test_the_limit_never_falls_below_one() -> None:
    clock = Clock()
    limiter = AdaptiveLimiter(2, clock=clock)

    for _ in range(5):
        limiter.throttled()
        clock.now += 0.99
        limiter.throttled()
        clock.now += 0.02

    assert limiter.limit == 1


def test_each_calm_second_adds_a_twentieth_up_to_the_ceiling() -> None:
    clock = Clock()
    limiter = AdaptiveLimiter(200, clock=clock)
    limiter.throttled()

    seen = []
    for _ in range(3):
        clock.now += 1.0
        seen.append(limiter.limit)
    clock.now += 1000.0

    assert seen == [105, 110, 115]
    assert limiter.limit == limiter.ceiling == 200


def test_a_refusal_restarts_the_calm_second() -> None:
    clock = Clock()
    limiter = AdaptiveLimiter(10, clock=clock)
    limiter.throttled()
    clock.now += 0.9
    limiter.throttled()
    clock.now += 0.9

    assert limiter.limit == 5


@pytest.mark.asyncio
async def test_nobody_gets_a_slot_before_retry_after() -> None:
    limiter = AdaptiveLimiter(4)
    limiter.throttled(0.15)
    begin = time.monotonic()

    async with limiter.slot():
        waited = time.monotonic() - begin

    assert 0.14 <= waited < 1.0


@pytest.mark.asyncio
async def test_growth_lets_a_waiter_in_without_a_release() -> None:
    clock = Clock()
    limiter = AdaptiveLimiter(2, clock=clock)
    await limiter.acquire()
    limiter.throttled()
    second = asyncio.create_task(limiter.acquire())
    await asyncio.sleep(0)
    waiting = not second.done()

    clock.now += 1.0
    await asyncio.wait_for(second, 3)  # the timer was set for the calm second

    assert waiting
    assert limiter.in_flight == 2


@pytest.mark.asyncio
async def test_a_raised_ceiling_lets_waiters_in_at_once() -> None:
    limiter = AdaptiveLimiter(1)
    await limiter.acquire()
    second = asyncio.create_task(limiter.acquire())
    await asyncio.sleep(0)

    limiter.set_ceiling(2)
    await asyncio.wait_for(second, 1)

    assert (limiter.limit, limiter.ceiling, limiter.in_flight) == (2, 2, 2)


def test_a_lowered_ceiling_lowers_the_limit() -> None:
    limiter = AdaptiveLimiter(8)

    limiter.set_ceiling(3)

    assert limiter.limit == 3


@pytest.mark.parametrize("wrong", [0, -1])
def test_a_limit_below_one_is_refused(wrong: int) -> None:
    with pytest.raises(ValueError, match="at least 1"):
        AdaptiveLimiter(wrong)
    with pytest.raises(ValueError, match="at least 1"):
        AdaptiveLimiter(1).set_ceiling(wrong)


@pytest.mark.asyncio
async def test_an_error_inside_gives_the_slot_back() -> None:
    limiter = AdaptiveLimiter(1)

    with pytest.raises(RuntimeError):
        async with limiter.slot():
            raise RuntimeError

    assert limiter.in_flight == 0


async def storm(limit: int, seed: int, tasks: int) -> tuple[int, int]:
    """Take, hold, cancel and throttle at random; returns slots left taken and the most taken."""
    rng = random.Random(seed)
    limiter = AdaptiveLimiter(limit)
    most = 0

    async def use() -> None:
        nonlocal most
        async with limiter.slot():
            most = max(most, limiter.in_flight)
            for _ in range(rng.randrange(4)):
                await asyncio.sleep(0)

    running = [asyncio.create_task(use()) for _ in range(tasks)]
    for _ in range(tasks):
        await asyncio.sleep(0)
        for _ in range(rng.randrange(3)):
            rng.choice(running).cancel()
        if rng.random() < 0.05:
            limiter.throttled(rng.choice([None, 0.0, 0.001]))
    await asyncio.gather(*running, return_exceptions=True)
    async with asyncio.timeout(5):  # whoever comes later still gets a slot
        await asyncio.gather(*[use() for _ in range(3)])
    return limiter.in_flight, most


@settings(max_examples=80, deadline=None)
@given(st.integers(1, 5), st.integers(0, 10**6), st.integers(1, 40))
def test_cancelled_takers_leak_no_slot(limit: int, seed: int, tasks: int) -> None:
    with asyncio.Runner() as runner:
        left, most = runner.run(storm(limit, seed, tasks))

    assert left == 0
    assert most <= limit


@pytest.mark.asyncio
async def test_a_cancelled_taker_is_cancelled_even_when_a_release_passed_over_it() -> None:
    limiter = AdaptiveLimiter(1)
    await limiter.acquire()
    waiting = asyncio.create_task(limiter.acquire())
    await asyncio.sleep(0)

    waiting.cancel()
    limiter.release()

    with pytest.raises(asyncio.CancelledError):
        await waiting
    assert limiter.in_flight == 0


@pytest.mark.asyncio
async def test_the_free_path_costs_microseconds() -> None:
    limiter = AdaptiveLimiter(4)
    best = 1.0
    for _ in range(5):
        begin = time.perf_counter()
        for _ in range(2000):
            async with limiter.slot():
                pass
        best = min(best, (time.perf_counter() - begin) / 2000)

    assert best < 20e-6  # about 1 µs on an idle machine


@pytest.mark.asyncio
async def test_a_stopped_limit_lets_nobody_in_who_waits_or_comes() -> None:
    limiter = AdaptiveLimiter(1)
    let_in: list[int] = []

    async def use(number: int) -> None:
        async with limiter.slot():
            let_in.append(number)
            await asyncio.sleep(0.01)

    tasks = [asyncio.create_task(use(number)) for number in range(3)]
    await asyncio.sleep(0.005)
    limiter.stop()
    tasks.append(asyncio.create_task(use(3)))
    await asyncio.sleep(0.05)
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)

    assert let_in == [0]
    assert limiter.in_flight == 0
