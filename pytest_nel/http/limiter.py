"""How many requests one endpoint gets at a time, and less when it says it is too much."""

import asyncio
import contextlib
import time
from collections import deque
from collections.abc import Callable
from types import TracebackType

_GROWTH = 0.05  # of the limit, each calm second
_CALM = 1.0  # seconds


class AdaptiveLimiter:
    """A first-come-first-served limit: halved when throttled, regrown while calm.

    Belongs to one event loop; :attr:`in_flight`, :attr:`limit` and :attr:`ceiling` may be read
    from any thread.

    Args:
        limit: The ceiling, and the limit to begin with.
        clock: Monotonic seconds.
    """

    def __init__(self, limit: int, *, clock: Callable[[], float] = time.monotonic) -> None:
        if limit < 1:
            msg = f"a limit of at least 1 is wanted, got {limit}"
            raise ValueError(msg)
        self._ceiling = self._limit = limit
        self._clock = clock
        self._in_flight = 0
        self._calm_since = 0.0  # what regrowth is counted from
        self._cut_at = float("-inf")
        self._blocked_until = 0.0  # 0 means not blocked
        self._stopped = False
        self._waiters: deque[asyncio.Future[None]] = deque()
        self._timer: asyncio.TimerHandle | None = None
        self._slot = _Slot(self)

    @property
    def in_flight(self) -> int:
        """Slots taken."""
        return self._in_flight

    @property
    def limit(self) -> int:
        """Slots there are now."""
        return self._grown()[0]

    @property
    def ceiling(self) -> int:
        """What the limit grows back to."""
        return self._ceiling

    def slot(self) -> "_Slot":
        """``async with limiter.slot():`` holds one slot."""
        return self._slot

    def set_ceiling(self, ceiling: int) -> None:
        """Change the ceiling; a limit that was not throttled follows at once.

        Raises:
            ValueError: The ceiling is below 1.
        """
        if ceiling < 1:
            msg = f"a ceiling of at least 1 is wanted, got {ceiling}"
            raise ValueError(msg)
        self._grow()
        untouched = self._limit == self._ceiling
        self._ceiling = ceiling
        if untouched or self._limit > ceiling:
            self._limit = ceiling
        self._serve()

    def throttled(self, retry_after: float | None = None) -> None:
        """The endpoint refused a request for its rate.

        Args:
            retry_after: Seconds during which nobody shall get a slot; None when not told.
        """
        now = self._clock()
        self._grow()
        if now - self._cut_at >= _CALM:  # one burst of refusals is one event
            self._cut_at = now
            self._limit = max(1, self._limit // 2)
        self._calm_since = now
        if retry_after:
            self._blocked_until = max(self._blocked_until, now + retry_after)
        self._arm()

    def stop(self) -> None:
        """Give out no slot from now on: who waits for one waits until it is cancelled.

        May be called from any thread.
        """
        self._stopped = True

    async def acquire(self) -> None:
        """Take a slot; waits in order."""
        free = self._in_flight < self._limit and not self._blocked_until and not self._stopped
        if free and not self._waiters:
            self._in_flight += 1
            return
        mine: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiters.append(mine)
        self._serve()
        try:
            await mine
        except asyncio.CancelledError:
            if mine.done() and not mine.cancelled():  # the slot came together with the cancel
                self.release()
            else:
                with contextlib.suppress(ValueError):  # a release may have passed over it already
                    self._waiters.remove(mine)
                self._serve()
            raise

    def release(self) -> None:
        """Give a slot back."""
        self._in_flight -= 1
        if self._waiters or self._limit < self._ceiling:
            self._serve()

    def _serve(self) -> None:
        """Hand free slots to the first in line; the slot is counted before its taker runs."""
        self._grow()
        if self._blocked_until and self._clock() >= self._blocked_until:
            self._blocked_until = 0.0
        if self._stopped:
            return
        while self._waiters and not self._blocked_until and self._in_flight < self._limit:
            first = self._waiters.popleft()
            if not first.done():
                self._in_flight += 1
                first.set_result(None)
        self._arm()

    def _arm(self) -> None:
        """Be woken when time alone will let somebody in."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if not self._waiters:
            return
        if self._blocked_until:
            due = self._blocked_until
        elif self._limit < self._ceiling:
            due = self._calm_since + _CALM
        else:
            return
        delay = max(0.0, due - self._clock())
        self._timer = asyncio.get_running_loop().call_later(delay, self._ring)

    def _ring(self) -> None:
        self._timer = None
        self._serve()

    def _grow(self) -> None:
        self._limit, self._calm_since = self._grown()

    def _grown(self) -> tuple[int, float]:
        limit, since = self._limit, self._calm_since
        if limit >= self._ceiling:
            return limit, since
        calm = int((self._clock() - since) / _CALM)
        for _ in range(calm):
            limit += max(1, int(limit * _GROWTH))
            if limit >= self._ceiling:
                return self._ceiling, since + calm * _CALM
        return limit, since + calm * _CALM


class _Slot:
    """Stateless, so that one serves all takers."""

    __slots__ = ("_limiter",)

    def __init__(self, limiter: AdaptiveLimiter) -> None:
        self._limiter = limiter

    async def __aenter__(self) -> None:
        await self._limiter.acquire()

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._limiter.release()
