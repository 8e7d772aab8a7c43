"""Servers that answer alike: each request goes to the least busy one that is there."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import httpx

from pytest_nel.http.fast import FastTransport

_GONE = frozenset({502, 503})
_FIRST_PAUSE, _LONGEST_PAUSE = 0.25, 10.0
"""Seconds that one which failed is left alone, doubling with each failure in a row."""


@dataclass(slots=True)
class Target:
    """One of the servers, as its client sees it.

    Attributes:
        origin: Scheme, host and port; the rest of a URL is the request's.
        in_flight: Requests under way there.
        failures: In a row, of those that say that it is gone.
        out_until: When to try it again, in seconds of the clock.
    """

    origin: httpx.URL
    in_flight: int = 0
    failures: int = 0
    out_until: float = 0.0


class Targets:
    """Chooses among servers; belongs to one event loop.

    One that is gone is left out for a while that grows, and is then tried with one request at a
    time until it answers: so nobody must tell when it is ready again, and every process that asks
    the same servers finds out for itself.

    Args:
        urls: One or more.
        clock: Monotonic seconds.
    """

    def __init__(self, urls: Sequence[str], *, clock: Callable[[], float] = time.monotonic) -> None:
        self.all = [Target(httpx.URL(url)) for url in urls]
        self._clock = clock
        self._first = 0

    def take(self) -> Target:
        """The one to ask now; it counts as busier until :meth:`give_back`."""
        self._first = (self._first + 1) % len(self.all)  # ties go round
        turn = [*self.all[self._first :], *self.all[: self._first]]
        now = self._clock()
        up = [target for target in turn if _may_be_asked(target, now)]
        if up:
            chosen = min(up, key=lambda target: target.in_flight)
        else:  # the one that is due first
            chosen = min(turn, key=lambda target: (target.out_until, target.in_flight))
        chosen.in_flight += 1
        return chosen

    def give_back(self, target: Target, *, gone: bool | None) -> bool:
        """Say what became of a request.

        Args:
            target: What :meth:`take` has returned.
            gone: Whether nobody serves there; None where that was not found out.

        Returns:
            Whether another one is there, which is to be asked instead of one that is gone.
        """
        target.in_flight -= 1
        if gone is False:
            target.failures, target.out_until = 0, 0.0
        if not gone:
            return False
        now = self._clock()
        pause = min(_FIRST_PAUSE * 2.0 ** min(target.failures, 16), _LONGEST_PAUSE)
        target.failures += 1
        target.out_until = now + pause
        return any(_may_be_asked(other, now) for other in self.all)


def _may_be_asked(target: Target, now: float) -> bool:
    if not target.failures:
        return True
    return now >= target.out_until and target.in_flight == 0


class BalancedTransport(httpx.AsyncBaseTransport):
    """Sends each request to one of several servers, and to another one when that is gone.

    So a server's death costs its requests no retry; when all are gone, the last one's failure is
    the request's.

    Args:
        inner: What sends; it reads whole replies, so that a server is busy until its last byte.
        urls: The servers; what counts is scheme, host and port.
        clock: Monotonic seconds.
    """

    def __init__(
        self,
        inner: httpx.AsyncBaseTransport,
        urls: Sequence[str],
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._inner = inner
        self._targets = Targets(urls, clock=clock)

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Send one request.

        Raises:
            httpx.TransportError: As the inner transport.
        """
        response: httpx.Response | None = None
        failure: httpx.TransportError | None = None
        for _ in self._targets.all:
            target = self._targets.take()
            response, failure = None, None
            gone: bool | None = None  # cancelled, or a failure that says nothing about the server
            elsewhere = False
            try:
                response = await self._inner.handle_async_request(_sent_to(target, request))
                gone = response.status_code in _GONE
            except (httpx.NetworkError, httpx.RemoteProtocolError) as error:
                failure, gone = error, True
            finally:
                elsewhere = self._targets.give_back(target, gone=gone)
            if not elsewhere:
                break
        if response is None:
            assert failure is not None
            raise failure
        return response

    async def aclose(self) -> None:
        """Close the inner transport."""
        await self._inner.aclose()


def _sent_to(target: Target, request: httpx.Request) -> httpx.Request:
    url = request.url.copy_with(
        scheme=target.origin.scheme, host=target.origin.host, port=target.origin.port
    )
    host = target.origin.netloc
    headers = [
        (name, host if name.lower() == b"host" else value) for name, value in request.headers.raw
    ]
    return httpx.Request(
        request.method, url, headers=headers, stream=request.stream, extensions=request.extensions
    )


def balanced(replicas: Sequence[str], *, connections: int) -> BalancedTransport | None:
    """What sends to servers of this machine that answer alike; None for one alone.

    Args:
        replicas: Their URLs; none where there is one server.
        connections: How many idle connections to keep for each.
    """
    return BalancedTransport(FastTransport(connections=connections), replicas) if replicas else None
