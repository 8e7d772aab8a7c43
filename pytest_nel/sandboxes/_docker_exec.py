"""One command in a container, from its start to its end or its time's (blocking)."""

import selectors
import socket
import ssl
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cache
from importlib import import_module
from pathlib import Path
from secrets import token_hex
from threading import Event
from typing import Any, Self

from pytest_nel.core.sandbox import TIMED_OUT, ExecResult, SandboxError
from pytest_nel.sandboxes._docker_daemon import CONFLICT, Api, status_of
from pytest_nel.sandboxes._docker_status import NotStarted, Restarts, of_gone, runs, status
from pytest_nel.sandboxes._docker_users import is_root, unblock
from pytest_nel.sandboxes._kept import Kept

MARK = "NEL_EXEC"
"""The variable by which the processes of a command are found."""
_PIECE = 65_536
_PIECES = 16
_FIRST_LOOK, _LAST_LOOK = 0.25, 1.0
"""Seconds between looks at whether the command has ended while its children hold its output."""
_GRACE = 0.3
"""Seconds for what is on its way when the command has ended."""
KILLED_WITHIN = 30.0
"""Seconds for what kills processes."""
_NOTHING = 9  # as the killer says it
_SETTLES_WITHIN = 8.0
_STARTS_WITHIN = 120.0
_TICKS = 100  # a second has, as every Linux tells its processes
_AGAIN = (BlockingIOError, InterruptedError, ssl.SSLWantReadError, ssl.SSLWantWriteError)


@dataclass(frozen=True, slots=True)
class Order:
    """What is to be run.

    Attributes:
        words: The program and its arguments.
        user: Whose rights it has.
        cwd: Where it runs.
        timeout: Seconds from when it runs.
        limit: Bytes of each stream that are kept.
        env: Variables beside the container's.
        stdin: What it reads; None: nothing.
        abandoned: Set when nobody waits any more.
        background: What is started again where only a restart of the container ends this.
        restarts: Those of the container.
    """

    words: Sequence[str]
    user: str
    cwd: str
    timeout: float
    limit: int
    env: Mapping[str, str] = field(default_factory=dict)
    stdin: bytes | None = None
    abandoned: Event = field(default_factory=Event)
    background: "Order | None" = None
    restarts: Restarts = field(default_factory=Restarts)


def run(api: Api, container: str, order: Order) -> ExecResult:
    """Run it to its end; when its time is up, all that it has started is killed.

    Where what ran before has ended the container, as by filling /dev/shm until no memory is left,
    it is started anew first: its files stay, but for those in memory. Where what ran before had
    left no room for it, and has ended by the time one looks, it is started once more.
    """
    if any("\0" in word for word in order.words):
        return ExecResult(stderr_bytes=b"a NUL character cannot be passed\n", return_code=126)
    docker: Any = import_module("docker")
    retried = revived = False
    while True:
        try:
            return _run(api, container, order)
        except NotStarted:
            if retried:
                raise
            retried = True
        except docker.errors.APIError as error:
            if revived or status_of(error) != CONFLICT:
                raise
            revived = True  # it does not run, and no more has the command
            _revive(api, container, order)


def _revive(api: Api, container: str, order: Order) -> None:
    with order.restarts.reviving:
        if not runs(api, container):
            of_gone(api, container, order.restarts)
            restart(api, container, order)


def _run(api: Api, container: str, order: Order) -> ExecResult:
    mark = token_hex(8)
    killed, since = False, (order.restarts, order.restarts.count)
    if order.restarts.used:
        unblock(api, container, order.restarts)
    order.restarts.used |= is_root(order.user)
    made = _made(api, container, order, mark)
    with _Attached(api, made, order) as attached:
        ended = attached.follow()
        if not ended and not order.abandoned.is_set():
            # The daemon may say late that a command has ended, when one before it has left a
            # child that holds its output.
            how = Killing(mark, attached.seconds, looking=True)
            said = attached.drain_during(lambda: kill(api, container, order, how))
            ended = said == _NOTHING and attached.settles(_SETTLES_WITHIN)
            killed = said == 0
        if not ended:
            if not killed:
                last = Killing(mark, attached.seconds)
                attached.drain_during(lambda: kill(api, container, order, last))
            attached.drain(_GRACE)
    seconds = attached.seconds
    out, err = attached.outputs
    result = ExecResult(out.value(), err.value(), truncated=out.truncated or err.truncated)
    if not ended:
        return replace(result, return_code=TIMED_OUT, timed_out=True, seconds=seconds)
    code = status(api, container, made, result, since)
    return replace(result, return_code=code, seconds=seconds)


