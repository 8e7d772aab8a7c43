"""Results in the order they are asked for, made many at a time ahead of whoever asks.

Two numbers bound it: ``limit`` attempts run at once, and at most ``window`` are running or done
but not yet asked for. What the asker waits for is never subject to the window. It is a hint,
never truth: a position asked for out of turn is simply made next.

A position may be *alone*: a process died while it was being made. It is never made ahead. When it
is asked for, what runs finishes, then it is made with nothing beside it, and nothing is begun
until the asker, who may still be judging it, asks on or calls :meth:`LookAhead.release`. So if
this process dies as well, there is no doubt what killed it.

One thread asks (:meth:`LookAhead.result`), the loop's thread makes. What both change are sets and
dicts whose single operations are atomic under the interpreter lock, so there is no lock to hold.
"""

import asyncio
import threading
from collections import deque
from collections.abc import Awaitable, Callable, Collection, Sequence
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


class _Suspect:
    """One wish for a position that is to be alone; a new one each time it is asked for."""

    def __init__(self, position: int) -> None:
        self.position = position
        self.quiet = False  # set by the loop: nothing runs beside it, and nothing will be begun


class LookAhead(Generic[K, T]):
    """Makes ``attempt(order[i])`` for i = 0, 1, … ahead of the calls of ``result(i)``.

    Args:
        order: What is probably asked for, in that order.
        attempt: Makes one; called on the loop.
        limit: Attempts that run at once.
        window: Attempts running or done that nobody has asked for yet.
        alone: Positions in ``order`` that are made only when asked for, and by themselves.
    """

    def __init__(
        self,
        order: Sequence[K],
        attempt: Callable[[K], Awaitable[T]],
        *,
        limit: int,
        window: int,
        alone: Collection[int] = frozenset(),
    ) -> None:
        self._order = order
        self._attempt = attempt
        self._limit = max(limit, 1)
        self._window = max(window, 1)
        self._next = 0
        self._taken = bytearray(len(order))  # 1 once begun, whoever asked
        self._begun: set[int] = set()  # begun, not yet handed to the asker
        self._handed = bytearray(len(order))  # 1 once the asker had a result
        self._alone = set(alone)  # not yet handed to the asker
        self._suspect: _Suspect | None = None  # while there is one, nothing else is begun
        self._running_alone = False
        self._in_flight = 0
        self._urgent: deque[tuple[int, bool]] = deque()  # position, handed over once before
        self._done: dict[int, T | _Raised] = {}
        self._wanted = -1
        self._arrived = threading.Event()
        self._stopped: str | None = None
        self._idle = 0
        self._kicked = False  # the loop has been told and has not woken yet
        self._wake: asyncio.Event | None = None
        self._workers: set[asyncio.Task[None]] = set()
        self._loop: asyncio.AbstractEventLoop | None = None

    # -- the asker's thread ------------------------------------------------------------------

    def result(self, position: int, tick: Callable[[], None] | None = None) -> T:
        """Wait for the attempt at ``position``; ``tick`` is called while waiting.

        Asking a second time makes the attempt again.

        Raises:
            RunStopped: The engine stopped before that attempt was done.
        """
        if position in self._alone:
            self._suspect = _Suspect(position)  # in the place of the last: no gap between two
            self._kick()
        else:
            if self._suspect is not None:
                self.release()
            if position not in self._begun:
                # not "taken": the loop may take it between the look above and this line
                self._urgent.append((position, bool(self._handed[position])))
                self._kick()
        while not self._ready(position):
            self._wait_for(position, tick)
        outcome = self._done.pop(position)
        self._handed[position] = 1
        self._alone.discard(position)
        self._begun.discard(position)
        if self._idle and self._left() and self._room() >= max(1, self._window // 8):
            self._kick()
        if isinstance(outcome, _Raised):
            raise outcome.error
        return outcome

    def release(self) -> None:
        """Begin others again: the position that had to be alone has been judged."""
        if self._suspect is not None:
            self._suspect = None
            self._kick()

    def extend(self, keys: Sequence[K], alone: Collection[int] = frozenset()) -> int:
        """Put ``keys`` behind the order; they are made ahead as soon as there is room.

        Args:
            keys: What will probably be asked for next.
            alone: Indices into ``keys`` of those that are to be alone.

        Returns:
            The position of the first of them.
        """
        first = len(self._order)
        self._alone.update([first + index for index in alone])
        self._taken.extend(bytes(len(keys)))
        self._handed.extend(bytes(len(keys)))
        self._order = [*self._order, *keys]  # last: from here on the loop goes into them
        self._restaff()
        return first

    def set_limit(self, limit: int, window: int | None = None) -> None:
        """Let ``limit`` attempts, at least one, run at once; what runs already is left to end.

        Args:
            limit: As for the constructor.
            window: As for the constructor; None leaves it as it is.
        """
        self._limit = max(limit, 1)
        self._window = self._window if window is None else max(window, 1)
        self._restaff()

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

    @property
    def running_alone(self) -> bool:
        """Whether what runs now is to be alone; for the attempt to ask, on the loop."""
        return self._running_alone

    def _ready(self, position: int) -> bool:
        suspect = self._suspect
        return position in self._done and (suspect is None or suspect.quiet)

    def _wait_for(self, position: int, tick: Callable[[], None] | None) -> None:
        self._wanted = position
        if self._ready(position):  # arrived between the look and the wish
            return
        deserted = self._loop is not None and not self._workers  # before the look at the stop:
        if self._stopped is not None:  # it ends the workers, too
            raise RunStopped(self._stopped)
        if deserted:
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

    def _restaff(self) -> None:
        if self._loop is not None and self._stopped is None:
            self._loop.call_soon_threadsafe(self._staff)

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
        self._wake = asyncio.Event()
        self._staff()
        self._loop = asyncio.get_running_loop()  # last: who finds it finds workers, too

    async def close(self, grace: float = GRACE_SECONDS) -> None:
        """Give what runs ``grace`` seconds, then cancel it; called on the loop."""
        self.stop("the run has ended")
        if self._wake is not None:
            self._wake.set()
        workers = list(self._workers)
        if workers:
            await asyncio.wait(workers, timeout=grace)
        for worker in workers:
            worker.cancel()
        await asyncio.gather(*workers, return_exceptions=True)

    def _staff(self) -> None:
        """Add the workers that ``limit`` allows and that have something to do; wake all.

        The surplus, should the limit have sunk, ends by itself.
        """
        assert self._wake is not None
        size = len(self._order)
        askable = self._in_flight + size - self._next + 1  # one more for what is asked for again
        useful = min(self._limit, max(1, size), askable)
        while len(self._workers) < useful and self._stopped is None:
            worker = asyncio.create_task(self._work())
            worker.add_done_callback(self._ended)
            self._workers.add(worker)
        self._wake.set()

    def _ended(self, worker: asyncio.Task[None]) -> None:
        assert self._wake is not None
        self._workers.discard(worker)
        if not worker.cancelled():
            worker.exception()  # its asker has it; asyncio need not complain that nobody looked
        self._wake.set()  # it may have been the last that a suspect waited for
        self._arrived.set()

    def _take(self) -> int | None:
        suspect = self._suspect
        if suspect is not None or self._running_alone:
            return self._take_alone(suspect)
        while self._urgent:
            position, again = self._urgent.popleft()
            if position not in self._begun and (again or not self._taken[position]):
                return self._begin(position)
        if self._room() <= 0:
            return None
        while self._next < len(self._order):
            position = self._next
            self._next += 1
            if not self._taken[position] and position not in self._alone:
                return self._begin(position)
        return None

    def _take_alone(self, suspect: _Suspect | None) -> int | None:
        if suspect is None or self._in_flight:  # none: its asker gave up waiting, and it runs yet
            return None
        suspect.quiet = True
        if self._taken[suspect.position]:  # made already, for an asker who gave up waiting
            self._arrived.set()
            return None
        self._running_alone = True
        return self._begin(suspect.position)

    def _begin(self, position: int) -> int:
        self._begun.add(position)
        self._taken[position] = 1
        return position

    async def _work(self) -> None:
        assert self._wake is not None
        me = asyncio.current_task()
        assert me is not None
        while self._stopped is None and len(self._workers) <= self._limit:
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
        self._workers.discard(me)  # now: the next one to be free must not count it

    async def _make(self, position: int) -> "T | _Raised":
        self._in_flight += 1
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
        finally:
            self._in_flight -= 1
            if self._running_alone and self._wake is not None:
                self._running_alone = False
                self._wake.set()  # for the case that its asker has gone on
