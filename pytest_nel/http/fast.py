"""A lean HTTP/1.1 transport for httpx.

httpx's own pool costs milliseconds of CPU per request once dozens of connections idle in it. This
one keeps idle connections on a stack and hands out the last one used. Redirects, auth, cookies
and decompression stay httpx's; proxies and HTTP/2 are :mod:`pytest_nel.http.slots`'s.
"""

import asyncio
import ipaddress
import socket
import ssl
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple, TypeAlias

import httpx

from pytest_nel.http._h1 import Connection, Limits, Reply

MAX_BODY = 256 * 1024 * 1024
_PORTS = {"http": 80, "https": 443}
_LENGTHS = (b"content-length", b"transfer-encoding")
_WITH_BODY = ("POST", "PUT", "PATCH")
_EYEBALLS = 0.25  # RFC 8305: seconds before the next address is tried beside a slow one

Verify: TypeAlias = ssl.SSLContext | bool


class Origin(NamedTuple):
    """Where a connection leads."""

    scheme: str
    host: str
    port: int


class Head(NamedTuple):
    """The beginning of a request: all but the length and the body.

    Attributes:
        origin: Where it goes.
        lines: Request line and headers, each ended.
        method: How it asks.
    """

    origin: Origin
    lines: bytes
    method: str

    def with_body(self, body: bytes) -> bytes:
        """The whole request."""
        if not body and self.method not in _WITH_BODY:
            return self.lines + b"\r\n"
        return b"%sContent-Length: %d\r\n\r\n%s" % (self.lines, len(body), body)