def _made(api: Api, container: str, order: Order, mark: str) -> str:
    made = api.exec_create(
        container,
        list(order.words),
        stdin=order.stdin is not None,
        environment={**order.env, MARK: mark},
        workdir=order.cwd,
        user=order.user,
    )
    return str(made["Id"])


def start_detached(api: Api, container: str, order: Order) -> None:
    """Run it in the background for as long as the container is there."""
    api.exec_start(_made(api, container, order, "entrypoint"), detach=True)


class _Attached:
    """The connection to a running command."""

    def __init__(self, api: Api, made: str, order: Order) -> None:
        self._api, self._made, self._order = api, made, order
        self.outputs = Kept(order.limit), Kept(order.limit)
        self._frame = _Frames(self.outputs)
        self._left = memoryview(order.stdin or b"")

    def __enter__(self) -> Self:
        raw = self._api.exec_start(self._made, socket=True)
        self._selector = selectors.DefaultSelector()
        self._began = time.monotonic()
        self._response = raw._response  # noqa: SLF001 - the SDK hangs it there for whoever reads
        self._socket: socket.socket = getattr(raw, "_sock", raw)
        try:
            self._listen()
        except BaseException:
            self.__exit__()
            raise
        return self

    def _listen(self) -> None:
        self._socket.setblocking(False)  # noqa: FBT003 - the standard library has it so
        # What came in one piece with the headers is in the reader's buffer, which the SDK forgets.
        early = self._response.raw._fp.fp.peek() or b""  # noqa: SLF001 - nothing public leads there
        self._frame.feed(early)
        wanted = selectors.EVENT_READ
        if self._order.stdin is not None:
            wanted |= selectors.EVENT_WRITE
        self._selector.register(self._socket, wanted)

    def __exit__(self, *_: object) -> None:
        self._selector.close()
        self._response.close()
        with suppress(OSError):
            self._socket.close()

    @property
    def seconds(self) -> float:
        """Since it was started."""
        return time.monotonic() - self._began

    def follow(self) -> bool:
        """Read until it has ended, and say so; False: its time is up."""
        deadline = self._began + self._order.timeout
        pause = _FIRST_LOOK
        look = self._began + pause
        while not self._order.abandoned.is_set():
            now = time.monotonic()
            if now >= deadline:
                if self._has_begun(now):
                    return False
                deadline = now + self._order.timeout
            if now >= look:
                if self._has_ended():
                    self.drain(_GRACE)
                    return True
                pause = min(_LAST_LOOK, pause * 1.5)
                look = now + pause
            if not self._step(min(look, deadline) - now):
                return True
        return False

    def drain(self, patience: float) -> None:
        """Read what is on its way."""
        until = time.monotonic() + patience
        while (left := until - time.monotonic()) > 0:
            if not self._step(left):
                return

    def drain_during(self, work: Callable[[], int]) -> int:
        """What ``work`` returns; meanwhile this is read on.

        The daemon tells of no command's end while it waits for somebody to take what another has
        written.
        """
        with ThreadPoolExecutor(1, thread_name_prefix="nel-kill") as beside:
            working = beside.submit(work)
            while not working.done():
                self.drain(_FIRST_LOOK)
                wait([working], 0.02)
            return working.result()

    def settles(self, patience: float) -> bool:
        """Whether the daemon says within that time that it has ended by itself."""
        until = time.monotonic() + patience
        while time.monotonic() < until:
            if self._has_ended() or not self._step(_FIRST_LOOK):
                self.drain(_GRACE)
                return True
        return False

    def _has_begun(self, now: float) -> bool:
        """Whether it runs at all: a daemon under load takes its time."""
        said = self._api.exec_inspect(self._made)
        if said["Running"] or said["ExitCode"] is not None:
            return True
        if now - self._began > self._order.timeout + _STARTS_WITHIN:
            msg = "docker: the daemon does not start a command"
            raise SandboxError(msg)
        return False

    def _has_ended(self) -> bool:
        docker: Any = import_module("docker")
        try:
            said = self._api.exec_inspect(self._made)
        except docker.errors.APIError:  # the container has: told apart later
            return True
        return not said["Running"] and said["ExitCode"] is not None

    def _step(self, patience: float) -> bool:
        """Write and read what can be, at once; False: there will be nothing more."""
        for _, ready in self._selector.select(max(0.0, patience)):
            if ready & selectors.EVENT_WRITE:
                self._write()
            if ready & selectors.EVENT_READ and not self._read():
                return False
        return True

    def _read(self) -> bool:
        for _ in range(_PIECES):  # then the clock is looked at: a flood has no end
            try:
                data = self._socket.recv(_PIECE)
            except _AGAIN:
                return True
            except ConnectionError:
                return False
            if not data:
                return False
            self._frame.feed(data)
            if len(data) < _PIECE:
                break
        return True

    def _write(self) -> None:
        try:
            if self._left:
                self._left = self._left[self._socket.send(self._left[:_PIECE]) :]
        except _AGAIN:
            return
        except ConnectionError:  # it does not read
            self._left = memoryview(b"")
        if not self._left:
            self._selector.modify(self._socket, selectors.EVENT_READ)
            with suppress(OSError):  # it has ended
                self._close_stdin()

    def _close_stdin(self) -> None:
        if isinstance(self._socket, ssl.SSLSocket):
            msg = (
                "docker: a command's stdin cannot be closed through TLS: use a daemon at a socket "
                "of this machine, or ssh's forwarding of one"
            )
            raise SandboxError(msg, retryable=False)
        self._socket.shutdown(socket.SHUT_WR)


