"""What stands at paths in a container, as the daemon sees it (blocking)."""

import json
import re
from base64 import b64decode
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any, NamedTuple

from pytest_nel.core.sandbox import SandboxError
from pytest_nel.sandboxes._docker_daemon import Api, is_running

_LINKS = 20
_PIECE = 2**20
_NOT_FOUND = 404
_NO_FILE = "Could not find the file"
_LEADS_NOWHERE = re.compile(
    r"too many (links|levels of symbolic links)|not a directory|file name too long", re.IGNORECASE
)
"""What a daemon says of a path that what is in the container has made so."""


class PathStat(NamedTuple):
    """What stands at a path in a container.

    Attributes:
        size: In bytes, of a file.
        mode: As Go has it: the lower nine bits are the permissions.
        link: Where a symbolic link leads, resolved; empty for what is none.
    """

    size: int
    mode: int
    link: str

    @property
    def is_pipe(self) -> bool:
        """Whether who opens it waits until somebody writes."""
        return bool(self.mode & (1 << 25))

    @property
    def is_dir(self) -> bool:
        """Whether it is a folder."""
        return bool(self.mode & (1 << 31))


class Astray(SandboxError):
    """A path in a container leads nowhere, which is the container's own doing."""

    def __init__(self, path: str, why: str) -> None:
        msg = f"docker: {path} in the sandbox leads nowhere: {why}"
        super().__init__(msg, retryable=False)


def _of_files(api: Api, container: str) -> str:
    return f"{api.base_url}/v{api.api_version}/containers/{container}/archive"


@contextmanager
def archive(api: Api, container: str, path: str) -> Iterator[Iterator[bytes]]:
    """What stands at a path as the pieces of a tar stream (blocking).

    The SDK's own leaves the connection open where not all of it is read.
    """
    url = _of_files(api, container)
    with api.get(url, params={"path": path}, stream=True, timeout=api.timeout) as answer:
        if not answer.ok:
            raise _refusal(answer, path)
        yield answer.iter_content(_PIECE)


def _refusal(answer: Any, path: str) -> Exception:  # Any: of an HTTP client without annotations
    """Why nothing comes out of a container: what stood there a moment ago may be gone."""
    docker: Any = import_module("docker")
    said = str(answer.text)
    if answer.status_code == _NOT_FOUND and _NO_FILE in said:
        return FileNotFoundError(path)
    if (found := _LEADS_NOWHERE.search(said)) is not None:
        return Astray(path, found[0])
    error: Exception = docker.errors.APIError(answer.reason, answer, said)
    return error


def stat(api: Api, container: str, path: str) -> PathStat | None:
    """What stands at a path in a container (blocking), or None.

    Raises:
        Astray: The path leads nowhere.
    """
    url = _of_files(api, container)
    answer = api.head(url, params={"path": path}, timeout=api.timeout)
    if answer.status_code == _NOT_FOUND and not is_running(api, container):
        api.inspect_container(container)  # says so where it is gone
    header = answer.headers.get("X-Docker-Container-Path-Stat")
    if answer.status_code == _NOT_FOUND or header is None:
        if answer.status_code not in {200, _NOT_FOUND}:
            with archive(api, container, path):  # which says why
                pass
            msg = f"docker: {path} in the sandbox cannot be looked at: HTTP {answer.status_code}"
            raise SandboxError(msg)
        return None
    facts = json.loads(b64decode(header))
    return PathStat(facts["size"], facts["mode"], facts["linkTarget"])


def followed(api: Api, container: str, path: str) -> tuple[str, PathStat | None]:
    """A path with its last link followed, and what is there (blocking).

    Raises:
        Astray: The path leads nowhere.
    """
    for _ in range(_LINKS):
        facts = stat(api, container, path)
        if facts is None or not facts.link or facts.link == path:
            return path, facts
        path = facts.link
    raise Astray(path, "too many levels of symbolic links")
