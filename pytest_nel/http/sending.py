"""One request to an endpoint, by the shortest way there is."""

import time
from collections.abc import Mapping
from typing import Any

import httpx

from pytest_nel.http import whole
from pytest_nel.http.fast import FastTransport, Head, head_of
from pytest_nel.http.whole import Whole

Headers = list[tuple[bytes, bytes]]


class Sender:
    """Sends what a client asks.

    A client of the user's has its authentication, events and cookies: it sends itself. Ours has
    none of them, so its transport is asked at once; of httpx's own layers each costs as much CPU
    as sending does.

    Args:
        http: The client.
        transport: What is under it, where nothing between the two is wanted.
        extensions: Those of every request, with the time-outs.
    """

    def __init__(
        self,
        http: httpx.AsyncClient,
        transport: httpx.AsyncBaseTransport | None,
        extensions: Mapping[str, Any],  # Any: httpx's own type
    ) -> None:
        self._http = http
        self._transport = transport
        self._extensions = dict(extensions)
        self._timeouts: Mapping[str, Any] = extensions.get("timeout", {})
        self._said: Headers | None = None
        self._head: Head | None = None

    async def post(self, body: bytes, url: httpx.URL, headers: Headers) -> Whole:
        """Post a body.

        Args:
            body: It.
            url: Where to.
            headers: All but its length; may be the same list from request to request, of one URL.

        Raises:
            httpx.HTTPError: No whole reply came.
        """
        transport = self._transport
        if isinstance(transport, FastTransport):
            if self._head is None or self._said is not headers:
                self._head, self._said = head_of("POST", url, headers), headers
            reply = await transport.send(self._head, body, self._timeouts)
            return whole.of_reply(reply)
        begin = time.perf_counter()
        request = httpx.Request(  # by hand: letting httpx build it costs more than the sending
            "POST",
            url,
            headers=[*headers, (b"Content-Length", b"%d" % len(body))],
            stream=httpx.ByteStream(body),
            extensions=self._extensions,
        )
        if transport is None:
            response = await self._http.send(request, follow_redirects=False)
        else:
            response = await transport.handle_async_request(request)
            try:
                await response.aread()
            finally:
                await response.aclose()
        return whole.of_response(response, time.perf_counter() - begin)
