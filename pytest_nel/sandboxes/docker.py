"""Containers of a docker daemon: no network, no privileges and limits, unless the suite says so."""

import asyncio
import json
import logging
import re
from collections.abc import Mapping, Sequence
from importlib import import_module
from pathlib import Path
from secrets import token_hex
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field, ValidationInfo, field_validator

from pytest_nel.config.env_map import resolve
from pytest_nel.core.errors import ConfigError
from pytest_nel.core.sandbox import ImageFacts, SandboxError, SandboxSpec
from pytest_nel.http.secret import Secrets
from pytest_nel.sandboxes._docker_daemon import (
    Daemon,
    processors,
    refuse_settings,
)
from pytest_nel.sandboxes._docker_images import Image, built, limited, of_platform, pulled
from pytest_nel.sandboxes._docker_paths import PathStat
from pytest_nel.sandboxes._docker_sandbox import DockerSandbox, Making
from pytest_nel.sandboxes._options import CommonOptions
from pytest_nel.sandboxes._owner import owner
from pytest_nel.sandboxes.leftovers import (
    ATTEMPT,
    BACKEND,
    OWNER,
    RUN,
    hangs,
    remove_marked,
    sweep,
)

_LOG = logging.getLogger(__name__)
_SIZE = r"^[0-9]+[bkmgBKMG]?$"
_TMPFS = re.compile(
    r"size=[0-9]+[kKmMgG%]?|mode=0?[0-7]{1,4}|[ug]id=[0-9]+|nr_(inodes|blocks)=[0-9]+[kKmMgG]?"
    r"|mpol=\S+|defaults|r[ow]|a?sync|dirsync|(no)?(exec|suid|dev|diratime|mand)"
    r"|(no)?(strict|rel)?atime"
)


def _bytes(size: str) -> int:
    """A size as docker writes it, in bytes."""
    unit = size[-1].lower()
    return int(size) if unit.isdigit() else int(size[:-1]) << 10 * "bkmg".index(unit)


