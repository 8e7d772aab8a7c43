"""Which services a suite starts, and in which order: ``depends_on`` is a graph without cycles."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from pytest_nel.config.interpolate import Problem
from pytest_nel.config.problems import suggestion
from pytest_nel.config.schema import PluginSpec
from pytest_nel.core.errors import ConfigError


def start_order(services: Mapping[str, PluginSpec], wanted: Iterable[str]) -> list[str]:
    """The wanted services and all they depend on, each after those.

    Names that are no service are left out: somebody else says so.

    Raises:
        ConfigError: A dependency is unknown or leads back to its own beginning.
    """
    problems = list(dependency_problems(services))
    if problems:
        lines = [f"{'.'.join(map(str, path))}: {message}" for path, message in problems]
        raise ConfigError("\n".join(lines))
    order: list[str] = []
    for name in wanted:
        _add(services, name, order)
    return order


def _add(services: Mapping[str, PluginSpec], name: str, order: list[str]) -> None:
    if name in order or name not in services:
        return
    for before in _named(services[name]):
        _add(services, before, order)
    order.append(name)


def dependency_problems(services: Mapping[str, PluginSpec]) -> Iterator[Problem]:
    """What is wrong with ``depends_on``: unknown names, and each cycle once."""
    for name, spec in services.items():
        for before in _named(spec):
            if before not in services:
                message = f"no service is called {before!r}{suggestion(before, services)}"
                yield Problem(("services", name, "depends_on"), message)
    for cycle in _cycles(services):
        chain = " -> ".join([*cycle, cycle[0]])
        message = f"a service that waits for itself can never start: {chain}"
        yield Problem(("services", cycle[0], "depends_on"), message)


def _cycles(services: Mapping[str, PluginSpec]) -> Iterator[list[str]]:
    done: set[str] = set()
    for name in services:
        yield from _walk(services, name, [], done)


def _walk(
    services: Mapping[str, PluginSpec], name: str, path: list[str], done: set[str]
) -> Iterator[list[str]]:
    if name in path:
        yield path[path.index(name) :]
        return
    if name in done or name not in services:
        return
    for before in dict.fromkeys(_named(services[name])):
        yield from _walk(services, before, [*path, name], done)
    done.add(name)


def _named(spec: PluginSpec) -> list[str]:
    """Its dependencies; what is no list of names is refused where the service is made."""
    given = spec.options.get("depends_on")
    return [name for name in given if isinstance(name, str)] if isinstance(given, list) else []


_NAMING = ("service", "services", "verifier")


def asked(services: Iterable[str], written: Any) -> set[str]:  # Any: JSON-like
    """The services that a benchmark's entry names, under ``service`` and the like.

    Args:
        services: All there are.
        written: The entry, or a part of it.
    """
    known = set(services)
    found: set[str] = set()
    waiting: list[tuple[str, Any]] = [("", written)]
    while waiting:
        key, value = waiting.pop()
        if isinstance(value, Mapping):
            waiting += [(str(name), inner) for name, inner in value.items()]
        elif isinstance(value, list):
            waiting += [(key, inner) for inner in value]
        elif isinstance(value, str) and key.endswith(_NAMING) and value in known:
            found.add(value)
    return found
