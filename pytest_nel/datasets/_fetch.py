"""Files over HTTP: patient with busy servers, resumed when a connection breaks, checked by hash."""

import hashlib
import re
import socket
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

import httpx

from pytest_nel.core.errors import DataError
from pytest_nel.core.locks import fcntl
from pytest_nel.http.retry import parse_retry_after

_BUSY = frozenset({408, 429, 500, 502, 503, 504})
_OID = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")  # git's, or SHA-256
_CHUNK = 1 << 20
_TRIES_OF_NAMES = 2
_WAY_OUT = (
    "Without a network: run nel data prefetch where there is one and take its cache along, or put "
    "the files into a folder that NEL_DATA_DIR names"
)
_TIMEOUT = httpx.Timeout(60, connect=20)


class _Digest(Protocol):
    def update(self, data: bytes, /) -> None: ...

    def hexdigest(self) -> str: ...


@dataclass(frozen=True, slots=True)
class Expected:
    """What a file must be, as far as that is known.

    Attributes:
        size: In bytes.
        oid: 64 hex digits are the SHA-256 of the content, 40 are git's hash of a blob.
    """

    size: int | None = None
    oid: str | None = None


@dataclass(frozen=True, slots=True)
class Patience:
    """How long to try.

    Attributes:
        tries: Failures in a row without a new byte; each but the last is waited after.
        first: Seconds after the first failure; doubled for each further one.
        longest: The longest Retry-After that is waited for, in seconds.
    """

    tries: int = 5
    first: float = 1.0
    longest: float = 300.0


class Refused(DataError):
    """The server answered with an error.

    Attributes:
        response: Its answer.
    """

    def __init__(self, message: str, response: httpx.Response) -> None:
        super().__init__(message)
        self.response = response


@dataclass
class Fetcher:
    """Asks servers, and asks again where that may help.

    Attributes:
        patience: How long.
        sleep: Waits so many seconds.
        clock: Unix time, for dates in Retry-After.
        way_out: What helps where there is no network, for the message that says so.
    """

    patience: Patience = field(default_factory=Patience)
    sleep: Callable[[float], object] = time.sleep
    clock: Callable[[], float] = time.time
    way_out: str = _WAY_OUT

    def get(self, url: str, headers: Mapping[str, str], where: str) -> httpx.Response:
        """The answer, read whole.

        Raises:
            Refused: An error, or busy for too long.
            DataError: The server cannot be reached.
        """
        with _client() as client:
            failures = 0
            while True:  # until the last failure that patience allows raises
                failures += 1
                try:
                    response = client.get(url, headers=headers)
                except httpx.HTTPError as error:
                    self._pause_after(error, failures, url, where)
                    continue
                if response.is_success:
                    return response
                self._pause_if_busy(response, failures, where)

    def download(
        self, url: str, part: Path, expected: Expected, headers: Mapping[str, str], where: str
    ) -> str:
        """Write a file, going on where ``part`` ends; return its SHA-256.

        Raises:
            Refused: As :meth:`get`.
            DataError: As there; or the content is not what was expected: then ``part`` is removed.
        """
        resumed = _size(part) > 0
        told = self._receive(url, part, expected, headers, where)
        problem = mismatch(part, told)
        if problem and resumed:  # what was there before may have been of something else
            part.unlink()
            told = self._receive(url, part, expected, headers, where)
            problem = mismatch(part, told)
        if problem:
            part.unlink()
            msg = (
                f"{where}: {url} is not what was expected: {problem}. What came was removed. "
                "Run again; if it says so again, the server, or a proxy on the way, has "
                "other content"
            )
            raise DataError(msg)
        return sha256_of(part)

    def _receive(
        self, url: str, part: Path, expected: Expected, headers: Mapping[str, str], where: str
    ) -> Expected:
        """Fill the file; what it must be, by what was known or else by what the server says."""
        failures = furthest = 0
        with _client() as client:
            while True:
                have = _fitting(part, expected)
                if part.exists() and have == expected.size:
                    return expected
                furthest = max(furthest, have)
                try:
                    response = _once(client, url, part, expected.size, headers)
                except httpx.HTTPError as error:  # what comes again and again is no progress
                    failures = 1 if _size(part) > furthest else failures + 1
                    self._pause_after(error, failures, url, where)
                    continue
                if response.is_success:
                    return Expected(expected.size, expected.oid or _oid_told(response))
                if response.status_code == 416 and have:  # beyond the file's end
                    part.unlink()
                    continue
                failures += 1
                self._pause_if_busy(response, failures, where)

    def _pause_after(self, error: httpx.HTTPError, failures: int, url: str, where: str) -> None:
        tries = self.patience.tries
        if failures >= (min(tries, _TRIES_OF_NAMES) if _unknown_name(error) else tries):
            reason = str(error) or type(error).__name__
            msg = (
                f"{where}: {httpx.URL(url).host} cannot be reached, tried {failures} times: "
                f"{reason}. {self.way_out}"
            )
            raise DataError(msg) from error
        self.sleep(self.patience.first * 2 ** (failures - 1))

    def _pause_if_busy(self, response: httpx.Response, failures: int, where: str) -> None:
        status = response.status_code
        told = parse_retry_after(response.headers.get("retry-after"), self.clock())
        if status not in _BUSY:
            msg = f"{where}: {response.request.url} answered {status} {_said(response)}"
        elif told is not None and told > self.patience.longest:
            msg = (
                f"{where}: {response.request.url.host} answered {status} and asks to wait "
                f"{told:g} s (Retry-After), more than {self.patience.longest:g} s: run again later"
            )
        elif failures >= self.patience.tries:
            msg = (
                f"{where}: {response.request.url.host} answered {status} {_said(response)} "
                f"{failures} times: run again later"
            )
        else:
            pause = self.patience.first * 2 ** (failures - 1)
            self.sleep(pause if told is None else told)
            return
        raise Refused(msg, response)


