"""Look-ahead costs what there is to do, not what might be allowed."""

import asyncio
import time

from pytest_nel.engine.lookahead import LookAhead
from pytest_nel.engine.loop import LoopThread


async def tasks() -> int:
    return len(asyncio.all_tasks())


async def same(key: int) -> int:
    return key


def test_two_attempts_start_no_thousand_workers() -> None:
    loop = LoopThread()
    ahead = LookAhead([0, 1], same, limit=100_000, window=10)
    try:
        loop.call(ahead.open())

        running = loop.call(tasks())

        assert running <= 4
        assert [ahead.result(0), ahead.result(1)] == [0, 1]
    finally:
        loop.call(ahead.close())
        loop.close()


def test_a_thousand_suspects_cost_little() -> None:
    async def attempt(key: int) -> str:
        return str(key)

    ahead: LookAhead[int, str] = LookAhead(
        range(2000), attempt, limit=64, window=64, alone=range(0, 2000, 2)
    )
    loop = LoopThread()
    loop.call(ahead.open())

    began = time.process_time()
    for position in range(2000):
        ahead.result(position)
    spent = time.process_time() - began
    loop.call(ahead.close())
    loop.close()

    assert spent < 5.0
