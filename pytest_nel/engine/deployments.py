"""The services of a run: described, started once, watched, ended.

A service may be started late: what determines its answers is known without it, so a resumed run
whose answers are all there starts nothing. A worker starts none itself: it asks its controller.
"""

import logging
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from pytest_nel.config.dependencies import start_order
from pytest_nel.config.schema import PluginSpec
from pytest_nel.core.errors import InfraError, NelError, RunStopped
from pytest_nel.core.protocols import Service
from pytest_nel.core.types import Endpoint, JsonObject
from pytest_nel.engine.starting import while_wanted
from pytest_nel.http.secret import Secrets
from pytest_nel.services.gpus import assign, shared

_LOG = logging.getLogger(__name__)
_LOOK = 0.2
"""Seconds between two tries to end a server that is being started."""


@dataclass(frozen=True, slots=True)
class Address:
    """Where a started service is, and what it serves there; no secrets.

    Attributes:
        url: The request URL.
        replicas: As in :class:`~pytest_nel.core.types.Endpoint`.
        model: The model name that requests carry.
        weights: Digest of what is served, where it is known.
    """

    url: str
    replicas: tuple[str, ...]
    model: str
    weights: str | None

    @classmethod
    def of(cls, endpoint: Endpoint) -> "Address":
        """That of an endpoint."""
        return cls(endpoint.url, endpoint.replicas, endpoint.model, endpoint.weights)

    @classmethod
    def from_json(cls, written: Mapping[str, Any]) -> "Address":
        """What :meth:`as_json` has written."""
        return cls(**{**written, "replicas": tuple(written["replicas"])})

    def as_json(self) -> JsonObject:
        """Its fields."""
        return asdict(self)


class Elsewhere(Protocol):
    """Another process that starts what this one needs, as a worker's controller does."""

    def start(self, name: str, wanted: Callable[[], bool]) -> Address:
        """Have a service started and wait for it (blocking), as long as it is wanted.

        Raises:
            ConfigError: It is described wrongly.
            InfraError: It did not come up.
            RunStopped: It is not wanted any more.
        """
        ...

    def gone(self, name: str) -> str | None:
        """Why a service is gone for good, or None."""
        ...


@runtime_checkable
class _Described(Protocol):
    def described(self) -> Endpoint: ...


