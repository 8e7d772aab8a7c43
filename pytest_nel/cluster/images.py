"""Builds container images and brings them to a registry, through the daemon's own API.

The SDK does both: the daemon's own builder takes the folder, and the credentials that
``docker login`` has stored are found by it. So the program ``docker`` need not be here.
"""

from collections.abc import Callable, Generator, Mapping
from contextlib import closing
from importlib import import_module
from pathlib import Path
from typing import Any

from pytest_nel.core.errors import InfraError
from pytest_nel.core.text import showable

_PATIENCE = 3600
"""Seconds that a step of a build, or a layer on its way, may say nothing."""
_LAST_WORDS = 15


def build(
    client: Any,  # the SDK has no annotations
    folder: Path,
    tag: str,
    *,
    args: Mapping[str, str],
    say: Callable[[str], object],
) -> str:
    """Build an image (blocking, minutes).

    Args:
        client: Of a daemon.
        folder: What is sent: a Dockerfile and all that it copies.
        tag: The image's name.
        args: Build arguments; they stay in the image's history.
        say: Told what the daemon says, in pieces.

    Returns:
        The image's id.

    Raises:
        InfraError: It was not built; the message ends with what was said last.
    """
    client.api.timeout = _PATIENCE

    def begin() -> Generator[Mapping[str, Any], None, None]:
        pieces: Generator[Mapping[str, Any], None, None] = client.api.build(
            path=str(folder),
            tag=tag,
            rm=True,
            forcerm=True,
            buildargs=dict(args),
            use_config_proxy=True,
            decode=True,
        )
        return pieces

    _follow(begin, f"{tag} was not built", say)
    found: str = client.images.get(tag).id
    return found


def push(client: Any, tag: str, say: Callable[[str], object]) -> None:
    """Bring an image to the registry that its name says (blocking, minutes).

    Args:
        client: Of a daemon.
        tag: The image's name.
        say: Told what the daemon says, in pieces.

    Raises:
        InfraError: The registry did not take it.
    """
    client.api.timeout = _PATIENCE
    repository, name = import_module("docker.utils").parse_repository_tag(tag)

    def begin() -> Generator[Mapping[str, Any], None, None]:
        pieces: Generator[Mapping[str, Any], None, None] = client.api.push(
            repository, tag=name or "latest", stream=True, decode=True
        )
        return pieces

    _follow(begin, f"{tag} was built and not pushed", say)


def _follow(
    begin: Callable[[], Generator[Mapping[str, Any], None, None]],
    blame: str,
    say: Callable[[str], object],
) -> None:
    """Pass on what comes, and raise what is said to be an error."""
    docker: Any = import_module("docker")
    heard = ""
    try:
        with closing(begin()) as pieces:  # also what nobody reads after an error
            for piece in pieces:
                if "error" in piece:
                    tail = "\n".join([*heard.splitlines()[-_LAST_WORDS:], str(piece["error"])])
                    msg = f"{blame}:\n{showable(tail)}"
                    raise InfraError(msg)
                text = _text(piece)
                heard = (heard + text)[-10_000:]
                say(text)
    except (docker.errors.DockerException, OSError) as error:
        msg = f"{blame}: {showable(str(getattr(error, 'explanation', None) or error))}"
        raise InfraError(msg) from error


def _text(piece: Mapping[str, Any]) -> str:
    if "stream" in piece:
        return str(piece["stream"])
    if "status" in piece and "progress" not in piece:  # bars are for terminals
        name = f"{piece['id']}: " if "id" in piece else ""
        return f"{name}{piece['status']}\n"
    return ""
