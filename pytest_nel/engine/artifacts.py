"""What a solver leaves in its sandbox, taken out, kept in the run's directory, put into another."""

import asyncio
import contextlib
import os
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any

from pytest_nel.core.errors import GracefulError
from pytest_nel.core.sandbox import ExecResult, Sandbox, SandboxError
from pytest_nel.core.types import AttemptKey, JsonObject
from pytest_nel.records.workspaces import file_of

CAPTURED = "/output/workspace.tar"
GIVEN = "/input/workspace.tar"
CAPTURE_TIMEOUT = 300.0
LARGEST = 512 * 1024 * 1024
"""Bytes of a workspace; a larger one is worth nothing: thousands of them would fill the disk."""
_BY_SIGNAL = 128  # from here on, a command's status names what ended it


class NotPacked(SandboxError):
    """A workspace could not be packed: by the command's fault, or by what is in there."""


class NotUnpacked(SandboxError):
    """``apply_cmd`` ended in a running sandbox and says that it failed.

    By its own fault, by that of what it was given, or for want of disk. One that a signal or its
    time has ended says nothing of that kind: it is a plain SandboxError.
    """


class Artifacts:
    """The workspaces of a benchmark, one file for each attempt.

    Args:
        folder: Where they are; made when the first is kept.
        largest: Bytes that one may have.
    """

    def __init__(self, folder: Path, *, largest: int = LARGEST) -> None:
        self._folder = folder
        self._largest = largest

    def path(self, key: AttemptKey) -> Path:
        """The file of an attempt, there or not."""
        return self._folder / file_of(key.problem_idx, key.repeat)

    async def capture(
        self, sandbox: Sandbox, workdir: str, command: str, key: AttemptKey
    ) -> JsonObject:
        """Have a sandbox pack its workspace, and keep that; what the record says of it.

        Args:
            sandbox: The solver's.
            workdir: Its workdir, as the problem says it.
            command: Packs it.
            key: The attempt.

        Raises:
            GracefulError: The workspace is too large, which is the doing of who worked in it.
            NotPacked: The command failed, or left nothing.
            SandboxError: The machinery failed.
        """
        size = await packed(sandbox, workdir, command)
        self._refuse_large(size)
        said = await self._fetched(sandbox, self.path(key))
        self._refuse_large(said["bytes"])
        return said

    async def probe(self, sandbox: Sandbox, workdir: str, command: str, key: AttemptKey) -> Path:
        """Pack and keep a workspace that is no attempt's, for a while; its file, to be removed.

        Raises:
            SandboxError: That cannot be done, or is more than a workspace may be.
        """
        await packed(sandbox, workdir, command)
        kept = self.path(key)
        target = kept.with_name(f".{kept.stem}.{os.getpid()}.probe.tar")
        said = await self._fetched(sandbox, target)
        if said["bytes"] > self._largest:
            msg = f"a workspace in which no solver has worked has {said['bytes']:,} bytes"
            raise SandboxError(msg, retryable=False)
        return target

    def _refuse_large(self, size: int) -> None:
        if size > self._largest:
            msg = (
                f"the workspace that was left is too large: {CAPTURED}: {size:,} bytes, "
                f"{self._largest:,} at most"
            )
            raise GracefulError(msg)

    async def _fetched(self, sandbox: Sandbox, target: Path) -> JsonObject:
        part = target.with_name(f".{target.name}.{os.getpid()}.part")
        try:
            await asyncio.to_thread(self._folder.mkdir, parents=True, exist_ok=True)
            await sandbox.download(CAPTURED, part)
            size, mark = await asyncio.to_thread(_digest, part)
            if size <= self._largest:
                await asyncio.to_thread(part.replace, target)
        except OSError as error:
            msg = f"the workspace could not be kept as {target}: {error}"
            raise SandboxError(msg) from error
        finally:
            with contextlib.suppress(OSError):
                part.unlink(missing_ok=True)
        return {"file": target.name, "bytes": size, "sha256": mark}

    async def there(self, key: AttemptKey, said: Mapping[str, Any]) -> bool:
        """Whether the workspace of a stored answer is there, byte by byte; reads the disk."""
        try:
            _, mark = await asyncio.to_thread(_digest, self.path(key))
        except OSError:
            return False
        return bool(mark == said.get("sha256"))

    async def apply(
        self,
        sandbox: Sandbox,
        workdir: str,
        command: str | None,
        key: AttemptKey,
        limit: float,
        said: Mapping[str, Any],
    ) -> None:
        """Put a kept workspace into a fresh sandbox.

        Args:
            sandbox: Where it goes.
            workdir: Its workdir, as the problem says it.
            command: Unpacks it; None leaves it packed.
            key: The attempt.
            limit: Seconds for the command.
            said: What the record says of it.

        Raises:
            NotUnpacked: The command says that it failed.
            SandboxError: It is not what was kept, did not arrive, or the command was ended.
        """
        if not await self.there(key, said):
            msg = (
                f"the workspace of this answer, {self.path(key)}, is missing or has been changed: "
                "it cannot be judged"
            )
            raise SandboxError(msg, retryable=False)
        await unpacked(sandbox, workdir, command, self.path(key), limit)


