"""What a suite names and this package knows: benchmarks, and the options of plugins.

Options are validated by the plugin's own model; every mistake has its file and line.
"""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ValidationError

from pytest_nel.authoring.catalog import builtin_names, file_of
from pytest_nel.authoring.written import refuse_unwritten
from pytest_nel.config.interpolate import Path as Keys
from pytest_nel.config.interpolate import Problem
from pytest_nel.config.load import Suite
from pytest_nel.config.metrics import services_asked
from pytest_nel.config.problems import came, expected, got, own_words, refuse, suggestion
from pytest_nel.config.proxy import Proxy
from pytest_nel.config.schema import (
    BenchmarkConfig,
    BudgetConfig,
    Generation,
    PluginSpec,
    RunConfig,
    layered,
)
from pytest_nel.core.errors import ConfigError, UnknownName
from pytest_nel.core.registry import Registry
from pytest_nel.engine.sandboxes import NONE
from pytest_nel.http.sampling import as_sent
from pytest_nel.interceptors.pipeline import plan
from pytest_nel.sandboxes import REGISTRY as SANDBOXES
from pytest_nel.services import REGISTRY as SERVICES
from pytest_nel.solvers import REGISTRY as SOLVERS

_SINGULAR = {"sandboxes": "sandbox"}
_BROUGHT = "fixture"  # the solver of a snapshot whose solver a conftest.py has brought


def check_names_and_options(suite: Suite) -> None:
    """Look at what the suite names, and at every option of a plugin; nothing is made or imported.

    Raises:
        ConfigError: A type, a benchmark or a file is unknown, or options are wrong: one line for
            each.
    """
    problems = [*_of_names(suite), *_of_rubrics(suite), *_of_options(suite)]
    problems += _of_budgets(suite.config)
    refuse(problems, suite.places, suite.source)


def check_options(suite: Suite) -> None:
    """Look at the options of plugins alone: whoever runs the suite finds its benchmarks anyway.

    Raises:
        ConfigError: A type is unknown, or options are wrong: one line for each.
    """
    refuse(_of_options(suite), suite.places, suite.source)


def option_models(registry: Registry[Any]) -> dict[str, type[BaseModel]]:
    """The options of each plugin of a kind, by its name; of those that can be imported."""
    models = {}
    for name in registry:
        try:
            cls: Any = registry.load(name)  # Any: each plugin has its own Config
        except ImportError:  # one that needs what is not installed
            continue
        models[name] = cls.Config
    return models


def _of_names(suite: Suite) -> Iterator[Problem]:
    """Benchmarks that are neither built in nor a file; a file may hold any."""
    base, known = Path(suite.source).parent, builtin_names()
    for index, entry in enumerate(suite.config.benchmarks):
        path: Keys = ("benchmarks", index, "name")
        if (written := file_of(entry.name)) is not None:
            if wrong := _of_file(base, *written):
                yield Problem(path, wrong)
        elif entry.name.endswith(".py:"):
            yield Problem(path, f"{entry.name!r}: no name stands behind the colon: leave it out")
        elif "://" not in entry.name and entry.name.lower().replace("-", "_") not in known:
            hint = suggestion(entry.name, known)
            yield Problem(path, f"no benchmark is called {entry.name!r}{hint}")


def _of_file(base: Path, file: str, name: str | None) -> str | None:
    """What is wrong with a file of benchmarks, or with the name of one in it."""
    path = Path(base, file)
    if not path.is_file():
        return f"there is no file {file} in {base.absolute()}"
    try:
        if name is not None:
            refuse_unwritten(path, file, name)
    except ConfigError as error:
        return str(error)
    return None


def _of_rubrics(suite: Suite) -> Iterator[Problem]:
    base = Path(suite.source).parent
    for index, entry in enumerate(suite.config.benchmarks):
        for at, metric in enumerate(entry.scoring.metrics):
            file = getattr(metric, "rubric_file", None)
            if file is not None and not Path(base, file).is_file():
                path: Keys = ("benchmarks", index, "scoring", "metrics", at, "rubric_file")
                yield Problem(path, f"there is no file {file} in {base.absolute()}")


def _of_budgets(config: RunConfig) -> Iterator[Problem]:
    """Limits of costs where a service that is asked says none."""
    free: dict[Keys, dict[str, None]] = {}  # services without prices, by the limit
    for index, entry in enumerate(config.benchmarks):
        name = str(entry.solver.options.get("service"))
        asked = [*config.matrix.get(name, [name])]
        asked += [one for metric in entry.scoring.judges for one in services_asked(metric).values()]
        without = [
            one
            for one in asked
            if one in config.services and config.services[one].options.get("prices") is None
        ]
        limits: tuple[tuple[Keys, BudgetConfig], ...] = (
            ((), config.budget),
            (("benchmarks", index), entry.budget),
        )
        for path, budget in limits:
            if budget.max_cost is not None and without:
                place = (*path, "budget", "max_cost")
                free.setdefault(place, {}).update(dict.fromkeys(without))
    for place, names in free.items():
        message = (
            f"what {', '.join(names)} costs is not known: give the service `prices`, or limit "
            "max_tokens instead"
        )
        yield Problem(place, message)


def _of_sampling(
    path: Keys, entry: BenchmarkConfig, services: Mapping[str, PluginSpec]
) -> Iterator[Problem]:
    """Parameters that the protocol of the service has not."""
    asked = services.get(str(entry.solver.options.get("service")))
    if asked is None or asked.options.get("protocol") != "responses":
        return
    levels = (entry.settled().solver.options.get("generation"), asked.options.get("generation"))
    try:
        as_sent(Generation(**layered(*levels)).given(), "responses")
    except ConfigError as error:
        yield Problem((*path, "generation"), str(error))
    except (ValidationError, TypeError, AttributeError):
        return  # it is said where it stands


