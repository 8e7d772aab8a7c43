"""Users of containers, and the files in which the daemon looks for them (blocking).

It does so before each command and each restart, whatever is said of a user, with no limit of time,
and while it waits it does nothing else with that container.
"""

import io
import posixpath
import tarfile
from contextlib import suppress
from importlib import import_module
from typing import Any

from pytest_nel.core.sandbox import SandboxError
from pytest_nel.sandboxes._archive import Owner, add_bytes
from pytest_nel.sandboxes._docker_daemon import Api, Hung
from pytest_nel.sandboxes._docker_paths import followed
from pytest_nel.sandboxes._docker_status import Restarts

_READ = {"/etc/passwd": b"root:x:0:0:root:/root:/bin/sh\n", "/etc/group": b"root:x:0:\n"}
"""What the daemon reads, and what is put there in a pipe's stead."""
_MODE = 0o644


def is_root(user: str) -> bool:
    """Whether commands of that user have the rights of root, as docker writes it."""
    return user.partition(":")[0] in {"", "0", "root"}


def by_number(user: str) -> str:
    """A user as docker writes it, root by its number: what runs as root may give it another."""
    if not is_root(user):
        return user
    group = user.partition(":")[2]
    return f"0:{'0' if group == 'root' else group}" if group else "0"


def unblock(api: Api, container: str, restarts: Restarts) -> None:
    """Replace pipes that would have the daemon wait for ever.

    Who has put one there has no use of it but that, so that it is not worth an error: what comes
    next is judged as ever.

    Args:
        api: The daemon.
        container: Which.
        restarts: Those of the container, where it is kept that there was one.
    """
    docker: Any = import_module("docker")
    for path, text in _READ.items():
        try:
            where, facts = followed(api, container, path)
        except Hung:
            raise
        except (SandboxError, docker.errors.APIError):  # a command says what is wrong there
            continue
        if facts is None or not facts.is_pipe:
            continue
        restarts.piped = True
        with suppress(docker.errors.APIError):  # a root that is read-only
            api.put_archive(container, posixpath.dirname(where), _packed(where, text))


def _packed(path: str, text: bytes) -> bytes:
    with io.BytesIO() as file:
        with tarfile.open(fileobj=file, mode="w") as tar:
            add_bytes(tar, posixpath.basename(path), text, Owner(), _MODE)
        return file.getvalue()
