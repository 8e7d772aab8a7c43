"""Runs a benchmark's checks on the folder it is started in; a script, run alone in a sandbox.

It is told by a JSON object on stdin. On stdout, which nothing else here can print to, it says each
text on a line and what became of the checks on the last one, which output cut in the middle keeps.
The checks may start what the agent wrote, as the same user: that can end this process, and neither
read its memory nor write to its files. Python 3.8 and newer.
"""

from __future__ import annotations  # images may have an older Python than ours

import ast
import hashlib
import json
import os
import sys
import traceback
from collections.abc import Callable
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from typing import Any

_CHARACTERS = 3000  # of one file
_NAME = "checks"


def hidden() -> None:
    """No process of the same user may read this one's memory or open its files (not dumpable)."""
    with suppress(ImportError, OSError, AttributeError):  # no Linux, or a small Python
        import ctypes  # noqa: PLC0415 - as said

        ctypes.CDLL(None).prctl(4, 0, 0, 0, 0)


def looked(
    told: dict[str, Any], said: dict[str, Any], root: str, say: Callable[[Any], None]
) -> None:
    """Which files there are, whether they are those of the beginning, and their texts."""
    room, seen = told["room"], 0
    for folder, folders, names in os.walk(root):
        folders[:] = sorted(each for each in folders if each not in told["skipped"])
        for name in sorted(names):
            path = Path(folder, name)
            data, mark = content(path, told["part"])
            if mark is None:
                continue
            seen += 1
            short = path.relative_to(root).as_posix()
            said["changed"] |= told["given"].get(short) != mark
            text = shown(short, data) if room > 0 else ""
            if text:
                said["texts"] += 1
                say({"file": [short, text]})
                room -= len(text) + len(short)
    said["changed"] |= seen != len(told["given"])


def content(path: Path, part: int) -> tuple[bytes, list[Any] | None]:
    """The beginning of a file, and its size with that beginning's hash; no links, no devices."""
    try:
        if path.is_symlink() or not path.is_file():
            return b"", None
        with path.open("rb") as file:
            data = file.read(part)
        return data, [path.stat().st_size, hashlib.sha256(data).hexdigest()]
    except OSError:
        return b"", None


def shown(short: str, data: bytes) -> str:
    """The text of a file that is not hidden; nothing of others."""
    if any(each.startswith(".") for each in short.split("/")) or b"\0" in data:
        return ""
    try:
        return data.decode("utf-8")[:_CHARACTERS]
    except UnicodeDecodeError:
        return ""


def checked(told: dict[str, Any], said: dict[str, Any], root: str) -> None:
    """What the checks say, or how they end."""
    space: dict[str, Any] = {"__name__": _NAME}
    places = list(sys.path)
    try:
        lacking = missing(told["code"])
        exec(compile(told["code"], _NAME, "exec"), space)  # noqa: S102 - what this is for
        grade = space["grade"]
    except BaseException as error:  # noqa: BLE001 - anything may come
        said["broken"] = told_of(error)
        return
    try:
        found = dict(grade(told["transcript"], root))
        scores = [[str(name), value] for name, value in found.items()]
        json.dumps(scores)
        said["scores"] = scores
    except BaseException as error:  # noqa: BLE001 - anything may come
        lacks = isinstance(error, ImportError) and own(error) and sys.path == places
        known = (getattr(error, "name", None) or "").partition(".")[0] in lacking
        said["broken" if lacks and known else "failed"] = told_of(error)


def missing(code: str) -> set[str]:
    """Packages that the checks import and that were not here before they began."""
    nodes = list(ast.walk(ast.parse(code)))
    names = {each.name for node in nodes if isinstance(node, ast.Import) for each in node.names}
    names |= {n.module or "" for n in nodes if isinstance(n, ast.ImportFrom) and not n.level}
    tops = {name.partition(".")[0] for name in names} - {"__main__"}
    return {top for top in tops if find_spec(top) is None}


def told_of(error: BaseException) -> str:
    """An error in a line or two."""
    return "".join(traceback.format_exception_only(type(error), error)).strip()[-500:]


def own(error: BaseException) -> bool:
    """Whether the checks themselves, and nothing that they have loaded, raised it."""
    frames = traceback.extract_tb(error.__traceback__)
    files = [each.filename for each in frames if "importlib" not in each.filename]
    return bool(files) and files[-1] == _NAME


def main() -> None:
    """Look, then check; what runs here may have left threads, so the process ends at once."""
    hidden()
    told = json.load(sys.stdin)
    out = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    said: dict[str, Any] = {"changed": False, "texts": 0}
    root = str(Path.cwd())

    def say(what: dict[str, Any]) -> None:
        out.write(json.dumps({**what, "token": told["token"]}) + "\n")  # it stands at the end

    looked(told, said, root, say)
    if told["code"] is not None:
        checked(told, said, root)
    say(said)
    out.flush()
    os._exit(0)


if __name__ == "__main__":
    main()
