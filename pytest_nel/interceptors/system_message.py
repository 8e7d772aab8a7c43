"""A system message for every chat request of a service."""

from typing import Annotated, Literal

from pydantic import Field

from pytest_nel.config.schema import Model
from pytest_nel.core.exchange import Exchange, Interceptor, Request
from pytest_nel.interceptors._messages import is_system, messages_of
from pytest_nel.interceptors.place import Place


class SystemMessage(Interceptor):
    """Inserts one; a request without messages (completions) has no place for it and stays."""

    on_request = True

    class Config(Model):
        """Options of ``system_message``.

        Attributes:
            system_message: Its text.
            strategy: ``prepend`` puts it first, ``append`` last, ``replace`` first and in the
                place of all others.
        """

        system_message: Annotated[str, Field(min_length=1)]
        strategy: Literal["prepend", "append", "replace"] = "prepend"

    def __init__(self, config: Config, place: Place) -> None:
        self._config = config
        self._place = place

    async def request(self, request: Request, exchange: Exchange) -> Request:  # noqa: ARG002 - the role's signature
        """Insert it."""
        if not isinstance(request.body.get("messages"), list):
            return request
        rest = messages_of(request.body)
        own = {"role": "system", "content": self._config.system_message}
        if self._config.strategy == "append":
            request.body["messages"] = [*rest, own]
            return request
        if self._config.strategy == "replace":
            rest = [message for message in rest if not is_system(message)]
        request.body["messages"] = [own, *rest]
        return request
