"""The process between us and a command: it ends all that the command has started.

Run by file name, so it needs nothing of this package. Its standard input brings one line of JSON
(``command``, ``env``, ``cwd``, ``parent``, and ``polite``, the seconds between SIGTERM
and SIGKILL), so that nothing of it is on a command line; its standard error is where the command's
output goes; its standard output says ``{"pid": …}`` or ``{"error": …}``. It exits as the command
does (128 + number for a signal, like a shell). When standard input ends, because we are done or
because we are gone, even by SIGKILL, it ends the command, its process group and, on Linux, every
process that descends from it, those in sessions of their own included.
"""

import contextlib
import ctypes
import json
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

_PR_SET_PDEATHSIG = 1  # linux/prctl.h
_PR_SET_CHILD_SUBREAPER = 36
_LINUX = sys.platform.startswith("linux")
_GIVE_UP = 10.0
"""Seconds after which a process that not even SIGKILL ends (it hangs in the kernel) is left."""
_LOOK = 1.0
_STEP = 0.02


def main() -> None:
    """Run the command until it ends or is no longer wanted."""
    order = json.loads(sys.stdin.buffer.readline())
    wakes = _wake_on_signals()
    adopt = _prctl()
    try:
        child = _start(order, adopt)
    except OSError as error:
        _say({"error": error.strerror or str(error), "file": _text(error.filename)})
        sys.exit(127)
    _say({"pid": child.pid})
    status = _attend(child.pid, order["parent"], wakes)
    status = _end_all(child.pid, status, order["polite"])
    child.returncode = 0  # reaped here, not by subprocess
    os._exit(status if status >= 0 else 128 - status)


def _wake_on_signals() -> int:
    """A descriptor that becomes readable with a child's end, or when we are told to end."""
    reader, writer = os.pipe()
    for descriptor in (reader, writer):
        os.set_blocking(descriptor, False)
    signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
    # A process of its own: pytest's signals are elsewhere.
    for number in (signal.SIGCHLD, signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, lambda *_: None)  # noqa: TID251
    return reader


def _prctl() -> Callable[..., int] | None:
    """Become whoever inherits orphans (Linux); the function, for the child to use."""
    if not _LINUX:
        return None
    prctl: Callable[..., int] = ctypes.CDLL(None, use_errno=True).prctl
    prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    return prctl


def _start(order: dict[str, Any], prctl: Callable[..., int] | None) -> "subprocess.Popen[bytes]":
    def follow() -> None:
        """Should this process be killed, at least the command itself goes with it."""
        if prctl is not None:
            prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)

    return subprocess.Popen(  # noqa: S603  # the command that the suite says
        order["command"],
        env={**os.environ, **order["env"]},  # noqa: TID251  # alone, without the package
        cwd=order["cwd"],
        stdin=subprocess.DEVNULL,
        stdout=sys.stderr.fileno(),
        stderr=sys.stderr.fileno(),
        start_new_session=True,
        preexec_fn=follow,  # noqa: PLW1509  # there are no threads here
    )


def _say(fact: dict[str, Any]) -> None:
    with contextlib.suppress(BrokenPipeError):  # seen at once as the end of standard input
        sys.stdout.write(json.dumps(fact) + "\n")
        sys.stdout.flush()


def _text(name: object) -> str:
    return os.fsdecode(name) if isinstance(name, str | bytes) else ""


def _attend(child: int, parent: int, wakes: int) -> int | None:
    """Wait until the command ends (its status) or we are to end it (None)."""
    while True:
        status = _reap(child)
        if status is not None:
            return status
        # The parent's id as well: a copy of the parent may hold the pipe open.
        if os.getppid() != parent:
            return None
        ready = select.select([sys.stdin, wakes], [], [], _LOOK)[0]
        if sys.stdin in ready:
            return None
        if wakes in ready and set(os.read(wakes, 512)) - {signal.SIGCHLD}:
            return _reap(child)


def _reap(child: int) -> int | None:
    """Take leave of all that has ended; the command's own status if it is among them."""
    found = None
    with contextlib.suppress(ChildProcessError):
        while True:
            pid, status = os.waitpid(-1, os.WNOHANG)
            if pid == 0:
                break
            if pid == child:
                found = os.waitstatus_to_exitcode(status)
    return found


def _end_all(child: int, status: int | None, polite: float) -> int:
    """SIGTERM, ``polite`` seconds, SIGKILL; return the command's status."""
    asked: set[int] = set()
    began = time.monotonic()
    while True:
        ended = _reap(child)
        status = ended if status is None else status
        elapsed = time.monotonic() - began
        if _all_gone(child) or elapsed > polite + _GIVE_UP:
            return -signal.SIGKILL if status is None else status
        left = _descendants() if _LINUX else {child}
        if elapsed > polite:
            _signal(left, signal.SIGKILL)
        else:
            _signal(left - asked, signal.SIGTERM)  # once: a second one is an order to some
            asked |= left
        time.sleep(_STEP)


def _all_gone(child: int) -> bool:
    """Whether nothing is left; on Linux orphans become our children, elsewhere the group counts."""
    try:
        if _LINUX:
            os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
        else:
            os.killpg(child, 0)
    except (ChildProcessError, ProcessLookupError, PermissionError):  # macOS: zombies alone
        return True
    return False


def _signal(pids: set[int], number: int) -> None:
    send = os.kill if _LINUX else os.killpg
    for pid in pids:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            send(pid, number)


def _descendants() -> set[int]:
    children: dict[int, list[int]] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with contextlib.suppress(OSError):  # it has just ended
                stat = (entry / "stat").read_text("latin-1")
                parent = int(stat.rpartition(")")[2].split()[1])
                children.setdefault(parent, []).append(int(entry.name))
    found: set[int] = set()
    waiting = [os.getpid()]
    while waiting:
        new = [pid for pid in children.get(waiting.pop(), []) if pid not in found]
        found.update(new)
        waiting.extend(new)
    return found


if __name__ == "__main__":
    main()
