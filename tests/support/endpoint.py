"""A mock OpenAI-compatible endpoint in a process of its own.

``python tests/support/endpoint.py --port 0 --latency 0.05`` prints its port and serves until it is
ended; ``running_endpoint(latency=0.05)`` does the same around a block of a test. It speaks
``…/chat/completions``, ``…/completions`` and ``GET …/models``; ``GET /_stats``, ``/_bodies``,
``/_digests`` and ``POST /_reset`` are for the test. It dies with its parent (Linux).
"""

import argparse
import asyncio
import ctypes
import gc
import hashlib
import http.client
import importlib.util
import json
import os
import re
import signal
import socket
import struct
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

if not __package__:  # run as a script: only this folder is on the path
    sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from tests.support.behaviour import Behaviour, Model, Reply, error_body, prompt_of
from tests.support.tally import Tally

_LENGTH = re.compile(rb"\r\ncontent-length:[ \t]*(\d+)", re.IGNORECASE)
_CHUNKED = re.compile(rb"\r\ntransfer-encoding:[ \t]*chunked", re.IGNORECASE)
_CLOSE = re.compile(rb"\r\nconnection:[ \t]*close", re.IGNORECASE)
_REASONS = {200: "OK", 400: "Bad Request", 401: "Unauthorized", 403: "Forbidden", 404: "Not Found"}
_MODEL = {"id": "m", "object": "model", "created": 1, "owned_by": "mock"}
_PDEATHSIG = 1


class Connection(asyncio.Protocol):
    """One client connection: one request at a time, kept alive."""

    transport: asyncio.Transport

    def __init__(self, endpoint: "Endpoint") -> None:
        self.endpoint = endpoint
        self.buffer = b""
        self.digest: bytes | None = None  # of the request in flight
        self.began = (b"", 0.0)  # its body and moment, for the log
        self.timer: asyncio.TimerHandle | None = None
        self.closing = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Remember where to answer."""
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 - asyncio's signature
        """Count a request whose client left before its answer."""
        if self.digest is not None:
            if self.timer is not None:
                self.timer.cancel()
            self._leave("abandoned", None)

    def data_received(self, data: bytes) -> None:
        """Collect bytes until a request is whole."""
        self.buffer += data
        while self.digest is None and self._request():
            pass

    def _request(self) -> bool:
        end = self.buffer.find(b"\r\n\r\n")
        if end < 0:
            return False
        head = self.buffer[: end + 2]
        if _CHUNKED.search(head):
            self._write(411, error_body(411, "the mock endpoint wants a Content-Length"))
            self.transport.close()
            return False
        match = _LENGTH.search(head)
        stop = end + 4 + (int(match[1]) if match else 0)
        if len(self.buffer) < stop:
            return False
        body, self.buffer = self.buffer[end + 4 : stop], self.buffer[stop:]
        self.closing = _CLOSE.search(head) is not None
        method, target, _ = head.split(b" ", 2)
        self._handle(method.decode("latin-1"), target.decode("latin-1"), body)
        return True

    def _handle(self, method: str, target: str, body: bytes) -> None:
        path = target.partition("?")[0]
        if method != "POST" or not path.endswith("/completions"):
            self._write(*self.endpoint.control(method, target))
            return
        chat = path.endswith("/chat/completions")
        tally = self.endpoint.tally
        digest = hashlib.blake2b(body, digest_size=16).digest()
        nth = tally.sighting(digest)
        reply = self.endpoint.model.reply(chat=chat, body=body, digest=digest, nth=nth)
        now = time.monotonic()
        tally.enter(now, body, reply.delay)
        self.digest, self.began = digest, (body, now)
        if reply.action == "hang":
            return
        if reply.delay <= 0:
            self._finish(reply, None)
        else:
            due = now + reply.delay
            self.timer = self.endpoint.loop.call_at(due, self._finish, reply, due)

    def _finish(self, reply: Reply, due: float | None) -> None:
        self.timer = None
        if reply.action == "reset":
            self._leave("reset", due)
            linger = struct.pack("ii", 1, 0)  # close with RST instead of FIN
            sock: socket.socket = self.transport.get_extra_info("socket")
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
            self.transport.abort()
            return
        self._write(reply.status, reply.body, reply.headers)
        self._leave(str(reply.status), due)
        if due is not None:  # otherwise data_received is above us and goes on by itself
            self.data_received(b"")

    def _leave(self, how: str, due: float | None) -> None:
        assert self.digest is not None
        digest, self.digest = self.digest, None
        now = time.monotonic()
        self.endpoint.tally.leave(now, how, digest, due)
        if self.endpoint.log is not None:
            body, began = self.began
            prompt = prompt_of(json.loads(body))
            line = {"prompt": prompt, "began": began, "ended": now, "how": how}
            self.endpoint.log.write(json.dumps(line) + "\n")

    def _write(self, status: int, body: bytes, headers: bytes = b"") -> None:
        reason = _REASONS.get(status, "Error")
        head = f"HTTP/1.1 {status} {reason}\r\nContent-Type: application/json\r\n"
        if self.closing:
            head += "Connection: close\r\n"
        length = b"Content-Length: %d\r\n\r\n" % len(body)
        self.transport.write(head.encode() + headers + length + body)
        if self.closing:
            self.transport.close()


class Endpoint:
    """The server's state: how it behaves and what it has counted."""

    def __init__(self, behaviour: Behaviour, loop: asyncio.AbstractEventLoop) -> None:
        self.model = Model(behaviour)
        self.loop = loop
        self.tally = Tally()
        log = behaviour.log
        self.log = Path(log).open("w", buffering=1, encoding="utf-8") if log else None  # noqa: SIM115 - as long as we live
        self.handlers: dict[tuple[str, str], Callable[[str], object]] = {
            ("GET", "/_stats"): self._stats,
            ("GET", "/_bodies"): lambda _: [
                b.decode("utf-8", "replace") for b in self.tally.bodies
            ],
            ("GET", "/_digests"): lambda _: [digest.hex() for digest in self.tally.seen],
            ("POST", "/_reset"): self._reset,
            ("GET", "/models"): lambda _: {"object": "list", "data": [_MODEL]},
        }

    def control(self, method: str, target: str) -> tuple[int, bytes]:
        """Answer what is not a model request: status and JSON body."""
        url = urlsplit(target)
        path = "/models" if url.path.endswith("/models") else url.path
        handler = self.handlers.get((method, path))
        if handler is None:
            return 404, error_body(404, f"no {method} {url.path} here")
        return 200, json.dumps(handler(url.query)).encode()

    def _stats(self, query: str) -> object:
        return self.tally.figures(int(parse_qs(query).get("slots", ["0"])[0]))

    def _reset(self, query: str) -> object:
        del query
        self.tally = Tally(self.tally.in_flight)
        return {}


