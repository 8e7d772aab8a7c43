"""A server in a container, as a command that the supervisor of all servers can run and end.

The docker SDK works in a process of its own, ``_container_run.py``: it makes the container,
passes its output on, ends as it ends and removes it. So containers are watched, restarted and
ended by what does that for programs, no event loop waits for a daemon, and when this process is
killed, that one removes the container.
"""

import json
import os
import platform
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from pytest_nel.services._process import HOST
from pytest_nel.services._server import Launch

INSIDE = 8000
"""The port of a server in its container."""
EVERYWHERE = "0.0.0.0"  # noqa: S104  # in a container, whose port is published on loopback alone
_RUNNER = Path(__file__).with_name("_container_run.py")
_PREFIX = "NEL_CONTAINER_"
_PATIENCE = 30.0
"""Seconds to end and remove it: more than the runner gives to the container and the daemon."""


class Container(NamedTuple):
    """What is run in a container.

    Attributes:
        image: Its image; pulled when it is not there.
        port: Where its server listens inside.
        entrypoint: Instead of the image's; None keeps that.
        command: Instead of the image's; None keeps that.
        mounts: ``host:container[:options]``.
        gpus: Names of devices; None means all there are, empty none.
        shm_size: Shared memory.
        script: For ``sh -c SCRIPT sh ENTRYPOINT… COMMAND…``, where something comes before.
    """

    image: str
    port: int = INSIDE
    entrypoint: Sequence[str] | None = None
    command: Sequence[str] | None = None
    mounts: Sequence[str] = ()
    gpus: Sequence[str] | None = ()
    shm_size: str = "64m"
    script: str | None = None


def in_container(container: Container, where: str, port: int, env: Mapping[str, str]) -> Launch:
    """What runs a container whose server is reached at a loopback port.

    Args:
        container: What is run.
        where: The service, for the container's label.
        port: The loopback port.
        env: Variables for it: they reach the daemon through its API, and no command line.
    """
    order = {
        **container._asdict(),
        "service": where,
        "publish": [HOST, port],
        "env": list(env),
        "prefix": _PREFIX,
        "owner": owner(os.getpid()),
    }
    command = [sys.executable, "-P", str(_RUNNER), json.dumps(order)]
    values = {_PREFIX + name: value for name, value in env.items()}
    return Launch(command, values, patience=_PATIENCE, contained=True)


def owner(pid: int) -> dict[str, str]:
    """What tells a process of this machine from any other: none comes again (Linux)."""
    facts = {"host": platform.node(), "pid": str(pid)}
    try:
        facts["boot"] = Path("/proc/sys/kernel/random/boot_id").read_text("ascii").strip()
        facts["pids"] = str(Path("/proc/self/ns/pid").readlink())  # where the number means it
        stat = Path(f"/proc/{pid}/stat").read_text("latin-1")
        facts["began"] = stat.rpartition(")")[2].split()[19]
    except OSError:  # elsewhere nothing is swept
        return facts
    return facts
