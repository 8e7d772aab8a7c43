"""Listens until it is told to end: by Ctrl-C, or by SIGTERM."""

import contextlib
import signal
import socket
import threading
from collections.abc import Callable, Iterator
from types import FrameType

import uvicorn
from starlette.types import ASGIApp

from pytest_nel.core.errors import ConfigError
from pytest_nel.engine.loop import LoopThread
from pytest_nel.http.serving import settings

_GRACE = 10  # seconds for requests under way
_SIGNALS = (signal.SIGINT, signal.SIGTERM)


def listener(host: str, port: int) -> socket.socket:
    """A socket that listens.

    Args:
        host: A name or an address.
        port: 0 takes a free one.

    Raises:
        ConfigError: Nobody can listen there.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family, backlog=1024)
    except (OSError, OverflowError) as error:
        what = getattr(error, "strerror", None) or error
        msg = f"nobody can listen on {host} port {port}: {what}; name another by --port, or 0"
        raise ConfigError(msg) from error


def url_of(host: str, sock: socket.socket) -> str:
    """The base URL under which others reach it."""
    return f"http://{f'[{host}]' if ':' in host else host}:{sock.getsockname()[1]}"


def serve(app: ASGIApp, sock: socket.socket, loop: LoopThread, ready: Callable[[], None]) -> None:
    """Serve until a signal comes (blocking, in the main thread); requests under way are answered.

    Args:
        app: What answers.
        sock: Listens; closed here.
        loop: Where it runs, and all that it uses.
        ready: Called once requests are answered.
    """
    server = uvicorn.Server(settings(app, grace=_GRACE))
    wake = threading.Event()
    with _signals(wake) as came:
        work = loop.submit(server.serve(sockets=[sock]))
        work.add_done_callback(lambda _: wake.set())
        while not (server.started or work.done() or came):
            wake.wait(0.005)
        if server.started:
            ready()
        while True:
            wake.clear()  # before the looks, so that nothing that comes in between is missed
            if work.done():
                break
            server.should_exit = bool(came)
            server.force_exit = len(came) > 1
            wake.wait()
        work.result()


@contextlib.contextmanager
def _signals(wake: threading.Event) -> Iterator[list[int]]:
    """The signals to end that have come; each wakes whoever waits."""
    came: list[int] = []

    def tell(number: int, frame: FrameType | None) -> None:
        del frame
        came.append(number)
        wake.set()

    before = {each: signal.signal(each, tell) for each in _SIGNALS}  # noqa: TID251 - no pytest here
    try:
        yield came
    finally:
        for each, handler in before.items():
            signal.signal(each, handler)  # noqa: TID251 - as above
