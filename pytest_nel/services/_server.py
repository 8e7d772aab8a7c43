"""One server on one loopback port: started, waited for, watched, restarted, ended."""

import contextlib
import logging
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple

from pytest_nel.core.errors import NelError
from pytest_nel.services._process import POLITE, HeldPort, SupervisedProcess
from pytest_nel.services._readiness import Probe, is_healthy, wait_until_ready

_LOG = logging.getLogger(__name__)
_FIRST_PAUSE, _LONGEST_PAUSE = 0.1, 5.0
_MISSES = 3
"""Looks in a row without an answer from which a server counts as dead."""


class Launch(NamedTuple):
    """What is run.

    Attributes:
        command: The program and its arguments.
        env: Variables beside ours; they are on no command line.
        cwd: Where it runs; None means here.
        patience: Seconds between the polite signal to end and the other one.
        contained: Whether the command runs a container, which a daemon makes.
    """

    command: list[str]
    env: Mapping[str, str]
    cwd: Path | None = None
    patience: float = POLITE
    contained: bool = False


class Rules(NamedTuple):
    """How a server is kept.

    Attributes:
        port: Where it is to listen; None takes a free port.
        max_restarts: How often it is started again; None: never, and nobody can say otherwise.
        look_every: Seconds between looks at its health page while it serves; None looks at
            nothing but whether it runs.
    """

    port: int | None
    max_restarts: int | None
    look_every: float | None = None


class Death(NamedTuple):
    """How a server has ended.

    Attributes:
        status: As a shell says it; None where it did not come up again.
        words: The last lines of its log, safe to show but for secrets.
    """

    status: int | None
    words: str


class Server:
    """Runs one server until it is told not to.

    Args:
        where: The place to blame, such as ``services.model``.
        log: The file for its output.
        launch: What to run on a port; asked again for each start.
        probe: What must answer on a port before it counts as ready.
        rules: How it is kept.

    Attributes:
        death: How it has ended, where it is gone for good.
    """

    def __init__(  # the edges, all by keyword
        self,
        where: str,
        log: Path,
        *,
        launch: Callable[[int], Launch],
        probe: Callable[[int], Probe],
        rules: Rules,
    ) -> None:
        self._where = where
        self._launch = launch
        self._probe = probe
        self._rules = rules
        self._process = SupervisedProcess(where, log)
        self._stopping = threading.Event()
        self._changing = threading.Lock()
        self._watcher: threading.Thread | None = None
        self._trouble: str | None = None
        self.death = Death(None, "")
        self._held: HeldPort | None = None

    @property
    def trouble(self) -> str | None:
        """Why the server is gone for good, or None."""
        return self._trouble

    def start(self) -> Probe:
        """Start it and wait until it is ready, then keep an eye on it (blocking).

        Returns:
            What it has answered, on the port that it has.

        Raises:
            ConfigError: The program, the folder or the port cannot be used.
            InfraError: It ended or was not ready in time; the message has its last words.
        """
        self._release()
        self._held = held = HeldPort.take(self._where, self._rules.port)
        ready = False
        self._stopping.clear()
        try:
            probe = self._probe(held.number)._replace(where=self._where)
            self._bring_up(probe, held.number)
            ready = True
        finally:
            if not ready:
                self.stop()
        self._watcher = threading.Thread(
            target=self._watch, args=(probe, held), name=f"nel-{self._where}", daemon=True
        )
        self._watcher.start()
        return probe

    def stop(self) -> None:
        """End the server and all it has started; harmless when it is not running."""
        self._stopping.set()
        with self._changing:
            self._process.stop()
        watcher, self._watcher = self._watcher, None
        if watcher is not None:
            watcher.join()
        self._release()

    def _release(self) -> None:
        held, self._held = self._held, None
        if held is not None:
            held.release()

    def _bring_up(self, probe: Probe, port: int) -> None:
        deadline = time.monotonic() + probe.patience
        launch = self._launch(port)
        with self._changing:
            if self._stopping.is_set():
                return
            self._process.launch(
                launch.command, env=launch.env, cwd=launch.cwd, patience=launch.patience
            )
        wait_until_ready(self._process, probe, deadline, wanted=lambda: not self._stopping.is_set())

    def _watch(self, probe: Probe, held: HeldPort) -> None:
        """Wait for the server's death; start it again as often as allowed."""
        restarts = 0
        while True:
            status = self._death(probe)
            if self._stopping.is_set():
                return
            if restarts >= (self._rules.max_restarts or 0):
                break
            restarts += 1
            self._say(f"{_ended(status)}; restart {restarts} of {self._rules.max_restarts}")
            if self._stopping.wait(min(_FIRST_PAUSE * 2 ** (restarts - 1), _LONGEST_PAUSE)):
                return
            try:
                held.check(self._where)
                self._bring_up(probe, held.number)
            except (NelError, OSError) as error:
                if self._stopping.is_set():
                    return
                self._say(str(error).splitlines()[0])
                with self._changing:
                    self._process.stop()
            else:
                self._say("the server is ready again")
        self.death = Death(status, self._process.tail())
        ended = _ended(status) + _allowed(restarts, self._rules.max_restarts)
        trouble = f"{self._where}: {ended}, so it is gone; see {self._process.log}"
        self._say(trouble)
        self._trouble = trouble

    def _death(self, probe: Probe) -> int | None:
        """Wait until it ends, or is ended because it does not answer; its status."""
        misses = 0
        while True:
            try:
                return self._process.wait(self._rules.look_every)
            except TimeoutError:
                misses = 0 if is_healthy(probe) else misses + 1
            if misses >= _MISSES and not self._stopping.is_set():
                self._say(f"no answer from {probe.health_urls[0]} {misses} times: it is ended")
                with self._changing:
                    return None if self._stopping.is_set() else self._process.end()

    def _say(self, text: str) -> None:
        text = text.removeprefix(f"{self._where}: ")
        _LOG.warning("%s: %s", self._where, text)
        with contextlib.suppress(OSError):  # a full disk: the run has worse problems
            self._process.note(text)


def _allowed(restarts: int, most: int | None) -> str:
    if most is None:
        return ""
    return f" after {restarts} restarts" if restarts else " and max_restarts is 0"


def _ended(status: int | None) -> str:
    return "the server " + (
        "did not come up again" if status is None else f"ended with status {status}"
    )