async def packed(sandbox: Sandbox, workdir: str, command: str) -> int:
    """Have a sandbox pack its workspace; the bytes of what there is then.

    Args:
        sandbox: A running one.
        workdir: Its workdir, as the problem says it.
        command: Packs it.

    Raises:
        NotPacked: The command failed, or left nothing.
        SandboxError: The machinery failed.
    """
    root = root_of(sandbox, workdir)
    if (failed := await _made_folder(sandbox, f"{root}/output", root + CAPTURED)) is not None:
        raise NotPacked(failed, retryable=False)
    ran = await sandbox.exec(command.replace(CAPTURED, root + CAPTURED), CAPTURE_TIMEOUT)
    if (failed := _failed(ran, "capture_cmd", CAPTURE_TIMEOUT)) is not None:
        raise NotPacked(failed, retryable=False)
    sized = await sandbox.exec(f"wc -c < {root}{CAPTURED}")
    size = int(sized.stdout) if sized.return_code == 0 and sized.stdout.strip().isdigit() else 0
    if size == 0:
        msg = f"capture_cmd has ended well, but {CAPTURED}: is missing or empty"
        raise NotPacked(msg, retryable=False)
    return size


async def unpacked(
    sandbox: Sandbox, workdir: str, command: str | None, source: Path, limit: float
) -> None:
    """Bring a packed workspace into a fresh sandbox, and have it unpacked there.

    Args:
        sandbox: Where it goes.
        workdir: Its workdir, as the problem says it.
        command: Unpacks it; None leaves it packed.
        source: The workspace.
        limit: Seconds for the command.

    Raises:
        NotUnpacked: The command says that it failed.
        SandboxError: It did not arrive, or the command was ended.
    """
    root = root_of(sandbox, workdir)
    await make_folder(sandbox, f"{root}/input")
    await sandbox.upload(source, GIVEN)
    arrived = await sandbox.exec(f"test -s {root}{GIVEN}")
    refuse_failed(arrived, f"looking for {GIVEN}", limit)
    if command is None:
        return
    ran = await sandbox.exec(command.replace(GIVEN, root + GIVEN), limit)
    if not ran.timed_out and 0 < ran.return_code < _BY_SIGNAL:
        raise NotUnpacked(str(_failed(ran, "apply_cmd", limit)), retryable=False)
    refuse_failed(ran, "apply_cmd", limit)


def root_of(sandbox: Sandbox, workdir: str) -> str:
    """What commands have to write before a path: in a folder of this machine its real place.

    Args:
        sandbox: A running one.
        workdir: Its workdir, as the problem says it.
    """
    real = sandbox.workdir
    return real.removesuffix(workdir) if real != workdir and real.endswith(workdir) else ""


async def make_folder(sandbox: Sandbox, path: str) -> None:
    """Make a folder that the sandbox's own user can write to; as root where that user may not.

    Raises:
        SandboxError: Neither can.
    """
    if (failed := await _made_folder(sandbox, path)) is not None:
        raise SandboxError(failed, retryable=False)


async def _made_folder(sandbox: Sandbox, path: str, without: str | None = None) -> str | None:
    """Why it could not be made, or None.

    Args:
        sandbox: Where.
        path: Which.
        without: What is removed from it: who writes into a pipe would wait for a reader.
    """
    clear = "" if without is None else f" && rm -rf {without}"
    command = f"mkdir -p {path} && test -w {path}{clear}"
    ran = await sandbox.exec(command)
    if ran.return_code == 0:
        return None
    if sandbox.has_users:
        ran = await sandbox.exec(f"mkdir -p {path} && chmod 1777 {path}{clear}", user="0:0")
    return _failed(ran, f"making {path}", 0.0)


def refuse_failed(ran: ExecResult, what: str, timeout: float) -> None:
    """A step of ours that failed says nothing about the answer.

    Raises:
        SandboxError: It did; the same would happen again.
    """
    if (failed := _failed(ran, what, timeout)) is not None:
        raise SandboxError(failed, retryable=False)


def _failed(ran: ExecResult, what: str, timeout: float) -> str | None:
    if ran.return_code == 0:
        return None
    ended = f"not done within {timeout:g} s" if ran.timed_out else f"exit {ran.return_code}"
    said = (ran.stderr or ran.stdout).strip()[-500:]
    return f"{what} failed in the sandbox ({ended}){': ' if said else ''}{said}"


def _digest(path: Path) -> tuple[int, str]:
    total, size = sha256(), 0
    with path.open("rb") as file:
        while chunk := file.read(1 << 20):
            total.update(chunk)
            size += len(chunk)
    return size, total.hexdigest()
