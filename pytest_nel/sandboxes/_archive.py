"""Files on their way into and out of sandboxes, as tar streams; what comes out is not trusted."""

import contextlib
import errno
import io
import os
import posixpath
import shutil
import tarfile
import time
from collections.abc import Iterable
from pathlib import Path, PurePosixPath
from typing import IO, NamedTuple

from pytest_nel.core.sandbox import SandboxError

DOWNLOAD_LIMIT = 8 * 2**30
"""Bytes that one download may write here."""
_ENTRIES = 1_000_000
_PIECE = 2**20


class Owner(NamedTuple):
    """Whose the files are inside."""

    uid: int = 0
    gid: int = 0


class _Stream(io.RawIOBase):
    """Pieces of bytes as a file, of which no more is read than may be."""

    def __init__(self, pieces: Iterable[bytes], limit: int) -> None:
        self._pieces = iter(pieces)
        self._rest = b""
        self._left = limit

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: object) -> int:
        view = memoryview(buffer)  # type: ignore[arg-type]  # typeshed's Buffer is newer than 3.11
        while not self._rest:
            piece = next(self._pieces, None)
            if piece is None:
                return 0
            self._left -= len(piece)
            if self._left < 0:
                raise _TooMuch
            self._rest = piece
        count = min(len(view), len(self._rest))
        view[:count] = self._rest[:count]
        self._rest = self._rest[count:]
        return count


class _TooMuch(Exception):
    """More comes than may."""


def add_folder(tar: tarfile.TarFile, name: str, owner: Owner, mode: int = 0o755) -> None:
    """Add a folder."""
    entry = tarfile.TarInfo(name)
    entry.type, entry.mode, entry.uid, entry.gid = tarfile.DIRTYPE, mode, *owner
    entry.mtime = int(time.time())
    tar.addfile(entry)


def add_bytes(tar: tarfile.TarFile, name: str, data: bytes, owner: Owner, mode: int) -> None:
    """Add a file."""
    entry = tarfile.TarInfo(name)
    entry.size, entry.mode, entry.uid, entry.gid = len(data), mode, *owner
    entry.mtime = int(time.time())
    tar.addfile(entry, io.BytesIO(data))


def add_tree(tar: tarfile.TarFile, source: Path, name: str, owner: Owner) -> None:
    """Add a file or a folder with all that is in it; modes and links are kept.

    Raises:
        OSError: It cannot be read.
    """

    def owned(entry: tarfile.TarInfo) -> tarfile.TarInfo | None:
        entry.uid, entry.gid, entry.uname, entry.gname = *owner, "", ""
        known = entry.isfile() or entry.isdir() or entry.issym() or entry.islnk()
        return entry if known else None

    tar.dereference = False
    real = source.resolve() if source.is_symlink() else source
    tar.add(real, arcname=name, filter=owned)


def unpack(pieces: Iterable[bytes], target: Path, *, limit: int = DOWNLOAD_LIMIT) -> None:
    """Write what a tar stream holds; its one topmost entry becomes ``target`` itself.

    Nothing is written elsewhere: no path leads out, links that would are left out, as are devices,
    and rights of setuid. Files keep their modes and are the caller's.

    Raises:
        SandboxError: It is no tar stream, or too large.
    """
    try:
        with contextlib.closing(_Stream(pieces, limit)) as raw:
            buffered = io.BufferedReader(raw, _PIECE)
            with tarfile.open(fileobj=buffered, mode="r|") as tar:
                _Unpacking(target, limit).take(tar)
    except (tarfile.TarError, EOFError, ValueError) as error:
        msg = f"what came out of the sandbox is no tar stream: {error}"
        raise SandboxError(msg) from error
    except _TooMuch:
        msg = f"more than {limit:,} bytes would come out of the sandbox, for {target}"
        raise SandboxError(msg, retryable=False) from None


class _Unpacking:
    """One tar stream on its way to the disk."""

    def __init__(self, target: Path, limit: int) -> None:
        self._target = target
        self._left = limit
        self._modes: list[tuple[Path, int]] = []
        self._links: list[tuple[Path, str]] = []
        self._files: dict[str, Path] = {}

    def take(self, tar: tarfile.TarFile) -> None:
        self._target.parent.mkdir(parents=True, exist_ok=True)
        for count, entry in enumerate(tar):
            if count >= _ENTRIES:
                raise _TooMuch
            place = self._place(entry.name)
            if place is not None:
                self._one(tar, entry, place)
        # Links come last, so that nothing is written through one.
        made = [path for path, text in self._links if self._link(path, text)]
        self._drop_leading_out(made)
        for path, mode in reversed(self._modes):
            path.chmod(mode)

    def _place(self, name: str) -> Path | None:
        """Where an entry goes: below the target, by name alone."""
        parts = PurePosixPath(posixpath.normpath(name)).parts
        if not parts or parts[0] in {"/", ".."}:
            return None
        return self._target.joinpath(*parts[1:])

    def _one(self, tar: tarfile.TarFile, entry: tarfile.TarInfo, place: Path) -> None:
        if entry.issym():
            self._links.append((place, entry.linkname))
        elif entry.isdir():
            if self._make_room(place, folder=True):
                place.mkdir(parents=True, exist_ok=True)
                place.chmod(0o700)
                self._modes.append((place, entry.mode & 0o777))
        elif entry.islnk():
            known = self._files.get(posixpath.normpath(entry.linkname))
            there = known is not None and known != place and known.is_file()
            if known is not None and there and self._make_room(place):
                self._charge(known.stat().st_size)
                shutil.copy(known, place)
                self._files[posixpath.normpath(entry.name)] = place
        elif entry.isfile():
            self._charge(entry.size)
            content = tar.extractfile(entry)
            if content is not None and self._make_room(place):
                self._write(content, place, entry.mode)
                self._files[posixpath.normpath(entry.name)] = place

    def _make_room(self, place: Path, *, folder: bool = False) -> bool:
        """Whether something can be there: what is in the way goes, but for folders."""
        if place.is_symlink() or (place.exists() and not place.is_dir()):
            place.unlink()
        elif place.is_dir() and not folder:
            return False
        for parent in place.relative_to(self._target.parent).parents:
            above = self._target.parent / parent
            if above != self._target.parent and (
                above.is_symlink() or (above.exists() and not above.is_dir())
            ):
                return False
        place.parent.mkdir(parents=True, exist_ok=True)
        return True

    def _write(self, content: IO[bytes], place: Path, mode: int) -> None:
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0)
        with os.fdopen(os.open(place, flags, 0o600), "wb") as file:
            shutil.copyfileobj(content, file, _PIECE)
        place.chmod(mode & 0o777)

    def _charge(self, size: int) -> None:
        self._left -= size
        if self._left < 0:
            raise _TooMuch

    def _link(self, path: Path, text: str) -> bool:
        inside = path.relative_to(self._target).parent.as_posix()
        end = posixpath.normpath(posixpath.join(inside, text))
        if path == self._target or text.startswith("/") or end == ".." or end.startswith("../"):
            return False
        if path.exists() or path.is_symlink() or not self._make_room(path):
            return False
        path.symlink_to(text)
        return True

    def _drop_leading_out(self, made: list[Path]) -> None:
        """By way of each other, links may lead out that alone do not."""
        root = self._target.resolve()
        for path in made:
            if _is_loop(path) or not path.resolve().is_relative_to(root):
                path.unlink()


def _is_loop(path: Path) -> bool:
    """Whether a link leads to nowhere since it comes back to itself."""
    try:
        path.stat()
    except OSError as error:
        return error.errno == errno.ELOOP
    return False
