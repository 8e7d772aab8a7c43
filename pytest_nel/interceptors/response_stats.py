"""Requests, tokens and latency so far, in the log."""

import logging
from collections import Counter
from typing import Annotated, Any

from pydantic import Field

from pytest_nel.config.schema import Model
from pytest_nel.core.exchange import Exchange, Interceptor, Reply
from pytest_nel.interceptors.place import Place

_LOG = logging.getLogger(__name__)


class ResponseStats(Interceptor):
    """Logs cumulative counts each so many replies, and at the end."""

    stage = "account"
    on_reply = True
    observes = True
    answers = False
    streams = "pass"

    class Config(Model):
        """Options of ``response_stats``.

        Attributes:
            every: Replies between two lines of the log.
        """

        every: Annotated[int, Field(ge=1)] = 100

    def __init__(self, config: Config, place: Place) -> None:
        self._every = config.every
        self._place = place
        self._statuses: Counter[int] = Counter()
        self._tokens: Counter[str] = Counter()
        self._asked = 0
        self._latency = 0.0  # milliseconds, of what was asked

    async def reply(self, reply: Reply, exchange: Exchange) -> Reply:
        """Count it."""
        self._statuses[reply.status] += 1
        usage = reply.body.get("usage") if isinstance(reply.body, dict) else None
        for name in ("prompt_tokens", "completion_tokens"):
            self._tokens[name] += _count(usage, name)
        if not exchange.stored:
            self._asked += 1
            self._latency += exchange.latency_ms
        if self._statuses.total() % self._every == 0:
            self._say()
        return reply

    async def close(self) -> None:
        """Say how it ended."""
        if self._statuses.total() % self._every:
            self._say()

    def _say(self) -> None:
        _LOG.info(
            "%s: %d replies (%s), %d of them asked for, mean latency %.0f ms, "
            "%d prompt tokens, %d completion tokens",
            *(self._place.service, self._statuses.total()),
            ", ".join(f"{count} x {status}" for status, count in sorted(self._statuses.items())),
            *(self._asked, self._latency / self._asked if self._asked else 0.0),
            *(self._tokens["prompt_tokens"], self._tokens["completion_tokens"]),
        )


def _count(usage: Any, name: str) -> int:  # Any: what a server says
    value = usage.get(name) if isinstance(usage, dict) else None
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else 0
