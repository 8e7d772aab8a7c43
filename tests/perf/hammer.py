"""Loads the mock endpoint as fast as sockets allow, to show that it is never the limit.

``python tests/perf/hammer.py PORT COUNT CONNECTIONS`` prints the requests answered per second.
"""

import argparse
import asyncio
import json
import time
from collections.abc import Iterator

_BODY = '{"model": "m", "messages": [{"role": "user", "content": "[gold=%d] question %d"}]}'


class Client(asyncio.Protocol):
    """One connection that sends the next request as soon as the last is answered."""

    transport: asyncio.Transport

    def __init__(self, requests: Iterator[bytes]) -> None:
        self.requests = requests
        self.done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.buffer = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Send the first."""
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport
        self._send()

    def data_received(self, data: bytes) -> None:
        """Send the next once an answer is whole (they are JSON objects that end in ``}}``)."""
        self.buffer += data
        if self.buffer.endswith(b"}}"):
            if not self.buffer.startswith(b"HTTP/1.1 200"):
                self._end(RuntimeError(self.buffer[:200].decode("latin-1")))
                return
            self.buffer = b""
            self._send()

    def connection_lost(self, exc: Exception | None) -> None:
        """Fail when the endpoint hung up."""
        self._end(exc or ConnectionResetError("the endpoint closed the connection"))

    def _send(self) -> None:
        request = next(self.requests, None)
        if request is None:
            self._end(None)
        else:
            self.transport.write(request)

    def _end(self, error: Exception | None) -> None:
        if not self.done.done():
            if error is None:
                self.done.set_result(None)
            else:
                self.done.set_exception(error)
        self.transport.close()


def requests(count: int) -> Iterator[bytes]:
    """So many different chat requests, as bytes on the wire."""
    for index in range(count):
        body = (_BODY % (index, index)).encode()
        head = f"POST /v1/chat/completions HTTP/1.1\r\nContent-Length: {len(body)}\r\n\r\n"
        yield head.encode() + body


async def hammer(port: int, count: int, connections: int) -> float:
    """Seconds for ``count`` answers."""
    loop = asyncio.get_running_loop()
    todo = iter(list(requests(count)))
    start = time.perf_counter()
    made = [
        await loop.create_connection(lambda: Client(todo), "127.0.0.1", port)
        for _ in range(connections)
    ]
    await asyncio.gather(*(client.done for _, client in made))
    return time.perf_counter() - start


def main() -> None:
    """Print a JSON object: seconds, and requests per second."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("port", type=int)
    parser.add_argument("count", type=int)
    parser.add_argument("connections", type=int)
    arguments = parser.parse_args()
    seconds = asyncio.run(hammer(arguments.port, arguments.count, arguments.connections))
    print(json.dumps({"seconds": seconds, "rate": arguments.count / seconds}))


if __name__ == "__main__":
    main()