class _Frames:
    """The daemon's stream: eight bytes of header, then as many of stdout or stderr as it says."""

    def __init__(self, outputs: tuple[Kept, Kept]) -> None:
        self._outputs = outputs
        self._header = bytearray()
        self._left = 0

    def feed(self, data: bytes) -> None:
        """Take a piece of any size."""
        at = 0
        while at < len(data):
            if not self._left:
                needed = 8 - len(self._header)
                self._header += data[at : at + needed]
                at += needed
                if len(self._header) == 8:
                    self._left = int.from_bytes(self._header[4:], "big")
                    self._of = self._outputs[self._header[0] == 2]
                    self._header.clear()
                continue
            piece = data[at : at + self._left]
            self._of.add(piece)
            self._left -= len(piece)
            at += len(piece)


@cache
def _killer() -> str:
    return Path(__file__).with_name("_docker_kill.sh").read_text(encoding="ascii")


@dataclass(frozen=True, slots=True)
class Killing:
    """How a command is killed.

    Attributes:
        mark: Of its processes.
        seconds: How long it has run.
        looking: Whether only if it itself has not ended.
    """

    mark: str
    seconds: float
    looking: bool = False


def kill(api: Api, container: str, order: Order, how: Killing) -> int:
    """Kill a command with all that it has started.

    Where that fails, as when a fork bomb leaves no room for the killer, the container is started
    anew: its files stay, but for those in memory, and all its processes end.

    Returns:
        0, or 9 where there was nothing to do.
    """
    docker: Any = import_module("docker")
    ticks = str(int((how.seconds + 1) * _TICKS))
    looking = "looking" if how.looking else ""
    killer = Order(
        words=["/bin/sh", "-c", _killer(), "sh", how.mark, ticks, looking],
        user=order.user,
        cwd="/",
        timeout=KILLED_WITHIN,
        limit=4096,
    )
    try:
        if order.restarts.used:
            unblock(api, container, order.restarts)
        made = _made(api, container, killer, "killer")
        with _Attached(api, made, killer) as attached:
            done = attached.follow()
        since = (order.restarts, order.restarts.count)
        ended = status(api, container, made, ExecResult(), since) if done else None
    except (docker.errors.APIError, SandboxError):
        ended = None
    if ended in {0, _NOTHING}:
        return int(ended)
    with suppress(docker.errors.APIError):  # it has been removed
        restart(api, container, order)
    return 0


def restart(api: Api, container: str, order: Order) -> None:
    """Start a container anew, with what runs in its background; files stay, but for tmpfs."""
    if order.restarts.used:
        unblock(api, container, order.restarts)
    order.restarts.count += 1  # first: who waits for a command in it has to know why it ends
    api.restart(container, timeout=0)
    if order.background is not None:
        start_detached(api, container, order.background)
