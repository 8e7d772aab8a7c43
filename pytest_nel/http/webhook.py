"""A webhook: somebody else's address that is told something and owes no answer."""

from types import TracebackType
from typing import Self

import httpx

from pytest_nel.core.errors import InfraError
from pytest_nel.core.types import JsonObject


class Webhook:
    """Posts to one address, on one connection while it is entered.

    Args:
        url: The address, which no message shows: it may hold a key.
        patience: Seconds for one call.
    """

    def __init__(self, url: str, *, patience: float) -> None:
        self._url = url
        self._http = httpx.AsyncClient(timeout=patience)

    async def __aenter__(self) -> Self:
        await self._http.__aenter__()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self._http.__aexit__(kind, error, trace)

    async def post(self, body: JsonObject) -> None:
        """Say something; whatever is answered is fine.

        Raises:
            InfraError: Nothing was answered.
        """
        try:
            await self._http.post(self._url, json=body)
        except (httpx.HTTPError, httpx.InvalidURL, OSError) as exc:
            msg = f"the webhook: {type(exc).__name__}"
            raise InfraError(msg) from exc
