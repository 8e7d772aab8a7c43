"""Stands in for the xllamacpp wheel: the same names, a tiny server, faults on demand.

Copied as ``xllamacpp.py`` into a folder on the path, so that the service under test starts its
real process and talks real HTTP. ``FAKE_FAULT`` chooses what goes wrong.
"""

import json
import os
import signal
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import SimpleNamespace
from typing import Any, ClassVar

FAULT = os.environ.get("FAKE_FAULT", "")


class CommonParams(SimpleNamespace):
    """Takes any attribute, as the real one takes those it knows."""

    def __init__(self) -> None:
        super().__init__(
            model=SimpleNamespace(), cpuparams=SimpleNamespace(), cpuparams_batch=SimpleNamespace()
        )


class Handler(BaseHTTPRequestHandler):
    """Answers 503 once, as a server does that is still loading, then completes."""

    asked: ClassVar[list[str]] = []

    def do_POST(self) -> None:
        self.asked.append(self.path)
        self.rfile.read(int(self.headers["Content-Length"]))
        if FAULT == "die":
            print("fake: out of memory", flush=True)
            os._exit(3)
        if FAULT == "refuse":
            self.answer(400, {"error": "context too small"})
        elif FAULT == "load forever" or len(self.asked) == 1:
            self.answer(503, {"error": "Loading model"})
        else:
            self.answer(200, {"choices": [], "asked": self.asked})

    def answer(self, status: int, body: object) -> None:
        """Send JSON."""
        data = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002  # the base class's name
        """Write nothing."""


class Server:
    """Listens on a free port from a thread, as the real one does."""

    def __init__(self, params: CommonParams) -> None:
        print("fake: serving", params.model.path, "slots", params.n_parallel, flush=True)
        if FAULT == "no load":
            print("fake: not a gguf file", file=sys.stderr, flush=True)
            message = "failed to load model"
            raise RuntimeError(message)
        if FAULT == "hang":
            time.sleep(60)
        if FAULT == "stubborn":
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
        http = ThreadingHTTPServer((params.hostnames[0], params.port), Handler)
        self.listening_address = f"http://127.0.0.1:{http.server_port}"
        threading.Thread(target=http.serve_forever, daemon=True).start()
