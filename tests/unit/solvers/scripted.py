"""Servers for tests of the tool loop: a model that follows a script, and a Gym resource server."""

import json
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, TypeAlias

Body: TypeAlias = dict[str, Any]
Step: TypeAlias = Body | tuple[int, Body] | Callable[[Body], Body | tuple[int, Body]]


def says(content: str | None, *calls: tuple[str, Any], **more: Any) -> Body:
    """A chat completion with a text and calls: (name, arguments as an object or as text)."""
    message: Body = {"role": "assistant", "content": content, **more.pop("message", {})}
    if calls:
        message["tool_calls"] = [
            {
                "id": f"id{at}",
                "type": "function",
                "function": {
                    "name": name,
                    "arguments": given if isinstance(given, str) else json.dumps(given),
                },
            }
            for at, (name, given) in enumerate(calls)
        ]
    usage = more.pop("usage", {"prompt_tokens": 10, "completion_tokens": 3, "total_tokens": 13})
    reason = "tool_calls" if calls else "stop"
    choice = {"message": message, "finish_reason": more.pop("finish_reason", reason)}
    return {"model": "scripted", "choices": [choice], "usage": usage, **more}


class Server:
    """Something that is asked over HTTP, on a port of its own."""

    def __init__(self) -> None:
        self.port = 0

    @property
    def url(self) -> str:
        """Its base."""
        return f"http://127.0.0.1:{self.port}"

    def reply(
        self, method: str, path: str, body: Any, headers: Mapping[str, str]
    ) -> tuple[int, Any, dict[str, str]]:
        """A status, what is said, and headers."""
        raise NotImplementedError


class ScriptedModel(Server):
    """Replies with one step after the other; the last one again and again.

    Attributes:
        bodies: What it was sent.
    """

    def __init__(self, *steps: Step) -> None:
        super().__init__()
        self.steps = list(steps)
        self.bodies: list[Body] = []

    def reply(
        self, method: str, path: str, body: Any, headers: Mapping[str, str]
    ) -> tuple[int, Any, dict[str, str]]:
        del method, path, headers
        self.bodies.append(body)
        step = self.steps[min(len(self.bodies), len(self.steps)) - 1]
        said = step(body) if callable(step) else step
        status, content = said if isinstance(said, tuple) else (200, said)
        return status, content, {}


@contextmanager
def running(server: Server) -> Iterator[None]:
    """Serve for the length of the block."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            self._answer(None)

        def do_POST(self) -> None:
            length = int(self.headers.get("Content-Length") or 0)
            self._answer(json.loads(self.rfile.read(length) or b"null"))

        def _answer(self, body: Any) -> None:
            status, said, headers = server.reply(self.command, self.path, body, dict(self.headers))
            data = said.encode() if isinstance(said, str) else json.dumps(said).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(data)))
            for name, value in headers.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as httpd:
        httpd.daemon_threads = True
        httpd.block_on_close = False
        server.port = httpd.server_address[1]
        thread = threading.Thread(target=httpd.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        try:
            yield
        finally:
            httpd.shutdown()
            thread.join()
