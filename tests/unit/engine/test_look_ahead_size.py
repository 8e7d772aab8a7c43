"""Look-ahead costs what there is to do, not what might be allowed."""

import asyncio

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
