"""Some servers of one kind behind one endpoint."""

import threading
from abc import ABC, abstractmethod
from collections.abc import Sequence
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from pathlib import Path
from typing import ClassVar

from pytest_nel.core.types import Endpoint, Protocol
from pytest_nel.services._process import HOST
from pytest_nel.services._readiness import PATHS, Probe
from pytest_nel.services._server import Death, Launch, Rules, Server
from pytest_nel.services.logs import log_name

_SOME_PORT = 10_000
"""Stands in a command that is looked at and not run."""
NOWHERE = f"http://{HOST}:0"
"""Stands for the URL of a server that is not started."""


class Replicas:
    """Servers that answer alike; they start at once and end together.

    Args:
        servers: One or more.
    """

    def __init__(self, servers: Sequence[Server]) -> None:
        self._servers = servers

    @property
    def trouble(self) -> str | None:
        """Which of them are gone for good, or None."""
        found = [server.trouble for server in self._servers if server.trouble]
        return "; ".join(found) or None

    @property
    def gone(self) -> str | None:
        """Why nobody is left to answer, or None."""
        return self.trouble if all(server.trouble for server in self._servers) else None

    @property
    def deaths(self) -> list[Death]:
        """How those have ended that are gone for good."""
        return [server.death for server in self._servers if server.trouble]

    def start(self) -> list[Probe]:
        """Start all and wait until all are ready (blocking); when one fails, all are ended.

        Raises:
            ConfigError: As :meth:`Server.start`, of the first that failed.
            InfraError: As above.
        """
        if len(self._servers) == 1:
            return [self._servers[0].start()]
        ready = False
        pool = ThreadPoolExecutor(len(self._servers), thread_name_prefix="nel-start")
        try:
            starting = [pool.submit(server.start) for server in self._servers]
            wait(starting, return_when=FIRST_EXCEPTION)
            _raise_the_first(starting)
            ready = True
            return [start.result() for start in starting]
        finally:
            if not ready:
                self.stop()
            pool.shutdown()

    def stop(self) -> None:
        """End all; harmless when none runs."""
        threads = [threading.Thread(target=server.stop) for server in self._servers[1:]]
        for thread in threads:
            thread.start()
        self._servers[0].stop()
        for thread in threads:
            thread.join()


def _raise_the_first(starting: Sequence[Future[Probe]]) -> None:
    for start in starting:
        if start.done():
            start.result()


class Deployment(ABC):
    """What services that run servers have in common; a subclass says what is run and asked.

    Args:
        name: The service's name.
        log_dir: The folder for logs.
    """

    deploys: ClassVar[bool] = True

    def __init__(self, name: str, log_dir: Path) -> None:
        self._name = name
        self._where = f"services.{name}"
        self._log_dir = log_dir
        self._replicas: Replicas | None = None

    @abstractmethod
    def start(self) -> Endpoint:
        """Start the servers and wait until they are ready (blocking)."""

    @abstractmethod
    def _launch(self, port: int, replica: int) -> Launch:
        """What is run on a port."""

    @abstractmethod
    def _probe(self, port: int) -> Probe:
        """What must answer there."""

    @property
    def trouble(self) -> str | None:
        """Why servers are gone for good, or None."""
        return None if self._replicas is None else self._replicas.trouble

    @property
    def gone(self) -> str | None:
        """Why no server is left, for good, or None."""
        return None if self._replicas is None else self._replicas.gone

    def would_run(self) -> Launch | None:
        """What a start would run first, to be looked at; None where it would run nothing.

        Raises:
            ConfigError: What it would refuse before it runs anything.
        """
        return self._launch(_SOME_PORT, 0)

    def _start(self, replicas: int, port: int | None, max_restarts: int | None) -> list[Probe]:
        """Start them; their probes, in order."""
        self._replicas = Replicas(
            [self._server(index, replicas, port, max_restarts) for index in range(replicas)]
        )
        return self._replicas.start()

    @property
    def look_every(self) -> float | None:
        """Seconds between looks at a health page while it serves; None looks at none."""
        return None

    def _server(
        self, index: int, replicas: int, port: int | None, max_restarts: int | None
    ) -> Server:
        return Server(
            f"{self._where}[{index}]" if replicas > 1 else self._where,
            self._log_dir / log_name(self._name, index, replicas),
            launch=lambda number: self._launch(number, index),
            probe=self._probe,
            rules=Rules(None if port is None else port + index, max_restarts, self.look_every),
        )

    def stop(self) -> None:
        """End the servers and all they have started; harmless when none is running."""
        if self._replicas is not None:
            self._replicas.stop()


class ModelDeployment(Deployment):
    """One that serves a model: what is known of it does not wait for its start."""

    @abstractmethod
    def _endpoint(self, urls: Sequence[str]) -> Endpoint:
        """What its options describe, at these request URLs."""

    def described(self) -> Endpoint:
        """Its endpoint, complete but for where it is: nothing is started.

        Raises:
            ConfigError: A file, a package or a variable that it needs is missing.
        """
        return self._endpoint([NOWHERE])


def probe_of(
    where: str,
    port: int,
    protocol: Protocol | None,
    *,
    health: Sequence[str],
    patience: float,
    model: str = "",
) -> Probe:
    """What a server on a loopback port must answer before it counts as ready.

    Args:
        where: The place to blame.
        port: Where it listens.
        protocol: The wire format; None where no model is asked.
        health: Paths of which one must answer 2xx first.
        patience: Seconds in all.
        model: The model name to send.
    """
    base = f"http://{HOST}:{port}"
    return Probe(
        where=where,
        url=base + ("" if protocol is None else PATHS[protocol]),
        protocol=protocol,
        model=model,
        health_urls=tuple(base + page for page in health),
        api_key=None,
        patience=patience,
    )


def resource(name: str, url: str) -> Endpoint:
    """The endpoint of a server that completes nothing; ``url`` is its base URL."""
    return Endpoint(name=name, url=url, protocol="chat_completions", model="", kind="resource")
