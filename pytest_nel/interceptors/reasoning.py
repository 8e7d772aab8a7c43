"""Reasoning that stands in the answer: moved to where it belongs."""

from pytest_nel.config.schema import Model
from pytest_nel.core.exchange import Exchange, Interceptor, Reply
from pytest_nel.core.types import JsonObject
from pytest_nel.interceptors._messages import choices_of
from pytest_nel.interceptors.place import Place
from pytest_nel.scoring.reasoning import split_reasoning


class Reasoning(Interceptor):
    """Moves ``reasoning`` or what stands between think tags to ``reasoning_content``.

    A missing opener (it was in the prompt) and a missing closer (the answer was cut) count, by
    the rules that the scorers use.
    """

    stage = "repair"
    on_reply = True

    class Config(Model):
        """Options of ``reasoning``: none."""

    def __init__(self, config: Config, place: Place) -> None:
        self._config = config
        self._place = place

    async def reply(self, reply: Reply, exchange: Exchange) -> Reply:  # noqa: ARG002 - the role's signature
        """Move it, in each choice."""
        for choice in choices_of(reply.body):
            message = choice.get("message")
            if isinstance(message, dict):
                split(message)
        return reply


def split(message: JsonObject) -> None:
    """Move the reasoning of one message; a message that has it apart stays as it is."""
    if message.get("reasoning_content") is not None:
        return
    if isinstance(message.get("reasoning"), str):
        message["reasoning_content"] = message.pop("reasoning")
        return
    content = message.get("content")
    if not isinstance(content, str):
        return
    answer, reasoning = split_reasoning(content)
    if reasoning is not None or answer != content:
        message["content"] = answer
        message["reasoning_content"] = reasoning or ""
