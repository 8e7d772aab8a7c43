"""Files of a container, through the daemon or, where that cannot see them, through commands.

The daemon sees what is on a container's disk and in its mounts, and needs no program inside; it
sees no tmpfs, and writes nothing under a root that is read-only (all blocking).
"""

import posixpath
import tarfile
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import IO, Any

from pytest_nel.core.sandbox import ExecResult, SandboxError, WrongPath
from pytest_nel.core.text import showable
from pytest_nel.sandboxes._archive import (
    DOWNLOAD_LIMIT,
    Owner,
    add_bytes,
    add_folder,
    add_tree,
    unpack,
)
from pytest_nel.sandboxes._docker_daemon import Api
from pytest_nel.sandboxes._docker_exec import Order, run
from pytest_nel.sandboxes._docker_paths import Astray, PathStat, archive, followed
from pytest_nel.sandboxes._docker_status import Restarts
from pytest_nel.sandboxes._docker_users import unblock

_IN_MEMORY = 8 * 2**20
_TRANSFER_TIMEOUT = 600.0
_FILE_MODE = 0o644
_SAYS = 4096
_UNREADABLE, _NO_FILE, _FOLDER, _ASTRAY = 1, 3, 4, 5
_READ = """
if ! [ -e "$1" ]; then
  said=$(LC_ALL=C head -c 1 -- "$1" 2>&1 >/dev/null)
  code=$?
  case "$code:$said" in
  0:*) ;;
  1:*": No such file or directory") exit 3 ;;
  1:*) printf '%s\\n' "$said" >&2; exit 5 ;;
  *) exit "$code" ;;
  esac
fi
[ -d "$1" ] && exit 4
[ -f "$1" ] || exit 0
exec head -c MOST -- "$1"
"""
"""Reads a file. That ``[ -e`` finds nothing does not say why: it may be a link to itself, or stand
below a file; only what opens it says whether nothing is there."""


