"""File systems so small that they fill up."""

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest


class SmallDisk:
    """A tmpfs of a given size.

    Attributes:
        path: Where it is mounted.
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    def resize(self, size: str) -> None:
        """Make room, or take what is left; ``size`` as mount says it, such as ``256k``."""
        line = ["mount", "-o", f"remount,size={size}", str(self.path)]
        subprocess.run(line, check=True, capture_output=True)

    def free(self) -> int:
        """Bytes left."""
        stat = os.statvfs(self.path)
        return stat.f_bavail * stat.f_frsize


@contextmanager
def small_disk(folder: Path, size: str) -> Iterator[SmallDisk]:
    """Mount one for the length of the block; the test is skipped where nobody lets us."""
    if os.geteuid() != 0:
        pytest.skip("only root may mount a small file system")
    folder.mkdir()
    line = ["mount", "-t", "tmpfs", "-o", f"size={size}", "nel-test", str(folder)]
    mounted = subprocess.run(line, capture_output=True, text=True, check=False)
    if mounted.returncode:
        pytest.skip(f"no tmpfs can be mounted here: {mounted.stderr.strip()}")
    try:
        yield SmallDisk(folder)
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=True)
