"""Sandboxes of each kind for the contract's tests, and a reason to skip where one cannot be had."""

import os
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import cache
from typing import Any

from pytest_nel.core.sandbox import SandboxBackend, SandboxSpec, StoppableSandbox
from pytest_nel.http.secret import Secrets
from pytest_nel.sandboxes import REGISTRY as SANDBOXES

IMAGE = "nel-sandbox:bookworm"
RUN = f"contract-tests-{os.getpid()}"  # the daemon may have others


@cache
def no_image() -> str | None:
    """Why there are no containers here, or None."""
    where = os.environ.get("DOCKER_HOST", "unix:///var/run/docker.sock")
    with socket.socket(socket.AF_UNIX) as probe:  # the SDK leaves one open where nobody listens
        try:
            probe.connect(where.removeprefix("unix://"))
        except OSError as error:
            return f"no docker daemon at {where}: {error.strerror}"
    docker = client()
    try:
        found = docker.images.list(IMAGE)
    finally:
        docker.close()
    return None if found else f"no image {IMAGE}: .ci/sandbox_image makes it"


def client() -> Any:
    """A client of the daemon; to be closed."""
    import docker

    return docker.from_env()


def backend_of(kind: str, **options: Any) -> SandboxBackend:
    """One that is not open."""
    made: Any = SANDBOXES.load(kind)
    if kind == "docker":
        options = {"image": IMAGE, **options}
    backend: SandboxBackend = made(made.Config(**options), run_id=RUN, secrets=Secrets([]))
    return backend


@asynccontextmanager
async def opened(kind: str, **options: Any) -> AsyncIterator[SandboxBackend]:
    """One that is open."""
    backend = backend_of(kind, **options)
    await backend.open()
    try:
        yield backend
    finally:
        await backend.close()


@asynccontextmanager
async def started(
    kind: str, spec: SandboxSpec | None = None, **options: Any
) -> AsyncIterator[StoppableSandbox]:
    """A sandbox that runs."""
    async with opened(kind, **options) as backend:
        sandbox = backend.create(spec or SandboxSpec(), "a test's")
        await sandbox.start()
        try:
            yield sandbox
        finally:
            await sandbox.stop()
