"""How many sandboxes of one kind there may be at once; who finishes something goes first."""

import asyncio
import contextlib
from collections import deque


class Slots:
    """A semaphore with two queues, used on one loop.

    A verifier that waited behind solvers would have all attempts solved before the first is
    judged.

    Args:
        free: How many there are.
    """

    def __init__(self, free: int) -> None:
        self._free = free
        self._first: deque[asyncio.Future[None]] = deque()
        self._others: deque[asyncio.Future[None]] = deque()

    @property
    def free(self) -> int:
        """Those that nobody has."""
        return self._free

    async def acquire(self, *, first: bool = False) -> None:
        """Wait for one; ``first`` goes before all that are not."""
        if self._free > 0:
            self._free -= 1
            return
        queue = self._first if first else self._others
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        queue.append(turn)
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():
                self.release()  # it came with the cancellation: the next one has it
            else:
                with contextlib.suppress(ValueError):  # whoever gave one back has seen it
                    queue.remove(turn)
            raise

    def release(self) -> None:
        """Give one back, or one more."""
        for queue in (self._first, self._others):
            while queue:
                turn = queue.popleft()
                if not turn.done():
                    turn.set_result(None)
                    return
        self._free += 1
