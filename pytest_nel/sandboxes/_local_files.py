"""Files of a folder that is a sandbox (all blocking)."""

import os
import shutil
import stat
import tarfile
import tempfile
from pathlib import Path
from typing import Any

from pytest_nel.sandboxes._archive import Owner, add_tree, unpack
from pytest_nel.sandboxes._local_processes import kill_marked
from pytest_nel.sandboxes._owner import is_gone, owner

_IN_MEMORY = 8 * 2**20
_PIECE = 2**20


def copy_in(source: Path, target: Path) -> None:
    """Copy a file or a folder, modes kept; a file goes into a folder that is there.

    What is in the way of a folder's files is replaced; what else is there stays.
    """
    if target.is_dir() and not source.is_dir():
        target = target / source.name
    target.parent.mkdir(parents=True, exist_ok=True)
    if source.is_dir():
        shutil.copytree(source, target, symlinks=True, dirs_exist_ok=True)
    else:
        shutil.copy(source, target)


def copy_out(source: Path, target: Path) -> None:
    """Copy a file or a folder as from any sandbox: nothing leads out of it.

    Raises:
        FileNotFoundError: There is none.
    """
    if not source.exists():
        raise FileNotFoundError(str(source))
    file: Any  # Any: typeshed's SpooledTemporaryFile is no IO[bytes]
    with tempfile.SpooledTemporaryFile(_IN_MEMORY) as file:
        with tarfile.open(fileobj=file, mode="w") as tar:
            add_tree(tar, source, source.name or "root", Owner())
        file.seek(0)
        unpack(iter(lambda: file.read(_PIECE), b""), target)


def write(path: Path, data: bytes, mode: int | None) -> None:
    """Write a file; None keeps its mode."""
    path.parent.mkdir(parents=True, exist_ok=True)
    new = not path.exists()
    path.write_bytes(data)
    if mode is not None or new:
        path.chmod(0o644 if mode is None else mode)


def read(path: Path, limit: int | None) -> bytes:
    """The bytes of a file, at most so many."""
    if path.is_dir():
        raise IsADirectoryError(str(path))
    with path.open("rb") as file:
        return file.read(-1 if limit is None else limit)


def make(name: str) -> Path:
    """A new folder whose name says whose it is.

    Raises:
        OSError: It cannot be made.
    """
    ours = owner()
    whose = (ours["pid"], ours.get("began", "0"), _digits(ours.get("pids", "0")))
    folder = Path(tempfile.gettempdir()).resolve() / ".".join([name, *whose])
    folder.mkdir(mode=0o700)
    return folder


def sweep(prefix: str) -> list[str]:
    """Remove what dead processes of this user have left, running commands included; its names."""
    ours = owner()
    gone = []
    for folder in Path(tempfile.gettempdir()).glob(f"{prefix}*.*.*.*"):
        name, pid, began, pids = folder.name.split(".", 3)
        if pids != _digits(ours.get("pids", "")) or folder.stat().st_uid != os.getuid():
            continue
        if is_gone({**ours, "pid": pid, "began": began}):
            kill_marked(f"NEL_SANDBOX={name}")
            remove(folder)
            gone.append(name)
    return gone


def _digits(text: str) -> str:
    return "".join(letter for letter in text if letter.isdigit())


def remove(root: Path) -> None:
    """Remove a folder, whatever rights its own folders have been given."""

    def let(_function: object, path: str, _error: object) -> None:
        parent = Path(path).parent
        parent.chmod(stat.S_IRWXU)
        place = Path(path)
        if place.is_dir() and not place.is_symlink():
            place.chmod(stat.S_IRWXU)
            shutil.rmtree(place, ignore_errors=True)
        else:
            place.unlink(missing_ok=True)

    shutil.rmtree(root, onerror=let)
