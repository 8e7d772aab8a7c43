"""Requests that have had no outcome yet: with some sessions they may outlive their client."""

import asyncio
import logging

from pytest_nel.core.exchange import Session
from pytest_nel.core.types import AttemptKey

_LOG = logging.getLogger(__name__)


class Served(Session):
    """A session at a proxy.

    Args:
        name: See the base.
        attempt: See the base.
        keeps: Whether what its clients leave goes on: until the next request, which takes its
            place, or the session's end.

    Attributes:
        over: Whether it takes no more requests.
    """

    __slots__ = ("_kept", "_open", "keeps", "over")

    def __init__(
        self, name: str = "", attempt: AttemptKey | None = None, *, keeps: bool = False
    ) -> None:
        super().__init__(name, attempt)
        self.keeps = keeps
        self.over = False
        self._open: dict[asyncio.Task[None], asyncio.Task[None]] = {}
        self._kept: set[asyncio.Task[None]] = set()

    def begins(self, answer: asyncio.Task[None], gone: asyncio.Task[None]) -> None:
        """Another request comes.

        Args:
            answer: Answers it.
            gone: Ends when its client has left.
        """
        self._open[answer] = gone
        answer.add_done_callback(self._ended)

    def keep(self, answer: asyncio.Task[None]) -> None:
        """Let a request go on without its client."""
        self._kept.add(answer)

    def drop(self) -> list[asyncio.Task[None]]:
        """End what goes on without its client; what ends, to be waited for."""
        dropped, self._kept = list(self._kept), set()
        for answer in dropped:
            answer.cancel()
        return dropped

    def ends(self) -> list[asyncio.Task[None]]:
        """Take no more requests, and let none go on without its client any more.

        Those whose client is there still are answered.

        Returns:
            What ends, to be waited for.
        """
        self.over = True
        self.keeps = False
        return self.drop()

    async def settled(self) -> None:
        """Take no more requests, let the clients go, and wait until each request has an outcome."""
        self.over = True
        while self._open:
            for gone in self._open.values():
                gone.cancel()
            await asyncio.wait(list(self._open))

    def _ended(self, answer: asyncio.Task[None]) -> None:
        self._open.pop(answer, None)
        if answer in self._kept:
            self._kept.discard(answer)
            if not answer.cancelled() and (error := answer.exception()) is not None:
                _LOG.error("a request that its client had left failed", exc_info=error)
