"""A real loopback server that says, byte for byte, what a test wants to hear."""

import asyncio
import json
import socket
import ssl
import struct
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, TypeAlias


@dataclass
class Peer:
    """The server's end of one connection."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter
    head: bytes = b""
    body: bytes = b""

    async def read_request(self) -> bool:
        """Read one request; False when the client is gone."""
        try:
            self.head = await self.reader.readuntil(b"\r\n\r\n")
            length = 0
            for line in self.head.lower().split(b"\r\n"):
                if line.startswith(b"content-length:"):
                    length = int(line.split(b":")[1])
            self.body = await self.reader.readexactly(length)
        except (asyncio.IncompleteReadError, ConnectionError):
            return False
        return True

    async def send(self, *pieces: bytes, pause: float = 0.0) -> None:
        """Send pieces with a pause before each further one."""
        for index, piece in enumerate(pieces):
            if index:
                await asyncio.sleep(pause)
            self.writer.write(piece)
            await self.writer.drain()

    def reset(self) -> None:
        """Close with RST instead of FIN."""
        sock = self.writer.get_extra_info("socket")
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.writer.transport.abort()

    def close(self) -> None:
        """Close with FIN."""
        self.writer.close()


Step: TypeAlias = bytes | Callable[[Peer], Awaitable[None]]


@dataclass
class RawServer:
    """Plays one step per request, whatever the connection; the last step repeats."""

    steps: list[Step]
    requests: list[tuple[bytes, bytes]] = field(default_factory=list)
    times: list[float] = field(default_factory=list)
    connections: int = 0
    port: int = 0
    scheme: str = "http"
    hang_ups: int = 0
    _server: asyncio.Server | None = None
    _tasks: set[asyncio.Task[None]] = field(default_factory=set)

    @property
    def url(self) -> str:
        return f"{self.scheme}://127.0.0.1:{self.port}/v1/chat/completions"

    async def start(self, context: ssl.SSLContext | None = None) -> None:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0, ssl=context)
        self.port = self._server.sockets[0].getsockname()[1]
        self.scheme = "https" if context else "http"

    async def stop(self) -> None:
        assert self._server is not None
        self._server.close()
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._server.wait_closed()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        self.connections += 1
        peer = Peer(reader, writer)
        try:
            while not writer.is_closing() and await peer.read_request():
                self.times.append(asyncio.get_running_loop().time())
                step = self.steps[min(len(self.requests), len(self.steps) - 1)]
                self.requests.append((peer.head, peer.body))
                if isinstance(step, bytes):
                    await peer.send(step)
                else:
                    await step(peer)
        except (ConnectionError, asyncio.CancelledError):
            pass
        finally:
            self.hang_ups += 1
            writer.transport.abort()


def reply(
    body: bytes | str | dict[str, Any] = b"ok",
    status: str = "200 OK",
    headers: Iterable[str] = (),
    content_type: str = "application/json",
) -> bytes:
    """A response with its length."""
    if isinstance(body, dict):
        body = json.dumps(body)
    data = body.encode() if isinstance(body, str) else body
    lines = [
        f"HTTP/1.1 {status}",
        f"Content-Type: {content_type}",
        f"Content-Length: {len(data)}",
        *headers,
    ]
    return ("\r\n".join(lines) + "\r\n\r\n").encode() + data


def answer(text: str | None = "42", **changes: Any) -> dict[str, Any]:
    """A chat completion; ``message`` is merged into its message, the rest into the top level."""
    message = {"role": "assistant", "content": text, **changes.pop("message", {})}
    finish = changes.pop("finish_reason", "stop")
    return {
        "model": "m-1",
        "choices": [{"index": 0, "message": message, "finish_reason": finish}],
        "usage": {"prompt_tokens": 7, "completion_tokens": 2, "total_tokens": 9},
        **changes,
    }


async def until(condition: Callable[[], bool]) -> None:
    """Wait for what the other side of a socket does; five seconds at most."""
    async with asyncio.timeout(5):
        while not condition():  # noqa: ASYNC110  # counters of a server, not events
            await asyncio.sleep(0.005)
