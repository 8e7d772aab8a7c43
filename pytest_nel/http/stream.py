"""Replies that are passed on while they come: what the client's own transport reads whole."""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx

from pytest_nel.core.exchange import Reply, Request
from pytest_nel.http import faults, upstream
from pytest_nel.http.balance import BalancedTransport
from pytest_nel.http.client import DEFAULT_CONCURRENT, ModelClient
from pytest_nel.http.retry import Fault
from pytest_nel.http.slots import SlotTransport
from pytest_nel.http.transport import make_http_client, proxy_for


class StreamClient:
    """Opens event streams by the address, key, limit and retries of a model client.

    Args:
        client: Whose they are; opened by whoever made it.
    """

    def __init__(self, client: ModelClient) -> None:
        self._client = client
        self._http: httpx.AsyncClient | None = None

    async def close(self) -> None:
        """Close the connections."""
        http, self._http = self._http, None
        if http is not None:
            await http.aclose()

    @asynccontextmanager
    async def open(self, request: Request) -> AsyncIterator[httpx.Response | upstream.Sent]:
        """Send a request; asked again where that may help, as long as nothing has come.

        Yields:
            The response of a success, its body to be read within the block, which holds a slot of
            the limit and is timed; or what became of the request.

        Raises:
            httpx.HTTPError: The stream broke while it was read.
            TimeoutError: It took longer than the endpoint's time-out.
        """
        client = self._client
        await client.open()
        made = 0
        while True:
            made += 1
            async with client.limiter.slot(), asyncio.timeout(client.endpoint.timeout) as deadline:
                got = await self._send(request, deadline)
                if isinstance(got, httpx.Response):
                    try:
                        yield got
                    finally:
                        await got.aclose()
                    return
            assert got.fault is not None
            if not await client.again(got.fault, made):
                client.clean(got)
                yield got._replace(requests=made)
                return

    async def _send(
        self, request: Request, deadline: asyncio.Timeout
    ) -> httpx.Response | upstream.Sent:
        client, http = self._client, self._client_of()
        client.stats.requests += 1
        limits = client.endpoint
        body = upstream.encoded(request.body)
        timeout = httpx.Timeout(None, connect=limits.connect_timeout, read=limits.read_timeout)
        wire = http.build_request(
            "POST",
            client.address(request.path),
            headers=client.headers(request),
            content=body,
            timeout=timeout,
        )
        try:
            response = await http.send(wire, stream=True, follow_redirects=False)
            if response.is_success:
                return response
            await response.aread()
            await response.aclose()
        except (httpx.HTTPError, httpx.StreamError, OSError) as exc:
            if isinstance(exc, TimeoutError) and deadline.expired():
                raise
            fault: Fault = faults.of_exception(exc)
            return upstream.taken(fault, None, time.time(), limits.timeout)
        return upstream.taken((response, 0.0), None, time.time(), limits.timeout)

    def _client_of(self) -> httpx.AsyncClient:
        if self._http is None:
            url = self._client.endpoint.url
            room = self._client.endpoint.max_concurrent or DEFAULT_CONCURRENT
            transport: httpx.AsyncBaseTransport = SlotTransport(
                connections=room, proxy=proxy_for(url)
            )
            if replicas := self._client.endpoint.replicas:
                transport = BalancedTransport(transport, replicas)
            self._http = make_http_client(url, connections=room, transport=transport)
        return self._http


def broken(error: BaseException, seconds: float) -> Reply:
    """What a client is told of a stream that ended before its end.

    Args:
        error: What happened.
        seconds: The endpoint's time-out.
    """
    if isinstance(error, TimeoutError):
        status, message, kind = 504, f"Upstream timed out after {seconds:g}s", "timeout"
    else:
        name = type(error).__name__
        status, message, kind = 502, f"the upstream's stream broke: {name}", "upstream_error"
    said: dict[str, Any] = {"error": {"message": message, "type": kind}}
    return Reply(status, {"content-type": "application/json"}, said)
