"""A server whose operations are tools: its description, sessions of its problems, and calls."""

import asyncio
import json
from collections.abc import Mapping
from typing import Any, NamedTuple
from urllib.parse import quote

import httpx

from pytest_nel.core.errors import InfraError
from pytest_nel.core.types import JsonObject
from pytest_nel.http._h1 import ReplyTooLarge
from pytest_nel.http.openai import one_line
from pytest_nel.http.transport import make_http_client

LARGEST = 16 * 2**20
"""Bytes of a reply from which it is refused."""
_CONNECTIONS = 1024
_CONNECT = 10.0


class NoResult(Exception):
    """A call took too long or replied too much; the message says which. The server is fine."""


class Told(NamedTuple):
    """What the server replied.

    Attributes:
        status: The HTTP status.
        text: The body.
    """

    status: int
    text: str

    @property
    def ok(self) -> bool:
        """Whether the status says success."""
        return 200 <= self.status < 300

    def json(self) -> Any:  # Any: whatever JSON holds
        """The body, or None where it is no JSON."""
        try:
            return json.loads(self.text)
        except (ValueError, RecursionError):
            return None


class ToolServer:
    """One server, for all problems; each asks it through a :class:`ToolSession` of its own.

    Args:
        name: The service's, for messages.
        url: The base URL.
        patience: Seconds for one call.
    """

    def __init__(self, name: str, url: str, *, patience: float) -> None:
        self.name = name
        self.url = url.rstrip("/")
        self.patience = patience
        self._http: httpx.AsyncClient | None = None
        self._loop: asyncio.AbstractEventLoop | None = None

    async def open(self) -> None:
        """Bind to the running loop; done by the first request otherwise."""
        loop = asyncio.get_running_loop()
        if self._http is None or self._loop is not loop:
            self._http = make_http_client(self.url, connections=_CONNECTIONS, max_body=LARGEST)
            self._loop = loop

    async def close(self) -> None:
        """Close its connections; a later request opens others."""
        http, self._http = self._http, None
        if http is not None:
            await http.aclose()

    async def description(self) -> JsonObject:
        """Its OpenAPI document.

        Raises:
            InfraError: There is none.
        """
        where = f"{self.url}/openapi.json"
        try:
            told = await self.asked("GET", "/openapi.json", httpx.Cookies())
        except NoResult as error:
            msg = f"service {self.name!r}: {where}: {error}"
            raise InfraError(msg) from error
        document = told.json() if told.ok else None
        if not isinstance(document, dict):
            said = f"HTTP {told.status}: {one_line(told.text)}"
            msg = f"service {self.name!r}: expected an OpenAPI document at {where}, got {said}"
            raise InfraError(msg)
        return document

    def session(self) -> "ToolSession":
        """One for a problem, with cookies of its own."""
        return ToolSession(self)

    async def asked(
        self,
        method: str,
        path: str,
        cookies: httpx.Cookies,
        *,
        body: JsonObject | None = None,
        query: Mapping[str, Any] | None = None,
    ) -> Told:
        """Send a request with the cookies of a problem, which are kept up to date.

        Raises:
            NoResult: It took longer than the patience, or the reply is too large.
            InfraError: The server cannot be reached.
        """
        await self.open()
        assert self._http is not None
        # Not by the client's own builder, which would add the cookies of all other problems.
        request = httpx.Request(
            method,
            self.url + path,
            params=query or None,
            headers=self._http.headers,
            json=body,
            extensions={"timeout": httpx.Timeout(None, connect=_CONNECT).as_dict()},
        )
        cookies.set_cookie_header(request)
        deadline = asyncio.timeout(self.patience)
        try:
            async with deadline:
                response = await self._http.send(request, follow_redirects=False)
        except ReplyTooLarge as error:
            msg = f"its reply is larger than {LARGEST} bytes"
            raise NoResult(msg) from error
        except (httpx.HTTPError, httpx.StreamError, httpx.InvalidURL, OSError) as error:
            if isinstance(error, TimeoutError) and deadline.expired():
                msg = f"timed out after {self.patience:g}s"
                raise NoResult(msg) from error
            what = f"{type(error).__name__}: {one_line(str(error))}"
            msg = f"service {self.name!r}: no reply from {self.url}{path}: {what}"
            raise InfraError(msg) from error
        cookies.extract_cookies(response)
        self._http.cookies.clear()
        return Told(response.status_code, response.content.decode("utf-8", "replace"))


class ToolSession:
    """The calls of one problem."""

    def __init__(self, server: ToolServer) -> None:
        self._server = server
        self._cookies = httpx.Cookies()

    async def post(
        self, path: str, body: JsonObject, query: Mapping[str, Any] | None = None
    ) -> Told:
        """Call an operation.

        Raises:
            NoResult: It took longer than the server's patience, or its reply is too large.
            InfraError: The server cannot be reached.
        """
        return await self._server.asked("POST", path, self._cookies, body=body, query=query)


def filled(path: str, values: Mapping[str, Any]) -> str:
    """A path with ``{name}`` replaced, each value as one segment."""
    for name, value in values.items():
        path = path.replace("{" + name + "}", quote(str(value), safe=""))
    return path
