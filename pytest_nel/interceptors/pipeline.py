"""The interceptors of a service in the one order in which they work, and a request through them.

Stages, from the solver to the endpoint: ``account`` (counts, marks), ``shape`` (changes requests,
in the user's order), ``repair`` (mends replies), ``store`` (may answer instead), ``wire`` (sees
what is really sent) and ``stream``. A request passes them in that order and its reply comes back
the other way, through those that the request has passed. So no order that a user writes is wrong.
"""

import copy
import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from pydantic import ValidationError

from pytest_nel.config.problems import expected, own_words
from pytest_nel.config.proxy import InterceptorSpec, Proxy, secret_header
from pytest_nel.core.errors import ConfigError
from pytest_nel.core.exchange import Ask, Exchange, Interceptor, Reply, Request
from pytest_nel.core.registry import unknown
from pytest_nel.core.types import JsonObject
from pytest_nel.interceptors import ALIASES, REGISTRY
from pytest_nel.interceptors.place import Place

_LOG = logging.getLogger(__name__)
_STAGES = ("account", "shape", "repair", "store", "wire", "stream")
_WIRE = _STAGES.index("wire")
_STORE = _STAGES.index("store")
_NEEDS = ("pass", "tail", "whole")


@dataclass(frozen=True, slots=True)
class Planned:
    """One interceptor before it is made.

    Attributes:
        name: Its name in the registry.
        kind: Its class.
        config: Its options, checked.
    """

    name: str
    kind: Any  # Any: a plugin's class, each with its own Config
    config: Any

    @property
    def rank(self) -> int:
        """Where its stage stands."""
        return _STAGES.index(self.kind.stage)

    def identity(self) -> Any:  # Any: JSON
        """What of its options determines answers; None when nothing does."""
        says = getattr(self.kind, "identity", None)
        if says is not None:
            return says(self.config)
        return self.config.model_dump(mode="json") if self.kind.answers else None


class Chain:
    """Interceptors in their order; a :class:`~pytest_nel.core.exchange.Pipeline`.

    Args:
        named: Them, each with the name to log, in their order.
        service: The service's name, for the log.
        fixes_finish_reason: Whether finish reasons are to be mended.
    """

    def __init__(
        self,
        named: Sequence[tuple[str, Interceptor]],
        *,
        service: str,
        fixes_finish_reason: bool = True,
    ) -> None:
        self.fixes_finish_reason = fixes_finish_reason
        self._service = service
        self._names = [name for name, _ in named]
        ranked = [(_STAGES.index(each.stage), each) for _, each in named]
        self._outer = [each for rank, each in ranked if rank < _STORE]
        self._stores = [each for rank, each in ranked if rank == _STORE]
        self._inner = [each for rank, each in ranked if rank >= _WIRE]
        self._opened = False

    @property
    def names(self) -> Sequence[str]:
        """Their names, in the order in which a request passes them."""
        return self._names

    @property
    def streams(self) -> Literal["pass", "tail", "whole"]:
        """What they need of a streamed reply; see Interceptor."""
        needs = [each.streams for each in (*self._outer, *self._inner) if each.on_reply]
        worst = max((_NEEDS.index(each) for each in needs), default=0)
        return "whole" if self._stores else _NEEDS[worst]  # type: ignore[return-value]  # one of them

    async def open(self) -> None:
        """Open each of them, once.

        Raises:
            ConfigError: One cannot work.
        """
        if self._opened:
            return
        self._opened = True
        way = " > ".join([*self._names, "endpoint"])
        _LOG.info("%s: requests pass %s; replies come back the other way", self._service, way)
        for each in self._all:
            await each.open()

    async def close(self) -> None:
        """Close each of them; safe to call twice."""
        if not self._opened:
            return
        self._opened = False
        for each in reversed(self._all):
            try:
                await each.close()
            except Exception:  # noqa: BLE001 - a plugin may raise anything; the others are closed
                _LOG.exception("%s could not be closed", type(each).__name__)

    @property
    def _all(self) -> Sequence[Interceptor]:
        return [*self._outer, *self._stores, *self._inner]

    async def run(self, request: Request, exchange: Exchange, ask: Ask) -> Reply:
        """See :class:`~pytest_nel.core.exchange.Pipeline`; the request handed in stays as it is."""
        request = Request(request.path, copy.deepcopy(request.body), dict(request.headers))

        async def endpoint(request: Request) -> Reply:
            exchange.sent = request
            return await self._through(self._inner, request, exchange, ask)

        async def stored(request: Request) -> Reply:
            exchange.sent = request  # a reply that is found has no other
            return await self._around(0, request, exchange, endpoint)

        return await self._through(self._outer, request, exchange, stored)

    async def _through(
        self, part: Sequence[Interceptor], request: Request, exchange: Exchange, ask: Ask
    ) -> Reply:
        for each in part:
            if each.on_request:
                request = await _asked(each, request, exchange)
        reply = await ask(request)
        for each in reversed(part):
            if each.on_reply:
                reply = await _answered(each, reply, exchange)
        return reply

    async def _around(self, index: int, request: Request, exchange: Exchange, ask: Ask) -> Reply:
        if index == len(self._stores):
            return await ask(request)

        async def onward(request: Request) -> Reply:
            return await self._around(index + 1, request, exchange, ask)

        return await self._stores[index].around(request, exchange, onward)