class DockerBackend:
    """Makes containers.

    Args:
        config: Its options.
        run_id: The run, which containers name.
        secrets: What no message may show.
        sweeps: Whether opening it removes what dead runs have left.
    """

    answers_by: ClassVar[tuple[str, ...]] = (
        *("image", "image_template", "container_env", "memory", "cpus", "pids", "network"),
        *("read_only", "tmpfs", "user", "platform", "cap_add", "stateful", "capture_cmd"),
        *("scrub_git_history", "output_limit", "shm_size", "file_size", "disk"),
    )

    class Config(CommonOptions):
        """Options of a sandbox of type ``docker``.

        Attributes:
            memory: What all processes of one may use together, swap included, as docker writes it.
            cpus: Processors' worth of time; where it is not said, no more than the daemon has.
            pids: Processes and threads at a time.
            shm_size: Of /dev/shm, which is part of memory and so less; where it is not said, no
                more than half of that.
            file_size: The largest file that a process writes.
            disk: What one may write beside volumes and tmpfs; null does not limit it. Most daemons
                cannot: those are refused.
            network: ``none``; ``bridge`` reaches whatever this machine reaches, and lets problems
                that ask for it have it; ``host`` is this machine's own.
            read_only: Whether only tmpfs and volumes can be written; the workdir and /tmp are
                tmpfs then.
            tmpfs: Folders in memory and their options, such as ``/scratch: size=64m``.
            user: Whose rights commands have; null: the image's own user, or 1000:1000 where that
                is root. What a problem asks for goes before.
            cap_add: Capabilities that root inside has all the same, such as CHOWN.
            platform: Such as linux/amd64, where an image has several.
        """

        memory: Annotated[str, Field(pattern=_SIZE)] = "4g"
        cpus: Annotated[float, Field(gt=0, allow_inf_nan=False)] = 2.0
        pids: Annotated[int, Field(ge=2)] = 512
        shm_size: Annotated[str, Field(pattern=_SIZE)] = "64m"
        file_size: Annotated[str, Field(pattern=_SIZE)] = "4g"
        disk: Annotated[str, Field(pattern=_SIZE)] | None = None
        network: Literal["none", "bridge", "host"] = "none"
        read_only: bool = False
        tmpfs: dict[Annotated[str, Field(pattern=r"^/[^:,]+$")], str] = Field(default_factory=dict)
        user: Annotated[str, Field(pattern=r"^[A-Za-z0-9_.-]+(:[A-Za-z0-9_.-]+)?$")] | None = None
        cap_add: list[Annotated[str, Field(pattern=r"^[A-Z_]+$")]] = Field(default_factory=list)
        platform: Annotated[str, Field(min_length=1)] | None = None

        @field_validator("shm_size")
        @classmethod
        def _less(cls, size: str, said: ValidationInfo) -> str:
            memory = said.data.get("memory")
            if memory is not None and _bytes(size) >= _bytes(memory):
                msg = (
                    f"expected less than memory, {memory}, which /dev/shm is part of: filled, it "
                    f"would end the container; got {size!r}"
                )
                raise ValueError(msg)
            return size

        @field_validator("tmpfs")
        @classmethod
        def _plain(cls, folders: dict[str, str]) -> dict[str, str]:
            said = [one for options in folders.values() for one in options.split(",") if one]
            if wrong := [option for option in said if not _TMPFS.fullmatch(option)]:
                msg = (
                    "expected mount options such as size=64m, mode=1777, uid=1000, nr_inodes=1k, "
                    f"ro or noexec, got {wrong[0]!r}"
                )
                raise ValueError(msg)
            return {folder.rstrip("/"): options for folder, options in folders.items()}

    def __init__(
        self, config: Config, *, run_id: str, secrets: Secrets, sweeps: bool = True
    ) -> None:
        self._config = config
        self._run_id = run_id
        self._secrets = secrets
        self._sweeps = sweeps
        self._id = token_hex(8)
        self._daemon = Daemon(config.concurrency)
        self._env: Mapping[str, str] = {}
        self._cpus = config.cpus
        self._workdirs: dict[tuple[str, str], PathStat | None] = {}
        self._images: dict[tuple[str, str], asyncio.Task[Image]] = {}

    async def open(self) -> None:
        """See whether a daemon makes such containers; remove what dead runs of here have left.

        What fails or is cancelled leaves no connection open, and may be tried again.
        """
        self._env = resolve(self._config.container_env, "sandbox.container_env")
        await self._daemon.open()
        try:
            if self._sweeps:
                await self._sweep()
            await self._look()
        except BaseException:  # nobody closes what has not been opened
            await self._daemon.close()
            raise

    async def _sweep(self) -> None:
        try:
            swept = await self._daemon.call(sweep, self._daemon.api)
        except SandboxError as error:  # what is left over harms nobody's results
            _LOG.warning("leftovers of dead runs cannot be removed: %s", error)
        else:
            for one in swept.removed:
                _LOG.warning("removed the sandbox %s of run %s, which has died", one.name, one.run)
            for one in swept.stuck:
                _LOG.warning("of run %s, which has died: %s", one.run, hangs(one.name))

    async def _look(self) -> None:
        api = self._daemon.api
        try:
            if "cpus" not in self._config.model_fields_set:
                self._cpus = min(self._cpus, await self._daemon.call(processors, api))
            await self._daemon.call(refuse_settings, api, self._settings())
        except SandboxError as error:  # attempts say more, should it last
            _LOG.warning("the options of sandboxes could not be looked at: %s", error)

    async def close(self) -> None:
        """Remove every sandbox that is still there."""
        for task in self._images.values():
            task.cancel()
        await asyncio.gather(*self._images.values(), return_exceptions=True)
        try:
            if self._daemon.api is not None:
                await self._daemon.call(self._remove_all)
        finally:
            await self._daemon.close()

    def _remove_all(self) -> None:
        daemon = self._daemon
        for name in remove_marked(daemon.api, BACKEND, self._id, known=daemon.stuck):
            _LOG.warning("%s", hangs(name))

    async def prepare(self, specs: Sequence[SandboxSpec]) -> None:
        """Get the images of these, each once.

        Raises:
            ConfigError: One cannot be had, or a problem asks for more than the suite allows.
        """
        for spec in specs:
            self._network(spec)
        distinct = {self._key(spec): spec for spec in specs}
        await asyncio.gather(*(self._image(spec) for spec in distinct.values()))

    async def image_digest(self, spec: SandboxSpec) -> str:
        """What its image is made of; one name may stand for another image tomorrow.

        Raises:
            ConfigError: The image cannot be had.
        """
        return (await self._image(spec)).id

    async def image_facts(self, spec: SandboxSpec) -> ImageFacts:
        """What its image says of itself.

        Raises:
            ConfigError: The image cannot be had.
        """
        image = await self._image(spec)
        return ImageFacts(workdir=image.workdir, user=image.user)

    def create(self, spec: SandboxSpec, name: str) -> DockerSandbox:
        """A sandbox that is not started."""
        config = self._config
        making = Making(
            settings=self._settings(),
            env=self._env,
            labels=self._labels(name),
            network=self._allowed(spec),
            tmpfs=config.tmpfs,
            read_only=config.read_only,
            user=config.user,
            platform=config.platform,
            output_limit=config.output_limit,
            workdirs=self._workdirs,
        )

        async def image() -> Image:
            try:
                return await self._image(spec)
            except ConfigError as error:  # not before the run: an attempt's own trouble
                raise SandboxError(str(error), retryable=False) from error

        return DockerSandbox(self._daemon, spec, making, image)

    def _labels(self, attempt: str) -> dict[str, str]:
        return {
            RUN: self._run_id,
            ATTEMPT: attempt,
            BACKEND: self._id,
            OWNER: json.dumps(owner()),
        }

    def _allowed(self, spec: SandboxSpec) -> str:
        try:
            return self._network(spec)
        except ConfigError as error:  # of a problem that nobody has looked at before the run
            raise SandboxError(str(error), retryable=False) from error

    def _network(self, spec: SandboxSpec) -> str:
        allowed = self._config.network
        if spec.network in {None, allowed, "none"}:
            return spec.network or allowed
        if spec.network == "bridge" and allowed == "host":
            return "bridge"
        msg = (
            f"sandbox: a problem asks for network {spec.network!r}, and the suite allows "
            f"{allowed!r}: write network: {spec.network} into its sandbox to let it"
        )
        raise ConfigError(msg)

    def _settings(self) -> dict[str, Any]:
        config = self._config
        docker: Any = import_module("docker")
        largest = docker.utils.parse_bytes(config.file_size)
        return {
            "ulimits": [docker.types.Ulimit(name="fsize", soft=largest, hard=largest)],
            "storage_opt": None if config.disk is None else {"size": config.disk},
            "mem_limit": config.memory,
            "memswap_limit": config.memory,
            "nano_cpus": int(self._cpus * 1e9),
            "pids_limit": config.pids,
            "shm_size": self._shm_size(),
            "security_opt": ["no-new-privileges:true"],
            "cap_drop": ["ALL"],
            "cap_add": config.cap_add or None,
            "init": True,
            "log_config": docker.types.LogConfig(type="none"),
        }

    def _shm_size(self) -> int:
        config = self._config
        size = _bytes(config.shm_size)
        return (
            size if "shm_size" in config.model_fields_set else min(size, _bytes(config.memory) // 2)
        )

    def _key(self, spec: SandboxSpec) -> tuple[str, str]:
        if spec.image or spec.environment_dir is None:
            name = spec.image or self._config.image
            if name is None:
                msg = "sandbox: there is no image: write image: NAME into the suite's sandbox"
                raise ConfigError(msg)
            return ("image", name)
        return ("folder", str(Path(spec.environment_dir).resolve()))

    def _image(self, spec: SandboxSpec) -> asyncio.Future[Image]:
        """The image of a problem, on its way or here; who is cancelled cancels nobody else's."""
        key = self._key(spec)
        task = self._images.get(key)
        if task is None or (task.done() and (task.cancelled() or task.exception() is not None)):
            task = asyncio.create_task(self._had(*key))
            self._images[key] = task
        return asyncio.shield(task)

    async def _had(self, kind: str, name: str) -> Image:
        api, platform, disk = self._daemon.patient, self._config.platform, self._config.disk
        folder = None if kind == "image" else Path(name)
        labels = self._labels("none: options are tried")
        try:
            if folder is None:
                image = await self._daemon.fetch(pulled, api, name, platform)
            else:
                image = await self._daemon.fetch(built, api, folder, platform)
            if platform is not None:
                await self._daemon.call(of_platform, api, image.name, platform, labels, folder)
            if disk is not None:
                await self._daemon.call(limited, api, image.name, disk, labels)
        except ConfigError as error:  # which may quote a build's output
            raise ConfigError(self._secrets.out_of_text(str(error))) from error
        return image
