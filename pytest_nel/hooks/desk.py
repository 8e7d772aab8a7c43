"""Under ``-n``: how workers have deployments started while they run, and hear of their end.

A worker that needs a service which is not started leaves a small file that names it in the run's
directory; the controller's desk looks for such files, starts what they name and says in a file of
its own where it is, why it did not come up, and which services are gone for good.
"""

import json
import os
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from pytest_nel.core.errors import ConfigError, InfraError, NelError, RunStopped
from pytest_nel.core.types import JsonObject
from pytest_nel.engine.deployments import Address
from pytest_nel.engine.runtime import Parts
from pytest_nel.records.whole import whole_json

SERVICES = ".services.json"
_WANTED = ".wanted-{worker}-{number}.json"
_EVERY = 0.2
"""Seconds between two looks."""
_OVER = "the session was stopped"


@dataclass(slots=True)
class Said:
    """All that the desk has to say.

    Attributes:
        there: Service → its address, as JSON.
        failed: Service → why it did not come up, and whether the run is described wrongly.
        gone: Service → why it is gone for good.
        over: Nothing is started any more.
    """

    there: dict[str, JsonObject] = field(default_factory=dict)
    failed: dict[str, tuple[str, bool]] = field(default_factory=dict)
    gone: dict[str, str] = field(default_factory=dict)
    over: bool = False


class Desk:
    """The controller's side: a thread that starts what is asked for and watches what runs.

    Args:
        directory: The run's.
        parts: Starts services.
        services: Those to watch.
    """

    def __init__(self, directory: Path, parts: Parts, services: list[str]) -> None:
        self._directory = directory
        self._parts = parts
        self._services = services
        self._said = Said()
        self._ending = threading.Event()
        self._thread = threading.Thread(target=self._attend, name="nel-desk", daemon=True)

    def open(self) -> None:
        """Begin; what a killed session has left there is removed."""
        self._clear()
        self._thread.start()

    def end(self) -> None:
        """Start nothing any more; who still waits is told so. What is starting is not waited for.

        Harmless when it is over.
        """
        if not self._ending.is_set() and self._directory.is_dir():
            self._ending.set()
            self._said.over = True
            self._write()

    def close(self) -> None:
        """Take the files away, when nobody reads them any more and the services are ended."""
        self._ending.set()
        if self._thread.is_alive():
            self._thread.join()
        self._clear()

    def _clear(self) -> None:
        for path in [self._directory / SERVICES, *self._wishes()]:
            path.unlink(missing_ok=True)

    def _wishes(self) -> list[Path]:
        return sorted(self._directory.glob(_WANTED.format(worker="*", number="*")))

    def _attend(self) -> None:
        while not self._ending.wait(_EVERY):
            before = asdict(self._said)
            for path in self._wishes():
                self._serve(str(json.loads(path.read_text(encoding="utf-8"))["service"]))
            for name in self._services:
                why = self._parts.gone(name)
                if why is not None:
                    self._said.gone[name] = why
            if asdict(self._said) != before:
                self._write()

    def _serve(self, name: str) -> None:
        said = self._said
        if name in said.there or name in said.failed or self._ending.is_set():
            return
        try:
            said.there[name] = Address.of(self._parts.endpoint(name)).as_json()
        except (NelError, OSError) as error:
            said.failed[name] = (str(error), isinstance(error, ConfigError))

    def _write(self) -> None:
        try:
            whole_json(self._directory / SERVICES, asdict(self._said))
        except OSError:  # a full disk: whoever writes results says so, and ends the run
            return


class AskedController:
    """A worker's side of the desk.

    Args:
        directory: The run's.
        worker: Its id.
    """

    def __init__(self, directory: Path, worker: str) -> None:
        self._directory = directory
        self._worker = worker
        self._asked = 0
        self._next = 0.0
        self._seen = (0, 0)
        self._said = Said()

    def start(self, name: str, wanted: Callable[[], bool]) -> Address:
        """Have the controller start a service and wait for it (blocking).

        Raises:
            ConfigError: It is described wrongly.
            InfraError: It did not come up, or the disk does not take the wish.
            RunStopped: It is not wanted any more, or the session is over.
        """
        self._wish(name)
        controller = os.getppid()
        while wanted() and os.getppid() == controller:
            said = self._look()
            if name in said.there:
                return Address.from_json(said.there[name])
            if name in said.failed:
                text, fatal = said.failed[name]
                raise ConfigError(text) if fatal else InfraError(text, retryable=False)
            if said.over:
                break
            time.sleep(_EVERY)
        raise RunStopped(_OVER)

    def gone(self, name: str) -> str | None:
        """Why a service is gone for good, or None; looks five times a second at most."""
        now = time.monotonic()
        if now >= self._next:
            self._next = now + _EVERY
            self._look()
        return self._said.gone.get(name)

    def _wish(self, name: str) -> None:
        self._asked += 1
        path = self._directory / _WANTED.format(worker=self._worker, number=self._asked)
        try:
            whole_json(path, {"service": name})
        except OSError as error:
            msg = f"services.{name}: it cannot be asked for: {path}: {error.strerror or error}"
            raise InfraError(msg, retryable=False) from None

    def _look(self) -> Said:
        path = self._directory / SERVICES
        try:
            stat = path.stat()
            state = (stat.st_mtime_ns, stat.st_ino)  # replaced each time: another inode
            if state != self._seen:
                said: Mapping[str, Any] = json.loads(path.read_text(encoding="utf-8"))
                self._said, self._seen = Said(**said), state
        except FileNotFoundError:  # it says nothing yet, or the session is over
            pass
        return self._said