class FastTransport(httpx.AsyncBaseTransport):
    """Sends each request on its own kept-alive connection.

    The whole reply is read before a response is returned; ``extensions["nel_elapsed"]`` tells the
    seconds from sending to its last byte. A kept-alive connection that turns out to be closed is
    replaced once, when no byte of a reply has arrived.

    Args:
        connections: How many idle connections to keep per origin.
        verify: As for httpx: a context, or whether to check certificates.
        max_body: Bytes of body (as transferred) from which a reply is refused.
        idle_timeout: Seconds after which an idle connection is not used again; below what
            gateways and NAT tables keep, since they drop silently.
    """

    def __init__(
        self,
        *,
        connections: int = 100,
        verify: Verify = True,
        max_body: int = MAX_BODY,
        idle_timeout: float = 30.0,
    ) -> None:
        self._keep = connections
        self._verify = verify
        self._context: ssl.SSLContext | None = None
        self._max_body = max_body
        self._idle_timeout = idle_timeout
        self._idle: dict[Origin, list[Connection]] = {}
        self._open: set[Connection] = set()
        self._closed = False

    @property
    def open_connections(self) -> int:
        """How many sockets this transport holds, idle and busy."""
        return len(self._open)

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Send one request and return its response, body included.

        Raises:
            httpx.TransportError: In the kinds that httpx's own transport raises.
        """
        body = await request.aread()
        head = head_of(request.method, request.url, request.headers.raw)
        reply = await self.send(head, body, request.extensions.get("timeout", {}))
        return httpx.Response(
            reply.status,
            headers=reply.headers,
            stream=httpx.ByteStream(reply.body),
            extensions={"http_version": reply.version, "nel_elapsed": reply.elapsed},
        )

    async def send(self, head: Head, body: bytes, timeouts: Mapping[str, Any]) -> Reply:
        """Send one request without httpx's own types, which cost more than the sending.

        Args:
            head: From :func:`head_of`; may be used again.
            body: What follows it.
            timeouts: ``connect``, ``read`` and ``write`` in seconds, as httpx has them.

        Raises:
            httpx.TransportError: As :meth:`handle_async_request`.
        """
        data = head.with_body(body)
        limits = Limits(timeouts.get("read"), timeouts.get("write"), self._max_body)
        head_only = head.method == "HEAD"
        connection = self._take(head.origin)
        if connection is None:
            connection = await self._connect(head.origin, timeouts.get("connect"))
            reply = await connection.ask(data, limits, head_only=head_only)
        else:
            try:
                reply = await connection.ask(data, limits, head_only=head_only)
            except httpx.TransportError:
                if not connection.silent:
                    raise
                connection = await self._connect(head.origin, timeouts.get("connect"))
                reply = await connection.ask(data, limits, head_only=head_only)
        self._give_back(head.origin, connection)
        return reply

    async def aclose(self) -> None:
        """Close every connection and wait until the sockets are gone."""
        self._closed = True
        open_now = list(self._open)
        for connection in open_now:
            connection.abort()
        if open_now:
            await asyncio.wait([connection.lost for connection in open_now])
        self._idle.clear()

    def _take(self, origin: Origin) -> Connection | None:
        idle = self._idle.get(origin)
        if not idle:
            return None
        oldest = asyncio.get_running_loop().time() - self._idle_timeout
        while idle:
            connection = idle.pop()
            if connection.reusable and connection.idle_since >= oldest:
                return connection
            connection.abort()
        return None

    def _give_back(self, origin: Origin, connection: Connection) -> None:
        idle = self._idle.setdefault(origin, [])
        if self._closed or not connection.reusable or len(idle) >= self._keep:
            connection.abort()
            return
        connection.idle_since = asyncio.get_running_loop().time()
        idle.append(connection)

    async def _connect(self, origin: Origin, timeout: float | None) -> Connection:  # noqa: ASYNC109  # httpx hands it over as a number
        self._check_open()
        loop = asyncio.get_running_loop()
        made = Connection(loop, self._lost)
        try:
            async with asyncio.timeout(timeout):
                await loop.create_connection(
                    lambda: made,
                    origin.host,
                    origin.port,
                    ssl=self._tls() if origin.scheme == "https" else None,
                    happy_eyeballs_delay=None if _is_literal(origin.host) else _EYEBALLS,
                )
        except TimeoutError as exc:
            msg = f"no connection to {origin.host}:{origin.port} within {timeout} s"
            raise httpx.ConnectTimeout(msg) from exc
        except (OSError, UnicodeError) as exc:
            msg = f"cannot connect to {origin.host}:{origin.port}: {exc}"
            raise httpx.ConnectError(msg) from exc
        if not made.lost.done():  # the peer may already have hung up
            self._open.add(made)
        try:
            self._check_open()  # closing may have come while connecting
        except httpx.ConnectError:
            made.abort()
            raise
        _keep_tcp_alive(made)
        return made

    def _check_open(self) -> None:
        if self._closed:
            msg = "the transport is closed"
            raise httpx.ConnectError(msg)

    def _lost(self, connection: Connection) -> None:
        self._open.discard(connection)
        for idle in self._idle.values():
            if connection in idle:
                idle.remove(connection)

    def _tls(self) -> ssl.SSLContext:
        if self._context is None:
            if isinstance(self._verify, ssl.SSLContext):
                self._context = self._verify
            else:
                self._context = httpx.create_ssl_context(verify=self._verify)
                self._context.set_alpn_protocols(["http/1.1"])
        return self._context


def _origin(url: httpx.URL) -> Origin:
    scheme = url.scheme
    if scheme not in _PORTS:
        msg = f"expected an http:// or https:// URL, got the scheme {scheme!r}"
        raise httpx.UnsupportedProtocol(msg)
    return Origin(scheme, url.raw_host.decode("ascii").strip("[]"), url.port or _PORTS[scheme])


def head_of(method: str, url: httpx.URL, headers: Iterable[tuple[bytes, bytes]]) -> Head:
    """Request line and headers, whose length is that of the body whatever they say of it.

    Raises:
        httpx.LocalProtocolError: A header cannot be sent.
        httpx.UnsupportedProtocol: The URL is none of HTTP.
    """
    lines = [b"%s %s HTTP/1.1\r\n" % (method.encode("ascii"), url.raw_path)]
    for name, value in headers:
        if b"\n" in value or b"\r" in value or b"\0" in value:
            msg = f"the value of the header {name.decode('latin-1')!r} holds a line break"
            raise httpx.LocalProtocolError(msg)  # its value may be a secret: not shown
        if name.lower() not in _LENGTHS:
            lines.append(b"%s: %s\r\n" % (name, value))
    return Head(_origin(url), b"".join(lines), method)


def _is_literal(host: str) -> bool:
    if host == "localhost":
        return True  # both addresses answer at once, even with "refused"
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True


def _keep_tcp_alive(connection: Connection) -> None:
    """A model may think for minutes without a byte: keep NAT entries and notice dead peers."""
    sock = connection.socket
    if sock is not None:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
