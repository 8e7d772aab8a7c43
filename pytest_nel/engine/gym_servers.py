"""The servers that a run starts for its ``gym://`` benchmarks: one each, whoever asks."""

import logging
from collections.abc import Callable, Collection, Iterable, Mapping
from functools import partial
from pathlib import Path

from pytest_nel.config.schema import PluginSpec
from pytest_nel.config.served import suite_file, suite_of, write_suite
from pytest_nel.core.errors import ConfigError, InfraError, RunStopped
from pytest_nel.core.keys import digest
from pytest_nel.core.protocols import EvalEnvironment
from pytest_nel.core.types import JsonObject
from pytest_nel.engine.sandboxes import NONE
from pytest_nel.engine.starting import while_wanted
from pytest_nel.environments._gym_address import Managed
from pytest_nel.environments.gym import GymEnvironment
from pytest_nel.http.secret import Secrets
from pytest_nel.services.logs import log_name
from pytest_nel.services.managed import ManagedServer

_LOG = logging.getLogger(__name__)
_NONE = PluginSpec(type=NONE)


class GymServers:
    """Starts what is not there yet, tells environments where it is, ends it all.

    Args:
        secrets: What no message and no log may show; looked up each time.
        given: URLs of servers that another process has started, by what they run.
        starts: Whether this process may start any; a worker may not.
        told: Says why a server of another process is gone, or None.

    Attributes:
        urls: Of all servers that are known, by what they run.
        started: The names of those that were started here.
        files: What they leave in the folder of logs.
    """

    def __init__(
        self,
        secrets: Callable[[], Secrets],
        *,
        given: Mapping[str, str] | None = None,
        starts: bool = True,
        told: Callable[[str], str | None] = lambda _key: None,
    ) -> None:
        self.urls: dict[str, str] = dict(given or {})
        self.started: list[str] = []
        self.files: list[str] = []
        self._secrets = secrets
        self._starts = starts
        self._told = told
        self._own: dict[str, ManagedServer] = {}
        self._attached: list[tuple[EvalEnvironment, str]] = []
        self._running: list[tuple[ManagedServer, Path]] = []
        self._over = False

    def attach(
        self, environment: EvalEnvironment, log_dir: Path, sandbox: PluginSpec = _NONE
    ) -> None:
        """Give an environment its server, started if need be (blocking).

        One that needs none is left alone.

        Args:
            environment: Of a benchmark that is planned.
            log_dir: The folder for the server's log.
            sandbox: The entry's: where a server of ours has scorers run code.

        Raises:
            ConfigError: It cannot be run, ended or was not ready in time, with its last words;
                or this process may not start it.
            RunStopped: The run is over.
        """
        if not isinstance(environment, GymEnvironment) or environment.managed is None:
            return
        managed = environment.managed
        suite = suite_of(managed.bench, sandbox)
        key = digest([list(managed.words), suite])
        if key not in self.urls:
            self._refuse_worker(environment.name)
            self._own[key] = self._made(managed, suite, log_dir)
            self.urls[key] = self._started(self._own[key])
        environment.at(self.urls[key], gone=partial(self.gone, key))
        self._attached.append((environment, key))

    @property
    def own(self) -> Collection[str]:
        """What those run that were started here."""
        return self._own.keys()

    def needed(self, environments: Iterable[EvalEnvironment]) -> list[str]:
        """What the servers run without which these environments can do nothing; each once."""
        wanted = list(environments)
        found = [key for each, key in self._attached if any(each is one for one in wanted)]
        return list(dict.fromkeys(found))

    def gone(self, key: str) -> str | None:
        """Why a server has ended before the run, as far as is known; or None.

        Args:
            key: What it runs, a key of :attr:`urls`.
        """
        server = self._own.get(key)
        if server is None:
            return self._told(key)
        said = server.gone
        return None if said is None else self._secrets().out_of_json(said)

    def _made(self, managed: Managed, suite: JsonObject | None, log_dir: Path) -> ManagedServer:
        name, file = managed.name, None
        if suite is not None:
            name = f"{name}-{digest(suite)[7:15]}"
            where = f"benchmark {managed.bench}"
            hide = self._secrets().out_of_json
            file = write_suite(suite, suite_file(log_dir, name), hide, where)
        log = log_dir / log_name(name, 0, 1)
        server = ManagedServer(
            name,
            lambda port: managed.command(port, file),
            log_dir=log_dir,
            patience=managed.patience,
        )
        self._running.append((server, log))
        self.started.append(name)
        self.files += [each.name for each in (log, file) if each is not None]
        return server

    def _started(self, server: ManagedServer) -> str:
        """The URL of a server that runs from now on."""
        try:
            with while_wanted(lambda: self._over, server.stop):
                return server.start().url
        except InfraError as error:  # its last words: it inherits all keys
            if self._over:
                msg = f"benchmark {server.name}: the run is over, so its server is not started"
                raise RunStopped(msg) from None
            raise ConfigError(self._secrets().out_of_json(str(error))) from None

    def _refuse_worker(self, name: str) -> None:
        if not self._starts:
            msg = (
                f"benchmark {name}: under -n its server is started before the workers, and only "
                "for suites that are named on the command line: name the suite there"
            )
            raise ConfigError(msg)

    def abandon(self) -> None:
        """End what is starting; a signal handler may say so."""
        self._over = True

    def stop(self) -> None:
        """End what was started here, with all it has started; harmless twice."""
        while self._running:
            server, log = self._running.pop()
            server.stop()
            try:
                if log.is_file():  # that of a plan is gone already
                    self._secrets().out_of_file(log)
            except (OSError, ValueError) as error:  # ValueError: it has become shorter
                _LOG.warning("%s: secrets in it could not be masked: %s", log, error)