def _unknown_name(error: BaseException | None) -> bool:
    """Whether the server's name means nothing here, which waiting seldom changes."""
    while error is not None:
        if isinstance(error, socket.gaierror):
            return True
        error = error.__cause__ or error.__context__
    return False


def _once(
    client: httpx.Client, url: str, part: Path, size: int | None, headers: Mapping[str, str]
) -> httpx.Response:
    """Receive what is missing; an answer that is an error is read, and changes nothing.

    What is beyond a known size is not waited for: who sends other content may send it for ever.
    """
    have = _size(part)
    more = {"Accept-Encoding": "identity"}  # or bytes could not be counted
    if have:
        more["Range"] = f"bytes={have}-"
    with client.stream("GET", url, headers={**headers, **more}) as response:
        if not response.is_success:
            response.read()
            return response
        goes_on = response.status_code == 206
        begin = response.headers.get("content-range", "").removeprefix("bytes ")
        if goes_on and begin.partition("-")[0] != str(have):
            part.unlink()
            msg = f"asked for bytes from {have}, got {begin or 'some'}"
            raise httpx.RemoteProtocolError(msg)
        with part.open("ab" if goes_on else "wb") as file:
            for piece in response.iter_bytes():  # as it comes: whole chunks would lose the last
                file.write(piece)
                if size is not None and file.tell() > size:
                    break
    return response


def _fitting(part: Path, expected: Expected) -> int:
    """How many bytes are there; a file that is too long is removed."""
    have = _size(part)
    if expected.size is None or have <= expected.size:
        return have
    part.unlink()
    return 0


def _oid_told(response: httpx.Response) -> str | None:
    """The hash that a hub says in its headers; ETags of other servers mean nothing."""
    for answer in (*response.history, response):
        if "x-repo-commit" in answer.headers:
            etag = answer.headers.get("x-linked-etag") or answer.headers.get("etag") or ""
            text = etag.removeprefix("W/").strip('"')
            return text if is_oid(text) else None
    return None


def is_oid(text: str) -> bool:
    """Whether it can be one of an :class:`Expected`."""
    return bool(_OID.fullmatch(text))


@contextmanager
def storing(where: str) -> Iterator[None]:
    """Say of a disk that is full or may not be written which dataset it was for."""
    try:
        yield
    except OSError as error:
        msg = f"{where}: it cannot be stored: {error}"
        raise DataError(msg) from error


def _client() -> httpx.Client:
    # httpx drops Authorization when a redirect leads to another host: a token stays with its hub
    return httpx.Client(follow_redirects=True, timeout=_TIMEOUT)


def _said(response: httpx.Response) -> str:
    text = response.headers.get("x-error-message") or response.reason_phrase
    return " ".join(text.split())[:300]


def _size(path: Path) -> int:
    return path.stat().st_size if path.is_file() else 0


def mismatch(path: Path, expected: Expected) -> str | None:
    """How a file differs from what it must be, in words; None where it does not."""
    size = path.stat().st_size
    if expected.size is not None and size != expected.size:
        came = size if size < expected.size else "more"  # not all of which was waited for
        return f"expected {expected.size} bytes, got {came}"
    if expected.oid is None:
        return None
    if len(expected.oid) == 64:
        kind, found = "sha256", sha256_of(path)
    else:
        head = f"blob {size}\0".encode()  # as git names content: for integrity, no secret
        kind, found = "git hash", _hashed(path, hashlib.sha1(head, usedforsecurity=False))
    return None if found == expected.oid else f"expected {kind} {expected.oid}, got {found}"


def sha256_of(path: Path) -> str:
    """The SHA-256 of a file, in hex."""
    return _hashed(path, hashlib.sha256())


def _hashed(path: Path, state: _Digest) -> str:
    with path.open("rb") as file:
        while chunk := file.read(_CHUNK):
            state.update(chunk)
    return state.hexdigest()


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Alone among all processes that lock this file, where its disk has locks at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("ab") as file:
        if fcntl is not None:
            with suppress(OSError):  # some network disks have none: the hash tells a mixture
                fcntl.flock(file, fcntl.LOCK_EX)
        yield