@dataclass(frozen=True, slots=True)
class Files:
    """Those of one container.

    Attributes:
        api: The daemon.
        patient: The same, with more patience, for what is large.
        container: Which.
        user: Whose rights commands have.
        owner: Whose files are that are made.
        hidden: Folders that the daemon does not see; ``/`` is all.
        restarts: Those of the container.
        background: What is started again where the container is.
    """

    api: Api
    patient: Api
    container: str
    user: str
    owner: Owner
    hidden: Sequence[str]
    restarts: Restarts = field(default_factory=Restarts)
    background: Order | None = None

    def _is_hidden(self, path: str) -> bool:
        return any(_is_below(path, folder) for folder in self.hidden)

    def _found(self, path: str) -> tuple[str, PathStat | None]:
        return followed(self.api, self.container, path)

    def found(self, path: str) -> PathStat | None:
        """What is at a path, links followed."""
        return self._found(path)[1]

    def put(self, path: str, fill: Callable[[tarfile.TarFile, str], None]) -> None:
        """Put what ``fill`` adds under the name that it is given; parents are made."""
        if path == "/":
            self._send("/", lambda tar: fill(tar, "."))
            return
        above, missing = posixpath.dirname(path), list[str]()
        if not self._is_hidden(path):
            above, missing = self._nearest(above)

        def whole(tar: tarfile.TarFile) -> None:
            for depth in range(len(missing)):
                add_folder(tar, "/".join(missing[: depth + 1]), self.owner)
            fill(tar, "/".join([*missing, posixpath.basename(path)]))

        self._send(above, whole)

    def _nearest(self, folder: str) -> tuple[str, list[str]]:
        """The nearest folder that is there, and the names of those below that are not."""
        missing: list[str] = []
        while folder != "/":
            folder, facts = self._found(folder)
            if facts is not None and facts.is_dir:
                return folder, missing
            if facts is not None:
                raise Astray(folder, "it is no folder")
            missing.insert(0, posixpath.basename(folder))
            folder = posixpath.dirname(folder)
        return folder, missing

    def _send(self, folder: str, fill: Callable[[tarfile.TarFile], None]) -> None:
        with packed(fill) as file:
            if not self._is_hidden(folder):
                self.patient.put_archive(self.container, folder, file)
                return
            words = [
                *("/bin/sh", "-c", 'mkdir -p -- "$1" && exec tar -C "$1" -xpf - --no-same-owner'),
                *("sh", folder),
            ]
            self._command(words, stdin=file.read(), what=f"unpack files in {folder}")

    def upload(self, source: Path, path: str) -> None:
        """Copy a file or a folder in."""
        with _of_the_work():
            if not self._is_hidden(path):
                path, facts = self._found(path)
                if facts is not None and facts.is_dir and not source.is_dir():
                    path = posixpath.join(path, source.name)
            self.put(path, lambda tar, name: add_tree(tar, source, name, self.owner))

    def write(self, path: str, data: bytes, mode: int | None) -> None:
        """Write a file."""
        if self._is_hidden(path):
            keep = "" if mode is None else f' && chmod {mode:o} -- "$1"'
            script = f'mkdir -p -- "${{1%/*}}/" && cat >"$1"{keep}'
            words = ["/bin/sh", "-c", script, "sh", path]
            self._command(words, stdin=data, what=f"write {path}")
            return
        path, facts = self._found(path)
        if facts is not None and facts.is_dir:
            raise IsADirectoryError(path)
        there = _FILE_MODE if facts is None else facts.mode & 0o777
        rights = there if mode is None else mode
        self.put(path, lambda tar, name: add_bytes(tar, name, data, self.owner, rights))

    def read(self, path: str, limit: int | None) -> bytes:
        """The bytes of a file, at most so many."""
        most = DOWNLOAD_LIMIT if limit is None else limit
        if self._is_hidden(path):
            return self._read_by_command(path, most)
        with _of_the_work():
            return self._read(path, most)

    def _read(self, path: str, most: int) -> bytes:
        path, facts = self._found(path)
        if facts is None:
            raise FileNotFoundError(path)
        if facts.is_dir:
            raise IsADirectoryError(path)
        api = self.api if most <= _IN_MEMORY else self.patient
        with (
            self._archived(api, path) as pieces,
            tempfile.SpooledTemporaryFile(_IN_MEMORY) as file,
        ):
            for piece in _until(pieces, most + 2048):  # the header of the entry comes first
                file.write(piece)
            file.seek(0)
            try:
                with tarfile.open(fileobj=file, mode="r|") as tar:
                    entry = tar.next()
                    content = None if entry is None else tar.extractfile(entry)
                    return b"" if content is None else content.read(most)
            except tarfile.TarError as error:
                msg = f"docker: {path} came out of the sandbox damaged: {error}"
                raise SandboxError(msg) from error

    def _read_by_command(self, path: str, most: int) -> bytes:
        script = _READ.replace("MOST", str(most))
        done = self._run(["/bin/sh", "-c", script, "sh", path], limit=2 * most + 2)
        if done.return_code == _NO_FILE:
            raise FileNotFoundError(path)
        if done.return_code == _FOLDER:
            raise IsADirectoryError(path)
        if done.return_code in {_ASTRAY, _UNREADABLE}:
            said = showable(done.stderr.strip() or f"status {done.return_code}", 300)
            msg = f"docker: cannot read {path} in the sandbox: {said}"
            raise WrongPath(msg)
        self._check(done, f"read {path}")  # one that was killed or not there says nothing of paths
        return done.stdout_bytes

    def download(self, path: str, target: Path) -> None:
        """Copy a file or a folder out."""
        if self._is_hidden(path):
            above, name = posixpath.split(path)
            words = ["tar", "-C", above, "-chf" if name else "-cf", "-", "--", name or "."]
            done = self._run(words, limit=2 * _IN_MEMORY * 16)
            self._check(done, f"pack {path}")
            unpack([done.stdout_bytes], target)
            return
        path, facts = self._found(path)
        if facts is None:
            raise FileNotFoundError(path)
        with self._archived(self.patient, path) as pieces:
            unpack(pieces, target)

    @contextmanager
    def _archived(self, api: Api, path: str) -> Iterator[Iterator[bytes]]:
        """As :func:`archive`; the daemon looks for the names of owners in the container's files."""
        if self.restarts.used:
            unblock(api, self.container, self.restarts)
        with archive(api, self.container, path) as pieces:
            yield pieces

    def _run(self, words: Sequence[str], *, limit: int, stdin: bytes | None = None) -> ExecResult:
        order = Order(words, self.user, "/", _TRANSFER_TIMEOUT, limit, stdin=stdin)
        order = replace(order, restarts=self.restarts, background=self.background)
        return run(self.api, self.container, order)

    def _command(self, words: Sequence[str], *, stdin: bytes, what: str) -> None:
        self._check(self._run(words, limit=_SAYS, stdin=stdin), what)

    @staticmethod
    def _check(done: ExecResult, what: str) -> None:
        if done.return_code or done.truncated:
            usual = "there is too much" if done.truncated else f"status {done.return_code}"
            said = showable(done.stderr.strip() or usual, 300)
            msg = f"docker: cannot {what} in the sandbox: {said}"
            raise SandboxError(msg, retryable=False)

    def text(self, path: str) -> str:
        """A file's text as the image has it; empty where there is none."""
        try:
            return replace(self, hidden=()).read(path, 2**20).decode("utf-8", "replace")
        except (FileNotFoundError, IsADirectoryError):
            return ""


@contextmanager
def _of_the_work() -> Iterator[None]:
    """What is wrong with a path is no fault of the sandbox."""
    try:
        yield
    except Astray as error:
        raise WrongPath(str(error)) from error


@contextmanager
def packed(fill: Callable[[tarfile.TarFile], None]) -> Iterator[IO[bytes]]:
    """A tar file of what ``fill`` adds, in memory while it is small."""
    file: Any  # Any: typeshed's SpooledTemporaryFile is no IO[bytes]
    with tempfile.SpooledTemporaryFile(_IN_MEMORY) as file:
        with tarfile.open(fileobj=file, mode="w") as tar:
            fill(tar)
        file.seek(0)
        yield file


def _is_below(path: str, folder: str) -> bool:
    return folder in {"/", path} or path.startswith(folder.rstrip("/") + "/")


def _until(pieces: Iterable[bytes], limit: int) -> Iterator[bytes]:
    got = 0
    for piece in pieces:
        yield piece
        got += len(piece)
        if got >= limit:
            return
