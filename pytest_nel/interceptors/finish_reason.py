"""Servers that say ``stop`` of an answer that was cut at its cap."""

import logging
from typing import Any

from pytest_nel.config.schema import Model
from pytest_nel.core.exchange import Exchange, Interceptor, Reply, Request
from pytest_nel.core.types import JsonObject
from pytest_nel.interceptors._messages import choices_of, text_of
from pytest_nel.interceptors.place import Place

_LOG = logging.getLogger(__name__)


class FinishReason(Interceptor):
    """Says ``length`` where as many tokens came as were allowed."""

    stage = "repair"
    on_request = True
    on_reply = True
    answers = False
    streams = "tail"

    class Config(Model):
        """Options of ``finish_reason``: none."""

    def __init__(self, config: Config, place: Place) -> None:
        self._config = config
        self._place = place

    async def request(self, request: Request, exchange: Exchange) -> Request:
        """Remember the cap; changes nothing."""
        names = ("max_completion_tokens", "max_tokens")
        caps = (_positive(request.body.get(name)) for name in names)
        exchange.notes["finish_reason"] = next((cap for cap in caps if cap is not None), None)
        return request

    async def reply(self, reply: Reply, exchange: Exchange) -> Reply:
        """Mend each choice; warn of one that says nothing."""
        cap = exchange.notes.get("finish_reason")
        choices = choices_of(reply.body)
        for choice in choices:
            usage = choice.get("usage")
            if usage is None and len(choices) == 1 and isinstance(reply.body, dict):
                usage = reply.body.get("usage")
            if cap is not None and choice.get("finish_reason") == "stop" and _made(usage) >= cap:
                choice["finish_reason"] = "length"
                self._warn(exchange, f"finish reason stop after {cap} tokens, its cap: cut")
            if _says_nothing(choice):
                self._warn(exchange, "an empty answer")
        return reply

    def _warn(self, exchange: Exchange, text: str) -> None:
        _LOG.warning("%s: request %s: %s", self._place.service, exchange.id, text)


def _positive(value: object) -> int | None:
    whole = isinstance(value, int) and not isinstance(value, bool)
    return value if whole and value > 0 else None  # type: ignore[operator,return-value]  # it is an int here


def _made(usage: Any) -> int:  # Any: what a server says
    if not isinstance(usage, dict):
        return 0
    details = usage.get("completion_tokens_details")
    details = details if isinstance(details, dict) else usage
    counts = (usage.get("completion_tokens"), details.get("reasoning_tokens"))
    return max((_positive(count) or 0 for count in counts), default=0)


def _says_nothing(choice: JsonObject) -> bool:
    message = choice.get("message")
    if not isinstance(message, dict):
        return choice.get("text") == ""
    said = text_of(message.get("content")) or message.get("refusal")
    return not said and not message.get("tool_calls") and not message.get("function_call")
