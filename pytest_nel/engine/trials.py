"""Whether what judges a problem is sound: tried by the problem's own solution."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from enum import Enum


class Found(Enum):
    """What a trial has found."""

    SOLVED = "solved"
    """The problem's own solution was judged as right."""
    UNTOUCHED = "untouched"
    """It has none, and what nobody has changed has a judgement."""
    UNSOUND = "unsound"
    """Neither."""


class Trials:
    """What was found last, by problem; who asks meanwhile waits for it.

    Args:
        clock: Seconds, from anywhere.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._known: dict[int, tuple[float, Found]] = {}
        self._turns: dict[int, asyncio.Lock] = {}

    def now(self) -> float:
        """The clock."""
        return self._clock()

    async def found(
        self, problem: int, ask: Callable[[], Awaitable[Found | None]], *, since: float
    ) -> Found | None:
        """What is found where what judges a problem is tried; None: it could not be tried.

        An earlier trial says nothing of a later failure: a network, or a disk, may be another by
        then. What others have found meanwhile does.

        Args:
            problem: Its position.
            ask: Tries it; None: this time it could not be tried.
            since: When the failure was there that the trial is to explain, by :meth:`now`.
        """
        async with self._turns.setdefault(problem, asyncio.Lock()):
            known = self._known.get(problem)
            if known is not None and known[0] >= since:
                return known[1]
            began = self._clock()
            found = await ask()
            if found is not None:
                self._known[problem] = (began, found)
            return found
