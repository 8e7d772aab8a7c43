"""Images of containers: had once, by whoever comes first (blocking)."""

import hashlib
import re
import stat
from collections.abc import Generator, Iterator, Mapping
from contextlib import closing, suppress
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

from pytest_nel.core.errors import ConfigError
from pytest_nel.core.text import showable
from pytest_nel.sandboxes._archive import Owner
from pytest_nel.sandboxes._docker_daemon import Api, explained, status_of

_REPOSITORY = "nel-env"
_PIECE = 2**20
_LINES = 15
_REFUSED = {400, 404}
_OF_PLATFORM = re.compile(r"specified platform|operating system or architecture", re.IGNORECASE)
"""What a daemon says where an image is of another platform, or no platform is called so."""
_OF_DISK = re.compile(r"storage|quota|size", re.IGNORECASE)
"""What it says where it cannot limit a disk, or not to that."""


class Image(NamedTuple):
    """What an image says of itself.

    Attributes:
        name: By which containers are made of it.
        user: Whose rights its commands have; empty: root's.
        env: Its variables.
        id: The digest of all that it is made of.
        workdir: Where its commands start; empty: it does not say.
    """

    name: str
    user: str
    env: Mapping[str, str]
    id: str
    workdir: str = ""


def pulled(api: Api, name: str, platform: str | None) -> Image:
    """An image by its name, pulled where it is not here.

    Raises:
        ConfigError: It cannot be had.
    """
    docker: Any = import_module("docker")
    try:
        return _described(api, name)
    except docker.errors.ImageNotFound:
        pass
    repository, tag = docker.utils.parse_repository_tag(name)
    try:
        lines = api.pull(
            repository, tag=tag or "latest", stream=True, decode=True, platform=platform
        )
        _told(lines)
        return _described(api, name)
    except docker.errors.APIError as error:
        msg = (
            f"sandbox: the image {name!r} is not on the docker daemon and cannot be pulled: "
            f"{explained(error)}. Check its name and the registry's login (`docker pull {name}`), "
            "or build or load it there"
        )
        raise ConfigError(msg) from error


def built(api: Api, folder: Path, platform: str | None) -> Image:
    """The image of a folder with a Dockerfile, built where its content is new.

    Raises:
        ConfigError: It cannot be built.
    """
    docker: Any = import_module("docker")
    if not (folder / "Dockerfile").is_file():
        msg = f"sandbox: expected a Dockerfile in {folder}, and there is none"
        raise ConfigError(msg)
    name = tag_of(folder, platform)
    try:
        return _described(api, name)
    except docker.errors.ImageNotFound:
        pass
    said: list[str] = []
    try:
        lines = api.build(
            path=str(folder), tag=name, rm=True, forcerm=True, decode=True, platform=platform
        )
        _told(lines, said)
        return _described(api, name)
    except (docker.errors.DockerException, TypeError) as error:
        end = "\n".join("".join(said).splitlines()[-_LINES:])
        msg = (
            f"sandbox: the image of {folder} cannot be built: {explained(error)}\n"
            f"The end of what the build said:\n{showable(end)}"
        )
        raise ConfigError(msg) from error


def limited(api: Api, name: str, size: str, labels: Mapping[str, str]) -> None:
    """See whether the daemon can limit the disk of containers of an image.

    Args:
        api: The daemon.
        name: The image's.
        size: Of the disk, as docker writes it.
        labels: Those of the run's containers.

    Raises:
        ConfigError: It cannot, and says why.
    """
    docker: Any = import_module("docker")
    host = api.create_host_config(storage_opt={"size": size})
    try:
        _try(api, name, labels, host_config=host)
    except docker.errors.APIError as error:
        said = explained(error)
        if not _OF_DISK.search(said):
            raise
        msg = (
            f"sandbox: disk: {size}: the docker daemon cannot limit a container's disk: "
            f"{said}. Leave disk out (file_size limits each file), or give the daemon "
            "a storage driver that can"
        )
        raise ConfigError(msg) from error


