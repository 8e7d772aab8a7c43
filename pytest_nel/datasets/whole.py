"""Data that has no rows: the files of a folder or of a zip, here or on the web."""

import re
import zipfile
from pathlib import Path, PurePosixPath

from pytest_nel.config.interpolate import getenv
from pytest_nel.core.errors import DataError
from pytest_nel.datasets._data_dir import data_dir
from pytest_nel.datasets._harbor_clone import Clones
from pytest_nel.datasets._hub import Getenv
from pytest_nel.datasets.web import WebSource

_GIT = "git+"
_PINNED = re.compile(r"git\+((?:https|ssh|file)://.+)@([0-9a-f]{40})")
_LARGEST = 1 << 30
"""Bytes of a zip, unpacked."""


class FileTree:
    """The files of a folder, or of a zip without the folder that all of it lies in.

    Args:
        path: The folder or the zip.
        foreign: Whether others have made the folder: then links that lead out of it are refused.

    Raises:
        DataError: It is neither, or a zip of more than a GiB.
    """

    def __init__(self, path: Path, *, foreign: bool = False) -> None:
        self.path = path
        self._root = path.resolve() if foreign else None
        self._zip: zipfile.ZipFile | None = None
        self._entries: dict[str, zipfile.ZipInfo] = {}
        if path.is_dir():
            return
        try:
            self._zip = zipfile.ZipFile(path)
        except (OSError, zipfile.BadZipFile) as error:
            msg = f"{path}: expected a folder or a zip: {error}"
            raise DataError(msg) from error
        entries = [each for each in self._zip.infolist() if not each.is_dir()]
        if sum(each.file_size for each in entries) > _LARGEST:
            msg = f"{path}: more than {_LARGEST:,} bytes are in it"
            raise DataError(msg)
        tops = {each.filename.partition("/")[0] for each in entries if "/" in each.filename}
        whole = len(tops) == 1 and all("/" in each.filename for each in entries)
        top = f"{tops.pop()}/" if whole else ""
        self._entries = {each.filename.removeprefix(top): each for each in entries}

    def read(self, name: str) -> bytes | None:
        """A file by its path, None where there is none; never one outside.

        Raises:
            DataError: It cannot be read.
        """
        if ".." in PurePosixPath(name).parts or PurePosixPath(name).is_absolute():
            return None
        try:
            if self._zip is not None:
                entry = self._entries.get(name)
                return None if entry is None else self._zip.read(entry)
            file = self.path / name
            if self._root is not None and not file.resolve().is_relative_to(self._root):
                msg = f"{self.path}: {name}: is a link that leads out of the repository"
                raise DataError(msg)
            return file.read_bytes() if file.is_file() else None
        except (OSError, RuntimeError, zipfile.BadZipFile) as error:  # RuntimeError: a password
            msg = f"{self.path}: {name}: cannot be read: {error}"
            raise DataError(msg) from error

    def names(self, folder: str) -> list[str]:
        """The names of the files that lie in a folder, sorted."""
        if self._zip is None:
            there = self.path / folder
            found = [each.name for each in there.glob("*") if each.is_file()]
        else:
            paths = map(PurePosixPath, self._entries)
            found = [each.name for each in paths if each.parent == PurePosixPath(folder)]
        return sorted(found)


def file_tree(address: str, *, env: Getenv = getenv) -> FileTree:
    """The files behind an address.

    Args:
        address: ``https://host/tasks.zip#sha256=…``, downloaded once, in whose place
            ``NEL_DATA_DIR`` may have another; ``git+https://host/repository@COMMIT``, fetched once
            by git; or the path of a folder or a zip here.
        env: Gives the variables.

    Raises:
        DataError: It cannot be had, is not pinned, or is not what its hash says.
    """
    if address.startswith(("https://", "http://")):
        return FileTree(WebSource(address, base=Path(), env=env, rows=False).file())
    if address.startswith(_GIT):
        pinned = _PINNED.fullmatch(address)
        if pinned is None:
            msg = f"{address}: expected {_GIT}https://HOST/REPOSITORY@COMMIT, of 40 hex digits"
            raise DataError(msg)
        url, commit = pinned.groups()
        return FileTree(Clones(env).tree(url, commit, []), foreign=True)
    return FileTree(Path(address).absolute())


def local_files(name: str, *, env: Getenv = getenv) -> FileTree | None:
    """What ``datasets.yaml`` in ``NEL_DATA_DIR`` has for a name, a folder or a zip; None: nothing.

    Raises:
        DataError: The folder or its map cannot be used, or names what is not there.
    """
    folder = data_dir(env)
    path = None if folder is None else folder.of_name(name)
    return None if path is None else FileTree(path)
