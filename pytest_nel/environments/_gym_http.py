"""Asks a Gym server; whatever goes wrong there is the machinery's fault and no wrong answer."""

import asyncio
import json
from collections.abc import Awaitable, Callable
from typing import Any
from urllib.parse import urlsplit

import httpx

from pytest_nel.core.errors import FailureKind, InfraError
from pytest_nel.core.text import showable
from pytest_nel.core.types import JsonObject
from pytest_nel.environments._gym_wire import encoded
from pytest_nel.http.secret import Secret

_AGAIN = (429, 503)
_BASE, _LONGEST = 0.5, 30.0
_SHOWN = 500
_LOOKS, _LOOK = 20, 0.1
"""How often, and after how many seconds, who got no answer looks whether the server has ended."""
_KINDS = {
    401: FailureKind.AUTH,
    403: FailureKind.AUTH,
    429: FailureKind.RATE_LIMIT,
}
_LOOPBACK = ("127.0.0.1", "localhost", "::1")


class GymClient:
    """One server's client: usable from any loop, one after the other.

    Args:
        url: The base URL.
        key: Its bearer token, or None.
        timeout: Seconds for one request.
        connect_timeout: Seconds to open a connection.
        retries: Further requests after one that found nobody, 429 or 503.
        transport: What carries requests; None: the network.
        sleep: Waits between tries.

    Attributes:
        gone: Says why nobody will ever answer there again, or None; None where nobody watches.
    """

    def __init__(  # noqa: PLR0913 - the edges, all by keyword
        self,
        url: str,
        *,
        key: str | None = None,
        timeout: float = 600.0,
        connect_timeout: float = 10.0,
        retries: int = 3,
        transport: httpx.AsyncBaseTransport | None = None,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self.url = url
        self._key = key
        self._timeout = httpx.Timeout(timeout, connect=connect_timeout, pool=None)
        self._retries = retries
        self._transport = transport
        self._sleep = sleep
        self.gone: Callable[[], str | None] | None = None
        self._http: httpx.AsyncClient | None = None

    async def ask(self, path: str, body: JsonObject | None = None) -> JsonObject:
        """GET a page, or POST a body; the JSON object that comes back.

        Raises:
            InfraError: Nobody answered, or with an error, or with something else.
        """
        reply = await self.send(path, body)
        where = self._where(path, body)
        if not reply.is_success:
            raise self._refused(where, reply)
        try:
            found: Any = json.loads(reply.content)
        except (ValueError, RecursionError):
            found = None
        if not isinstance(found, dict):
            msg = f"{where}: expected a JSON object, got {self._shown(reply.text)!r}"
            raise InfraError(msg, kind=FailureKind.PROTOCOL, retryable=False)
        return self._kept(found, reply.content)

    async def send(self, path: str, body: JsonObject | None = None) -> httpx.Response:
        """The same without a look at what comes back.

        Raises:
            InfraError: Nobody answered.
        """
        tries = 0
        while True:
            self._refuse_gone()
            tries += 1
            last = tries > self._retries
            try:
                reply = await self._once(path, body)
            except httpx.TimeoutException as error:
                if last or not isinstance(error, httpx.ConnectTimeout):
                    raise await self._lost(path, body, error, tries) from error
            except (httpx.HTTPError, httpx.InvalidURL) as error:
                if last or not isinstance(error, httpx.TransportError):
                    raise await self._lost(path, body, error, tries) from error
            else:
                if last or reply.status_code not in _AGAIN:
                    return reply
                await self._sleep(_told(reply, tries))
                continue
            await self._sleep(_pause(tries))

    async def close(self) -> None:
        """Close its connections; the next request opens some on its own loop."""
        http, self._http = self._http, None
        if http is not None:
            await http.aclose()

    async def _once(self, path: str, body: JsonObject | None) -> httpx.Response:
        if self._http is None:
            headers = {} if self._key is None else {"Authorization": f"Bearer {self._key}"}
            host = urlsplit(self.url).hostname or ""
            self._http = httpx.AsyncClient(
                headers=headers,
                timeout=self._timeout,
                transport=self._transport,
                limits=httpx.Limits(max_connections=None, max_keepalive_connections=64),
                trust_env=host not in _LOOPBACK,  # a proxy has no business on loopback
            )
        if body is None:
            return await self._http.get(self.url + path)
        content = encoded(body)
        kind = {"Content-Type": "application/json"}
        return await self._http.post(self.url + path, content=content, headers=kind)

    def _where(self, path: str, body: JsonObject | None) -> str:
        return f"{'GET' if body is None else 'POST'} {self.url}{path}"

    def _refuse_gone(self) -> None:
        if self.gone is not None and (why := self.gone()) is not None:
            raise InfraError(why, retryable=False)

    async def _lost(
        self, path: str, body: JsonObject | None, error: Exception, tries: int
    ) -> InfraError:
        """Why nobody answered: that the server is gone may be known a moment later."""
        for _ in range(_LOOKS if self.gone is not None else 0):
            try:
                self._refuse_gone()
            except InfraError as gone:
                return gone
            await self._sleep(_LOOK)
        return self._silent(path, body, error, tries)

    def _silent(
        self, path: str, body: JsonObject | None, error: Exception, tries: int
    ) -> InfraError:
        said = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
        times = f" ({tries} times)" if tries > 1 else ""
        msg = f"{self._where(path, body)}: no answer{times}: {self._shown(said)}"
        return InfraError(msg, retryable=False)

    def _refused(self, where: str, reply: httpx.Response) -> InfraError:
        kind, detail = _reason(reply)
        hint = "; say the server's token by `params: {api_key: ${NAME}}`"
        said = f"status {reply.status_code}: {self._shown(detail)}"
        more = hint if reply.status_code in (401, 403) and self._key is None else ""
        error = InfraError(f"{where}: {said}{more}", kind=kind, retryable=False)
        error.status = reply.status_code
        return error

    def _kept(self, found: JsonObject, content: bytes) -> JsonObject:
        """A reply for the records: one that echoes the request has its key in it."""
        if self._key is None:
            return found
        kept: JsonObject = Secret(self._key).out_of_body(found, content)
        return kept

    def _shown(self, text: str) -> str:
        safe = text if self._key is None else Secret(self._key).out_of_text(text)
        return showable(safe, _SHOWN)


def _reason(reply: httpx.Response) -> tuple[FailureKind, str]:
    """What kind of failure a server reports, and in which words."""
    kind = _KINDS.get(reply.status_code, FailureKind.INFRA)
    try:
        body: Any = json.loads(reply.content)
    except (ValueError, RecursionError):
        return kind, reply.text
    if not isinstance(body, dict):
        return kind, reply.text
    detail = body.get("detail", body)
    if isinstance(body.get("failure"), str) and body["failure"] in set(FailureKind):
        kind = FailureKind(body["failure"])
    return kind, detail if isinstance(detail, str) else json.dumps(detail)


def _pause(tries: int) -> float:
    return min(_LONGEST, _BASE * 2.0 ** (tries - 1))


def _told(reply: httpx.Response, tries: int) -> float:
    """Seconds until the next try, as the server says, or as usual."""
    try:
        said = float(reply.headers.get("retry-after", ""))
    except ValueError:
        return _pause(tries)
    return min(_LONGEST, max(0.0, said)) if said == said else _pause(tries)  # noqa: PLR0124 - NaN
