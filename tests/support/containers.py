"""A docker daemon and an image for tests; a reason to skip where there is none."""

import io
import os
import socket
import tarfile
from functools import cache
from pathlib import Path
from typing import Any

IMAGE = "nel-tests-empty:1"
PYTHON = Path("/usr/bin/python3")
#: The machine's own programs in an image that has nothing: no registry is asked.
MOUNTS = [
    f"{folder}:{folder}:ro"
    for folder in ("/usr", "/bin", "/lib", "/lib64")
    if Path(folder).exists()
]


@cache
def no_docker() -> str | None:
    """Why containers cannot be run here, or None."""
    where = os.environ.get("DOCKER_HOST", "unix:///var/run/docker.sock")
    if not where.startswith("unix://"):
        return f"the docker daemon at {where} may be another machine's"
    with socket.socket(socket.AF_UNIX) as probe:  # the SDK leaves one open where nobody listens
        try:
            probe.connect(where.removeprefix("unix://"))
        except OSError as error:
            return f"no docker daemon at {where}: {error.strerror}"
    return None if PYTHON.exists() else f"no {PYTHON}, which containers of tests run"


def client() -> Any:
    """A client of the daemon; to be closed."""
    import docker

    return docker.from_env()


def make_image(words: list[str]) -> None:
    """Make :data:`IMAGE`, which is empty and runs ``words``."""
    with io.BytesIO() as file:
        with tarfile.open(fileobj=file, mode="w") as tar:
            for name in ("tmp", "proc", "dev"):
                folder = tarfile.TarInfo(name)
                folder.type, folder.mode = tarfile.DIRTYPE, 0o777
                tar.addfile(folder)
        data = file.getvalue()
    docker = client()
    try:
        repository, _, tag = IMAGE.partition(":")
        command = ", ".join(f'"{word}"' for word in words)
        docker.api.import_image_from_data(
            data, repository=repository, tag=tag, changes=[f"CMD [{command}]"]
        )
    finally:
        docker.close()


def containers(where: str) -> list[Any]:
    """Those that are for a service."""
    docker = client()
    try:
        found: list[Any] = docker.containers.list(
            all=True, filters={"label": f"pytest-nel.service={where}"}, ignore_removed=True
        )
        return found
    finally:
        docker.close()
