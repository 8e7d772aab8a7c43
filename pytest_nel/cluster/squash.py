"""A container image as the squash file that Slurm's containers are made of, by ``enroot import``.

It is done on the machine that has ``enroot``, by a script that any ``sh`` runs, so no docker is
needed there or here. The file appears whole or not at all, and nothing goes on without us.
"""

import re
import subprocess
from collections.abc import Sequence
from pathlib import PurePosixPath
from typing import NamedTuple, TextIO

from pytest_nel.cluster.ssh import Ran, Remote
from pytest_nel.core.errors import ConfigError, InfraError

_HOST = r"[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)+(?::\d+)?|[A-Za-z0-9-]+:\d+|localhost"
_PART = r"[a-z0-9]+(?:(?:\.|_{1,2}|-+)[a-z0-9]+)*"
_IMAGE = re.compile(
    rf"(?:docker://)?(?:(?P<user>[^@#/:\s]+)@(?=[^/#]+#))?(?:(?P<registry>{_HOST})[/#])?"
    rf"(?P<name>{_PART}(?:/{_PART})*)"
    r"(?::(?P<tag>\w[\w.-]{0,127}))?(?:@(?P<digest>sha256:[0-9a-f]{64}))?",
    re.ASCII,
)
_REGISTRY = re.compile(rf"(?:{_HOST})(?:/{_PART})*", re.ASCII)
_TAG = re.compile(r"\w[\w.-]{0,127}", re.ASCII)
_FILE = re.compile(r"[^/\0]+")

OF_THE_REFERENCE = frozenset({"base", "full", "gym", "harbor", "lm-eval", "skills"})
"""Names that the reference system builds images for, out of sources that are not here."""

THERE, MADE = "nel: there", "nel: made"
NO_ENROOT = 127

# Arguments: folder, file, URI, "force" or "keep".
# Our end of standard input closes when we are gone, also by SIGKILL or when the network is: then
# the process group, which is this script's alone, is ended, and the trap removes what was begun.
# A shell says on standard error what has ended a command; that nobody reads it must not end the
# shell. A pending signal may come amid the cleaning at the exit, so it cleans by itself.
_SCRIPT = f"""
case $1 in "~") dir=$HOME ;; "~/"*) dir=$HOME/${{1#??}} ;; *) dir=$1 ;; esac
out=$dir/$2
part=$dir/.$2.$$.part
if [ -d "$out" ]; then
  echo "$2 is a folder there" >&2
  exit 1
fi
if [ "$4" = keep ] && [ -e "$out" ]; then
  echo "{THERE} $(wc -c <"$out")"
  exit 0
fi
command -v enroot >/dev/null || exit {NO_ENROOT}
mkdir -p -- "$dir" || exit 1
exec 3<&0 </dev/null
( cat <&3 >/dev/null 2>&1; kill -TERM 0 ) &
watch=$!
clean() {{ rm -f -- "$part"; kill "$watch" 2>/dev/null; }}
trap clean EXIT
trap 'clean; exit 143' HUP INT TERM
trap : PIPE
enroot import -o "$part" -- "$3" >&2 || exit 1
mv -f -- "$part" "$out" || exit 1
echo "{MADE} $(wc -c <"$out")"
"""


class Image(NamedTuple):
    """A container image in a registry.

    Attributes:
        user: Who logs in there; the password is in enroot's own file of credentials.
        registry: ``host[:port]``; None means enroot's own choice, Docker Hub.
        name: Without a tag.
        tag: None means the registry's ``latest``, or that the digest says it.
        digest: ``sha256:…``.
    """

    user: str | None
    registry: str | None
    name: str
    tag: str | None
    digest: str | None

    @property
    def uri(self) -> str:
        """As enroot takes it, which has ``#`` after the registry, where docker has ``/``."""
        user = "" if self.user is None else f"{self.user}@"
        registry = "" if self.registry is None else f"{self.registry}#"
        return f"docker://{user}{registry}{self.name}{self._version}"

    @property
    def file_name(self) -> str:
        """A name for its file: ``nvcr.io-nvidia-pytorch-24.01.sqsh``."""
        registry = "" if self.registry is None else f"{self.registry}/"
        return re.sub(r"[/:@]", "-", f"{registry}{self.name}{self._version}") + ".sqsh"

    @property
    def _version(self) -> str:
        tag = "" if self.tag is None else f":{self.tag}"
        return tag if self.digest is None else f"{tag}@{self.digest}"


def parsed(name: str) -> Image | None:
    """An image as docker or enroot names it; None where it is no such name."""
    match = _IMAGE.fullmatch(name)
    return None if match is None else Image(**match.groupdict())


