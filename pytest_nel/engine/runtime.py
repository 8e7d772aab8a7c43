"""The parts a run needs: services, clients, solvers. Made from configuration, closed in order."""

import asyncio
import logging
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from pytest_nel.config.schema import BenchmarkConfig, PluginSpec
from pytest_nel.core.errors import ConfigError, NelError, UnknownName
from pytest_nel.core.keys import share_of
from pytest_nel.core.protocols import Opens, Service, Solver
from pytest_nel.core.registry import unknown
from pytest_nel.core.types import Endpoint
from pytest_nel.engine.deployments import Deployments
from pytest_nel.engine.guard import StopReason
from pytest_nel.engine.judge_call import Reach
from pytest_nel.engine.loop import LoopThread
from pytest_nel.engine.routes import Route
from pytest_nel.engine.sandboxes import Sandboxes
from pytest_nel.engine.user_code import of_user
from pytest_nel.engine.validated import validated
from pytest_nel.http.client import DEFAULT_CONCURRENT, ModelClient
from pytest_nel.http.limiter import AdaptiveLimiter
from pytest_nel.http.secret import Secrets
from pytest_nel.interceptors.proxy import AdapterProxy
from pytest_nel.services import REGISTRY as SERVICES
from pytest_nel.solvers import REGISTRY as SOLVERS
from pytest_nel.solvers import asks_model
from pytest_nel.solvers.around import Around

_LOG = logging.getLogger(__name__)


def _no_secrets() -> Secrets:
    return Secrets(())


