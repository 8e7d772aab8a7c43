"""The parts a run needs: services, clients, solvers. Made from configuration, closed in order."""

import logging
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, Protocol, get_args

from pydantic import ValidationError

from pytest_nel.config.dependencies import start_order
from pytest_nel.config.schema import BenchmarkConfig, PluginSpec
from pytest_nel.core.errors import ConfigError, NelError, UnknownName
from pytest_nel.core.keys import shard_range
from pytest_nel.core.protocols import Opens, Service, Solver
from pytest_nel.core.registry import unknown
from pytest_nel.core.types import Endpoint
from pytest_nel.engine.judge_call import Reach
from pytest_nel.engine.loop import LoopThread
from pytest_nel.engine.routes import Route
from pytest_nel.http.client import DEFAULT_CONCURRENT, ModelClient
from pytest_nel.http.limiter import AdaptiveLimiter
from pytest_nel.http.secret import Secrets
from pytest_nel.interceptors.proxy import AdapterProxy
from pytest_nel.services import service_class
from pytest_nel.services.gpus import assign, shared
from pytest_nel.solvers import REGISTRY as SOLVERS

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
        warnings: What a user should know of the services that are started.
        troubles: What had happened to deployments, once they are ended.
        reach: What asking the services that judge has shown, by name.
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
        self._specs = dict(services)
        self._deploys = deploys
        self._secrets = secrets
        self._ready_to_start: set[str] = set()
        self._log_dir = log_dir
        self._share = share
        self._endpoints: dict[str, Endpoint] = dict(given or {})
        self._running: list[Service] = []
        self._deployed: dict[str, Service] = {}
        self._clients: dict[str, ModelClient] = {}
        self._equipped: list[ModelClient] = []  # with interceptors that are not opened yet
        self._wanted: dict[str, int] = {}
        self._limits: dict[str, int] = {}  # of all processes together
        self._opened: list[Opens] = []
        self.warnings: list[str] = []
        self._judges: dict[tuple[str, float], ModelClient] = {}
        self.troubles: list[str] = []
        self.reach: dict[str, Reach] = {}

    def redact(self, text: str) -> str:
        """A message without the secrets of any service."""
        return self._secrets().out_of_json(text)

    def plan_limit(self, service: str, concurrent: int) -> None:
        """Note that a benchmark wants ``concurrent`` requests in flight at a service."""
        self._wanted[service] = max(concurrent, self._wanted.get(service, 0))

    def service(self, name: str) -> Service:
        """Build a service from its options, without starting it.

        Raises:
            ConfigError: Its type is unknown or an option is wrong; the message names it.
        """
        spec = self._specs.get(name)
        if spec is None:
            error = unknown("service", name, list(self._specs))
            raise error
        cls: Any = _class_of(name, spec)  # Any: each plugin has its own Config
        config = validated(cls.Config, spec.options, f"services.{name}")
        self._route(name)  # wrong interceptors are known before anything is started
        built: Service = cls(name, config, log_dir=self._log_dir)
        return built

    def endpoint(self, name: str) -> Endpoint:
        """The running endpoint of a service, started on first use (blocking).

        What it depends on is started before.

        Raises:
            ConfigError: It, or a service that it depends on, is described wrongly.
            InfraError: One of them did not come up.
        """
        if name in self._endpoints:
            return self._endpoints[name]
        if name not in self._specs:
            return self.service(name).start()  # which says that there is none
        self._prepare(start_order(self._specs, [*self._wanted, name]))
        for each in start_order(self._specs, [name]):
            if each not in self._endpoints:
                self._start(each)
        return self._endpoints[name]

    def _prepare(self, names: Sequence[str]) -> None:
        """Give GPUs to services that are started together; those that have some keep them."""
        if not self._deploys or set(names) <= self._ready_to_start:
            return
        self._ready_to_start |= set(names)
        together = {name: self._specs[name] for name in names}
        self.warnings += [line for line in shared(together) if line not in self.warnings]
        for name, gpus in assign(together).items():
            spec = self._specs[name]
            self._specs[name] = PluginSpec(type=spec.type, **{**spec.options, "gpus": gpus})

    def _start(self, name: str) -> None:
        service = self.service(name)
        if service.deploys and not self._deploys:
            msg = (
                f"services.{name}: no benchmark uses it, so nothing has started it before the "
                "workers, and each would start its own: have a service that is used name it under "
                "depends_on, or run without -n"
            )
            raise ConfigError(msg)
        self._running.append(service)
        self._deployed[name] = service
        try:
            endpoint = service.start()
        except NelError as error:  # a server's last words: it inherits the keys of all others
            error.args = (self.redact(str(error)),)
            raise
        self._endpoints[name] = self._route(name).endpoint(endpoint)

    def _gone(self, name: str) -> bool:
        """Whether the deployment behind a service has died for good, as far as is known here."""
        return bool(getattr(self._deployed.get(name), "gone", None))

    def client(self, name: str) -> ModelClient:
        """The one client of a service's endpoint."""
        if name not in self._clients:
            endpoint = self.endpoint(name)
            if endpoint.kind != "model":
                msg = (
                    f"services.{name}: this is no model, so nothing can be asked of it: name a "
                    "service that serves one"
                )
                raise ConfigError(msg)
            limit = self._wanted.get(name, DEFAULT_CONCURRENT)
            if endpoint.max_concurrent is not None:
                limit = min(limit, endpoint.max_concurrent)
            self._limits[name] = limit
            client = ModelClient(
                replace(endpoint, max_concurrent=limit),  # connections: the share may grow to it
                limiter=AdaptiveLimiter(share_of(limit, *self._share)),
            )
            client.gone = partial(self._gone, name)
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
            client = ModelClient(replace(shared.endpoint, timeout=timeout), limiter=shared.limiter)
            client.gone = partial(self._gone, name)
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
        client = ModelClient(own.endpoint, limiter=own.limiter)
        chain = self._route(name).equip(client, self._log_dir.parent, always=True)
        assert chain is not None
        return AdapterProxy(client, chain, host=host, port=port)

    def _route(self, name: str) -> Route:
        return Route.of(name, self._specs.get(name))

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
        service = str(config.solver.options.get("service", ""))
        protocol = self.endpoint(service).protocol
        kind = config.solver.type
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
        built: Solver = cls(self.client(service), options)
        return built

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

    def stop_services(self) -> None:
        """End the deployments that this process started (blocking)."""
        while self._running:
            service = self._running.pop()
            trouble = getattr(service, "trouble", None)  # of one that died for good
            if trouble and trouble not in self.troubles:
                self.troubles.append(trouble)
            service.stop()
        if self._deploys and self._deployed:
            self._clean_logs()

    def _clean_logs(self) -> None:
        """A server may print its environment; all have ended, so nobody writes there any more."""
        for log in self._log_dir.glob("server-*.log"):
            try:
                self._secrets().out_of_file(log)
            except (OSError, ValueError) as error:  # ValueError: it has become shorter
                _LOG.warning("%s: secrets in it could not be masked: %s", log, error)


