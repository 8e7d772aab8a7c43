"""A docker daemon's API at a unix socket that counts the connections which its clients leave open.

It keeps a connection until the client ends it, whatever was said, so that what a client does not
close stays open for as long as it lives.
"""

import json
import select
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from socketserver import ThreadingMixIn, UnixStreamServer
from time import monotonic, sleep
from typing import Any

UPGRADE = "HTTP/1.1 101 UPGRADED\r\nConnection: Upgrade\r\nUpgrade: tcp\r\n\r\n"


@dataclass(frozen=True)
class Endless:
    """Lines of JSON, or other pieces, after which there might be more."""

    pieces: list[Any]


@dataclass(frozen=True)
class Upgraded:
    """The stream of a command: what comes first, and whether it ends there."""

    first: bytes = b""
    ends: bool = False


@dataclass(frozen=True)
class Silence:
    """No answer at all."""


Answer = Callable[[str], Any]
"""By the path without its version: a status and JSON, or one of the above."""


@dataclass
class Counted:
    """The daemon, and how many are connected to it."""

    host: str
    open: int = 0
    asked: list[str] = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def left(self, within: float = 10.0) -> int:
        """How many connections are left open; they have so many seconds to come to none."""
        until = monotonic() + within
        while self.open and monotonic() < until:
            sleep(0.01)
        return self.open


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    answer: Answer
    version: Callable[[], tuple[int, Any]]
    counted: Counted

    def setup(self) -> None:
        super().setup()
        with self.counted.lock:
            self.counted.open += 1

    def finish(self) -> None:
        with suppress(OSError):
            super().finish()
        with self.counted.lock:
            self.counted.open -= 1

    def handle(self) -> None:
        with suppress(ConnectionError):  # the client has gone
            super().handle()

    def asked(self) -> None:
        self._read_body()
        path = "/" + self.path.partition("?")[0].lstrip("/").partition("/")[2]
        self.counted.asked.append(path)
        said = self.version() if self.path == "/version" else self.answer(path)
        if isinstance(said, Silence):
            self._wait()
        elif isinstance(said, Upgraded):
            self._upgrade(said)
        elif isinstance(said, Endless):
            self._stream(said)
        else:
            self._say(*said)

    def _read_body(self) -> None:
        if self.headers["Transfer-Encoding"] != "chunked":
            self.rfile.read(int(self.headers["Content-Length"] or 0))
            return
        while size := int(self.rfile.readline(), 16):
            self.rfile.read(size + 2)
        self.rfile.readline()

    def _wait(self) -> None:
        """Until the client has closed it: the end of what it writes is not that yet."""
        ended = select.poll()
        ended.register(self.connection, 0)  # POLLHUP comes unasked
        ended.poll()
        self.close_connection = True

    def _upgrade(self, said: Upgraded) -> None:
        self.wfile.write(UPGRADE.encode() + said.first)
        if said.ends:
            self.connection.shutdown(1)
        self._wait()

    def _stream(self, said: Endless) -> None:
        self.send_response(200)
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        for piece in said.pieces:
            data = piece if isinstance(piece, bytes) else json.dumps(piece).encode() + b"\r\n"
            self.wfile.write(f"{len(data):x}\r\n".encode() + data + b"\r\n")
        self._wait()

    def _say(self, status: int, said: Any) -> None:
        bare = self.command == "HEAD" or status == HTTPStatus.NO_CONTENT
        content = b"" if bare else json.dumps(said).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *said: Any) -> None:
        """Nothing."""


class _Server(ThreadingMixIn, UnixStreamServer):
    daemon_threads = True
    request_queue_size = 64


def _usual() -> tuple[int, Any]:
    return 200, {"ApiVersion": "1.41"}


@contextmanager
def counted_daemon(
    answer: Answer, version: Callable[[], tuple[int, Any]] = _usual
) -> Iterator[Counted]:
    """One that answers by path, and with that to who asks for its version."""
    with tempfile.TemporaryDirectory(prefix="nel-") as folder:  # short: a socket's path has to be
        path = Path(folder, "docker.sock")
        counted = Counted(f"unix://{path}")
        methods = {f"do_{one}": _Handler.asked for one in ("GET", "POST", "HEAD", "PUT", "DELETE")}
        told = {"answer": staticmethod(answer), "version": staticmethod(version)}
        server = _Server(
            str(path), type("Handler", (_Handler,), methods | told | {"counted": counted})
        )
        thread = threading.Thread(target=server.serve_forever, args=(0.05,))
        thread.start()
        try:
            yield counted
        finally:
            server.shutdown()
            thread.join()
            server.server_close()