class Parts:
    """Services by name, one client per endpoint, everything closed at the end.

    Args:
        services: The suite's services.
        log_dir: Where deployments write their logs.
        given: Endpoints that another process has started (the controller of workers).
        share: (index, count) of the processes that divide each endpoint's limit among them.
        deploys: Whether this process may start deployments; a worker may not.
        secrets: What no message and no log may show of all services; looked up each time.

    Attributes:
        deployments: The services, started or not.
        reach: What asking the services that judge has shown, by name.
        sandboxes: Where solvers and verifiers run code.
        give_up: Told why a service that was to be started late is not there.
    """

    def __init__(
        self,
        services: Mapping[str, PluginSpec],
        *,
        log_dir: Path,
        given: Mapping[str, Endpoint] | None = None,
        share: tuple[int, int] = (0, 1),
        deploys: bool = True,
        secrets: Callable[[], Secrets] = _no_secrets,
    ) -> None:
        self._log_dir = log_dir
        self._share = share
        self._secrets = secrets
        self.deployments = Deployments(
            services,
            log_dir,
            make=self.service,
            completed=lambda name, endpoint: self._route(name).endpoint(endpoint),
            secrets=secrets,
        )
        self.deployments.deploys = deploys
        self.deployments.endpoints.update(given or {})
        self.give_up: Callable[[StopReason], None] = lambda _reason: None
        self._clients: dict[str, ModelClient] = {}
        self._equipped: list[ModelClient] = []  # with interceptors that are not opened yet
        self._limits: dict[str, int] = {}  # of all processes together
        self._opened: list[Opens] = []
        self._judges: dict[tuple[str, float], ModelClient] = {}
        self.reach: dict[str, Reach] = {}
        self.sandboxes = Sandboxes(share, secrets)

    def redact(self, text: str) -> str:
        """A message without the secrets of any service."""
        return self._secrets().out_of_json(text)

    def hide(self, text: str) -> str:
        """A text for files without whole secrets; what merely ends like one stays."""
        return self._secrets().out_of_line(text)

    def plan_limit(self, service: str, concurrent: int) -> None:
        """Note that a benchmark wants ``concurrent`` requests in flight at a service."""
        wanted = self.deployments.wanted
        wanted[service] = max(concurrent, wanted.get(service, 0))

    def service(self, name: str) -> Service:
        """Build a service from its options, without starting it.

        Raises:
            ConfigError: Its type is unknown or an option is wrong; the message names it.
        """
        spec = self.deployments.specs.get(name)
        if spec is None:
            error = unknown("service", name, list(self.deployments.specs))
            raise error
        cls: Any = _class_of(name, spec)  # Any: each plugin has its own Config
        config = validated(cls.Config, spec.options, f"services.{name}")
        self._route(name)  # wrong interceptors are known before anything is started
        built: Service = cls(name, config, log_dir=self._log_dir)
        if isinstance(built, _WritesFiles):
            built.secrets = self._secrets
        return built

    def endpoint(self, name: str) -> Endpoint:
        """The running endpoint of a service, started on first use (blocking).

        What it depends on is started before.

        Raises:
            ConfigError: It, or a service that it depends on, is described wrongly.
            InfraError: One of them did not come up.
        """
        return self.deployments.endpoint(name)

    def described(self, name: str) -> Endpoint:
        """The endpoint of a service; where that is started late, all but its place.

        Raises:
            ConfigError: As :meth:`endpoint`.
            InfraError: As above.
        """
        return self.deployments.described(name)

    def gone(self, name: str) -> str | None:
        """Why the deployment behind a service has died for good, as far as is known; or None."""
        return self.deployments.gone(name)

    def _gone(self, name: str) -> bool:
        return self.gone(name) is not None

    async def _started(self, name: str) -> Endpoint:
        """The endpoint of a service that is started now; its start is on no loop's time."""
        try:
            return await asyncio.to_thread(self.endpoint, name)
        except (NelError, OSError) as error:
            self.give_up(StopReason(str(error), isinstance(error, ConfigError)))
            # Nothing was asked, so nothing is to be recorded: this ends with the run.
            await asyncio.get_running_loop().create_future()
            raise

    def _made(self, name: str, endpoint: Endpoint, limiter: AdaptiveLimiter) -> ModelClient:
        client = ModelClient(endpoint, limiter=limiter)
        client.gone = partial(self._gone, name)
        if name not in self.deployments.endpoints:
            client.comes = partial(self._started, name)
        return client

    def client(self, name: str) -> ModelClient:
        """The one client of a service's endpoint."""
        if name not in self._clients:
            endpoint = self.described(name)
            if endpoint.kind != "model":
                msg = (
                    f"services.{name}: this is no model, so nothing can be asked of it: name a "
                    "service that serves one"
                )
                raise ConfigError(msg)
            limit = self.deployments.wanted.get(name, DEFAULT_CONCURRENT)
            if endpoint.max_concurrent is not None:
                limit = min(limit, endpoint.max_concurrent)
            self._limits[name] = limit
            client = self._made(
                name,
                replace(endpoint, max_concurrent=limit),  # connections: the share may grow to it
                AdaptiveLimiter(share_of(limit, *self._share)),
            )
            if self._route(name).equip(client, self._log_dir.parent) is not None:
                self._equipped.append(client)
            self._clients[name] = client
        return self._clients[name]

    def judge_client(self, name: str, timeout: float) -> ModelClient:
        """A client that gives each request ``timeout`` seconds, under the same limit.

        Its counters are its own: what judges cost is not what the model costs.

        Raises:
            ConfigError: The service speaks no chat completions.
        """
        shared = self.client(name)
        if shared.endpoint.protocol != "chat_completions":
            msg = (
                f"service {name!r} is to judge and speaks {shared.endpoint.protocol}: a judge "
                "needs protocol chat_completions"
            )
            raise ConfigError(msg)
        if (name, timeout) not in self._judges:
            client = self._made(name, replace(shared.endpoint, timeout=timeout), shared.limiter)
            self._route(name).equip(client, self._log_dir.parent)
            self._judges[name, timeout] = client
        return self._judges[name, timeout]

    def adapter(self, name: str, *, host: str = "127.0.0.1", port: int = 0) -> AdapterProxy:
        """An adapter proxy before a service, for agents that need a URL; not started.

        It shares the service's limit with the solvers of this process. Whoever asks for it starts
        and stops it, on the engine's loop.

        Args:
            name: The service.
            host: Where it listens: loopback, or the gateway address of a sandbox network.
            port: 0 takes a free one.

        Raises:
            ConfigError: The service or the address cannot be used.
        """
        own = self.client(name)
        client = self._made(name, own.endpoint, own.limiter)
        chain = self._route(name).equip(client, self._log_dir.parent, always=True)
        assert chain is not None
        return AdapterProxy(client, chain, host=host, port=port)

    def _route(self, name: str) -> Route:
        return Route.of(name, self.deployments.specs.get(name))

    def allowed(self, name: str) -> int:
        """Requests that this process may have in flight at a service whose client is made."""
        return share_of(self._limits[name], *self._share)

    def divide(self, index: int, count: int) -> Iterator[tuple[ModelClient, int]]:
        """Be process ``index`` of ``count`` from now on.

        Yields:
            Each client and what it may have in flight now; to be set on its loop.
        """
        self._share = (index, count)
        for name, client in self._clients.items():
            yield client, self.allowed(name)

    @property
    def clients(self) -> Iterable[ModelClient]:
        """All clients made so far."""
        return self._clients.values()

    def solver(self, config: BenchmarkConfig, endpoint_type: str = "chat") -> Solver:
        """The solver that a benchmark's configuration asks for.

        Raises:
            ConfigError: Unknown type, wrong options, or a protocol that does not fit.
        """
        where = f"benchmark {config.name}: solver"
        kind = config.solver.type
        if not asks_model(config.solver):
            alone: Any = SOLVERS.load(kind)
            around = Around(config.timeout, config.sandbox)
            options = validated(alone.Config, config.solver.options, where)
            return self._built(alone, around, options)
        service = str(config.solver.options.get("service", ""))
        protocol = self.described(service).protocol
        if endpoint_type == "completions" and protocol != "completions":
            msg = (
                f"{where}: the benchmark needs a completions endpoint, "
                f"but service {service!r} speaks {protocol}"
            )
            raise ConfigError(msg)
        if kind == "simple" and protocol == "completions":
            kind = "completion"
        cls: Any = SOLVERS.load(kind)  # Any: each plugin has its own Config
        options = validated(cls.Config, config.solver.options, where)
        if getattr(cls, "through_proxy", False):
            around = Around(
                config.timeout, config.sandbox, partial(self.adapter, service), self._model(service)
            )
            return self._built(cls, around, options)
        more = {}
        if (resource := getattr(options, "resource_service", None)) is not None:
            more["resource"] = self.endpoint(resource)
        return self._built(cls, self.client(service), options, **more)

    @staticmethod
    def _built(kind: Any, *parts: Any, **more: Any) -> Solver:
        made: Solver = kind(*parts, **more)
        return made

    def _model(self, service: str) -> str:
        return self.described(service).model

    def open(self, loop: LoopThread, solver: object) -> None:
        """Open a part that has resources on the loop, once; it is closed with the others.

        So are interceptors: one that cannot work is known before the first request.
        """
        while self._equipped:
            loop.call(self._equipped.pop().open())
        if isinstance(solver, Opens) and not any(part is solver for part in self._opened):
            loop.call(solver.open())
            self._opened.append(solver)

    async def close_async(self) -> None:
        """Close what lives on the loop."""
        for part in reversed(self._opened):
            await closed(part)
        self._opened = []
        for client in (*self._judges.values(), *self._clients.values()):
            await closed(client)
        await self.sandboxes.close()

    def stop_services(self) -> None:
        """End the deployments that this process started (blocking)."""
        self.deployments.stop()


def _class_of(name: str, spec: PluginSpec) -> type[Service]:
    try:
        return SERVICES.load(spec.type)
    except UnknownName as error:
        msg = f"services.{name}: {error}"
        raise UnknownName(msg) from None


@runtime_checkable
class _WritesFiles(Protocol):
    secrets: Callable[[], Secrets]


class _Closes(Protocol):
    async def close(self) -> None: ...


async def closed(part: _Closes) -> None:
    """Close a part; one that fails to is named in the log and keeps nobody else from closing."""
    try:
        await of_user(part.close)
    except Exception:  # noqa: BLE001 - a user's part may raise anything; the results are safe
        _LOG.exception("%s could not be closed", type(part).__name__)
