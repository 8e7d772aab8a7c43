"""A small model server for the service ``command`` to start; ``python served.py PORT [FAULT]``.

It prints ``started PID``; ``GET /pid`` and ``GET /variable/NAME`` tell about it, ``GET /die`` ends
it with status 9. ``FAULT`` chooses what goes wrong: ``early`` dies, ``never`` is never healthy,
``slow`` at the third look, ``refuse`` completes nothing, ``once`` comes up only the first time
(``served.once`` in its folder remembers), ``hangs`` is healthy once, ``family`` has a child and a
grandchild in a session of its own, ``noisy`` writes more than a pipe holds, ``twice`` dies over its
twelfth prompt, but only in its first two lives (``served.deaths`` in its folder counts them), and
after the first answers nobody before it was asked for one token, as by who looks for it.
"""

import json
import os
import signal
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, ClassVar

FAULT = sys.argv[2] if len(sys.argv) > 2 else ""
KEY = os.environ.get("SERVED_KEY", "")
DEATHS = Path("served.deaths")
SLEEP = "import time; time.sleep(600)"


class Handler(BaseHTTPRequestHandler):
    """Completes with the last word of the prompt."""

    looks: ClassVar[list[str]] = []
    prompts: ClassVar[list[str]] = []
    dying: ClassVar[threading.Lock] = threading.Lock()
    looked_at: ClassVar[threading.Event] = threading.Event()

    def do_GET(self) -> None:
        self.looks.append(self.path)
        if self.path == "/die":
            os._exit(9)
        if self.path == "/pid":
            self.answer(200, os.getpid())
        elif self.path.startswith("/variable/"):
            self.answer(200, os.environ.get(self.path.rpartition("/")[2]))
        elif self.path != "/health":
            self.answer(404, "no such page")
        else:
            if FAULT == "hangs" and self.looks.count("/health") > 1:
                self.answer(500, "stuck")
                return
            late = FAULT == "never" or (FAULT == "slow" and len(self.looks) < 3)
            self.answer(503 if late else 200, "loading" if late else "ok")

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        said = self.headers.get("Authorization", "")
        if KEY and said != f"Bearer {KEY}":
            self.answer(401, {"error": {"message": "bad key"}})
        elif FAULT == "refuse":
            print("cannot:", said, flush=True)
            self.answer(400, {"error": {"message": f"cannot {said}"}})
        else:
            prompt = body["messages"][-1]["content"] if "messages" in body else body["prompt"]
            self.wait_for_a_look(body)
            self.perhaps_die(prompt)
            choice = {"text": prompt, "message": {"content": prompt}, "finish_reason": "stop"}
            self.answer(200, {"choices": [choice], "path": self.path, "model": body["model"]})

    def wait_for_a_look(self, body: dict[str, Any]) -> None:
        """Else all may be answered, or it die again, before anybody has seen that it is back."""
        if FAULT == "twice" and DEATHS.exists():
            if body.get("max_tokens") == 1:
                self.looked_at.set()
            self.looked_at.wait(30)

    def perhaps_die(self, prompt: str) -> None:
        """Be gone in the middle of an answer, and of all others under way."""
        if FAULT != "twice":
            return
        with self.dying:  # two threads must not count one death twice
            self.prompts.append(prompt)
            deaths = DEATHS.stat().st_size if DEATHS.exists() else 0
            if len(self.prompts) >= 12 and deaths < 2:
                with DEATHS.open("ab") as file:
                    file.write(b"x")
                os._exit(9)

    def answer(self, status: int, body: object) -> None:
        """Send JSON."""
        data = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002  # the base class's name
        """Write nothing."""


def start_family() -> None:
    """A child that is ours, and one in a session of its own whose parent is gone."""
    child = subprocess.Popen([sys.executable, "-c", SLEEP])
    print("family", child.pid, flush=True)
    code = (
        "import subprocess, sys\n"
        f"p = subprocess.Popen([sys.executable, '-c', {SLEEP!r}], start_new_session=True)\n"
        "print('family', p.pid, flush=True)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def main() -> None:
    """Serve until a signal or a fault ends it."""
    print("started", os.getpid(), flush=True)
    if os.getpid() == 1:  # in a container, where nothing ends it by default
        signal.signal(signal.SIGTERM, lambda *_: os._exit(0))
    marker = Path("served.once")
    if FAULT == "early" or (FAULT == "once" and marker.exists()):
        print("out of memory", os.environ.get("SERVED_SECRET", ""), flush=True)
        sys.exit(3)
    if FAULT == "once":
        marker.touch()
    if FAULT == "noisy":
        print("x" * 300_000, flush=True)
    if FAULT == "family":
        start_family()
    host = os.environ.get("SERVED_HOST", "127.0.0.1")  # all of a container, published on loopback
    ThreadingHTTPServer((host, int(sys.argv[1])), Handler).serve_forever()


if __name__ == "__main__":
    main()
