"""A resource server as NeMo Gym's are, written from their protocol; ``python native_gym.py``.

It listens where ``PORT`` says, has no ``/health``, prints more than a pipe holds, and has a child
of its own, whose numbers stand in its log. ``POST /verify`` takes the whole row and a
Responses-API object, and judges by a field of the row that is a list; it says the row back.
Of answers, ``busy`` gets 503 twice, ``broken`` gets 500.
"""

import json
import os
import subprocess
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, ClassVar

SLEEP = "import time; time.sleep(600)"
RESPONSE = ("id", "object", "created_at", "model", "output", "parallel_tool_calls", "tools")


class Handler(BaseHTTPRequestHandler):
    """Judges."""

    busy: ClassVar[int] = 0

    def do_GET(self) -> None:
        if self.path == "/openapi.json":
            self.answer(200, {"openapi": "3.1.0", "paths": {"/verify": {}}})
        else:
            self.answer(404, {"detail": "Not Found"})

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if self.path != "/verify":
            self.answer(404, {"detail": "Not Found"})
            return
        missing = [name for name in RESPONSE if name not in body.get("response", {})]
        if missing or "input" not in body.get("responses_create_params", {}):
            self.answer(422, {"detail": f"missing: {missing}"})
            return
        self.judge(body)

    def judge(self, body: dict[str, Any]) -> None:
        (message,) = body["response"]["output"]
        (part,) = message["content"]
        if part["text"] == "busy" and Handler.busy < 2:
            Handler.busy += 1
            self.answer(503, {"detail": "later"})
        elif part["text"] == "broken":
            self.answer(500, {"detail": "the verifier broke"})
        else:
            accepted = body["accepted"]  # a list: it must have come back as it was
            reward = 1.0 if part["text"] in accepted else 0.0
            self.answer(200, {**body, "reward": reward, "extracted_answer": part["text"]})

    def answer(self, status: int, content: object) -> None:
        data = json.dumps(content).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *args: object) -> None:
        """Silent."""


if __name__ == "__main__":
    child = subprocess.Popen([sys.executable, "-c", SLEEP])
    print(f"started {os.getpid()}\nstarted {child.pid}", flush=True)
    print("chatter " * 20_000, flush=True)
    ThreadingHTTPServer(("127.0.0.1", int(os.environ["PORT"])), Handler).serve_forever()
