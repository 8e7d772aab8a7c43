"""Which process a sandbox belongs to, and whether that process is gone."""

import os
import platform
from collections.abc import Mapping
from pathlib import Path

_BOOT = Path("/proc/sys/kernel/random/boot_id")
_STARTED = 19  # field 22 of /proc/PID/stat, counted from the one after the command's name


def owner() -> dict[str, str]:
    """What tells this process from any other: none comes again (Linux)."""
    facts = {"host": platform.node(), "pid": str(os.getpid())}
    try:
        facts |= _here()
        facts["began"] = _stat(facts["pid"])[_STARTED]
    except OSError:  # elsewhere nobody can be known to be gone
        return facts
    return facts


def _here() -> dict[str, str]:
    return {
        "boot": _BOOT.read_text("ascii").strip(),
        "pids": str(Path("/proc/self/ns/pid").readlink()),  # where the number means it
    }


def _stat(pid: str) -> list[str]:
    return Path(f"/proc/{pid}/stat").read_text("latin-1").rpartition(")")[2].split()


def is_gone(of: Mapping[str, str]) -> bool | None:
    """Whether the process has ended; None where that cannot be told from here."""
    pid, began = of.get("pid", ""), of.get("began")
    try:
        here = {"host": platform.node(), **_here()}
        if any(of.get(key) != here[key] for key in here) or not pid.isdigit() or began is None:
            return None
        fields = _stat(pid)
    except FileNotFoundError:
        return True if _BOOT.exists() else None
    except OSError:
        return None
    return fields[0] in "ZX" or fields[_STARTED] != began
