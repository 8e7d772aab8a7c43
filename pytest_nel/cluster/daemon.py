"""The docker daemon: a client of it, or one sentence about why there is none."""

import contextlib
import socket
from collections.abc import Iterator
from importlib import import_module
from typing import Any

from pytest_nel.config.interpolate import getenv
from pytest_nel.core.errors import InfraError
from pytest_nel.core.text import showable

_UNIX = "unix://"
_USUAL = "unix:///var/run/docker.sock"
_PATIENCE = 10.0


class NoDaemon(InfraError):
    """None answers; the message is the reason alone."""


@contextlib.contextmanager
def daemon(patience: float = _PATIENCE) -> Iterator[Any]:  # Any: the SDK has no annotations
    """A client of the daemon that ``DOCKER_HOST`` names, or of this machine's; closed at the end.

    Args:
        patience: Seconds that it may say nothing.

    Raises:
        NoDaemon: None answers.
    """
    host = getenv("DOCKER_HOST") or _USUAL
    if host.startswith(_UNIX):
        _connect(host.removeprefix(_UNIX))
    docker: Any = import_module("docker")  # heavy
    try:
        client = docker.from_env(timeout=patience)
    except (docker.errors.DockerException, OSError) as error:
        raise _silent(error) from error
    try:
        try:
            client.ping()
        except (docker.errors.DockerException, OSError) as error:
            raise _silent(error) from error
        yield client
    finally:
        client.close()


def no_daemon() -> str | None:
    """Why no daemon answers, or None."""
    try:
        with daemon():
            return None
    except NoDaemon as error:
        return str(error)


def _connect(path: str) -> None:
    """Look whether anybody listens; the SDK would leave a socket open that found nobody."""
    with socket.socket(socket.AF_UNIX) as tried:
        tried.settimeout(_PATIENCE)
        try:
            tried.connect(path)
        except OSError as error:
            msg = f"{path}: {error.strerror or error}"
            raise NoDaemon(msg) from error


def _silent(error: Exception) -> NoDaemon:
    return NoDaemon(showable(str(error), 200))
