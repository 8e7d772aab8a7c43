"""Folders of this machine: they isolate nothing, and are for code that you trust."""

import asyncio
import errno
import getpass
import json
import logging
import os
import posixpath
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from secrets import token_hex
from typing import Annotated, Any, ClassVar, ParamSpec, TypeVar

from pydantic import Field

from pytest_nel.config.env_map import resolve
from pytest_nel.config.interpolate import getenv
from pytest_nel.core.errors import ConfigError
from pytest_nel.core.sandbox import (
    DEFAULT_TIMEOUT,
    TIMED_OUT,
    Command,
    ExecResult,
    SandboxError,
    SandboxSpec,
    WrongPath,
)
from pytest_nel.core.units import size_of
from pytest_nel.http.secret import Secrets
from pytest_nel.sandboxes import _local_files as files
from pytest_nel.sandboxes._local_pipe import Pipe
from pytest_nel.sandboxes._local_processes import kill_marked
from pytest_nel.sandboxes._options import CommonOptions

P = ParamSpec("P")
T = TypeVar("T")
_LOG = logging.getLogger(__name__)
_RUNNER = Path(__file__).with_name("_local_run.py")
_GRACE = 0.3
"""Seconds for what is on its way when a command has ended and a child holds its output."""
_PREFIX = "nel-local-"
_LEADS_NOWHERE = {errno.EEXIST, errno.ELOOP, errno.ENAMETOOLONG, errno.ENOTDIR}
_KEPT = ("PATH", "LANG", "LC_ALL", "TZ")
WARNING = (
    "sandboxes of type local isolate nothing: what models write runs on this machine with your "
    "rights, and reads, sends and deletes what you can; use type docker for what you do not trust"
)


class LocalBackend:
    """Makes folders."""

    warning: ClassVar[str] = WARNING
    answers_by: ClassVar[tuple[str, ...]] = (
        *("container_env", "memory", "cpu_seconds", "file_size", "open_files", "processes"),
        *("stateful", "capture_cmd", "scrub_git_history", "output_limit"),
    )

    class Config(CommonOptions):
        """Options of a sandbox of type ``local``. Limits are those of each process.

        Attributes:
            memory: Its address space.
            cpu_seconds: Its processor time; null does not limit it.
            file_size: The largest file that it writes.
            open_files: At a time.
            processes: Of this user, on the whole machine, from which on it makes no more; null
                does not limit them.
        """

        memory: str | None = "4GiB"
        cpu_seconds: Annotated[int, Field(ge=1)] | None = None
        file_size: str | None = "1GiB"
        open_files: Annotated[int, Field(ge=16)] = 1024
        processes: Annotated[int, Field(ge=1)] | None = None

        def limits(self) -> dict[str, int]:
            """By the names of the system's."""
            numbers = {
                "AS": None if self.memory is None else size_of(self.memory),
                "CPU": self.cpu_seconds,
                "FSIZE": None if self.file_size is None else size_of(self.file_size),
                "NOFILE": self.open_files,
                "NPROC": self.processes,
                "CORE": 0,
            }
            return {name: number for name, number in numbers.items() if number is not None}

    def __init__(
        self, config: Config, *, run_id: str, secrets: Secrets, sweeps: bool = True
    ) -> None:
        del run_id, secrets  # folders have no labels, and messages quote no command
        self._config = config
        self._sweeps = sweeps
        self._env: Mapping[str, str] = {}
        self._up: set[LocalSandbox] = set()

    async def open(self) -> None:
        """Say what it is not.

        Raises:
            ConfigError: Variables are not set, or a size cannot be read.
        """
        try:
            self._config.limits()
        except ValueError as error:
            msg = f"sandbox: {error}"
            raise ConfigError(msg) from None
        self._env = resolve(self._config.container_env, "sandbox.container_env")
        swept = await asyncio.to_thread(files.sweep, _PREFIX) if self._sweeps else []
        for name in swept:
            _LOG.warning("removed the sandbox %s of a run that has died", name)

    async def close(self) -> None:
        """Remove every folder that is still there."""
        for one in list(self._up):
            await one.stop()

    async def prepare(self, specs: Sequence[SandboxSpec]) -> None:
        """See whether these can be had.

        Raises:
            ConfigError: One wants mounts or another user, which there are none of here.
        """
        for spec in specs:
            refused = _refused(spec)
            if refused is not None:
                raise ConfigError(refused)
        images = sorted({spec.image or str(spec.environment_dir or "") for spec in specs} - {""})
        if images:
            _LOG.warning(
                "sandboxes of type local have no images: problems that want %s get the programs "
                "of this machine",
                ", ".join(images[:5]) + (", …" if len(images) > 5 else ""),
            )

    def create(self, spec: SandboxSpec, name: str) -> "LocalSandbox":
        """A sandbox that is not started."""
        del name  # there is no list of them that people could look at
        return LocalSandbox(spec, self._config, self._env, self._up)


