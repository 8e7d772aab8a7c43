"""Containers that runs which died have left, found by their labels and removed (blocking)."""

import json
from collections.abc import Collection, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from importlib import import_module
from typing import Any, NamedTuple

from pytest_nel.sandboxes._docker_daemon import (
    Api,
    Stuck,
    answers,
    connect,
    remove,
    status_of,
)
from pytest_nel.sandboxes._owner import is_gone

RUN = "pytest-nel.sandbox"
ATTEMPT = "pytest-nel.attempt"
BACKEND = "pytest-nel.backend"
OWNER = "pytest-nel.owner"
_AT_ONCE = 8


class Leftover(NamedTuple):
    """A container whose run is over.

    Attributes:
        name: The container's.
        run: The run's id.
        attempt: For what it was.
        state: As docker says it.
        host: The machine whose process it belonged to.
    """

    name: str
    run: str
    attempt: str
    state: str
    host: str


class Swept(NamedTuple):
    """What became of leftovers.

    Attributes:
        removed: Those that are gone, or would be.
        stuck: Those on which the daemon hangs: they are left.
    """

    removed: list[Leftover]
    stuck: list[Leftover]


def leftovers(api: Api, *, all_dead: bool = False) -> Iterator[Leftover]:
    """Yield the sandboxes whose process has ended on this machine.

    Args:
        api: The daemon.
        all_dead: Also those that have stopped and whose process cannot be looked for from here:
            another machine's, another container's, or from before a restart.
    """
    for one in api.containers(all=True, filters={"label": RUN}):
        labels: Mapping[str, str] = one.get("Labels") or {}
        try:
            of = json.loads(labels[OWNER])
        except (KeyError, ValueError):
            of = {}
        gone = is_gone(of)
        state = str(one.get("State", ""))
        if gone or (gone is None and all_dead and state != "running"):
            attempt, host = labels.get(ATTEMPT, ""), str(of.get("host", ""))
            yield Leftover(_name(one), labels[RUN], attempt, state, host)


def _name(one: Mapping[str, Any]) -> str:
    return str(one["Names"][0]).lstrip("/") if one.get("Names") else str(one["Id"])


def sweep(api: Api, *, all_dead: bool = False) -> Swept:
    """Remove them; what another process was faster with does not count."""
    done = Swept([], [])
    found = list(leftovers(api, all_dead=all_dead))
    with ThreadPoolExecutor(_AT_ONCE, "nel-sweep") as pool:  # one that hangs takes its time
        ends = list(pool.map(partial(_removed, api), [one.name for one in found]))
    for one, removed in zip(found, ends, strict=True):
        if removed is None:
            done.stuck.append(one)
        elif removed:
            done.removed.append(one)
    return done


def _removed(api: Api, name: str) -> bool | None:
    """Whether it was there; None: the daemon hangs on it."""
    docker: Any = import_module("docker")
    requests: Any = import_module("requests")
    if not answers(api, f"containers/{name}/json"):  # before one waits longer for more
        return None
    try:
        return remove(api, name)
    except requests.Timeout:
        return None
    except docker.errors.APIError as error:
        if status_of(error) is None:
            raise
        return False


def hangs(name: str) -> str:
    """What is said of a container on which the daemon hangs: which, and what to do."""
    return str(Stuck(name))


def remove_marked(
    api: Api, label: str, value: str, *, known: Collection[str] = ()
) -> Iterator[str]:
    """Remove all with that label.

    Args:
        api: The daemon.
        label: Which.
        value: Its value.
        known: Names of those on which the daemon hangs, which are left.

    Yields:
        Names of others on which it hangs.
    """
    for one in api.containers(all=True, filters={"label": f"{label}={value}"}):
        name = _name(one)
        if name not in known and _removed(api, name) is None:
            yield name


def pruned(*, dry_run: bool, all_dead: bool) -> Swept:
    """Remove leftovers from the daemon that the environment names, or only find them.

    Raises:
        ConfigError: No daemon answers.
    """
    api = connect()
    try:
        if dry_run:
            return Swept(list(leftovers(api, all_dead=all_dead)), [])
        return sweep(api, all_dead=all_dead)
    finally:
        api.close()
