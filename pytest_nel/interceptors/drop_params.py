"""Parameters that the endpoint does not know: taken out of requests."""

from typing import Annotated

from pydantic import Field, field_validator

from pytest_nel.config.schema import Model
from pytest_nel.core.exchange import Exchange, Interceptor, Request
from pytest_nel.interceptors.place import Place, refuse_of_the_question


class DropParams(Interceptor):
    """Removes top-level keys of the body."""

    on_request = True

    class Config(Model):
        """Options of ``drop_params``.

        Attributes:
            params: The keys.
        """

        params: Annotated[list[str], Field(min_length=1)]

        @field_validator("params")
        @classmethod
        def _asks_the_same(cls, params: list[str]) -> list[str]:
            refuse_of_the_question(params)
            return params

    def __init__(self, config: Config, place: Place) -> None:
        self._params = config.params
        self._place = place

    async def request(self, request: Request, exchange: Exchange) -> Request:  # noqa: ARG002 - the role's signature
        """Remove them."""
        for name in self._params:
            request.body.pop(name, None)
        return request
