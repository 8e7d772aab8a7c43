"""Rows of a dataset of the Hugging Face hub: ``hf://org/name?config=…&split=…&revision=…``.

Files are downloaded into the cache that all clients of the hub share, and read as local ones are.
Nothing of a repository is run.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from pytest_nel.config.interpolate import getenv
from pytest_nel.core.errors import DataError
from pytest_nel.datasets._address import Part, parsed
from pytest_nel.datasets._data_dir import Looked, data_dir
from pytest_nel.datasets._fetch import Fetcher
from pytest_nel.datasets._hub import Getenv, Repository, hub_settings
from pytest_nel.datasets._hub_cache import Listing
from pytest_nel.datasets._joined import Joined
from pytest_nel.datasets._splits import NeedsScript, files_of, head_of
from pytest_nel.datasets.local import kind_of, read_file
from pytest_nel.datasets.source import Origin, Rows, SourceFiles

_README = "README.md"
_CONVERTED = "refs/convert/parquet"


@dataclass(frozen=True, slots=True)
class _Remote:
    """Files of the hub for one part of an address."""

    listing: Listing
    names: Sequence[str]


class HubSource:
    """A split of a dataset, or a file of it; the commit that was read is its revision.

    Args:
        spec: The whole address.
        base: Not used; a hub has no folders.
        env: Gives the variables; None means those of the process.
        fetcher: Asks the hub; None means one that waits in earnest.
    """

    def __init__(
        self, spec: str, *, base: Path, env: Getenv = getenv, fetcher: Fetcher | None = None
    ) -> None:
        del base
        self._env = env
        self._fetcher = fetcher or Fetcher()
        self._address = parsed(spec)
        self._where = f"dataset {spec}"
        self._repository: Repository | None = None
        self._listings: dict[str | None, Listing] = {}

    def read(self, limit: int | None) -> Rows:
        """Download (or take from the cache, or from ``NEL_DATA_DIR``) and read the rows.

        Raises:
            DataError: There is no such dataset or split, it may not be read, or is unusable.
        """
        joined = Joined()
        revisions: set[str] = set()
        origin: Origin = "local"
        for part in self._address.parts:
            left = None if limit is None else limit - len(joined)
            if left is not None and left <= 0:
                break
            looked = self._locally(part)
            if looked.path is not None:
                self._add(joined, part, [(looked.path, str(looked.path))], left)
                continue
            remote = self._remote(part, looked)
            origin = "hub"
            revisions.add(remote.listing.commit)
            self._add(joined, part, self._fetching(remote, part), left)
        return joined.rows(revisions.pop() if len(revisions) == 1 else None, origin)

    def files(self, *, fetch: bool) -> SourceFiles:
        """What the address needs; its size and terms are asked of the hub, unless they are known.

        Raises:
            DataError: As :meth:`read`.
        """
        paths: list[Path] = []
        sizes: list[int | None] = []
        missing, remote = 0, None
        for part in self._address.parts:
            looked = self._locally(part)
            if looked.path is not None:
                paths.append(looked.path)
                sizes.append(looked.path.stat().st_size)
                continue
            remote = self._remote(part, looked)
            for name in remote.names:
                path = self._one(remote, name) if fetch else self._hub().here(remote.listing, name)
                missing += path is None
                paths += [] if path is None else [path]
                sizes.append(
                    remote.listing.files[name].size if path is None else path.stat().st_size
                )
        known = [size for size in sizes if size is not None]
        return SourceFiles(
            paths=paths,
            size=sum(known) if len(known) == len(sizes) else None,
            state="missing" if missing else "cached" if remote else "local",
            revision=remote.listing.commit if remote else None,
            asked=self._address.revision,
            gated=remote.listing.gated if remote else None,
            licence=remote.listing.licence if remote else None,
            page=f"https://huggingface.co/datasets/{self._address.id}",
        )

    def _add(
        self, joined: Joined, part: Part, files: Iterable[tuple[Path, str]], limit: int | None
    ) -> None:
        """Read files one after another, until there are enough rows.

        ``files`` is lazy, each with its name for messages: one not needed is not downloaded.
        """
        address = self._address
        enough = limit if address.rows is None else address.rows.enough
        taken = Joined()
        for path, name in files:
            left = None if enough is None else enough - len(taken)
            taken.add(read_file(path, left, address.columns, name=name))
            if enough is not None and len(taken) >= enough:
                break
        if address.rows is not None:
            taken.cut(*address.rows.bounds(len(taken)))
        joined.take(taken, part.config if len(address.configs) > 1 else None, limit)

    def _locally(self, part: Part) -> Looked:
        folder = data_dir(self._env)
        return Looked(None, ()) if folder is None else folder.of_hub(self._address.id, part)

    def _remote(self, part: Part, looked: Looked) -> _Remote:
        try:
            return self._on_hub(part)
        except DataError as error:
            if not looked.places:
                raise
            msg = f"{error}{looked.nor}"
            raise DataError(msg) from error

    def _on_hub(self, part: Part) -> _Remote:
        listing = self._listing(self._address.revision)
        if part.file is not None:
            if part.file not in listing.files or kind_of(part.file) is None:
                msg = f"{self._where}: {_no_file(part.file, listing)}"
                raise DataError(msg)
            return _Remote(listing, [part.file])
        try:
            return self._split_of(part, listing)
        except NeedsScript as error:
            if self._address.revision is not None:
                msg = (
                    f"{error}, and none is run: name files by file=…, or leave out revision= to "
                    f"read what the hub has converted to parquet ({_CONVERTED}; a commit of that "
                    "branch pins it)"
                )
                raise DataError(msg) from error
        return self._split_of(part, self._listing(_CONVERTED))

    def _split_of(self, part: Part, listing: Listing) -> _Remote:
        head = {}
        if _README in listing.files:
            path = self._hub().file(listing, _README)
            head = dict(head_of(path.read_text(encoding="utf-8", errors="replace")))
        names = files_of([*listing.files], head, part.config, part.split, self._where)
        return _Remote(listing, names)

    def _fetching(self, remote: _Remote, part: Part) -> Iterator[tuple[Path, str]]:
        called = f"{self._address.id}/{part.config}" if part.config else self._address.id
        return ((self._one(remote, name), f"{called} {name}") for name in remote.names)

    def _one(self, remote: _Remote, name: str) -> Path:
        return self._hub().file(remote.listing, name)

    def _listing(self, revision: str | None) -> Listing:
        """Asked for once, so that all parts are of one commit."""
        if revision not in self._listings:
            self._listings[revision] = self._hub().listing(revision)
        return self._listings[revision]

    def _hub(self) -> Repository:
        if self._repository is None:
            settings = hub_settings(self._env)
            self._repository = Repository(self._address.id, settings, self._fetcher, self._where)
        return self._repository


def _no_file(name: str, listing: Listing) -> str:
    readable = sorted(path for path in listing.files if kind_of(path) is not None)
    if name in listing.files:
        return f"{name} is of a kind that is not read here; there are {', '.join(readable)}"
    return f"there is no file {name!r}; there are {', '.join(readable[:20]) or 'none to read'}"
