"""A shell whose folder and variables last from one command to the next, and files as it sees them.

Everything is done by commands in the sandbox, with their rights: what a command may not read or
write, no tool may either, and what goes wrong is the call's failure, never the sandbox's.
"""

import posixpath
from functools import cache
from pathlib import Path
from secrets import token_hex

from pytest_nel.core.sandbox import ExecResult, Sandbox

LARGEST = 1_000_000
"""Bytes of a file that is read as a whole."""
_LAUNCH = (
    'if command -v bash >/dev/null 2>&1; then exec bash -c "$1" bash "$2"; fi; '
    'exec sh -c "$1" sh "$2"'
)
_READ = f"""\
if [ -d "$1" ]; then echo "it is a directory" >&2; exit 21; fi
if [ ! -e "$1" ]; then echo "there is no such file" >&2; exit 20; fi
if [ ! -f "$1" ]; then echo "it is no regular file" >&2; exit 22; fi
size=$(wc -c <"$1") || exit 23
if [ "$size" -gt {LARGEST} ]; then
    echo "it has $size bytes, too many to be read at once: use bash with head, tail or sed" >&2
    exit 23
fi
exec cat <"$1"
"""
_WRITE = """\
case $1 in */*) folder=${1%/*}; mkdir -p -- "${folder:-/}" || exit 1 ;; esac
if [ -d "$1" ]; then echo "it is a directory" >&2; exit 21; fi
exec cat >"$1"
"""
_LIST = """\
cd -- "$1" || exit 1
find . -maxdepth 2 -name '.?*' -prune -o -type d \\
    -exec sh -c 'for path; do printf "%s/\\n" "$path"; done' sh {} + -o -print
"""
_REMOVE = 'exec rm -f -- "$1"'
_IS_DIRECTORY, _NO_FILE = 21, 20


class FileTrouble(Exception):
    """A file cannot be read or written; the message is for the model.

    Attributes:
        missing: There is none.
        is_directory: It is a folder.
    """

    def __init__(self, message: str, code: int = 0) -> None:
        super().__init__(message)
        self.missing = code == _NO_FILE
        self.is_directory = code == _IS_DIRECTORY


@cache
def _wrapper() -> str:
    return Path(__file__).with_name("_bash.sh").read_text(encoding="utf-8")


class Shell:
    """The shell of one problem.

    Args:
        sandbox: Where it runs.
        patience: Seconds for each command.
    """

    def __init__(self, sandbox: Sandbox, patience: float) -> None:
        self._sandbox = sandbox
        self._patience = patience
        self._key = token_hex(8)
        self._moved = False  # whether a command may have changed the folder since we looked
        self._cwd = ""

    async def run(self, command: str) -> ExecResult:
        """Run a command where the last one has left off.

        One that is ended because its time is up leaves folder and variables as they were.

        Raises:
            SandboxError: The sandbox failed.
        """
        self._moved = True
        return await self._in_shell(command)

    async def absolute(self, path: str) -> str:
        """A path, where it is relative from the folder where the last command has left off."""
        if posixpath.isabs(path):
            return posixpath.normpath(path)
        if self._moved or not self._cwd:
            said = await self._in_shell("pwd")
            self._cwd = said.stdout_bytes.decode("utf-8", "surrogateescape").removesuffix("\n")
            self._moved = False
        return posixpath.normpath(posixpath.join(self._cwd or self._sandbox.workdir, path))

    async def read(self, path: str) -> bytes:
        """The bytes of a file.

        Raises:
            FileTrouble: There is none, or none that can be read as a whole.
            SandboxError: The sandbox failed.
        """
        done = await self._script(_READ, path)
        if done.truncated:
            msg = f"{path}: it is too large to be read at once: use bash with head, tail or sed"
            raise FileTrouble(msg)
        return done.stdout_bytes

    async def write(self, path: str, data: bytes) -> None:
        """Write a file; one that is there keeps its mode and its owner, folders are made.

        Raises:
            FileTrouble: It cannot be written.
            SandboxError: The sandbox failed.
        """
        await self._script(_WRITE, path, data)

    async def remove(self, path: str) -> None:
        """Remove a file; one that is not there is fine. Raises as :meth:`write`."""
        await self._script(_REMOVE, path)

    async def listing(self, path: str) -> list[str]:
        """What is in a folder, two levels deep, hidden files left out. Raises as :meth:`read`."""
        done = await self._script(_LIST, path)
        names = (line.removeprefix("./") for line in done.stdout.splitlines())
        return sorted(name for name in names if name not in ("", "/", "."))

    async def _in_shell(self, command: str) -> ExecResult:
        words = ["/bin/sh", "-c", _LAUNCH, "sh", _wrapper(), self._key]
        return await self._sandbox.exec(words, self._patience, stdin=command.encode())

    async def _script(self, script: str, path: str, stdin: bytes | None = None) -> ExecResult:
        if "\0" in path:
            msg = "a path cannot hold a NUL character"
            raise FileTrouble(msg)
        words = ["/bin/sh", "-c", script, "sh", path]
        done = await self._sandbox.exec(words, self._patience, stdin=stdin)
        if done.timed_out:
            msg = f"{path}: not done within {self._patience:g} s"
            raise FileTrouble(msg)
        if done.return_code:
            why = done.stderr.strip().removeprefix("sh: ") or f"exit code {done.return_code}"
            msg = f"{path}: {why}"
            raise FileTrouble(msg, done.return_code)
        return done
