"""How a command in a container has ended, and whose doing that was (blocking).

What runs inside chooses its own status, and never whether that counts: a container that is gone,
or a daemon that starts nothing, is the machinery's fault; all else is the command's.
"""

import re
import time
from dataclasses import dataclass, field
from importlib import import_module
from threading import Lock
from typing import Any

from pytest_nel.core.sandbox import ExecResult, SandboxError
from pytest_nel.core.text import showable
from pytest_nel.sandboxes._docker_daemon import Api

KILLED = 137
_PAUSES = (0.0, 0.02, 0.1, 0.5, 1.0, 2.0, 3.0, 4.0)
_NEWS = (0.0, 0.1, 0.4)
_CANNOT_RUN = {126, 127}
_NO_START = "OCI runtime exec failed"
_OF_THE_COMMAND = re.compile(
    r"(exec:? [\"/]|chdir to cwd|unable to find user).*("
    r"no such file or directory|executable file not found|permission denied|not a directory|"
    r"is a directory|exec format error|argument list too long|file name too long|text file busy|"
    r"too many levels of symbolic links|no matching entries|token too long)",
    re.DOTALL | re.IGNORECASE,
)
"""What the runtime says of a program, a folder or a user that is not there."""
_FULL = 0.95
_INIT_NEEDS = 12  # processes and threads of what the runtime starts a command with


class NotStarted(SandboxError):
    """The runtime has not come to start a command; nothing of it has run."""


@dataclass(slots=True)
class Restarts:
    """How often a container was started anew because something in it could not be ended else.

    Attributes:
        count: So many times.
        mortal: Whether commands have the rights to end it themselves.
        used: Whether root has run one: only then are files of the system other than the image's.
        piped: Whether something in it has made the daemon wait for it, or tried.
        reviving: Held while one that has ended is started again, which is done once.
    """

    count: int = 0
    mortal: bool = False
    used: bool = False
    piped: bool = False
    reviving: Lock = field(default_factory=Lock)


def status(
    api: Api, container: str, made: str, result: ExecResult, since: tuple[Restarts, int]
) -> int:
    """The exit status of a command whose output has ended.

    Args:
        api: The daemon.
        container: Where it ran.
        made: Its id.
        result: What it has printed.
        since: The container's restarts, and their number when the command began: one in between
            was needed to end what runs inside, and has killed this.

    Raises:
        SandboxError: The container does not run any more, and neither memory nor a command has
            ended it; or the daemon does not say how the command ended.
        NotStarted: The runtime could not start it, though there is room for it now.
    """
    docker: Any = import_module("docker")
    restarts, before = since
    for pause in _PAUSES:
        time.sleep(pause)  # its output may end before its end is known
        try:
            said = api.exec_inspect(made)
        except docker.errors.APIError:
            if restarts.count != before:
                return KILLED
            if runs(api, container):
                raise
            break
        if said["ExitCode"] is not None and not said["Running"]:
            return _told(api, container, said, result, since)
    if not runs(api, container):
        return of_gone(api, container, restarts)
    if restarts.count != before:
        return KILLED
    msg = "docker: a command's output has ended, and the daemon does not say how the command did"
    raise SandboxError(msg)


def _told(
    api: Api,
    container: str,
    said: Any,  # the daemon's JSON
    result: ExecResult,
    since: tuple[Restarts, int],
) -> int:
    code, restarts = int(said["ExitCode"]), since[0]
    restarted = restarts.count != since[1]
    if code == KILLED and not restarted and _has_gone(api, container):
        return of_gone(api, container, restarts)
    if code not in _CANNOT_RUN or said.get("Pid"):  # one that has run may print what it likes
        return code
    text = result.stdout
    if not text.startswith(_NO_START) or _OF_THE_COMMAND.search(text) or restarted:
        return code
    if not runs(api, container):
        return of_gone(api, container, restarts)
    if _is_full(api, container):  # by what runs inside
        return code
    msg = f"docker: the daemon cannot start a command: {showable(text.strip(), 300)}"
    raise NotStarted(msg)


def _has_gone(api: Api, container: str) -> bool:
    """Whether it has ended; the daemon may hear of that after the end of what ran in it."""
    for pause in _NEWS:
        time.sleep(pause)
        if not runs(api, container):
            return True
    return False


def of_gone(api: Api, container: str, restarts: Restarts) -> int:
    """The status of what ran in a container that has ended.

    Raises:
        SandboxError: Neither memory nor a command has ended it.
    """
    state = api.inspect_container(container)["State"]  # removed: the daemon's error says so
    if state.get("OOMKilled") or restarts.mortal:
        return KILLED
    msg = (
        f"docker: the sandbox was ended from outside (status {state.get('ExitCode')}), and what "
        "ran in it with it"
    )
    raise SandboxError(msg)


def runs(api: Api, container: str) -> bool:
    docker: Any = import_module("docker")
    try:
        state = api.inspect_container(container)["State"]
    except docker.errors.NotFound:
        return False
    return bool(state["Running"]) and not state.get("Restarting")


def _is_full(api: Api, container: str) -> bool:
    """Whether processes or memory are used up: then nothing can be started."""
    docker: Any = import_module("docker")
    try:
        found = api.stats(container, stream=False)
    except docker.errors.APIError:
        return False
    pids, memory = found.get("pids_stats") or {}, found.get("memory_stats") or {}
    most = pids.get("limit") or 0
    limit = memory.get("limit") or 0
    cached = (memory.get("stats") or {}).get("inactive_file", 0)
    crowded = bool(most) and pids.get("current", 0) + _INIT_NEEDS >= most
    return crowded or (bool(limit) and memory.get("usage", 0) - cached >= _FULL * limit)
