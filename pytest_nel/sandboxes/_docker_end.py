"""The end of all that runs in a container (blocking)."""

from dataclasses import replace
from importlib import import_module
from typing import Any

from pytest_nel.sandboxes._docker_daemon import Api
from pytest_nel.sandboxes._docker_exec import KILLED_WITHIN, Order, restart, run

_TRIES = 4
_OWN = 2  # processes: the init, and what it waits for


def end_all(api: Api, container: str, order: Order, *, in_memory: bool) -> None:
    """End all that runs in a container beside what keeps it up.

    Args:
        api: The daemon.
        container: Which.
        order: Whose rights its commands have; its background is not started again.
        in_memory: Whether files lie in tmpfs, which a restart would lose: only where nothing else
            ends all is there one.
    """
    for _ in range(_TRIES if in_memory else 0):
        if _is_alone(api, container):
            return
        words = ["/bin/sh", "-c", "kill -KILL -1"]
        killer = replace(order, words=words, cwd="/", timeout=KILLED_WITHIN, limit=4096)
        run(api, container, killer)
    if not _is_alone(api, container):
        restart(api, container, replace(order, background=None))


def _is_alone(api: Api, container: str) -> bool:
    docker: Any = import_module("docker")
    try:
        return len(api.top(container)["Processes"]) <= _OWN
    except docker.errors.APIError:  # a daemon that has no ps; one that is gone is told later
        return False
