"""What a service would need to start and does not find here; nothing is started to know it."""

import re
import shlex
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from pytest_nel.core.protocols import Service
from pytest_nel.services._deployment import Deployment
from pytest_nel.services._server import Launch

_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*=")
_OPERATORS = re.compile(r"[;&|<>(){}$`*?\[\]~#!\\\n]")
#: What a shell does itself, so that no file of that name need be there.
_OF_A_SHELL = re.compile(
    r"[.:\[]|alias|bg|break|case|cd|command|continue|echo|eval|exit|export|false|fg|for|getopts|hash"
    r"|if|jobs|kill|printf|pwd|read|readonly|return|set|shift|source|test|time|times|trap|true|type"
    r"|ulimit|umask|unalias|unset|until|wait|while"
)
_SHELL = ["sh", "-c"]


class Missing(NamedTuple):
    """Why a service would not start.

    Attributes:
        reason: In words.
        refused: Whether a run would certainly be refused for it; else it may be there by then, as
            where ``setup_commands`` install it, or the run would begin and be incomplete.
    """

    reason: str
    refused: bool


def missing(service: Service, no_daemon: Callable[[], str | None]) -> Missing | None:
    """What a service would not find when it starts, or None.

    Args:
        service: Not started.
        no_daemon: Why no docker daemon answers, or None; asked where a container would run.

    Raises:
        ConfigError: What its start would refuse: a package, a file, a variable.
    """
    launch = service.would_run() if isinstance(service, Deployment) else None
    if launch is None:
        return None
    if launch.contained:
        why = no_daemon()
        if why is None:
            return None
        return Missing(f"its container needs a docker daemon: {why}", refused=False)
    return _program(launch)


def _program(launch: Launch) -> Missing | None:
    words, direct = launch.command, True
    if words[:2] == _SHELL and words[3:4] == ["sh"]:  # something comes before: it may install it
        words, direct = words[4:], False
    if words[:2] == _SHELL and len(words) == 3:
        name, direct = _first_word(words[2]), False
    else:
        name = words[0]
    if name is None or _is_there(name, launch):
        return None
    reason = f"{name!r} is no program here: it is looked up in PATH, or name it with its folder"
    return Missing(reason, refused=direct)


def _first_word(line: str) -> str | None:
    """The program that a line of a shell runs first; None where only a shell could tell."""
    try:
        words = shlex.split(line)
    except ValueError:
        return None
    while words and (words[0] == "exec" or _ASSIGNMENT.match(words[0])):
        if words[0].startswith("PATH="):
            return None
        del words[0]
    if not words or _OF_A_SHELL.fullmatch(words[0]) or _OPERATORS.search(words[0]):
        return None
    return words[0]


def _is_there(name: str, launch: Launch) -> bool:
    if "/" in name:  # as seen from where it runs
        name = str(Path(launch.cwd or ".", name).absolute())
    return shutil.which(name, path=launch.env.get("PATH")) is not None