def _of_options(suite: Suite) -> Iterator[Problem]:
    config = suite.config
    for name, spec in config.services.items():
        path: Keys = ("services", name)
        written = suite.raw["services"][name]
        yield from _of_plugin(path, spec, SERVICES, written)
        box = spec.options.get("sandbox")
        if isinstance(box, Mapping) and isinstance(box.get("type"), str):  # else it is said above
            inner = written.get("sandbox")
            yield from _of_sandbox((*path, "sandbox"), PluginSpec(**box), inner)
    for name, spec in config.sandboxes.items():
        yield from _of_sandbox(("sandboxes", name), spec, suite.raw["sandboxes"][name])
    for index, (entry, raw) in enumerate(
        zip(config.benchmarks, suite.raw["benchmarks"], strict=True)
    ):
        spec = _solver_of(entry.solver, config.services)
        yield from _of_sampling(("benchmarks", index), entry, config.services)
        if spec.type != _BROUGHT:
            yield from _of_plugin(("benchmarks", index, "solver"), spec, SOLVERS, raw["solver"])
        yield from _of_sandbox(("benchmarks", index, "sandbox"), entry.sandbox, raw.get("sandbox"))


def _of_sandbox(path: Keys, spec: PluginSpec, raw: object) -> Iterator[Problem]:
    if spec.type != NONE:
        yield from _of_plugin(path, spec, SANDBOXES, raw if isinstance(raw, Mapping) else {})


def _solver_of(spec: PluginSpec, services: Mapping[str, PluginSpec]) -> PluginSpec:
    """A simple solver of a service that speaks completions is the completion solver."""
    service = services.get(str(spec.options.get("service")))
    speaks = None if service is None else service.options.get("protocol")
    if spec.type == "simple" and speaks == "completions":
        return PluginSpec(**{**spec.options, "type": "completion"})
    return spec


def _of_plugin(
    path: Keys, spec: PluginSpec, registry: Registry[Any], raw: Mapping[str, Any]
) -> Iterator[Problem]:
    if (refusal := registry.refusal(spec.type)) is not None:
        yield Problem((*path, "type"), refusal)
        return
    try:
        cls: Any = registry.load(spec.type)  # Any: each plugin has its own Config
    except UnknownName:
        known = [*registry, *([NONE] if registry is SANDBOXES else [])]
        kind = _SINGULAR.get(registry.kind, registry.kind.removesuffix("s"))
        message = f"there is no {kind} of type {spec.type!r}{suggestion(spec.type, known)}"
        yield Problem((*path, "type"), message)
        return
    except ImportError as error:
        yield Problem((*path, "type"), f"{spec.type!r} cannot be used here: {error}")
        return
    try:
        yield from _of_proxy(path, cls.Config(**spec.options), raw)
    except ValidationError as error:
        wanted: dict[tuple[Keys, str], list[str]] = {}  # one for each branch of a union
        for each in error.errors(include_url=False):
            if (found := _said(path, each, cls.Config)) is not None:
                yield found
                continue
            inside = _written(tuple(each["loc"]), raw)
            wanted.setdefault((inside, came(each, inside, raw)), []).append(expected(each))
        for (inside, got), kinds in wanted.items():
            either = " or ".join(dict.fromkeys(kinds))
            yield Problem((*path, *inside), f"expected {either}, got {got}")


def _of_proxy(path: Keys, config: BaseModel, raw: Mapping[str, Any]) -> Iterator[Problem]:
    """The interceptors of a service, each with its own options; what came is what is written."""
    proxy = getattr(config, "proxy", None)
    if not isinstance(proxy, Proxy):
        return
    try:
        plan(proxy, "proxy")
    except ConfigError as error:
        for line in str(error).splitlines():
            place, _, message = line.partition(": ")
            inside = _written(_parts(place), raw)
            compared = message.startswith("expected ") and ", got " not in message
            came_there = f", got {got(inside, raw)}" if compared else ""
            yield Problem((*path, *_parts(place)), f"{message}{came_there}")


def _parts(place: str) -> Keys:
    """``proxy.interceptors[0].name`` as the way to it."""
    found = re.findall(r"([^.\[\]]+)|\[(\d+)\]", place)
    return tuple(int(index) if index else name for name, index in found)


def _written(place: Keys, raw: Mapping[str, Any]) -> Keys:
    """The part of a place that the file has: pydantic goes on with names of types."""
    value: Any = raw
    for length, part in enumerate(place):
        inside = part in value if isinstance(value, dict) else isinstance(value, list)
        if not inside or (isinstance(value, list) and not isinstance(part, int)):
            return place[:length]
        value = value[part]
    return place


def _said(path: Keys, error: Mapping[str, Any], model: type[BaseModel]) -> Problem | None:
    """What needs no comparison of what was wanted with what came."""
    inside: Keys = tuple(error["loc"])
    at = (*path, *inside)
    if error["type"] == "missing":
        return Problem(at, "required, but missing")
    if error["type"] == "extra_forbidden":
        known = model.model_fields if len(inside) == 1 else ()
        if known and (why := getattr(model, "not_here", {}).get(inside[-1])) is not None:
            return Problem(at, f"not supported: {why}")
        hint = suggestion(str(inside[-1]), known) if known else ""
        return Problem(at, f"unknown option{hint}")
    if error["type"] in {"value_error", "assertion_error"}:  # a validator's own words
        return Problem(at, own_words(error))
    return None