class RunningEndpoint:
    """An endpoint in another process, as a test sees it.

    Attributes:
        port: Where it listens, on 127.0.0.1.
        pid: Its process.
        url: The base URL that clients are given; ends in ``/v1``.
    """

    def __init__(self, port: int, pid: int) -> None:
        self.port = port
        self.pid = pid
        self.url = f"http://127.0.0.1:{port}/v1"

    def _ask(self, method: str, target: str) -> Any:  # Any: decoded JSON
        # a connection each: stats are asked rarely, and http.client knows no proxies
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        try:
            connection.request(method, target)
            return json.loads(connection.getresponse().read())
        finally:
            connection.close()

    def stats(self, *, slots: int = 0) -> dict[str, Any]:
        """What :meth:`Tally.figures` counts."""
        figures: dict[str, Any] = self._ask("GET", f"/_stats?slots={slots}")
        return figures

    def bodies(self) -> list[str]:
        """The last 50 request bodies, oldest first."""
        bodies: list[str] = self._ask("GET", "/_bodies")
        return bodies

    def digests(self) -> list[bytes]:
        """The digests of the bodies seen, in the order of their first arrival."""
        return [bytes.fromhex(text) for text in self._ask("GET", "/_digests")]

    def reset(self) -> None:
        """Count from zero; also forgets how often each body was seen."""
        self._ask("POST", "/_reset")

    def wait_in_flight(self, wanted: int, timeout: float = 30.0) -> None:
        """Return as soon as that many requests are in flight."""
        end = time.monotonic() + timeout
        while (seen := self.stats()["in_flight"]) < wanted:
            if time.monotonic() > end:
                msg = f"expected {wanted} requests in flight within {timeout} s, got {seen}"
                raise TimeoutError(msg)
            time.sleep(0.01)


@contextmanager
def running_endpoint(**behaviour: Any) -> Iterator[RunningEndpoint]:  # Any: Behaviour's fields
    """Run an endpoint that behaves so for the length of the block.

    Call it in the main thread: on Linux the process dies with the thread that started it.
    """
    how = json.dumps(asdict(Behaviour(**behaviour)))
    command = [sys.executable, __file__, "--behaviour", how, "--parent", str(os.getpid())]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            line = process.stdout.readline()
            if not line.strip().isdigit():
                msg = f"expected the endpoint's port, got {line!r} (exit {process.poll()})"
                raise RuntimeError(msg)
            yield RunningEndpoint(int(line), process.pid)
        finally:
            process.terminate()
            try:
                process.wait(5)
            except subprocess.TimeoutExpired:
                process.kill()


def _die_with_parent(parent: int) -> None:
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(_PDEATHSIG, signal.SIGKILL)
    if parent and os.getppid() != parent:  # it died before prctl
        sys.exit(1)


def _arguments(argv: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--port", type=int, default=0, help="0 takes a free one")
    parser.add_argument("--parent", type=int, default=0, help="Die unless this is the parent")
    parser.add_argument("--behaviour", default="{}", help="JSON with the fields below")
    for field in fields(Behaviour):
        option = "--" + field.name.replace("_", "-")
        if isinstance(field.default, bool):
            parser.add_argument(option, action=argparse.BooleanOptionalAction, default=None)
        else:
            parser.add_argument(option, type=type(field.default), default=None)
    return parser.parse_args(argv)


async def _serve(behaviour: Behaviour, port: int) -> None:
    loop = asyncio.get_running_loop()
    endpoint = Endpoint(behaviour, loop)
    server = await loop.create_server(lambda: Connection(endpoint), "127.0.0.1", port, backlog=4096)
    print(server.sockets[0].getsockname()[1], flush=True)
    stopped = asyncio.Event()
    loop.add_signal_handler(signal.SIGTERM, stopped.set)
    loop.add_signal_handler(signal.SIGINT, stopped.set)
    await stopped.wait()
    server.close()


def main(argv: list[str] | None = None) -> None:
    """Serve until SIGTERM, SIGINT or the parent's end."""
    arguments = _arguments(argv)
    _die_with_parent(arguments.parent)
    gc.disable()  # it makes no cycles, and a pass over all bodies seen would delay answers
    how = json.loads(arguments.behaviour)
    for field in fields(Behaviour):
        if (value := getattr(arguments, field.name)) is not None:
            how[field.name] = value
    factory = None
    if importlib.util.find_spec("uvloop"):  # not a dependency; asyncio's own loop will do
        factory = importlib.import_module("uvloop").new_event_loop
    with asyncio.Runner(loop_factory=factory) as runner:
        runner.run(_serve(Behaviour(**how), arguments.port))


if __name__ == "__main__":
    main()
