"""How many turns an agent may take, and telling it so before they are used up."""

import hashlib
import logging
from collections import OrderedDict
from typing import Annotated, Literal

from pydantic import Field, model_validator

from pytest_nel.config.schema import Model
from pytest_nel.core.errors import GracefulError
from pytest_nel.core.exchange import Exchange, Interceptor, Request
from pytest_nel.core.types import JsonObject
from pytest_nel.interceptors._messages import is_system, messages_of, text_of
from pytest_nel.interceptors.place import Place

_LOG = logging.getLogger(__name__)
_SESSIONS = 100_000
_WARN, _URGE = 0.80, 0.95


class TurnCounter(Interceptor):
    """Counts the requests of each session, reminds the model and refuses what is too much.

    Requests that the client repeats because the endpoint failed are no turns. A session's count
    lives as long as the run, however long the agent thinks.
    """

    on_request = True

    class Config(Model):
        """Options of ``turn_counter``.

        Attributes:
            max_turns: Turns of one session; the next is refused. Null only counts.
            position: Where a reminder goes: a system message at the end, or the last user message.
            trigger: ``threshold`` reminds from 80 % of the turns and urges from 95 %;
                ``periodic`` reminds every ``interval`` turns.
            interval: Turns between two periodic reminders.
            every: Log the count of a session each so many turns.
        """

        max_turns: Annotated[int, Field(ge=1)] | None = None
        position: Literal["system_message", "user_message"] = "system_message"
        trigger: Literal["threshold", "periodic"] = "threshold"
        interval: Annotated[int, Field(ge=1)] = 1
        every: Annotated[int, Field(ge=1)] = 1

        @model_validator(mode="after")
        def _can_remind(self) -> "TurnCounter.Config":
            if self.trigger == "periodic" and self.max_turns is None:
                msg = "trigger periodic says how many turns are left: set max_turns"
                raise ValueError(msg)
            return self

    @staticmethod
    def identity(config: Config) -> JsonObject | None:
        """Counting and logging change no answer."""
        if config.max_turns is None:
            return None
        return config.model_dump(mode="json", exclude={"every"})

    def __init__(self, config: Config, place: Place) -> None:
        self._config = config
        self._place = place
        self._turns: OrderedDict[object, int] = OrderedDict()

    async def request(self, request: Request, exchange: Exchange) -> Request:
        """Count it.

        Raises:
            GracefulError: The session has no turn left.
        """
        turn = self._counted(request, exchange)
        limit = self._config.max_turns
        if turn % self._config.every == 0:
            of = "" if limit is None else f" of {limit}"
            _LOG.info("%s: request %s: turn %d%s", self._place.service, exchange.id, turn, of)
        if limit is None:
            return request
        if turn > limit:
            msg = (
                f"Turn budget exhausted: {limit}/{limit} turns used. The session is over; "
                "no further request is answered."
            )
            raise GracefulError(msg)
        if (text := self._reminder(turn, limit)) is not None:
            self._tell(request.body, text)
        return request

    def _counted(self, request: Request, exchange: Exchange) -> int:
        session = exchange.session
        key: object = session.id if session is not None else _fallback(request.body)
        turn = self._turns.pop(key, 0) + 1
        self._turns[key] = turn
        if len(self._turns) > _SESSIONS:
            self._turns.popitem(last=False)
        return turn

    def _reminder(self, turn: int, limit: int) -> str | None:
        left = limit - turn
        turns = "turn" if left == 1 else "turns"
        if self._config.trigger == "periodic":
            if turn % self._config.interval:
                return None
            return f"ENVIRONMENT REMINDER: You have {left} {turns} left to complete the task."
        mark = "[SYSTEM] " if self._config.position == "system_message" else ""
        if turn / limit >= _URGE:
            return (
                f"{mark}URGENT: turn {turn} of {limit}, {left} {turns} left. "
                "Give your final answer now."
            )
        if turn / limit >= _WARN:
            return f"{mark}WARNING: turn {turn} of {limit}, {left} {turns} left. Begin to finish."
        return None

    def _tell(self, body: JsonObject, text: str) -> None:
        messages = messages_of(body)
        if self._config.position == "system_message":
            if isinstance(body.get("messages"), list):
                body["messages"] = [*messages, {"role": "system", "content": text}]
            return
        for message in reversed(messages):
            if isinstance(message, dict) and message.get("role") == "user":
                content = message.get("content")
                if isinstance(content, list):
                    message["content"] = [*content, {"type": "text", "text": text}]
                else:
                    message["content"] = f"{content or ''}\n\n{text}".strip()
                return


def _fallback(body: JsonObject) -> str:
    """A key for requests without a session: what the conversation began with."""
    first = next((each for each in messages_of(body) if not is_system(each)), None)
    text = text_of(first.get("content")) if isinstance(first, dict) else str(body.get("prompt"))
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:8]
