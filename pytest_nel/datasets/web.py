"""Rows of a file of the web: ``https://host/rows.csv#sha256=…``, pinned by its hash."""

import re
from pathlib import Path, PurePosixPath
from urllib.parse import parse_qsl, unquote

import httpx

from pytest_nel.config.interpolate import getenv
from pytest_nel.core.errors import DataError
from pytest_nel.datasets._data_dir import Looked, data_dir
from pytest_nel.datasets._fetch import Expected, Fetcher, locked, mismatch, storing
from pytest_nel.datasets._hub import Getenv, offline
from pytest_nel.datasets.local import READABLE, kind_of, read_file
from pytest_nel.datasets.source import Rows, SourceFiles

_OPTIONS = ("columns", "sha256")
_SHA256 = re.compile(r"[0-9a-f]{64}")


class WebSource:
    """A file, downloaded once; its hash is its revision.

    Args:
        spec: The address; behind ``#`` stand ``sha256=`` and, for a delimited file without a
            header, ``columns=a,b``.
        base: Not used; an address has no folder.
        env: Gives the variables; None means those of the process.
        fetcher: Downloads; None means one that waits in earnest.
        rows: Whether it must be a file with rows.
    """

    def __init__(
        self,
        spec: str,
        *,
        base: Path,
        env: Getenv = getenv,
        fetcher: Fetcher | None = None,
        rows: bool = True,
    ) -> None:
        del base
        self._env = env
        self._fetcher = fetcher or Fetcher()
        self._where = f"dataset {spec}"
        self._url, _, fragment = spec.partition("#")
        options = self._options(fragment)
        self._pin = options.get("sha256")
        columns = options.get("columns")
        self._columns = None if columns is None else columns.split(",")
        self._name = _name_of(self._url)
        if rows and kind_of(self._name) is None:
            msg = f"{self._where}: expected a file ending in {', '.join(READABLE)}"
            raise DataError(msg)

    def read(self, limit: int | None) -> Rows:
        """Download (or take from the cache, or from ``NEL_DATA_DIR``) and read the rows.

        Raises:
            DataError: It cannot be had, is not what its hash says, or is unusable.
        """
        local = self.local()
        if local is not None:
            found = read_file(local, limit, self._columns)
            return Rows(found.rows, found.where, origin="local")
        found = read_file(self._fetched(), limit, self._columns, name=self._name)
        return Rows(found.rows, found.where, revision=f"sha256:{self._pin}", origin="web")

    def files(self, *, fetch: bool) -> SourceFiles:
        """The file.

        Raises:
            DataError: As :meth:`read`.
        """
        path = self.local()
        if path is not None:
            return SourceFiles(paths=(path,), size=path.stat().st_size, state="local")
        path = self._fetched() if fetch else self._cached()
        here = path.is_file()
        return SourceFiles(
            paths=(path,) if here else (),
            size=path.stat().st_size if here else None,
            state="cached" if here else "missing",
            revision=f"sha256:{self._pin}" if self._pin else None,
            page=self._url,
        )

    def local(self) -> Path | None:
        """The file that ``NEL_DATA_DIR`` has in its place.

        Raises:
            DataError: What that names cannot be used.
        """
        return self._locally().path

    def file(self) -> Path:
        """The file itself.

        Raises:
            DataError: It cannot be had, or is not what its hash says.
        """
        return self.local() or self._fetched()

    def _options(self, fragment: str) -> dict[str, str]:
        given = parse_qsl(fragment, keep_blank_values=True, separator="&")
        names = [name for name, _ in given]
        for name, value in given:
            if name not in _OPTIONS or not value or names.count(name) > 1:
                msg = (
                    f"{self._where}: behind # expected {' and '.join(_OPTIONS)}, each at most "
                    f"once, got {name}={value}"
                )
                raise DataError(msg)
        pin = dict(given).get("sha256")
        if pin is not None and not _SHA256.fullmatch(pin):
            msg = f"{self._where}: sha256: expected 64 hex digits in lower case, got {pin!r}"
            raise DataError(msg)
        if fragment and not given:
            msg = f"{self._where}: behind # expected sha256=…, got {fragment!r}"
            raise DataError(msg)
        return dict(given)

    def _locally(self) -> Looked:
        folder = data_dir(self._env)
        return Looked(None, ()) if folder is None else folder.of_web(self._url)

    def _cached(self) -> Path:
        caches = self._env("XDG_CACHE_HOME") or "~/.cache"
        folder = Path(self._env("NEL_CACHE_DIR") or f"{caches}/pytest-nel").expanduser()
        return folder / "downloads" / (self._pin or "unpinned") / self._name

    def _fetched(self) -> Path:
        path = self._cached()
        expected = Expected(oid=self._pin)
        if self._pin and path.is_file() and mismatch(path, expected) is None:
            return path
        variable = offline(self._env)
        if variable:
            msg = (
                f"{self._where}: it is not in {path.parent}, and {variable} forbids downloading "
                f"it{self._locally().nor}"
            )
            raise DataError(msg)
        with storing(self._where), locked(path.with_name(f"{path.name}.lock")):
            if self._pin and path.is_file() and mismatch(path, expected) is None:
                return path
            part = path.with_name(f"{path.name}.incomplete")
            found = self._fetcher.download(self._url, part, expected, {}, self._where)
            if self._pin is None:
                part.unlink()
                msg = (
                    f"{self._where}: a file of the web may change: pin it, as "
                    f"{self._url}#sha256={found} (what it has now)"
                )
                raise DataError(msg)
            part.replace(path)
        return path


def _name_of(url: str) -> str:
    """The last part of the path; nothing where it is no address."""
    try:
        return PurePosixPath(unquote(httpx.URL(url).path)).name if httpx.URL(url).host else ""
    except httpx.InvalidURL:
        return ""
