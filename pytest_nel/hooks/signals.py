"""SIGTERM ends a run as if it had been asked to: nothing new is sent, what there is is written.

That is how batch systems, containers and CI servers end a job before they kill it. pytest itself
dies of it on the spot. Ctrl-C is pytest's own; it is only noted, since Python loses the exception
where it comes while an object is being thrown away.
"""

import os
import signal
import threading
from collections.abc import Generator
from types import FrameType
from typing import Any

import pytest

from pytest_nel.engine.guard import StopReason
from pytest_nel.hooks.state import Run

TERMINATED = "SIGTERM received, nothing more was asked: resume it with --nel-resume"


class Signals:
    """Answers the first SIGTERM of a run by stopping it, the second signal by dying of it.

    The handler runs between two instructions of the main thread, which may hold any lock: it sets
    flags and leaves what takes locks to the engine's loop. Ctrl-C stays pytest's until then.
    """

    def __init__(self, run: Run) -> None:
        self._run = run
        self._before: dict[int, Any] = {}  # Any: what signal.getsignal returns
        self._received = False
        self._finishing = False

    def install(self) -> None:
        """Take SIGTERM over, where nobody else has and Python lets us: in the main thread."""
        in_main = threading.current_thread() is threading.main_thread()
        if in_main and signal.getsignal(signal.SIGTERM) is signal.SIG_DFL:
            self._replace(signal.SIGTERM, self._terminate)
        if in_main and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
            self._replace(signal.SIGINT, self._interrupt)

    @pytest.hookimpl(wrapper=True)
    def pytest_sessionfinish(self) -> Generator[None, Any, Any]:
        """From here on there is nothing left to stop: what was measured is being written."""
        self._finishing = True
        return (yield)

    def pytest_unconfigure(self) -> None:
        """Give the signals back."""
        while self._before:
            signal.signal(*self._before.popitem())

    def _replace(self, number: int, handler: Any) -> None:
        self._before[number] = signal.signal(number, handler)

    def _interrupt(self, number: int, frame: FrameType | None) -> None:
        self._run.ctrl_c = True
        signal.default_int_handler(number, frame)

    def _terminate(self, number: int, frame: FrameType | None) -> None:
        if self._received:
            _die(number, frame)
        self._received = True
        if signal.getsignal(signal.SIGINT) == self._interrupt:
            signal.signal(signal.SIGINT, _die)
        if not self._finishing:
            self._stop()

    def _stop(self) -> None:
        run = self._run
        run.stop = run.stop or StopReason(TERMINATED, fatal=False)
        if run.engine is not None:
            run.engine.stop_soon(run.stop.text)
        if run.parts is not None:
            run.parts.deployments.abandon()
        if run.gym is not None:
            run.gym.abandon()
        if run.role == "worker":  # it ends when it takes its next item: see hooks/item.py
            return
        name = "session" if run.role == "single" else "dsession"
        session: Any = run.config.pluginmanager.getplugin(name)
        if session is not None:
            session.shouldstop = "SIGTERM received"
        for call in run.on_stop:
            call()


def _die(number: int, frame: FrameType | None) -> None:
    """End as if nobody had a handler; the first process of a container is not killed by that."""
    del frame
    signal.signal(number, signal.SIG_DFL)
    os.kill(os.getpid(), number)
    os._exit(128 + number)