async def _asked(each: Interceptor, request: Request, exchange: Exchange) -> Request:
    if not each.observes:
        return await each.request(request, exchange)
    try:
        await each.request(request, exchange)
    except Exception:  # noqa: BLE001 - a plugin may raise anything; it only watches
        _LOG.exception("%s failed on request %s", type(each).__name__, exchange.id)
    return request


async def _answered(each: Interceptor, reply: Reply, exchange: Exchange) -> Reply:
    if not each.observes:
        return await each.reply(reply, exchange)
    try:
        await each.reply(reply, exchange)
    except Exception:  # noqa: BLE001 - as above
        _LOG.exception("%s failed on the reply to %s", type(each).__name__, exchange.id)
    return reply


def plan(proxy: Proxy, where: str) -> list[Planned]:
    """The interceptors of a ``proxy:`` block in their order, options checked, none made.

    Args:
        proxy: The block.
        where: Where it stands, ``services.model.proxy``.

    Raises:
        ConfigError: A name is unknown or an option is wrong; each has its place.
    """
    problems: list[str] = []
    found: list[Planned] = []
    for index, spec in enumerate(proxy.interceptors):
        try:
            found.append(_planned(spec, f"{where}.interceptors[{index}]"))
        except ConfigError as error:
            problems.append(str(error))
    if problems:
        raise ConfigError("\n".join(problems))
    names = {each.name for each in found}
    if proxy.verbose and "request_logging" not in names:
        found.append(_planned(InterceptorSpec(name="request_logging"), where))
    if proxy.model_traffic is not None and "model_traffic" not in names:
        options = proxy.model_traffic.model_dump()
        found.append(_planned(InterceptorSpec(name="model_traffic", config=options), where))
    return sorted(found, key=lambda each: each.rank)  # stable: the user's order within a stage


def build(proxy: Proxy, place: Place, *, always: bool = False) -> Chain | None:
    """The pipeline of a ``proxy:`` block; None when it would do nothing.

    Args:
        proxy: The block.
        place: Where it works.
        always: Whether to make one even so: clients of an adapter proxy read replies themselves,
            so that finish reasons are mended for them.

    Raises:
        ConfigError: As :func:`plan`.
    """
    planned = plan(proxy, f"services.{place.service}.proxy")
    fixes = proxy.finish_reason_fixup
    if not planned and fixes and not always:
        return None
    if fixes and all(each.name != "finish_reason" for each in planned):
        planned.append(_planned(InterceptorSpec(name="finish_reason"), ""))
        planned.sort(key=lambda each: each.rank)
    named = [(each.name, each.kind(each.config, place)) for each in planned]
    mends = any(each.name == "finish_reason" for each in planned)
    return Chain(named, service=place.service, fixes_finish_reason=mends)


def answering(proxy: Mapping[str, Any] | None) -> JsonObject:
    """What of a raw ``proxy:`` block determines answers; empty when nothing does.

    Interceptors that only watch do not count. A block that is wrong counts as it is: it is
    refused where the service is made.
    """
    if not proxy:
        return {}
    try:
        checked = Proxy(**proxy)
        planned = plan(checked, "proxy")
    except (ValidationError, ConfigError, TypeError):
        return {"service.proxy": dict(proxy)}
    facts: JsonObject = {}
    counts = [[each.name, said] for each in planned if (said := each.identity()) is not None]
    if counts:
        facts["service.interceptors"] = counts
    headers = checked.extra_headers.items()
    if shown := {name: value for name, value in headers if not secret_header(name)}:
        facts["service.extra_headers"] = shown
    return facts | {f"sampling.{name}": value for name, value in checked.extra_body.items()}


def _planned(spec: InterceptorSpec, where: str) -> Planned:
    name = ALIASES.get(spec.name, spec.name)
    known = sorted({*REGISTRY, *ALIASES} - set(ALIASES.values()))
    if spec.name not in known and name not in REGISTRY:
        message = str(unknown("interceptor", spec.name, known))
        msg = f"{where}.name: {message}"
        raise ConfigError(msg)
    kind: Any = REGISTRY.load(name)  # Any: each plugin has its own Config
    try:
        config = kind.Config(**spec.config)
    except ValidationError as error:
        fields = list(kind.Config.model_fields)
        lines = [
            _mistake(dict(problem), f"{where}.config", fields)
            for problem in error.errors(include_input=False, include_url=False)
        ]
        raise ConfigError("\n".join(lines)) from None
    return Planned(name, kind, config)


def _mistake(problem: Mapping[str, Any], where: str, known: list[str]) -> str:
    place = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in problem["loc"])
    if problem["type"] == "extra_forbidden":
        said = unknown("option", str(problem["loc"][-1]), known)
        return f"{where}{place}: {said}"
    if problem["type"] == "missing":
        return f"{where}{place}: required, but missing"
    if problem["type"] in {"value_error", "assertion_error"}:  # a validator's own words
        return f"{where}{place}: {own_words(problem)}"
    return f"{where}{place}: expected {expected(problem)}"  # what came may be a variable's value
