"""Results in the order they are asked for, made many at a time ahead of whoever asks.

Two numbers bound it: ``limit`` attempts run at once, and at most ``window`` are running or done
but not yet asked for. What the asker waits for is never subject to the window. It is a hint,
never truth: a position asked for out of turn is simply made next.

One thread asks (:meth:`LookAhead.result`), the loop's thread makes. What both change are sets and
dicts whose single operations are atomic under the interpreter lock, so there is no lock to hold.
"""

import asyncio
import threading
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from typing import Generic, TypeVar

from pytest_nel.core.errors import RunStopped

K = TypeVar("K")
T = TypeVar("T")

TICK_SECONDS = 0.2
GRACE_SECONDS = 0.5


class _Raised:
    """An exception on its way from the loop to the asker."""

    def __init__(self, error: BaseException) -> None:
        self.error = error


class LookAhead(Generic[K, T]):
    """Makes ``attempt(order[i])`` for i = 0, 1, … ahead of the calls of ``result(i)``."""

    def __init__(
        self,
        order: Sequence[K],
        attempt: Callable[[K], Awaitable[T]],
        *,
        limit: int,
        window: int,
    ) -> None:
        self._order = order
        self._attempt = attempt
        self._limit = min(limit, max(1, len(order)))  # a worker with nothing to do costs as much
        self._window = max(window, 1)
        self._next = 0
        self._taken = bytearray(len(order))  # 1 once begun, whoever asked
        self._begun: set[int] = set()  # begun, not yet handed to the asker
        self._handed = bytearray(len(order))  # 1 once the asker had a result
        self._urgent: deque[tuple[int, bool]] = deque()  # position, handed over once before
        self._done: dict[int, T | _Raised] = {}
        self._wanted = -1
        self._arrived = threading.Event()
        self._stopped: str | None = None
        self._idle = 0
        self._kicked = False  # the loop has been told and has not woken yet
        self._wake: asyncio.Event | None = None
        self._workers: list[asyncio.Task[None]] = []
        self._loop: asyncio.AbstractEventLoop | None = None

    # -- the asker's thread ------------------------------------------------------------------

    def result(self, position: int, tick: Callable[[], None] | None = None) -> T:
        """Wait for the attempt at ``position``; ``tick`` is called while waiting.

        Asking a second time makes the attempt again.

        Raises:
            RunStopped: The engine stopped before that attempt was done.
        """
        if position not in self._begun:
            # not "taken": the loop may take it between the look above and this line
            self._urgent.append((position, bool(self._handed[position])))
            self._kick()
        while (outcome := self._done.pop(position, None)) is None:
            self._wait_for(position, tick)
        self._handed[position] = 1
        self._begun.discard(position)
        if self._idle and self._left() and self._room() >= max(1, self._window // 8):
            self._kick()
        if isinstance(outcome, _Raised):
            raise outcome.error
        return outcome

    def stop(self, reason: str) -> None:
        """Take nothing more; whoever waits for what is not done gets RunStopped."""
        self._stopped = self._stopped or reason
        self._arrived.set()

    @property
    def stopped(self) -> str | None:
        """Why nothing more is taken, or None."""
        return self._stopped

    @property
    def ahead(self) -> int:
        """Attempts done and not yet asked for."""
        return len(self._done)

    def _wait_for(self, position: int, tick: Callable[[], None] | None) -> None:
        self._wanted = position
        if position in self._done:  # arrived between the look and the wish
            return
        if self._stopped is not None:
            raise RunStopped(self._stopped)
        if self._workers and all(worker.done() for worker in self._workers):
            msg = "the engine's workers have ended while an attempt was still awaited"
            raise RunStopped(msg)
        self._arrived.wait(TICK_SECONDS)
        self._arrived.clear()
        if tick is not None:
            tick()

    def _kick(self) -> None:
        if self._loop is None or self._wake is None or self._kicked:
            return
        self._kicked = True
        self._loop.call_soon_threadsafe(self._woken)

    def _woken(self) -> None:
        assert self._wake is not None
        self._kicked = False
        self._wake.set()

    def _left(self) -> bool:
        return self._next < len(self._order)

    def _room(self) -> int:
        return self._window - len(self._begun)

    # -- the loop's thread -------------------------------------------------------------------

    async def open(self) -> None:
        """Start taking attempts; called on the loop."""
        self._loop = asyncio.get_running_loop()
        self._wake = asyncio.Event()
        self._workers = [asyncio.create_task(self._work()) for _ in range(self._limit)]

    async def close(self, grace: float = GRACE_SECONDS) -> None:
        """Give what runs ``grace`` seconds, then cancel it; called on the loop."""
        self.stop("the run has ended")
        if self._wake is not None:
            self._wake.set()
        if self._workers:
            await asyncio.wait(self._workers, timeout=grace)
        for worker in self._workers:
            worker.cancel()
        await asyncio.gather(*self._workers, return_exceptions=True)
        self._workers = []

    def _take(self) -> int | None:
        if self._stopped is not None:
            return None
        while self._urgent:
            position, again = self._urgent.popleft()
            if position not in self._begun and (again or not self._taken[position]):
                return self._begin(position)
        if self._room() <= 0:
            return None
        while self._next < len(self._order):
            position = self._next
            self._next += 1
            if not self._taken[position]:
                return self._begin(position)
        return None

    def _begin(self, position: int) -> int:
        self._begun.add(position)
        self._taken[position] = 1
        return position

    async def _work(self) -> None:
        assert self._wake is not None
        while self._stopped is None:
            position = self._take()
            if position is None:
                self._idle += 1
                self._wake.clear()
                await self._wake.wait()
                self._idle -= 1
                continue
            self._done[position] = await self._make(position)
            if self._wanted == position and self._loop is not None:
                # after this turn of the loop: the asker finds all that arrived with it, too
                self._loop.call_soon(self._arrived.set)

    async def _make(self, position: int) -> "T | _Raised":
        try:
            return await self._attempt(self._order[position])
        except asyncio.CancelledError as error:
            task = asyncio.current_task()
            if task is not None and task.cancelling():
                raise
            return _Raised(error)
        except GeneratorExit as error:  # the loop has gone; should somebody ask, they hear of it
            self._done[position] = _Raised(error)
            raise
        except BaseException as error:  # noqa: BLE001
            return _Raised(error)  # a bug or a user's sys.exit() fails its asker, not the loop
