"""One suite, several models: each benchmark of a matrix is measured with each of its services."""

import copy
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from pytest_nel.config.interpolate import Path, Problem, escape
from pytest_nel.config.problems import suggestion
from pytest_nel.config.schema import BenchmarkConfig, PluginSpec, RunConfig
from pytest_nel.core.keys import digest

_WRITTEN = ("name", "solver", "params")
"""What a plan has as it is written, since values may come from the environment."""
_SETTLED = ("variant", "generation", "repeats", "max_problems")


@dataclass(frozen=True, slots=True)
class Compared:
    """One list of a matrix: the first of its services is what the others are compared with.

    Attributes:
        name: The list's.
        services: Its services, in order.
        entries: The marks of the benchmarks that are measured for it, see :func:`mark`.
    """

    name: str
    services: tuple[str, ...]
    entries: frozenset[str]


def entries(
    config: RunConfig, raw: Mapping[str, Any]
) -> Iterator[tuple[BenchmarkConfig, Mapping[str, Any]]]:
    """The benchmarks to measure, each with its entry as it is written.

    A benchmark whose solver asks a name of the matrix comes once for each of its services, in
    their order, with the service's name as its variant. A model that stands in two lists is
    measured once on a benchmark that asks both.
    """
    seen: list[tuple[str, BenchmarkConfig]] = []
    for entry, written in zip(config.benchmarks, raw["benchmarks"], strict=True):
        name = str(entry.solver.options.get("service"))
        services = config.matrix.get(name)
        if services is None:
            yield entry, written
            continue
        for service in services:
            one = _asking(entry, service)
            if all(of == name or other != one for of, other in seen):
                seen.append((name, one))
                yield one, _written(written, service)


def compared(suites: Iterable[tuple[RunConfig, Mapping[str, Any]]]) -> list[Compared]:
    """The lists of the matrices of suites, in order; one that two suites share is one.

    Args:
        suites: Each suite, and how it is written.
    """
    found: dict[tuple[str, tuple[str, ...]], set[str]] = {}
    for config, raw in suites:
        for entry, written in zip(config.benchmarks, raw["benchmarks"], strict=True):
            name = str(entry.solver.options.get("service"))
            services = tuple(config.matrix.get(name, ()))
            for service in services:
                as_written = _written(written, service)
                settings = _asking(entry, service).model_dump(mode="json")
                settings |= {key: as_written[key] for key in _WRITTEN if key in as_written}
                found.setdefault((name, services), set()).add(mark(settings))
    return [Compared(name, services, frozenset(marks)) for (name, services), marks in found.items()]


def mark(settings: Mapping[str, Any]) -> str:
    """What tells an entry from others of its suite, taken from the ``config`` of its plan."""
    return digest({name: settings.get(name) for name in (*_WRITTEN, *_SETTLED)})


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


def _same_variants(config: RunConfig) -> Iterator[Problem]:
    """Entries whose own variant is what another one is called with a model of a matrix."""
    of_matrix = {
        (entry.name, _variant(entry.variant, service)): (index, service)
        for index, entry in enumerate(config.benchmarks)
        for service in config.matrix.get(str(entry.solver.options.get("service")), ())
    }
    for index, entry in enumerate(config.benchmarks):
        if str(entry.solver.options.get("service")) in config.matrix or entry.variant is None:
            continue
        other = of_matrix.get((entry.name, entry.variant))
        if other is None:
            continue
        at, service = other
        yield Problem(
            ("benchmarks", index, "variant"),
            f"benchmarks[{at}] is called {entry.variant!r} with service {service!r} of its matrix: "
            "give this one another variant",
        )
        yield Problem(
            ("benchmarks", at, "solver", "service"),
            f"with service {service!r} this is variant {entry.variant!r}, as benchmarks[{index}] "
            "says of itself",
        )


def problems(config: RunConfig) -> Iterator[Problem]:
    """What is wrong with a matrix."""
    yield from _same_variants(config)
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