def _refused(spec: SandboxSpec) -> str | None:
    if spec.volumes:
        return "sandbox: type local has no mounts, and a problem wants some: use type docker"
    if not _is_us(spec.user):
        return (
            f"sandbox: type local runs everything as {getpass.getuser()}, and a problem wants user "
            f"{spec.user!r}: use type docker"
        )
    return None


def _is_us(user: str | None) -> bool:
    who = (user or "").partition(":")[0]
    return who in {"", str(os.getuid())} or who == getpass.getuser()


class LocalSandbox:
    """A folder in the place for temporary files.

    It stands for ``/`` in every path that is given: ``/workspace/a`` is ``workspace/a`` in it.
    Commands see the real machine and start in the real path of the workdir, which is
    :attr:`workdir`; paths below the folder itself are taken as they are.
    """

    has_users = False

    def __init__(
        self,
        spec: SandboxSpec,
        config: LocalBackend.Config,
        env: Mapping[str, str],
        those: "set[LocalSandbox]",  # that have a folder
    ) -> None:
        self.name = f"{_PREFIX}{token_hex(6)}"
        self.workdir = spec.workdir
        self._spec, self._config, self._env, self._those = spec, config, env, those
        self._root: Path | None = None
        self._background: asyncio.subprocess.Process | None = None

    async def start(self) -> None:
        """Make the folder; what fails leaves nothing behind."""
        refused = _refused(self._spec)
        if refused is not None:
            raise SandboxError(refused, retryable=False)
        self._those.add(self)
        try:
            await asyncio.to_thread(self._make)
            for source, target in self._spec.files.items():
                await self.upload(Path(source), target)
            if self._spec.entrypoint is not None:
                self._background = await self._spawn(
                    ["/bin/sh", "-c", self._spec.entrypoint],
                    Path(self.workdir),
                    self._variables({}, token_hex(8)),
                    (asyncio.subprocess.DEVNULL,) * 3,
                )
        except BaseException as error:
            await self.stop()
            if isinstance(error, OSError):
                msg = f"local: the sandbox cannot be made: {error}"
                raise SandboxError(msg) from error
            raise

    def _make(self) -> None:
        self._root = files.make(self.name)
        (self._root / "tmp").mkdir()
        workdir = self._place(self._spec.workdir)
        workdir.mkdir(parents=True, exist_ok=True)
        self.workdir = str(workdir)

    async def stop(self) -> None:
        """Kill what runs in it and remove the folder."""
        root, self._root = self._root, None
        if root is None:
            self._those.discard(self)
            return
        await asyncio.to_thread(kill_marked, f"NEL_SANDBOX={self.name}")
        if self._background is not None:
            await self._background.wait()
        await asyncio.to_thread(files.remove, root)
        self._those.discard(self)

    async def end_processes(self) -> None:
        """End all that runs in it, the problem's entrypoint too; files stay."""
        self._up()
        await asyncio.to_thread(kill_marked, f"NEL_SANDBOX={self.name}")

    async def exec(
        self,
        command: Command,
        timeout_sec: float = DEFAULT_TIMEOUT,
        *,
        cwd: str | None = None,
        env: Mapping[str, str] | None = None,
        user: str | None = None,
        stdin: bytes | None = None,
    ) -> ExecResult:
        """Run a command to its end; at the limit its whole process tree is killed."""
        folder = self._place(cwd or "")
        if not _is_us(user):
            msg = f"local: commands run as {getpass.getuser()}, not as {user!r}: use type docker"
            raise SandboxError(msg, retryable=False)
        words = ["/bin/sh", "-c", command] if isinstance(command, str) else list(command)
        if any("\0" in word for word in words):
            return ExecResult(stderr_bytes=b"a NUL character cannot be passed\n", return_code=126)
        if not folder.is_dir():
            said = f"cannot change to {cwd}: no such folder\n".encode()
            return ExecResult(stderr_bytes=said, return_code=126)
        return await self._run(words, folder, env or {}, stdin, timeout_sec)

    async def _run(
        self,
        words: Sequence[str],
        folder: Path,
        env: Mapping[str, str],
        stdin: bytes | None,
        patience: float,
    ) -> ExecResult:
        mark = token_hex(8)
        variables = self._variables(env, mark)
        out, err = Pipe(self._config.output_limit), Pipe(self._config.output_limit)
        began = time.monotonic()
        try:
            with tempfile.TemporaryFile() as file:  # a pipe that nobody reads would block us
                file.write(stdin or b"")
                file.seek(0)
                process = await self._spawn(words, folder, variables, (file, out.end, err.end))
            out.follow()
            err.follow()
            try:
                code = await asyncio.wait_for(asyncio.shield(process.wait()), patience)
                seconds = time.monotonic() - began
            except BaseException as error:
                await asyncio.shield(self._killed(process, mark))
                if not isinstance(error, TimeoutError):
                    raise
                code, seconds = None, time.monotonic() - began
            await asyncio.wait([out.ended, err.ended], timeout=_GRACE)
        except OSError as error:
            msg = f"local: a command cannot be started: {error}"
            raise SandboxError(msg) from error
        finally:
            out.close()
            err.close()
        return ExecResult(
            out.kept.value(),
            err.kept.value(),
            return_code=TIMED_OUT if code is None else code if code >= 0 else 128 - code,
            timed_out=code is None,
            truncated=out.kept.truncated or err.kept.truncated,
            seconds=seconds,
        )

    async def _spawn(
        self,
        words: Sequence[str],
        folder: Path,
        variables: Mapping[str, str],
        streams: tuple[Any, Any, Any],
    ) -> asyncio.subprocess.Process:
        limits = json.dumps(self._config.limits())
        return await asyncio.create_subprocess_exec(
            *(sys.executable, "-I", "-S", str(_RUNNER), limits, *words),
            cwd=folder,
            env=variables,
            start_new_session=True,
            stdin=streams[0],
            stdout=streams[1],
            stderr=streams[2],
        )

    async def _killed(self, process: asyncio.subprocess.Process, mark: str) -> None:
        await asyncio.to_thread(kill_marked, f"NEL_EXEC={mark}", process.pid)
        await process.wait()

    def _variables(self, env: Mapping[str, str], mark: str) -> dict[str, str]:
        root = self._up()
        ours = {name: value for name in _KEPT if (value := getenv(name)) is not None}
        return {
            "HOME": str(root),
            "TMPDIR": str(root / "tmp"),
            **ours,
            **self._env,
            **self._spec.env,
            **env,
            "NEL_SANDBOX": self.name,
            "NEL_EXEC": mark,
        }

    def _up(self) -> Path:
        if self._root is None:
            msg = f"the sandbox {self.name} is not up: it was not started, or has been stopped"
            raise SandboxError(msg, retryable=False)
        return self._root

    def _place(self, path: str) -> Path:
        """The real path of one inside."""
        root = self._up()
        full = posixpath.normpath(posixpath.join(self.workdir, path))
        if full == str(root) or full.startswith(f"{root}/"):
            return Path(full)
        return root / full.lstrip("/")

    async def upload(self, source: Path, target: str) -> None:
        """Copy a file or a folder in; a file goes into a folder that is there."""
        await _of_files(files.copy_in, source, self._place(target))

    async def download(self, source: str, target: Path) -> None:
        """Copy a file or a folder out.

        Raises:
            FileNotFoundError: There is none.
        """
        await _of_files(files.copy_out, self._place(source), target)

    async def write(self, path: str, data: bytes, *, mode: int | None = None) -> None:
        """Write a file; links are followed."""
        await _of_files(files.write, self._place(path), data, mode)

    async def read(self, path: str, *, limit: int | None = None) -> bytes:
        """The bytes of a file; links are followed."""
        return await _of_files(files.read, self._place(path), limit)

    def resolve_outside_endpoint(self, url: str) -> str:
        """The URL itself: commands run on this machine."""
        return url


async def _of_files(function: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
    """Run it in a thread; what is not the path's own fault is the sandbox's."""
    try:
        return await asyncio.to_thread(function, *args, **kwargs)
    except (FileNotFoundError, IsADirectoryError):
        raise
    except OSError as error:
        msg = f"local: {error}"
        if error.errno in _LEADS_NOWHERE and function in (files.read, files.copy_in):
            raise WrongPath(msg) from error
        raise SandboxError(msg, retryable=False) from error
