"""A docker daemon's API as a plain HTTP server, for answers that a real one gives by chance."""

import base64
import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Answer = tuple[int, Any]
"""Status and what is said; of HEAD, what stands at the path."""


class _Handler(BaseHTTPRequestHandler):
    answer: Callable[[str, Any], Answer]

    def asked(self) -> None:
        content = self.rfile.read(int(self.headers["Content-Length"] or 0))
        plain = self.headers["Content-Type"] == "application/json"
        self._say(json.loads(content) if content and plain else None)

    def _say(self, body: Any) -> None:
        path = "/" + self.path.partition("?")[0].lstrip("/").partition("/")[2]
        if self.command not in {"GET", "POST"}:
            path = f"{self.command} {path}"
        if self.path.startswith("/version"):
            status, said = 200, {"ApiVersion": "1.41"}
        else:
            status, said = self.answer(path, body)
        content = json.dumps(said).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        if self.command == "HEAD":
            stat, content = base64.b64encode(content).decode(), b""
            if status == 200:
                self.send_header("X-Docker-Container-Path-Stat", stat)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        with suppress(ConnectionError):  # who asked may have gone
            self.wfile.write(content)

    def log_message(self, *said: Any) -> None:
        """Nothing."""


@contextmanager
def fake_daemon(answer: Callable[[str, Any], Answer]) -> Iterator[str]:
    """One that answers by path, without version and query, and body; its address.

    The body is None where there is no JSON. Paths of HEAD, PUT and DELETE begin with that word and
    a space.
    """
    methods = {f"do_{one}": _Handler.asked for one in ("GET", "POST", "HEAD", "PUT", "DELETE")}
    handler = type("Handler", (_Handler,), methods | {"answer": staticmethod(answer)})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"tcp://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
