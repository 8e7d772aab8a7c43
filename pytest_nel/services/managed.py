"""A server of problems that a run starts for itself: no service of a suite names it."""

from collections.abc import Callable, Sequence
from pathlib import Path

from pytest_nel.core.types import Endpoint
from pytest_nel.services._deployment import Deployment, probe_of
from pytest_nel.services._process import HOST
from pytest_nel.services._readiness import Probe
from pytest_nel.services._server import Launch
from pytest_nel.services.logs import log_name

_LAST_LINES, _LAST_CHARS = 3, 300
PAGES = ("/health", "/openapi.json")
"""One of them answers where such a server is ready; native ones have only the second."""


class ManagedServer(Deployment):
    """One server on a free loopback port, which it also finds in the variable ``PORT``.

    Args:
        name: What its log is called.
        command: What is run on a port.
        log_dir: The folder for logs.
        patience: Seconds until it is ready.

    Attributes:
        name: The same.
    """

    def __init__(
        self, name: str, command: Callable[[int], Sequence[str]], *, log_dir: Path, patience: float
    ) -> None:
        super().__init__(name, log_dir)
        self.name = name
        self._where = f"benchmark {name}"
        self._command = command
        self._patience = patience

    def start(self) -> Endpoint:
        """Start it and wait until it is ready (blocking); where it is.

        Raises:
            ConfigError: The program cannot be run.
            InfraError: It ended or was not ready in time; the message has its last words.
        """
        url = self._start(1, None, None)[0].url
        return Endpoint(self._name, url, "chat_completions", "", kind="resource")

    @property
    def gone(self) -> str | None:
        """That it has ended although it is needed, in one line with its last words; or None.

        A secret of its environment may stand in them.
        """
        deaths = [] if self._replicas is None else self._replicas.deaths
        if not deaths:
            return None
        lines = [line.strip() for line in deaths[0].words.splitlines() if line.strip()]
        words = " / ".join(lines[-_LAST_LINES:])[-_LAST_CHARS:]
        log = self._log_dir / log_name(self._name, 0, 1)
        return (
            f"{self._where}: its server ended with status {deaths[0].status} before the run did; "
            f"its last words: {words} (its log: {log})"
        )

    def _launch(self, port: int, replica: int) -> Launch:
        del replica  # there is one
        return Launch(list(self._command(port)), {"PORT": str(port), "HOST": HOST})

    def _probe(self, port: int) -> Probe:
        return probe_of(self._where, port, None, health=PAGES, patience=self._patience)