class Deployments:
    """Services by name.

    Args:
        services: The suite's.
        log_dir: Where deployments write their logs.
        make: Builds a service from its options, without starting it.
        completed: An endpoint with what else the suite says about it.
        secrets: What no message and no log may show; looked up each time.

    Attributes:
        endpoints: Those that run, by service.
        given: Those that another process has started.
        deploys: Whether this process may start deployments; a worker may not.
        late: Whether a deployment waits for the first who asks it something.
        elsewhere: Starts what this process may not.
        watched: Servers that others have started here, by name: each says why it is gone, or None.
        wanted: Services that will be asked.
        warnings: What a user should know of the services that are started.
        troubles: What had happened to deployments, once they are ended.
    """

    def __init__(
        self,
        services: Mapping[str, PluginSpec],
        log_dir: Path,
        *,
        make: Callable[[str], Service],
        completed: Callable[[str, Endpoint], Endpoint],
        secrets: Callable[[], Secrets],
    ) -> None:
        self.specs = dict(services)
        self._log_dir = log_dir
        self._make = make
        self._completed = completed
        self._secrets = secrets
        self.deploys = True
        self.late = False
        self.elsewhere: Elsewhere | None = None
        self.watched: dict[str, Callable[[], str | None]] = {}
        self.endpoints: dict[str, Endpoint] = {}
        self.wanted: dict[str, int] = {}
        self.warnings: list[str] = []
        self.troubles: list[str] = []
        self._described: dict[str, Endpoint] = {}
        self._ready_to_start: set[str] = set()
        self._running: list[Service] = []
        self._deployed: dict[str, Service] = {}
        self._changing = threading.RLock()
        self._over = False

    def endpoint(self, name: str) -> Endpoint:
        """The running endpoint of a service, started on first use (blocking).

        What it depends on is started before.

        Raises:
            ConfigError: It, or a service that it depends on, is described wrongly.
            InfraError: One of them did not come up, or serves something else than it did before.
            RunStopped: The run is over.
        """
        if name in self.endpoints:
            return self.endpoints[name]
        if name not in self.specs:
            return self._make(name).start()  # which says that there is none
        with self._changing:
            self._prepare(start_order(self.specs, [*self.wanted, name]))
            for each in start_order(self.specs, [name]):
                if each not in self.endpoints:
                    self._start(each)
        return self.endpoints[name]

    def described(self, name: str) -> Endpoint:
        """The endpoint; where deployments are late, without where it is.

        Raises:
            ConfigError: As :meth:`endpoint`.
            InfraError: As above.
        """
        if not self.late or name in self.endpoints or name not in self.specs:
            return self.endpoint(name)
        if name not in self._described:
            service = self._make(name)
            if not isinstance(service, _Described):
                return self.endpoint(name)
            self._described[name] = self._completed(name, service.described())
        return self._described[name]

    def gone(self, name: str) -> str | None:
        """Why the deployment behind a service has died for good, as far as is known; or None."""
        if name in self.watched:
            return self.watched[name]()
        found: str | None = getattr(self._deployed.get(name), "gone", None)
        if found is None and self.elsewhere is not None:
            return self.elsewhere.gone(name)
        return found

    def _prepare(self, names: Sequence[str]) -> None:
        """Give GPUs to services that are started together; those that have some keep them."""
        if not self.deploys or set(names) <= self._ready_to_start:
            return
        self._ready_to_start |= set(names)
        together = {name: self.specs[name] for name in names}
        self.warnings += [line for line in shared(together) if line not in self.warnings]
        for name, gpus in assign(together).items():
            spec = self.specs[name]
            self.specs[name] = PluginSpec(type=spec.type, **{**spec.options, "gpus": gpus})

    def _start(self, name: str) -> None:
        if self._over:
            msg = f"services.{name}: the run is over, so it is not started"
            raise RunStopped(msg)
        service = self._make(name)
        if service.deploys and not self.deploys:
            self.endpoints[name] = self._started_elsewhere(name)
            return
        self._running.append(service)
        self._deployed[name] = service
        try:
            with while_wanted(self._is_over, service.stop):
                endpoint = service.start()
        except NelError as error:  # a server's last words: it inherits the keys of all others
            if self._is_over():
                msg = f"services.{name}: the run is over, so its start was ended"
                raise RunStopped(msg) from None
            error.args = (self._secrets().out_of_json(str(error)),)
            raise
        if (known := self._described.get(name)) is not None:
            _check_same(known, Address.of(endpoint))
        self.endpoints[name] = self._completed(name, endpoint)

    def _started_elsewhere(self, name: str) -> Endpoint:
        assert self.elsewhere is not None  # who may start nothing has somebody who does
        service = self._make(name)
        known = service.described() if isinstance(service, _Described) else None
        address = self.elsewhere.start(name, lambda: not self._over)
        if known is None:
            return Endpoint(name, address.url, "chat_completions", address.model, kind="resource")
        _check_same(known, address)
        found = replace(known, url=address.url, replicas=address.replicas)
        return self._completed(name, found)

    def _is_over(self) -> bool:
        return self._over

    def abandon(self) -> None:
        """Start nothing any more and end what is starting; a signal handler may say so."""
        self._over = True

    def stop(self) -> None:
        """End the deployments that this process started (blocking), also one that is starting."""
        self._over = True
        while not self._changing.acquire(timeout=_LOOK):
            for service in list(self._running):
                service.stop()
        try:
            while self._running:
                service = self._running.pop()
                trouble = getattr(service, "trouble", None)  # of one that died for good
                if trouble and trouble not in self.troubles:
                    self.troubles.append(trouble)
                service.stop()
        finally:
            self._changing.release()
        if self.deploys and self._deployed:
            self._clean_logs()

    def _clean_logs(self) -> None:
        """A server may print its environment; all have ended, so nobody writes there any more."""
        for log in self._log_dir.glob("server-*.log"):
            try:
                self._secrets().out_of_file(log)
            except (OSError, ValueError) as error:  # ValueError: it has become shorter
                _LOG.warning("%s: secrets in it could not be masked: %s", log, error)


def _check_same(known: Endpoint, found: Address) -> None:
    """No answer of other weights may be taken for one of those that were looked at.

    Raises:
        InfraError: They are others.
    """
    if (known.model, known.weights) != (found.model, found.weights):
        msg = (
            f"services.{known.name}: what it serves has changed since this run began: with the "
            "same line --nel-resume looks at it anew"
        )
        raise InfraError(msg, retryable=False)
