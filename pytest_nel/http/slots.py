"""A transport of many one-connection httpx transports: what the fast one cannot do.

Proxies, HTTP/2 and anything else stay httpx's own; only its connection pool, whose cost grows
with the square of idle connections, is kept at one connection each.
"""

import asyncio
import functools
import ssl
from collections.abc import AsyncIterator, Callable

import httpx

from pytest_nel.http._h1 import ReplyTooLarge
from pytest_nel.http.fast import MAX_BODY, Verify

_ONE = httpx.Limits(max_connections=1, max_keepalive_connections=1)


class SlotTransport(httpx.AsyncBaseTransport):
    """Gives each request a transport of its own, the last one used first.

    Args:
        connections: How many requests may be under way; further ones wait.
        proxy: URL of a proxy, or None.
        verify: As for httpx: a context, or whether to check certificates.
        http2: Offer HTTP/2 (needs the ``h2`` package).
        max_body: Bytes of body (as transferred) from which a reply is refused.
    """

    def __init__(
        self,
        *,
        connections: int,
        proxy: str | None = None,
        verify: Verify = True,
        http2: bool = False,
        max_body: int = MAX_BODY,
    ) -> None:
        # One context for all: reading the CA bundle takes tens of milliseconds.
        context = (
            verify
            if isinstance(verify, ssl.SSLContext)
            else httpx.create_ssl_context(verify=verify)
        )
        self._make = functools.partial(
            httpx.AsyncHTTPTransport,
            verify=context,
            http2=http2,
            limits=_ONE,
            proxy=proxy,
            trust_env=False,
        )
        self._free: list[httpx.AsyncHTTPTransport] = [self._make()]
        self._all = list(self._free)
        self._room = asyncio.Semaphore(connections)
        self._max_body = max_body

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Send one request; its slot is free again when the response is closed.

        Raises:
            httpx.PoolTimeout: No slot became free within the request's ``pool`` time-out.
            httpx.TransportError: What httpx's own transport raises.
        """
        timeouts = request.extensions.get("timeout", {})
        try:
            async with asyncio.timeout(timeouts.get("pool")):
                await self._room.acquire()
        except TimeoutError as exc:
            msg = "no connection became free"
            raise httpx.PoolTimeout(msg) from exc
        slot = self._take()
        release = functools.partial(self._release, slot)
        try:
            response = await slot.handle_async_request(request)
        except BaseException:
            release()
            raise
        assert isinstance(response.stream, httpx.AsyncByteStream)
        return httpx.Response(
            response.status_code,
            headers=response.headers,
            stream=_SlotStream(response.stream, self._max_body, release),
            extensions=response.extensions,
        )

    async def aclose(self) -> None:
        """Close every connection."""
        slots, self._all, self._free = self._all, [], []
        for slot in slots:
            await slot.aclose()

    def _take(self) -> httpx.AsyncHTTPTransport:
        if self._free:
            return self._free.pop()
        slot = self._make()
        self._all.append(slot)
        return slot

    def _release(self, slot: httpx.AsyncHTTPTransport) -> None:
        self._free.append(slot)
        self._room.release()


class _SlotStream(httpx.AsyncByteStream):
    def __init__(
        self, stream: httpx.AsyncByteStream, limit: int, release: Callable[[], None]
    ) -> None:
        self._stream = stream
        self._limit = limit
        self._release: Callable[[], None] | None = release

    async def __aiter__(self) -> AsyncIterator[bytes]:
        size = 0
        async for piece in self._stream:
            size += len(piece)
            if size > self._limit:
                msg = f"the reply is larger than {self._limit} bytes"
                raise ReplyTooLarge(msg)
            yield piece

    async def aclose(self) -> None:
        release, self._release = self._release, None
        try:
            await self._stream.aclose()
        finally:
            if release is not None:
                release()
