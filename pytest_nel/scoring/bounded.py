"""Work that may run away, in processes of its own that can be ended.

A response is text by a model: it may make an algebra system, a regular expression or a validator
work for ever or fill the memory. Such work is sent as JSON to a small pool of worker processes.
How much it may do is counted in processor seconds, so a busy machine changes no verdict; the wall
clock only ends what does not get any processor. Workers start with the first task, serve any
thread, and end with this process, however that ends: they read a pipe and stop at its end.
"""

import atexit
import json
import os
import select
import subprocess
import sys
import threading
import time
from functools import lru_cache
from importlib.util import find_spec
from signal import SIGKILL, SIGTERM
from typing import Any

from pytest_nel.core.errors import ConfigError, ScorerError

#: What a task may use; the limits are those of the operating system, set on the worker.
CPU_SECONDS = 5
MEMORY_BYTES = 1 << 30
#: A task that has no result by then lacked a processor: an infrastructure failure, not a verdict.
WALL_SECONDS = 60.0
_POOL_SIZE = min(4, os.cpu_count() or 1)

# Not the caller's directory but its path: what it imports, the worker imports.
_BOOT = (
    "import sys, json; sys.path[:] = json.loads(sys.argv[1]); "
    "from pytest_nel.scoring.worker import serve; serve()"
)
_FROM_OUTSIDE = frozenset({-SIGKILL, -SIGTERM})


class OutOfBounds(Exception):  # it names what happened
    """The task needed more than :data:`CPU_SECONDS` or :data:`MEMORY_BYTES`, or went too deep."""


class TaskFailed(Exception):
    """The task raised; the message holds type and text of what it raised."""


class _Died(Exception):
    """The worker ended before it replied; ``code`` is its exit status, negative for a signal."""

    def __init__(self, code: int) -> None:
        super().__init__(f"exit status {code}")
        self.code = code


def ask(task: str, *arguments: Any) -> Any:  # Any: JSON
    """Run a task in a worker and return its result; callable from any thread.

    Args:
        task: ``module:function`` below ``pytest_nel.scoring``.
        arguments: JSON values.

    Raises:
        OutOfBounds: It reached a limit. The next task finds a fresh worker.
        TaskFailed: It raised.
        ScorerError: No worker could be run.
    """
    return _pool(os.getpid()).ask(task, arguments)


def require(package: str, *, extra: str, scorer: str) -> None:
    """Refuse to go on without a package.

    Raises:
        ConfigError: It is not installed; the message names the extra that brings it.
    """
    if not _installed(package):
        msg = f"{scorer} needs the package {package}: pip install 'pytest-nel[{extra}]'"
        raise ConfigError(msg)


@lru_cache
def _installed(package: str) -> bool:
    try:
        return find_spec(package) is not None
    except ValueError:  # somebody has put None or a bare module in its place
        return False


@lru_cache(maxsize=1)
def _pool(_pid: int) -> "Pool":
    """The process's own; after a fork the child has another pid and hence another pool."""
    pool = Pool(_POOL_SIZE)
    atexit.register(pool.close)
    return pool


class Pool:
    """At most ``size`` workers, each started when it is first needed.

    ``seconds`` is the processor time of a task; the system counts whole seconds and adds up to one.
    """

    def __init__(self, size: int, seconds: int = CPU_SECONDS) -> None:
        self._seconds = seconds
        self._free = threading.BoundedSemaphore(size)
        self._idle: list[Worker] = []  # list.append and list.pop are atomic

    def ask(self, task: str, arguments: tuple[Any, ...]) -> Any:
        """As :func:`ask`. A worker that somebody else ended is replaced once."""
        request = json.dumps([task, arguments, self._seconds]).encode() + b"\n"
        with self._free:
            try:
                reply = self._try(request)
            except _Died as death:
                _refuse_own_death(death)
                try:
                    reply = self._try(request)
                except _Died as again:
                    _refuse_own_death(again)
                    msg = f"the scorer's worker process ended twice ({again}): memory, ulimit?"
                    raise ScorerError(msg) from again
        return _result(reply)

    def close(self) -> None:
        """End the idle workers and wait for them."""
        while self._idle:
            self._idle.pop().close()

    def _try(self, request: bytes) -> Any:
        worker = self._idle.pop() if self._idle else Worker()
        serves_on = False
        try:
            reply = worker.ask(request)
            serves_on = "bounds" not in reply  # then it is ending: the next task would die with it
        finally:
            if serves_on:
                self._idle.append(worker)
            else:
                worker.close()
        return reply


class Worker:
    """One worker process, run by the interpreter ``python``, and its two pipes."""

    def __init__(self, python: str = sys.executable) -> None:
        try:
            self._process = subprocess.Popen(  # noqa: S603  # our own interpreter, our own code
                [python, "-P", "-Wignore", "-c", _BOOT, json.dumps(sys.path)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                bufsize=0,
                start_new_session=True,  # Ctrl-C is for the run, which lets its tasks finish
            )
        except OSError as error:
            msg = f"the scorer's worker process cannot be started: {error}"
            raise ScorerError(msg) from error

    @property
    def pid(self) -> int:
        """The process's id."""
        return self._process.pid

    def ask(self, request: bytes) -> Any:
        """Send one line and read one.

        Raises:
            _Died: The process ended instead.
            ScorerError: There was no reply within :data:`WALL_SECONDS`.
        """
        try:
            _write(self._process, request)
            return json.loads(self._line(time.monotonic() + WALL_SECONDS))
        except (BrokenPipeError, ConnectionResetError) as error:
            raise _Died(self._process.wait()) from error

    def close(self) -> None:
        """End the process, whatever it is doing."""
        self._process.kill()
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                pipe.close()
        self._process.wait()

    def _line(self, deadline: float) -> bytes:
        assert self._process.stdout is not None
        descriptor = self._process.stdout.fileno()
        poll = select.poll()
        poll.register(descriptor, select.POLLIN)
        line = b""
        while not line.endswith(b"\n"):
            if not poll.poll(max(0.0, deadline - time.monotonic()) * 1000):
                msg = f"the scorer's worker got no result in {WALL_SECONDS:g} s: machine too busy?"
                raise ScorerError(msg)
            piece = os.read(descriptor, 65536)
            if not piece:
                raise _Died(self._process.wait())
            line += piece
        return line


def _write(process: subprocess.Popen[bytes], data: bytes) -> None:
    assert process.stdin is not None
    view = memoryview(data)
    while view:  # unbuffered: a long request goes through the pipe in pieces
        view = view[process.stdin.write(view) :]


def _refuse_own_death(death: _Died) -> None:
    """A worker that its limits ended has answered; one that was killed from outside has not."""
    if death.code < 0 and death.code not in _FROM_OUTSIDE:
        msg = f"it needed too much processor time or memory ({death})"
        raise OutOfBounds(msg) from death


def _result(reply: Any) -> Any:
    if "broken" in reply:
        msg = f"the scorer's worker process does not work: {reply['broken']}"
        raise ScorerError(msg)
    if "bounds" in reply:
        raise OutOfBounds(reply["bounds"])
    if "error" in reply:
        raise TaskFailed(reply["error"])
    return reply["result"]
