"""Reasoning that clients drop from the conversation: put back, as many models want it."""

import hashlib
import logging
from collections import OrderedDict
from collections.abc import Iterator
from typing import Annotated, Literal

from pydantic import Field

from pytest_nel.config.schema import Model
from pytest_nel.core.exchange import Exchange, Interceptor, Reply, Request
from pytest_nel.core.types import JsonObject
from pytest_nel.interceptors._messages import choices_of, messages_of, text_of
from pytest_nel.interceptors.place import Place

_LOG = logging.getLogger(__name__)
_HEAD = 256
_NATIVE = ("reasoning", "reasoning_content")


class ReasoningReplay(Interceptor):
    """Remembers the reasoning of replies and gives it back to later requests of the session."""

    on_request = True
    on_reply = True
    streams = "pass"

    class Config(Model):
        """Options of ``reasoning_replay``.

        Attributes:
            mode: ``think_tags`` writes it before the content, ``native`` into ``reasoning`` and
                ``reasoning_content``, ``both`` does both.
            tag_open: The tag before it.
            tag_close: The tag behind it.
            cache_max_entries: Replies remembered; the one unused for longest is forgotten first.
            log_misses: Log assistant messages whose reasoning is not known.
        """

        mode: Literal["think_tags", "native", "both"] = "think_tags"
        tag_open: Annotated[str, Field(min_length=1)] = "<think>"
        tag_close: Annotated[str, Field(min_length=1)] = "</think>"
        cache_max_entries: Annotated[int, Field(ge=1)] = 10_000
        log_misses: bool = False

    @staticmethod
    def identity(config: Config) -> JsonObject:
        """Logging changes no answer."""
        return config.model_dump(mode="json", exclude={"log_misses"})

    def __init__(self, config: Config, place: Place) -> None:
        self._config = config
        self._place = place
        self._known: OrderedDict[tuple[int, str], str] = OrderedDict()

    async def reply(self, reply: Reply, exchange: Exchange) -> Reply:
        """Remember it; changes nothing."""
        for choice in choices_of(reply.body):
            message = choice.get("message")
            if not isinstance(message, dict):
                continue
            reasoning = message.get("reasoning_content") or message.get("reasoning")
            if isinstance(reasoning, str) and reasoning:
                for mark in _marks(message):
                    self._keep((_owner(exchange), mark), reasoning)
        return reply

    async def request(self, request: Request, exchange: Exchange) -> Request:
        """Give it back to each assistant message."""
        for message in messages_of(request.body):
            if not isinstance(message, dict) or message.get("role") != "assistant":
                continue
            reasoning = self._of(_owner(exchange), message)
            if reasoning is not None:
                self._put(message, reasoning)
            elif self._config.log_misses:
                _LOG.info(
                    "%s: request %s: no reasoning known for an assistant message",
                    *(self._place.service, exchange.id),
                )
        return request

    def _keep(self, key: tuple[int, str], reasoning: str) -> None:
        self._known.pop(key, None)
        self._known[key] = reasoning
        while len(self._known) > self._config.cache_max_entries:
            self._known.popitem(last=False)

    def _of(self, owner: int, message: JsonObject) -> str | None:
        for mark in _marks(message):
            if (owner, mark) in self._known:
                self._known.move_to_end((owner, mark))
                return self._known[owner, mark]
        return None

    def _put(self, message: JsonObject, reasoning: str) -> None:
        config = self._config
        if config.mode != "think_tags":
            for name in _NATIVE:
                message.setdefault(name, reasoning)
        if config.mode == "native":
            return
        content = message.get("content")
        if text_of(content).lstrip().startswith(config.tag_open):
            return
        tagged = f"{config.tag_open}{reasoning}{config.tag_close}"
        if isinstance(content, list):
            message["content"] = [{"type": "text", "text": tagged}, *content]
        else:
            message["content"] = tagged + (content or "")


def _owner(exchange: Exchange) -> int:
    return 0 if exchange.session is None else exchange.session.id


def _marks(message: JsonObject) -> Iterator[str]:
    """What a message is found again by: its tool calls, or how its content begins."""
    calls = message.get("tool_calls")
    ids = [
        call["id"]
        for call in (calls if isinstance(calls, list) else [])
        if isinstance(call, dict) and isinstance(call.get("id"), str)
    ]
    if ids:
        yield from (f"call {each}" for each in ids)
        return
    head = text_of(message.get("content"))[:_HEAD]
    if head:
        yield "text " + hashlib.sha256(head.encode("utf-8", "surrogatepass")).hexdigest()
