"""A process of this machine that is never mistaken for another one with the same number."""

import os
import signal
import subprocess
import time
from pathlib import Path

_BOOT = Path("/proc/sys/kernel/random/boot_id")
_STARTED = 19  # field 22 of /proc/PID/stat, counted from the one after the command's name
_PAUSE = 0.1


def mark_of(pid: int) -> str | None:
    """What tells this process from later ones of the same number; None where it has ended.

    The time at which it began, counted from a boot that is named, too. A zombie has ended.
    """
    proc = Path("/proc")
    if not (proc / "self" / "stat").exists():
        return _mark_by_ps(pid)
    try:
        stat = (proc / str(pid) / "stat").read_text(encoding="latin-1")
    except OSError:
        return None
    state, *fields = stat.rpartition(")")[2].split()
    if state in "ZX":
        return None
    return f"{_boot()}:{fields[_STARTED - 1]}"


def _boot() -> str:
    try:
        return _BOOT.read_text(encoding="ascii").strip()
    except OSError:  # not mounted, in some containers
        return ""


def _mark_by_ps(pid: int) -> str | None:
    """Where there is no /proc: macOS and the BSDs."""
    asked = ["ps", "-o", "stat=,lstart=", "-p", str(pid)]
    try:
        done = subprocess.run(  # noqa: S603 - no shell, a number
            asked, capture_output=True, text=True, check=False, timeout=10
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    state, _, began = done.stdout.strip().partition(" ")
    return None if not began or state.startswith("Z") else " ".join(began.split())


def is_running(pid: int, mark: str) -> bool:
    """Whether the process with that mark still runs."""
    return pid > 0 and mark_of(pid) == mark


def send(pid: int, mark: str, number: signal.Signals) -> bool:
    """Send a signal to the process with that mark, and to no other.

    Returns:
        Whether it was there to be sent one.

    Raises:
        PermissionError: It is somebody else's.
    """
    if not is_running(pid, mark):
        return False
    try:
        if hasattr(os, "pidfd_open"):
            return _send_by_handle(pid, mark, number)
        os.kill(pid, number)
    except ProcessLookupError:
        return False
    return True


def _send_by_handle(pid: int, mark: str, number: signal.Signals) -> bool:
    """The handle stays that of one process, whoever is given its number next."""
    handle = os.pidfd_open(pid)
    try:
        if mark_of(pid) != mark:
            return False
        signal.pidfd_send_signal(handle, number)
    finally:
        os.close(handle)
    return True


def ends(pid: int, mark: str, within: float) -> bool:
    """Wait so many seconds for its end; whether it came."""
    until = time.monotonic() + within
    while is_running(pid, mark):
        if time.monotonic() >= until:
            return False
        time.sleep(_PAUSE)
    return True
