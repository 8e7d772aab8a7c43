"""Locks on files, where the operating system has them.

``fcntl`` is the module, or None on Windows: there two runs in one directory, and two servers at one
port, are not noticed.
"""

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

fcntl: Any
try:
    import fcntl
except ImportError:  # pragma: no cover - Windows
    fcntl = None

__all__ = ["fcntl", "one_at_a_time"]


@contextlib.contextmanager
def one_at_a_time(directory: Path) -> Iterator[None]:
    """Keep other processes that ask for the same out while the block runs (blocking).

    Args:
        directory: What is locked; it has to be there.
    """
    if fcntl is None:
        yield
        return
    lock = os.open(directory, os.O_RDONLY)
    try:
        with contextlib.suppress(OSError):  # a file system without locks
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield
    finally:
        os.close(lock)