def image(target: str, *, registry: str | None = None, tag: str | None = None) -> Image:
    """Read the name of an image.

    Args:
        target: ``[docker://][USER@][REGISTRY/]NAME[:TAG][@DIGEST]``, or with enroot's ``#`` after
            the registry.
        registry: Where the image is, when the name does not say it; may have a path.
        tag: Its tag, when the name has none.

    Raises:
        ConfigError: It is no such name, or says what an argument says, too.
    """
    if target in OF_THE_REFERENCE:
        msg = (
            f"{target!r} is an image that the reference system builds from a Dockerfile of its "
            "own, which is not here: name an image of a registry, such as one that "
            f"`nel package --push` made, or docker.io/library/{target} for one that is called so"
        )
        raise ConfigError(msg)
    found = parsed(target)
    if found is None:
        shown = "one with an @ (not shown: it may hold a password)" if "@" in target else target
        msg = f"expected an image such as nvcr.io/nvidia/pytorch:24.01, got {shown}"
        raise ConfigError(msg)
    if registry is not None:
        found = _in_registry(found, registry)
    if tag is not None:
        found = _tagged(found, tag)
    return found


def _in_registry(found: Image, registry: str) -> Image:
    if found.registry is not None:
        msg = f"-r {registry}: the image says a registry itself, {found.registry}: leave one out"
        raise ConfigError(msg)
    if not _REGISTRY.fullmatch(registry):
        msg = f"-r expects a registry such as nvcr.io/nvidia, got {registry!r}"
        raise ConfigError(msg)
    host, _, path = registry.partition("/")
    return found._replace(registry=host, name=f"{path}/{found.name}".lstrip("/"))


def _tagged(found: Image, tag: str) -> Image:
    if found.tag is not None or found.digest is not None:
        msg = f"-t {tag}: the image says its tag or digest itself: leave one out"
        raise ConfigError(msg)
    if not _TAG.fullmatch(tag):
        msg = f"-t expects a tag such as 24.01, got {tag!r}"
        raise ConfigError(msg)
    return found._replace(tag=tag)


class Order(NamedTuple):
    """What is wanted.

    Attributes:
        image: What is imported.
        folder: Where the file goes; made where it is not there.
        file: The file's name.
        force: Whether a file that is there is replaced.
    """

    image: Image
    folder: str
    file: str
    force: bool = False

    @property
    def path(self) -> str:
        """The file."""
        return str(PurePosixPath(self.folder, self.file))

    def words(self) -> list[str]:
        """The command that does it; what is of the user's is an argument of it, never code.

        Raises:
            ConfigError: The file is named with a folder.
        """
        if not _FILE.fullmatch(self.file) or self.file in {".", ".."}:
            msg = f"-f expects the name of a file, without a folder, got {self.file!r}"
            raise ConfigError(msg)
        choice = "force" if self.force else "keep"
        script = "\n".join(line for line in _SCRIPT.splitlines() if line)
        return ["sh", "-c", script, "sh", self.folder, self.file, self.image.uri, choice]


class Imported(NamedTuple):
    """What came of it.

    Attributes:
        made: Whether it was imported; else it was there.
        size: Bytes.
    """

    made: bool
    size: int


def squash(order: Order, errors: TextIO, remote: Remote | None = None) -> Imported:
    """Import an image (blocking, minutes).

    Args:
        order: What is wanted.
        errors: Where what enroot says is passed on.
        remote: The machine; None means this one.

    Raises:
        ConfigError: The order makes no sense.
        InfraError: It was not done; the message says where and why.
    """
    words = order.words()
    where = "here" if remote is None else f"on {remote.host}"
    ran = _here(words, errors) if remote is None else remote.run(words, errors=errors)
    if ran.status == NO_ENROOT:
        msg = f"enroot is not on the PATH {where}"
        raise InfraError(msg)
    said = ran.output.splitlines()[-1:]
    if ran.status or not said:
        last = ran.errors.strip().splitlines()[-1:] or ["it says nothing"]
        msg = f"{order.path} was not made {where} (status {ran.status}): {last[0]}"
        raise InfraError(msg)
    mark, _, size = said[0].rpartition(" ")
    return Imported(mark.strip() == MADE, int(size))


def _here(words: Sequence[str], errors: TextIO) -> Ran:
    process = subprocess.Popen(  # noqa: S603 - our script
        words,
        stdin=subprocess.PIPE,  # its end is the end of the script
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
        encoding="utf-8",
        errors="replace",
    )
    assert process.stdin is not None
    assert process.stdout is not None
    assert process.stderr is not None
    with process:  # however this ends, standard input is closed first, and then waited
        said = []
        for line in process.stderr:
            errors.write(line)
            said.append(line)
        output = process.stdout.read()
        status = process.wait()
    return Ran(status, output, "".join(said))
