"""Replies that are passed on while they come: what the client's own transport reads whole."""

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import httpx

from pytest_nel.core.exchange import Reply, Request
from pytest_nel.core.types import Endpoint
from pytest_nel.http import faults, upstream, whole
from pytest_nel.http.balance import BalancedTransport
from pytest_nel.http.client import DEFAULT_CONCURRENT, ModelClient
from pytest_nel.http.retry import Fault
from pytest_nel.http.slots import SlotTransport
from pytest_nel.http.target import patience
from pytest_nel.http.transport import make_http_client, proxy_for


class BrokenStream(Exception):  # named for what happened
    """A stream ended before its end.

    Attributes:
        reply: What a client is told of it.
    """

    def __init__(self, error: BaseException, seconds: float) -> None:
        super().__init__(f"{type(error).__name__}: {error}")
        self.reply = _broken(error, seconds)


def _always(_fault: Fault) -> bool:
    return True


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

    async def probe(self, seconds: float) -> Fault | None:
        """Ask for next to nothing, once, to see whether the service answers at all.

        It passes no interceptors, and its tokens are counted nowhere.

        Args:
            seconds: How long it may take; waiting for a slot of the limit is none of that.

        Returns:
            Why it was not answered; None: it was.
        """
        client = self._client
        await client.arrive()
        request = _smallest(client.endpoint)
        async with client.limiter.slot():
            deadline = asyncio.timeout(seconds)
            try:
                async with deadline:
                    got = await self._send(request, deadline)
                    if isinstance(got, httpx.Response):
                        async with contextlib.aclosing(got):
                            await got.aread()
            except (httpx.HTTPError, httpx.StreamError, OSError) as exc:
                if isinstance(exc, TimeoutError) and deadline.expired():
                    return faults.of_deadline(seconds)
                return faults.of_exception(exc)
        if isinstance(got, upstream.Sent):
            return got.fault
        sent = upstream.taken(whole.of_response(got), None, time.time(), seconds)
        return upstream.fault_in(sent.reply, time.time())

    @asynccontextmanager
    async def open(
        self, request: Request, *, asks_again: Callable[[Fault], bool] = _always
    ) -> AsyncIterator[httpx.Response | upstream.Sent]:
        """Send a request; asked again where that may help, as long as nothing has come.

        Args:
            request: What to send.
            asks_again: Whether to do so after a fault, where it may help.

        Yields:
            The response of a success, its body to be read within the block, which holds a slot of
            the limit and is timed; or what became of the request.

        Raises:
            BrokenStream: It broke while it was read, or then took longer than the time-out.
        """
        try:
            async with self._opened(request, asks_again) as got:
                yield got
        except (httpx.HTTPError, httpx.StreamError, OSError) as exc:
            raise BrokenStream(exc, self._client.endpoint.timeout) from exc

    @asynccontextmanager
    async def _opened(
        self, request: Request, asks_again: Callable[[Fault], bool]
    ) -> AsyncIterator[httpx.Response | upstream.Sent]:
        client = self._client
        await client.arrive()
        made, seconds = 0, client.endpoint.timeout
        while True:
            made += 1
            got: httpx.Response | upstream.Sent | None = None
            deadline = asyncio.timeout(seconds)
            try:
                async with client.limiter.slot(), deadline:
                    got = await self._send(request, deadline)
                    if isinstance(got, httpx.Response):
                        async with contextlib.aclosing(got):
                            yield got
                        return
            except TimeoutError:
                if got is not None or not deadline.expired():
                    raise
                got = upstream.taken(faults.of_deadline(seconds), None, time.time(), seconds)
            assert got.fault is not None
            if not asks_again(got.fault) or not await client.again(got.fault, made):
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
        timeout = patience(limits)
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
        return upstream.taken(whole.of_response(response), None, time.time(), limits.timeout)

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


def _smallest(endpoint: Endpoint) -> Request:
    """A request for an answer of one token, or as few as the protocol allows."""
    body: dict[str, Any] = {"model": endpoint.model}
    if endpoint.protocol == "completions":
        body |= {"prompt": "Hi", "max_tokens": 1}
    elif endpoint.protocol == "responses":
        body |= {"input": "Hi", "max_output_tokens": 16}
    else:
        limit = "max_tokens"
        if "max_completion_tokens" in endpoint.generation:
            limit = "max_completion_tokens"
        body |= {"messages": [{"role": "user", "content": "Hi"}], limit: 1}
    return Request(upstream.PATHS[endpoint.protocol], body)


def _broken(error: BaseException, seconds: float) -> Reply:
    if isinstance(error, TimeoutError):
        status, message, kind = 504, f"Upstream timed out after {seconds:g}s", "timeout"
    else:
        name = type(error).__name__
        status, message, kind = 502, f"the upstream's stream broke: {name}", "upstream_error"
    said: dict[str, Any] = {"error": {"message": message, "type": kind}}
    return Reply(status, {"content-type": "application/json"}, said)
