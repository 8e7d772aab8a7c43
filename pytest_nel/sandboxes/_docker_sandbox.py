"""One container, for one attempt."""

import contextlib
import posixpath
import tarfile
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from secrets import token_hex
from typing import Any, ParamSpec, TypeVar
from urllib.parse import urlsplit, urlunsplit

from pytest_nel.core.errors import GracefulError
from pytest_nel.core.sandbox import (
    DEFAULT_TIMEOUT,
    Command,
    ExecResult,
    SandboxError,
    SandboxSpec,
)
from pytest_nel.sandboxes._archive import Owner, add_folder
from pytest_nel.sandboxes._docker_daemon import Daemon, Stuck, remove
from pytest_nel.sandboxes._docker_end import end_all
from pytest_nel.sandboxes._docker_exec import MARK, Order, run, start_detached
from pytest_nel.sandboxes._docker_files import Files
from pytest_nel.sandboxes._docker_images import Image, owner_of
from pytest_nel.sandboxes._docker_paths import PathStat
from pytest_nel.sandboxes._docker_status import Restarts
from pytest_nel.sandboxes._docker_users import by_number, is_root

P = ParamSpec("P")
T = TypeVar("T")

OUTSIDE = "host.docker.internal"
UNPRIVILEGED = "1000:1000"
_LOOPBACK = {"localhost", "127.0.0.1", "::1", "0.0.0.0"}  # noqa: S104 - to be replaced
_KEEPER = "65532:65532"
_ROOT = {"", "0", "root", "0:0", "root:root"}
_NOT_TO_TOUCH = {"/", "/tmp", "/var/tmp", "/root", "/home"}  # noqa: S108 - names inside


@dataclass(frozen=True, slots=True)
class Making:
    """What a container is made by.

    Attributes:
        settings: For its host configuration.
        env: Variables of every command.
        labels: By which it is found again.
        network: ``none``, ``bridge`` or ``host``.
        tmpfs: Folders in memory, with their options.
        read_only: Whether all else cannot be written.
        user: Whose rights commands have where the problem does not say; None: the image's own,
            or an unprivileged one.
        platform: As docker writes it.
        output_limit: Bytes of each stream that are kept.
        workdirs: What an image has at a workdir, once somebody has looked.
    """

    settings: Mapping[str, Any]
    env: Mapping[str, str]
    labels: Mapping[str, str]
    network: str
    tmpfs: Mapping[str, str]
    read_only: bool
    user: str | None
    platform: str | None
    output_limit: int
    workdirs: dict[tuple[str, str], PathStat | None]


