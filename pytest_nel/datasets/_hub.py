"""A hub of datasets, or its mirror, or its cache where there is no network."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from pytest_nel.core.errors import DataError
from pytest_nel.datasets._fetch import Fetcher, Refused, locked, storing
from pytest_nel.datasets._hub_cache import COMMIT, HubCache, Listing, listing_of
from pytest_nel.http.secret import Secret

_PUBLIC = "https://huggingface.co"
_TOKENS = ("HF_TOKEN", "HUGGING_FACE_HUB_TOKEN")
_OFFLINE = ("HF_HUB_OFFLINE", "HF_DATASETS_OFFLINE")
_YES = frozenset({"1", "true", "yes", "on"})
_MAIN = "main"
Getenv = Callable[[str], str | None]


@dataclass(frozen=True)
class HubSettings:
    """What the environment says of the hub.

    Attributes:
        endpoint: Where it is.
        cache: Its files on this machine.
        token: Who asks; never shown.
        offline: The variable that forbids asking; None where none does.
    """

    endpoint: str
    cache: Path
    token: str | None
    offline: str | None

    def __repr__(self) -> str:
        return f"HubSettings({self.endpoint})"


def hub_settings(getenv: Getenv) -> HubSettings:
    """Read the variables that all clients of the hub read.

    Raises:
        DataError: ``HF_ENDPOINT`` is no address, or the token no header value.
    """
    endpoint = (getenv("HF_ENDPOINT") or _PUBLIC).rstrip("/")
    if not endpoint.startswith(("http://", "https://")):
        msg = f"HF_ENDPOINT: expected http(s)://…, got {endpoint!r}"
        raise DataError(msg)
    caches = getenv("XDG_CACHE_HOME") or "~/.cache"
    home = Path(getenv("HF_HOME") or f"{caches}/huggingface").expanduser()
    cache = getenv("HF_HUB_CACHE") or getenv("HUGGINGFACE_HUB_CACHE")
    return HubSettings(
        endpoint,
        Path(cache).expanduser() if cache else home / "hub",
        _token(getenv, home),
        offline(getenv),
    )


def offline(getenv: Getenv) -> str | None:
    """The variable that forbids asking the network; None where none does."""
    return next((name for name in _OFFLINE if (getenv(name) or "").lower() in _YES), None)


def _token(getenv: Getenv, home: Path) -> str | None:
    for name in _TOKENS:
        value = (getenv(name) or "").strip()
        if value and not (value.isascii() and value.isprintable() and " " not in value):
            msg = f"{name}: it holds a character that no token has; export it again without"
            raise DataError(msg)
        if value:
            return value
    if (getenv("HF_HUB_DISABLE_IMPLICIT_TOKEN") or "").lower() in _YES:
        return None
    path = Path(getenv("HF_TOKEN_PATH") or home / "token").expanduser()
    try:
        text = path.read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError):
        return None
    return text if text.isascii() and text.isprintable() and " " not in text else None


class Repository:
    """A dataset at a commit.

    Args:
        name: ``org/name``.
        settings: Where the hub is.
        fetcher: Asks it.
        where: What to call the dataset in messages.
    """

    def __init__(self, name: str, settings: HubSettings, fetcher: Fetcher, where: str) -> None:
        self.name = name
        self.page = f"{_PUBLIC}/datasets/{name}"
        self._settings = settings
        self._fetcher = fetcher
        self._where = where
        self._cache = HubCache(settings.cache, name)

    def listing(self, revision: str | None) -> Listing:
        """The commit behind a revision; one that is pinned and known is not asked for.

        Raises:
            DataError: There is none, it may not be read, or the hub cannot be reached.
        """
        asked = revision or _MAIN
        pinned = asked if COMMIT.fullmatch(asked) else None
        known = self._cache.listing(pinned) if pinned else None
        if known is not None:
            return known
        if self._settings.offline:
            return self._offline(asked)
        listing = self._asked(asked)
        if pinned and listing.commit != pinned:
            msg = f"{self._where}: asked for commit {pinned}, the hub gave {listing.commit}"
            raise DataError(msg)
        with storing(self._where):
            self._cache.keep(listing, asked)
        return listing

    def here(self, listing: Listing, file: str) -> Path | None:
        """The file, if it is in the cache."""
        there = self._cache.has(listing.commit, file, listing.files[file])
        return self._cache.path(listing.commit, file) if there else None

    def file(self, listing: Listing, file: str) -> Path:
        """The file, downloaded if it is not in the cache.

        Raises:
            DataError: It cannot be had.
        """
        path = self.here(listing, file)
        if path is not None:
            return path
        if self._settings.offline:
            msg = self._not_cached(f"{file} of {listing.commit}")
            raise DataError(msg)
        expected = listing.files[file]
        oid = expected.oid or f"{listing.commit}-{quote(file, safe='')}"
        blob = self._cache.blob(oid)
        with storing(self._where), locked(self._cache.lock(oid)):
            if not blob.is_file():
                blob.parent.mkdir(parents=True, exist_ok=True)
                part = blob.with_name(f"{oid}.incomplete")
                url = self._url("datasets", "resolve", listing.commit, quote(file))
                try:
                    self._fetcher.download(url, part, expected, self._headers(), self._where)
                except Refused as refused:
                    raise self._explained(refused, file) from refused
                part.replace(blob)
            if self.here(listing, file) is None:  # another process may have been quicker
                self._cache.link(listing.commit, file, blob)
        return self._cache.path(listing.commit, file)

    def _offline(self, asked: str) -> Listing:
        commit = asked if COMMIT.fullmatch(asked) else self._cache.commit_of(asked)
        listing = None
        if commit is not None:
            listing = self._cache.listing(commit) or self._cache.found(commit)
        if listing is None:
            msg = self._not_cached(f"revision {asked}")
            raise DataError(msg)
        return listing

    def _not_cached(self, what: str) -> str:
        return (
            f"{self._where}: {what} is not in {self._cache.folder}, and {self._settings.offline} "
            "forbids asking the hub: fill the cache where there is a network (nel data prefetch)"
        )

    def _asked(self, revision: str) -> Listing:
        url = self._url("api/datasets", "revision", quote(revision, safe=""), "")
        try:
            response = self._fetcher.get(f"{url}?blobs=true", self._headers(), self._where)
        except Refused as refused:
            raise self._explained(refused, revision) from refused
        try:
            listing = listing_of(response.json())
        except ValueError:
            listing = None
        if listing is None:
            msg = f"{self._where}: {url} gave no list of files: is {self._settings.endpoint} a hub?"
            raise DataError(msg)
        return listing

    def _url(self, root: str, verb: str, revision: str, file: str) -> str:
        url = f"{self._settings.endpoint}/{root}/{self.name}/{verb}/{revision}"
        return f"{url}/{file}" if file else url

    def _headers(self) -> dict[str, str]:
        token = self._settings.token
        return {} if token is None else {"Authorization": f"Bearer {token}"}

    def _explained(self, refused: Refused, what: str) -> DataError:
        """What an error of the hub means, and what to do."""
        response = refused.response
        code, status = response.headers.get("x-error-code", ""), response.status_code
        cases = (
            (code == "GatedRepo" or (status == 403 and not code), self._gated),
            (status == 401 and self._settings.token and code != "RepoNotFound", _bad_token),
            (status in {401, 404} and code in {"", "RepoNotFound"}, self._unknown),
            (code == "RevisionNotFound", lambda: f"{self.name} has no revision {what!r}"),
            (code == "EntryNotFound", lambda: f"{self.name} has no file {what!r}"),
        )
        said = next((say() for applies, say in cases if applies), None)
        if said is None:
            shown = Secret(self._settings.token or "").out_of_text(str(refused))
            return DataError(shown)
        return DataError(f"{self._where}: {said} ({response.request.url.host}: {status})")

    def _gated(self) -> str:
        first = f"{self.name} is gated: accept its terms at {self.page}"
        if self._settings.token is None:
            return f"{first}, then export {_TOKENS[0]}=… with a token of that account"
        return (
            f"{first} with the account whose token {_TOKENS[0]} is (it was sent, and may not read "
            "it: the terms are not accepted yet, or the token lacks that right)"
        )

    def _unknown(self) -> str:
        said = f"there is no dataset {self.name} for everybody: check its name; if it is private, "
        if self._settings.token is None:
            return f"{said}export {_TOKENS[0]}=… with a token that may read it"
        return f"{said}the token in {_TOKENS[0]} may not read it"


def _bad_token() -> str:
    return f"the hub does not know the token in {_TOKENS[0]}: make another, or unset it"
