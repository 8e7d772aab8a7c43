"""One HTTP/1.1 client connection: an ``asyncio.Protocol`` around httptools' parser."""

import asyncio
import socket
from collections.abc import Callable
from typing import NamedTuple

import httptools
import httpx

HEAD_LIMIT = 1 << 20  # bytes of status line and headers; real ones are below 64 KiB
_OVERHEAD = 8  # chunk framing may cost this many wire bytes per body byte (one-byte chunks: 6)


class ReplyTooLarge(httpx.RemoteProtocolError):
    """The reply exceeds the configured size; asking again would bring the same."""


class Reply(NamedTuple):
    """A whole response as received; the body is not decompressed."""

    status: int
    version: bytes
    headers: list[tuple[bytes, bytes]]
    body: bytes
    elapsed: float


class Limits(NamedTuple):
    """What one exchange may take.

    Attributes:
        read: Seconds without a byte from the peer; None means no limit.
        write: Seconds without progress while the request is being sent.
        body: Bytes of body.
    """

    read: float | None
    write: float | None
    body: int


class Connection(asyncio.Protocol):
    """Sends one request at a time and collects its reply.

    Args:
        loop: The running loop.
        on_lost: Called once with the connection when its socket is gone.
    """

    # The exchange under way; set by _begin.
    _headers: list[tuple[bytes, bytes]]
    _body: list[bytes]
    _status: int
    _version: bytes
    _seen: int  # bytes on the wire
    _size: int  # bytes of body
    _head_only: bool
    _head_done: bool
    _complete: bool
    _until_eof: bool
    _keep_alive: bool
    _excess: bool
    _disconnected: bool
    _error: httpx.TransportError | None

    def __init__(
        self, loop: asyncio.AbstractEventLoop, on_lost: Callable[["Connection"], None]
    ) -> None:
        self._loop = loop
        self._on_lost = on_lost
        self._parser = httptools.HttpResponseParser(self)
        self._transport: asyncio.Transport | None = None
        self._waiter: asyncio.Future[None] | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._writing = False
        self._limits = Limits(None, None, 0)
        self._sent = self._active = 0.0
        self._begin(head_only=False)
        self.idle_since = 0.0
        self.lost: asyncio.Future[None] = loop.create_future()

    # -- what the transport layer asks --------------------------------------------------

    @property
    def reusable(self) -> bool:
        """Whether another request may follow on this connection."""
        transport = self._transport
        return (
            self._keep_alive
            and not self._excess
            and transport is not None
            and not transport.is_closing()
            and transport.get_write_buffer_size() == 0  # an early reply leaves request bytes
        )

    @property
    def silent(self) -> bool:
        """Whether the peer closed the connection before any byte of a reply."""
        return self._seen == 0 and self._disconnected

    @property
    def socket(self) -> socket.socket | None:
        """The socket underneath, for options; None once closed."""
        return self._transport.get_extra_info("socket") if self._transport is not None else None

    async def ask(self, request: bytes, limits: Limits, *, head_only: bool = False) -> Reply:
        """Send the request and wait for its whole reply.

        Cancelling closes the connection: nobody would read the rest of the reply.

        Raises:
            httpx.TransportError: Closed, malformed, too slow or too large.
        """
        self._begin(head_only=head_only)
        self._limits = limits
        transport = self._transport
        if transport is None or transport.is_closing():
            self._disconnected = True
            msg = "the connection is closed"
            raise httpx.WriteError(msg)
        self._waiter = waiter = self._loop.create_future()
        self._sent = self._active = self._loop.time()
        transport.write(request)
        self._watch()
        try:
            await waiter
        finally:
            self._waiter = None
            if not self._complete:
                self.abort()
        if self._error is not None:
            raise self._error
        body = self._body[0] if len(self._body) == 1 else b"".join(self._body)
        self._body = []
        return Reply(self._status, self._version, self._headers, body, self._active - self._sent)

    def abort(self) -> None:
        """Close at once, without flushing."""
        if self._transport is not None:
            self._transport.abort()

    # -- asyncio.Protocol ---------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep the transport."""
        self._transport = transport  # type: ignore[assignment]  # a stream transport, as asked for

    def data_received(self, data: bytes) -> None:
        """Feed the parser; an idle connection that talks is not usable any more."""
        waiter = self._waiter
        if waiter is None or waiter.done():
            self._excess = True
            self.abort()
            return
        self._seen += len(data)
        self._active = self._loop.time()
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserUpgrade:
            self._fail(httpx.RemoteProtocolError("the server wants to switch protocols"))
        except httptools.HttpParserError as exc:
            self._excess = True
            if not self._complete:
                self._fail(httpx.RemoteProtocolError(f"the reply is not valid HTTP/1.1: {exc}"))
        if self._complete:
            self._wake()
        else:
            self._check_size()

    def eof_received(self) -> None:
        """End of stream ends a body that has no other end; otherwise the reply is cut."""
        self._disconnect(None)

    def connection_lost(self, exc: Exception | None) -> None:
        """Tell whoever waits, then the owner."""
        self._disconnect(exc)
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        self._transport = None
        self._on_lost(self)
        if not self.lost.done():
            self.lost.set_result(None)

    def pause_writing(self) -> None:
        """From here the write limit counts."""
        self._writing = True
        self._touch()

    def resume_writing(self) -> None:
        """From here the read limit counts again."""
        self._writing = False
        self._touch()

    # -- httptools' callbacks -----------------------------------------------------------

    def on_message_begin(self) -> None:
        """Note a second message behind the reply: it answers nothing we asked."""
        if self._complete:
            self._excess = True

    def on_header(self, name: bytes, value: bytes) -> None:
        """Collect a header; trailers of a chunked body are dropped."""
        if not self._head_done:
            self._headers.append((name, value))

    def on_headers_complete(self) -> None:
        """Read the status and decide what ends the body."""
        if self._complete:
            return
        self._head_done = True
        self._status = self._parser.get_status_code()
        names = {name.lower(): value.lower() for name, value in self._headers}
        coding = names.get(b"transfer-encoding")
        self._until_eof = (
            not coding.endswith(b"chunked") if coding else b"content-length" not in names
        )
        if self._head_only and self._status >= 200:
            self._finish(keep_alive=False)

    def on_body(self, data: bytes) -> None:
        """Collect the body up to the limit."""
        if self._complete:
            return
        self._size += len(data)
        if self._size <= self._limits.body:
            self._body.append(data)

    def on_message_complete(self) -> None:
        """Finish, or go on when this was an interim (1xx) response."""
        if self._complete:
            return
        if self._status < 200:
            self._headers = []
            self._head_done = False
            return
        self._finish(keep_alive=self._parser.should_keep_alive())

    # -- inside -------------------------------------------------------------------------

    def _begin(self, *, head_only: bool) -> None:
        self._headers = []
        self._body = []
        self._status = 0
        self._version = b"HTTP/1.1"
        self._seen = self._size = 0
        self._head_done = self._complete = self._until_eof = False
        self._error = None
        self._keep_alive = self._excess = self._disconnected = False
        self._head_only = head_only

    def _finish(self, *, keep_alive: bool) -> None:
        self._complete = self._size <= self._limits.body  # else _check_size ends it
        self._keep_alive = keep_alive
        self._version = b"HTTP/" + self._parser.get_http_version().encode("ascii")

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    def _fail(self, error: httpx.TransportError) -> None:
        if self._waiter is None or self._waiter.done():
            return
        self._error = error
        self._waiter.set_result(None)
        self.abort()

    def _check_size(self) -> None:
        limit = self._limits.body
        if self._size > limit or self._seen > _OVERHEAD * limit + HEAD_LIMIT:
            self._fail(ReplyTooLarge(f"the reply is larger than {limit} bytes"))
        elif not self._head_done and self._seen > HEAD_LIMIT:
            self._fail(ReplyTooLarge(f"the reply's headers are larger than {HEAD_LIMIT} bytes"))

    def _disconnect(self, exc: Exception | None) -> None:
        self._keep_alive = False
        if self._waiter is None or self._waiter.done():
            return
        self._disconnected = True
        if exc is None and self._head_done and self._until_eof:
            self._finish(keep_alive=False)
            self._wake()
        elif isinstance(exc, BrokenPipeError):
            self._fail(httpx.WriteError(str(exc)))
        elif exc is not None:
            self._fail(httpx.ReadError(str(exc) or type(exc).__name__))
        elif self._seen == 0:
            self._fail(httpx.RemoteProtocolError("the server closed without sending a reply"))
        else:
            self._fail(httpx.RemoteProtocolError("the server closed in the middle of its reply"))

    def _touch(self) -> None:
        self._active = self._loop.time()
        if self._waiter is not None:
            self._watch()

    def _watch(self) -> None:
        """Keep one timer per connection, moved only when it would ring too late.

        It survives from request to request: starting and cancelling one for each would cost
        more than parsing the reply does.
        """
        limit = self._limits.write if self._writing else self._limits.read
        if limit is None:
            return
        due = self._active + limit
        if self._timer is not None:
            if self._timer.when() <= due:
                return
            self._timer.cancel()
        self._timer = self._loop.call_at(due, self._ring)

    def _ring(self) -> None:
        self._timer = None
        if self._waiter is None or self._waiter.done():
            return
        limit = self._limits.write if self._writing else self._limits.read
        if limit is None:
            return
        if self._loop.time() < self._active + limit:
            self._watch()
        elif self._writing:
            self._fail(httpx.WriteTimeout(f"the server took no byte for {limit:g} s"))
        else:
            self._fail(httpx.ReadTimeout(f"the server sent no byte for {limit:g} s"))