class DockerSandbox:
    """A container; made by the backend, which knows its image."""

    has_users = True

    def __init__(
        self,
        daemon: Daemon,
        spec: SandboxSpec,
        making: Making,
        image: Callable[[], Awaitable[Image]],
    ) -> None:
        self.name = f"nel-sandbox-{token_hex(6)}"
        self.workdir = posixpath.normpath(posixpath.join("/", spec.workdir))
        self._daemon, self._spec, self._making, self._image = daemon, spec, making, image
        self._ended = False
        self._restarts = Restarts()
        self._files: Files | None = None

    async def start(self) -> None:
        """Make it run; what fails leaves nothing behind."""
        image = await self._image()
        try:
            self._files = await self._daemon.on(self.name, self._start, image)
        except BaseException as error:
            await self.stop()
            if isinstance(error, OSError):  # of the problem's own files
                msg = f"docker: the sandbox's files cannot be copied: {error}"
                raise SandboxError(msg, retryable=False) from error
            raise

    async def stop(self) -> None:
        """Remove it with all that runs in it."""
        self._ended, self._files = True, None
        await self._daemon.remove(self.name)

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
        files = self._running()
        order = Order(
            words=["/bin/sh", "-c", command] if isinstance(command, str) else list(command),
            user=by_number(user) if user else files.user,
            cwd=self._path(cwd or ""),
            timeout=timeout_sec,
            limit=self._making.output_limit,
            env=env or {},
            stdin=stdin,
            background=self._background(files.user),
            restarts=self._restarts,
        )
        try:
            return await self._on(run, self._daemon.api, self.name, order)
        finally:
            order.abandoned.set()  # also where this task was cancelled

    async def end_processes(self) -> None:
        """End all that runs in it, the problem's entrypoint too; files stay."""
        user = self._running().user
        order = Order([], user, "/", 0, 0, restarts=self._restarts)
        in_memory = self._making.read_only or bool(self._making.tmpfs)
        api = self._daemon.api
        await self._on(end_all, api, self.name, order, in_memory=in_memory)

    async def upload(self, source: Path, target: str) -> None:
        """Copy a file or a folder in; a file goes into a folder that is there."""
        await self._on(self._running().upload, source, self._path(target))

    async def download(self, source: str, target: Path) -> None:
        """Copy a file or a folder out.

        Raises:
            FileNotFoundError: There is none.
        """
        await self._on(self._running().download, self._path(source), target)

    async def write(self, path: str, data: bytes, *, mode: int | None = None) -> None:
        """Write a file; links are followed."""
        await self._on(self._running().write, self._path(path), data, mode)

    async def read(self, path: str, *, limit: int | None = None) -> bytes:
        """The bytes of a file; links are followed."""
        return await self._on(self._running().read, self._path(path), limit)

    def resolve_outside_endpoint(self, url: str) -> str:
        """A URL of this machine as commands inside reach it."""
        if self._making.network == "none":
            msg = (
                f"the sandbox has no network, so nothing in it reaches {_place(url)}: give the "
                "suite's sandbox network: bridge"
            )
            raise SandboxError(msg, retryable=False)
        parts = urlsplit(url)
        if self._making.network == "host" or parts.hostname not in _LOOPBACK:
            return url
        login = parts.netloc.rpartition("@")[0]
        port = "" if parts.port is None else f":{parts.port}"
        netloc = f"{login}@{OUTSIDE}{port}" if login else f"{OUTSIDE}{port}"
        return urlunsplit(parts._replace(netloc=netloc))

    async def _on(self, function: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
        """Have the daemon do something with it.

        Raises:
            GracefulError: It cannot, as what ran inside has made it wait for ever.
        """
        try:
            return await self._daemon.on(self.name, function, *args, **kwargs)
        except Stuck as error:
            if not self._restarts.piped:
                raise
            msg = (
                "what ran in the sandbox has put pipes in place of /etc/passwd or /etc/group, for "
                f"which the docker daemon waits: {error}"
            )
            raise GracefulError(msg) from error

    def _path(self, path: str) -> str:
        return posixpath.normpath(posixpath.join(self.workdir, path))

    def _running(self) -> Files:
        if self._files is None:
            msg = f"the sandbox {self.name} " + ("has been stopped" if self._ended else "is not up")
            raise SandboxError(msg, retryable=False)
        return self._files

    # What follows blocks.

    def _start(self, image: Image) -> Files:
        try:
            return self._up(image)
        finally:
            if self._ended:  # meanwhile nobody wants it any more
                remove(self._daemon.api, self.name)

    def _up(self, image: Image) -> Files:
        api, patient = self._daemon.api, self._daemon.patient
        self._create(image)
        said = self._user(image)
        user = by_number(said)
        self._restarts.mortal = is_root(user) and bool(self._making.settings.get("cap_add"))
        plain = Files(api, patient, self.name, user, Owner(), ())
        files = replace(
            plain,
            owner=self._owner(plain, said),
            hidden=self._hidden(),
            restarts=self._restarts,
            background=self._background(user),
        )
        self._make_workdir(files, image, own=said == image.user)
        patient.start(self.name)
        for source, target in self._spec.files.items():
            files.upload(Path(source), self._path(target))
        if files.background is not None:
            start_detached(api, self.name, files.background)
            self._restarts.used = is_root(user)
        return files

    def _background(self, user: str) -> Order | None:
        if self._spec.entrypoint is None:
            return None
        return Order(["/bin/sh", "-c", self._spec.entrypoint], user, self.workdir, 0, 0)

    def _create(self, image: Image) -> None:
        api, making = self._daemon.patient, self._making
        host: dict[str, Any] = {
            **making.settings,
            "network_mode": making.network,
            "read_only": making.read_only,
            "tmpfs": self._tmpfs(),
            "binds": list(self._spec.volumes),
        }
        if making.network == "bridge":
            host["extra_hosts"] = {OUTSIDE: "host-gateway"}
        env = {**making.env, **self._spec.env}
        if self._user(image) == UNPRIVILEGED and "HOME" not in {**image.env, **env}:
            env["HOME"] = "/tmp"  # noqa: S108 - inside; the image has no such user
        api.create_container(
            image.name,
            # Another's than the commands are, so that none can end it: it has no capabilities.
            ["sleep", "2147483647"],
            entrypoint=[],
            user=_KEEPER if is_root(self._user(image)) else "0",
            name=self.name,
            environment={**env, MARK: "none"},
            working_dir="/",
            labels=dict(making.labels),
            host_config=api.create_host_config(**host),
            healthcheck={"test": ["NONE"]},
            use_config_proxy=False,
            platform=making.platform,
        )

    def _user(self, image: Image) -> str:
        said = self._spec.user or self._making.user
        if said:
            return said
        return UNPRIVILEGED if image.user in _ROOT else image.user

    def _owner(self, files: Files, user: str) -> Owner:
        who, _, of = user.partition(":")
        if who.isdigit() and of.isdigit():
            return Owner(int(who), int(of))
        found = owner_of(user, files.text("/etc/passwd"), files.text("/etc/group"))
        if found is None:
            msg = f"docker: the sandbox's image has no user {user!r}: name one of its /etc/passwd"
            raise SandboxError(msg, retryable=False)
        return found

    def _tmpfs(self) -> dict[str, str]:
        """Those asked for; under a read-only root also /tmp and the workdir."""
        asked = dict(self._making.tmpfs)
        if self._making.read_only:
            for folder in ("/tmp", self.workdir):  # noqa: S108 - inside
                if not any(_covers(one, folder) for one in (*asked, *self._mounted())):
                    asked[folder] = ""
        return {folder: _tmpfs_options(options) for folder, options in asked.items()}

    def _mounted(self) -> list[str]:
        return [volume.split(":")[1] for volume in self._spec.volumes if ":" in volume]

    def _hidden(self) -> list[str]:
        return ["/"] if self._making.read_only else list(self._making.tmpfs)

    def _make_workdir(self, files: Files, image: Image, *, own: bool) -> None:
        """Before it starts, so that the daemon does what root without capabilities could not."""
        there = [*self._making.tmpfs, *self._mounted()]
        if self._making.read_only or any(_covers(one, self.workdir) for one in there):
            return
        known, key = self._making.workdirs, (image.name, self.workdir)
        if key not in known:  # each look mounts the container's disk
            known[key] = files.found(self.workdir)
        found = known[key]
        if found is not None and (own or self.workdir in _NOT_TO_TOUCH):
            return
        mode = 0o755 if found is None else found.mode & 0o777

        def folder(tar: tarfile.TarFile, name: str) -> None:
            add_folder(tar, name, files.owner, mode)

        files.put(self.workdir, folder)


def _covers(folder: str, path: str) -> bool:
    return path == folder or path.startswith(folder.rstrip("/") + "/")


def _tmpfs_options(options: str) -> str:
    """With what docker would otherwise forbid: running and writing what is there."""
    said = [option for option in options.split(",") if option]
    names = {option.partition("=")[0] for option in said}
    if not names & {"exec", "noexec"}:
        said.append("exec")
    if "mode" not in names:
        said.append("mode=1777")
    return ",".join(said)


def _place(url: str) -> str:
    with contextlib.suppress(ValueError):
        return urlsplit(url).hostname or url
    return url