def _class_of(name: str, spec: PluginSpec) -> type[Service]:
    try:
        return service_class(spec.type)
    except UnknownName as error:
        msg = f"services.{name}: {error}"
        raise UnknownName(msg) from None


def share_of(limit: int, index: int, count: int) -> int:
    """What process ``index`` of ``count`` may use: together the limit, each at least 1."""
    start, end = shard_range(limit, index, count)
    return max(1, end - start)


class _Closes(Protocol):
    async def close(self) -> None: ...


async def closed(part: _Closes) -> None:
    """Close a part; one that fails to is named in the log and keeps nobody else from closing."""
    try:
        await part.close()
    except Exception:  # noqa: BLE001 - a user's part may raise anything; the results are safe
        _LOG.exception("%s could not be closed", type(part).__name__)


def validated(model: Any, options: Mapping[str, Any], where: str) -> Any:
    """Plugin options through the plugin's own pydantic model; one line per mistake."""
    try:
        return model(**options)
    except ValidationError as error:
        lines = []
        for problem in error.errors(include_input=False, include_url=False):
            place = ".".join(str(part) for part in problem["loc"])
            if problem["type"] == "extra_forbidden":
                known = list(_inside(model, problem["loc"][:-1]).model_fields)
                inner = ".".join([where, *(str(part) for part in problem["loc"][:-1])])
                name = str(problem["loc"][-1])
                lines.append(str(unknown(f"option at {inner}", name, known)))
            else:
                said = problem["msg"].removeprefix("Value error, ")
                lines.append(f"{where}{'.' + place if place else ''}: {said}")
        raise ConfigError("\n".join(lines)) from None


def _inside(model: Any, place: tuple[int | str, ...]) -> Any:  # Any: a pydantic model's class
    """The model of what stands at a place inside another; the outer one where it is none."""
    for name in place:
        field = model.model_fields.get(name)
        kinds = () if field is None else (field.annotation, *get_args(field.annotation))
        model = next((each for each in kinds if hasattr(each, "model_fields")), model)
    return model
