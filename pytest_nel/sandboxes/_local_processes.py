"""Processes of this machine that a sandbox has started, found by their environment and killed."""

import os
import signal
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

_PROC = Path("/proc")
_GIVE_UP = 5.0
"""Seconds after which a process that not even SIGKILL ends (it hangs in the kernel) is left."""
_STEP = 0.01


def kill_marked(mark: str, group: int | None = None) -> None:
    """Kill every process with ``NAME=VALUE`` in its environment, and a process group (blocking).

    Args:
        mark: What children inherit, also those in sessions of their own. Where there is no
            /proc, only the group is killed.
        group: The process group.
    """
    if group is not None:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(group, signal.SIGKILL)
    until = time.monotonic() + _GIVE_UP
    while time.monotonic() < until:
        found = list(_marked(mark.encode()))
        if not found:
            return
        for pid in found:
            with suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(_STEP)


def _marked(mark: bytes) -> Iterator[int]:
    for folder in _PROC.glob("[0-9]*"):
        with suppress(OSError):  # it has ended, or is another user's
            if mark in (folder / "environ").read_bytes().split(b"\0"):
                yield int(folder.name)
