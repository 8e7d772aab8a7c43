"""One suite, several models: each benchmark of a matrix is measured with each of its services."""

import copy
from collections.abc import Iterator, Mapping
from typing import Any

from pytest_nel.config.interpolate import Path, Problem, escape
from pytest_nel.config.problems import suggestion
from pytest_nel.config.schema import BenchmarkConfig, PluginSpec, RunConfig


def entries(
    config: RunConfig, raw: Mapping[str, Any]
) -> Iterator[tuple[BenchmarkConfig, Mapping[str, Any]]]:
    """The benchmarks to measure, each with its entry as it is written.

    A benchmark whose solver asks a name of the matrix comes once for each of its services, in
    their order, with the service's name as its variant.
    """
    for entry, written in zip(config.benchmarks, raw["benchmarks"], strict=True):
        services = config.matrix.get(str(entry.solver.options.get("service")))
        if services is None:
            yield entry, written
            continue
        for service in services:
            yield _asking(entry, service), _written(written, service)


def _asking(entry: BenchmarkConfig, service: str) -> BenchmarkConfig:
    options = {**entry.solver.options, "service": service}
    solver = PluginSpec(type=entry.solver.type, **options)
    return entry.model_copy(update={"solver": solver, "variant": _variant(entry.variant, service)})


def _written(written: Mapping[str, Any], service: str) -> Mapping[str, Any]:
    changed = copy.deepcopy(dict(written))
    changed["solver"]["service"] = escape(service)
    changed["variant"] = _variant(written.get("variant"), escape(service))
    return changed


def _variant(own: str | None, service: str) -> str:
    return f"{own}-{service}" if own else service


def problems(config: RunConfig) -> Iterator[Problem]:
    """What is wrong with a matrix."""
    asked = {str(entry.solver.options.get("service")) for entry in config.benchmarks}
    for name, services in config.matrix.items():
        path: Path = ("matrix", name)
        if name in config.services:
            yield Problem(path, f"{name!r} is a service itself: give the matrix another name")
        elif name not in asked:
            message = f"no benchmark's solver asks {name!r}{suggestion(name, asked)}"
            yield Problem(path, message)
        for index, service in enumerate(services):
            if service not in config.services:
                message = f"no service is called {service!r}{suggestion(service, config.services)}"
                yield Problem((*path, index), message)
            elif service in services[:index]:
                yield Problem((*path, index), f"{service!r} is there twice")