def of_platform(
    api: Api, name: str, platform: str, labels: Mapping[str, str], folder: Path | None = None
) -> None:
    """See whether an image that is here is of a platform.

    Args:
        api: The daemon.
        name: The image's.
        platform: Which.
        labels: Those of the run's containers.
        folder: Of what it was built; None: it was pulled.

    Raises:
        ConfigError: It is not, and the daemon says why.
    """
    docker: Any = import_module("docker")
    try:
        _try(api, name, labels, platform=platform)
    except docker.errors.APIError as error:
        said = explained(error)
        if status_of(error) not in _REFUSED or not _OF_PLATFORM.search(said):
            raise  # a full disk says nothing of platforms
        way_out = f"`docker pull --platform {platform} {name}`"
        if folder is not None:
            way_out = f"have {folder / 'Dockerfile'} begin FROM an image that is of it"
        msg = (
            f"sandbox: platform: {platform}: no container of {name!r} can be made: {said}. "
            f"Leave platform out, or {way_out}"
        )
        raise ConfigError(msg) from error


def _try(api: Api, name: str, labels: Mapping[str, str], **options: Any) -> None:
    """Make a container of an image that never runs; its labels lead whoever cleans up to it."""
    docker: Any = import_module("docker")
    made = api.create_container(name, ["true"], labels=dict(labels), **options)
    with suppress(docker.errors.APIError):  # whoever ends the run may be faster
        api.remove_container(made["Id"], force=True, v=True)


def _told(lines: Generator[Mapping[str, Any], None, None], said: list[str] | None = None) -> None:
    """Read what the daemon says of its work; what failed is an error of the SDK.

    After an error there may be more, which nobody reads: the connection ends here, and not when
    the error that holds it is forgotten.
    """
    docker: Any = import_module("docker")
    with closing(lines):
        for line in lines:
            if said is not None:
                said.append(str(line.get("stream") or line.get("error") or ""))
            if "error" in line:
                raise docker.errors.APIError(line["error"])


def tag_of(folder: Path, platform: str | None = None) -> str:
    """``nel-env/NAME:`` and 12 digits of what is in the folder and of the platform, if any.

    Names, modes and contents count; times and owners do not.
    """
    name = re.sub(r"[^a-z0-9]+", "-", folder.resolve().name.lower()).strip("-") or "task"
    if name == "environment":  # as the folder of many tasks is called
        above = re.sub(r"[^a-z0-9]+", "-", folder.resolve().parent.name.lower()).strip("-")
        name = above or name
    digest = hashlib.sha256()
    if platform is not None:
        digest.update(f"platform {platform}".encode())
    for part in _content(folder):
        digest.update(len(part).to_bytes(8, "big") + part)
    return f"{_REPOSITORY}/{name}:{digest.hexdigest()[:12]}"


def _content(folder: Path) -> Iterator[bytes]:
    for path in sorted(folder.rglob("*")):
        if path.is_symlink():
            kind, content = "link", str(path.readlink()).encode()
        elif path.is_file():
            executable = path.stat().st_mode & stat.S_IXUSR
            kind = "program" if executable else "file"
            with path.open("rb") as file:
                content = hashlib.file_digest(file, "sha256").digest()
        else:
            kind, content = "folder", b""
        yield f"{kind} {path.relative_to(folder).as_posix()}".encode("utf-8", "surrogateescape")
        yield content


def _described(api: Api, name: str) -> Image:
    found = api.inspect_image(name)
    config = found["Config"] or {}
    env = dict(entry.partition("=")[::2] for entry in config.get("Env") or ())
    return Image(name, config.get("User") or "", env, found["Id"], config.get("WorkingDir") or "")


def owner_of(user: str, passwd: str, group: str) -> Owner | None:
    """The numbers behind ``user``, ``uid``, ``user:group`` and the like; None: nobody.

    Args:
        user: As docker writes it.
        passwd: The text of the image's /etc/passwd.
        group: That of /etc/group.
    """
    who, _, of = user.partition(":")
    users = [line.split(":") for line in passwd.splitlines() if line.count(":") >= 3]
    found = next((row for row in users if who in {row[0], row[2]}), None)
    if found is None and not who.isdigit():
        return None
    uid = int(who) if who.isdigit() else int(found[2]) if found else 0
    gid = int(found[3]) if found else 0
    if of:
        groups = [line.split(":") for line in group.splitlines() if line.count(":") >= 2]
        named = next((row[2] for row in groups if of in {row[0], row[2]}), of)
        if not named.isdigit():
            return None
        gid = int(named)
    return Owner(uid, gid)
