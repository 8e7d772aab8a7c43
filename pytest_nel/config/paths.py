"""Paths into a suite as people write them: ``services."my.model".url``, ``benchmarks[0].name``."""

import json
import re

from pytest_nel.config.interpolate import Path

_LONGEST = 100  # parts; no suite is nested so deeply
_BARE = re.compile(r"[^\s.\[\]=\"'{}$]+")
_QUOTED = re.compile(r"\"((?:[^\"\\]|\\.)*)\"|'([^']*)'")
_INDEX = re.compile(r"\[(\d{1,9})\]")


class BadPath(ValueError):
    """The text is no path; the message says where it stops being one."""


def read_path(text: str) -> tuple[Path, str]:
    """Read a path from the beginning of a text.

    A name with a dot, a space or another sign of this grammar stands in quotes. A number in
    brackets is an index; one between dots is whatever the value there takes.

    Returns:
        Its parts, names as text and indices as numbers, and what follows it in the text.

    Raises:
        BadPath: It begins with none, or breaks off.
    """
    parts: list[str | int] = []
    at = 0
    while True:
        name, at = _name(text, at)
        parts.append(name)
        while found := _INDEX.match(text, at):
            parts.append(int(found[1]))
            at = found.end()
        if len(parts) > _LONGEST:
            msg = f"it has more than {_LONGEST} parts"
            raise BadPath(msg)
        if not text.startswith(".", at):
            return tuple(parts), text[at:]
        at += 1


def _name(text: str, at: int) -> tuple[str, int]:
    quoted = _QUOTED.match(text, at)
    if quoted is not None:
        return _unquoted(quoted), quoted.end()
    bare = _BARE.match(text, at)
    if bare is None:
        came = repr(text[at]) if text[at : at + 1] not in {"", "="} else "nothing"
        after = f"after {text[:at]!r}" if at else "at the beginning"
        msg = f"expected a name {after}, got {came}"
        raise BadPath(msg)
    return bare[0], bare.end()


def _unquoted(found: re.Match[str]) -> str:
    if found[1] is None:
        return found[2]
    try:
        return str(json.loads(found[0], strict=False))
    except ValueError:
        msg = "a name in double quotes is written as in JSON"
        raise BadPath(msg) from None


def written_path(path: Path) -> str:
    """The path as :func:`read_path` reads it."""
    text = ""
    for part in path:
        if isinstance(part, int):
            text += f"[{part}]"
        else:
            text += f".{part if _BARE.fullmatch(part) else json.dumps(part)}"
    return text.removeprefix(".")
