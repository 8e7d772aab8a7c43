"""What a piece of a user's code is: its source, and the plain values it was given."""

import inspect
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass
from enum import Enum
from hashlib import sha256
from pathlib import Path
from types import ModuleType
from typing import Any

_PLAIN = (str, int, float, bool, type(None))
_ITEMS = 200  # of one container: what is longer is data, and data has a hash of its own
_DEPTH = 5
_SECRET = re.compile(r"(?:^|_)(?:key|secret|password|passwd|credentials?|token)$", re.IGNORECASE)


def source_digest(thing: object) -> str:
    """Digest of the file that defines a function or class, and of the files beside it in use.

    Modules of the same folder (and below) that the file imports are read, too: a scorer is what
    its helpers make of it. Installed packages are not: their versions change for many reasons.
    """
    names = _namespace(thing)
    sources = dict(_sources(names)) if names else {}
    if not sources:
        sources = {"": _own_source(thing)}
    mark = sha256()
    for name in sorted(sources):
        mark.update(f"{name}\0{sources[name]}\0".encode("utf-8", "surrogatepass"))
    return f"sha256:{mark.hexdigest()}"


def _namespace(thing: object) -> Mapping[str, Any] | None:
    """The global names of the module that defines a function, a class or an object's class."""
    own = getattr(thing, "__globals__", None)
    if isinstance(own, Mapping):  # of a type of functions it is no mapping
        return own
    module = sys.modules.get(str(getattr(thing, "__module__", "")))
    return None if module is None else vars(module)


def _sources(names: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """(file below the folder, text) of a module and of its neighbours."""
    file = names.get("__file__")
    if file is None:
        return
    folder = Path(file).parent
    seen = {file}
    waiting = [names]
    while waiting:
        one = waiting.pop()
        path = Path(one["__file__"])
        try:
            yield str(path.relative_to(folder)), path.read_text(encoding="utf-8", errors="replace")
        except OSError:  # it came from a zip file, or is gone
            continue
        for module in _used_by(one):
            near = getattr(module, "__file__", None)
            if near and near not in seen and near.endswith(".py") and folder in Path(near).parents:
                seen.add(near)
                waiting.append(vars(module))


def _used_by(names: Mapping[str, Any]) -> Iterator[ModuleType]:
    for value in list(names.values()):
        if isinstance(value, ModuleType):
            yield value
            continue
        module = sys.modules.get(str(_module_of(value)))
        if module is not None:
            yield module


def _module_of(value: object) -> object:
    try:
        return getattr(value, "__module__", None)
    except Exception:  # noqa: BLE001 - a module may hold anything, lazy proxies included
        return None


def _own_source(thing: object) -> str:
    try:
        return inspect.getsource(thing)  # type: ignore[arg-type]  # TypeError is caught
    except (OSError, TypeError):  # no file, or a built-in
        return ""


def plain_state(thing: object) -> dict[str, Any]:
    """The attributes of an object that are plain values, nested ones included.

    Objects of the same project count by all their attributes, others by their public plain ones.
    What is a URL is left out: the same server may stand elsewhere the next time; so is what is
    named as a secret, which may be renewed.
    """
    state = getattr(thing, "__dict__", None) or {}
    folder = _folder(type(thing))
    return {name: _plain(value, folder, 0) for name, value in state.items() if _counts(name, value)}


def constants(thing: object) -> dict[str, Any]:
    """The plain values in capitals of the module that defines it; they may come from anywhere."""
    names = _namespace(thing) or {}
    return {
        name: value
        for name, value in names.items()
        if name.isupper() and isinstance(value, _PLAIN) and _counts(name, value)
    }


def _counts(name: str, value: object) -> bool:
    is_url = isinstance(value, str) and value.startswith(("http://", "https://"))
    return not (is_url or _SECRET.search(name))


def _folder(kind: type) -> Path | None:
    file = (_namespace(kind) or {}).get("__file__")
    return Path(file).parent if file else None


def _plain(value: Any, folder: Path | None, depth: int) -> Any:  # Any: whatever an attribute holds
    if isinstance(value, _PLAIN):
        return value
    kind = f"{type(value).__module__}.{type(value).__qualname__}"
    few = not hasattr(value, "__len__") or len(value) <= _ITEMS
    if depth >= _DEPTH or not few or isinstance(value, Enum | bytes):
        return str(value) if isinstance(value, Enum) else kind
    if isinstance(value, Sequence):
        return [_plain(item, folder, depth + 1) for item in value]
    found = value if isinstance(value, Mapping) else {"": kind, **_attributes(value, folder)}
    return _plain_items(found, folder, depth)


def _plain_items(value: Mapping[Any, Any], folder: Path | None, depth: int) -> dict[str, Any]:
    return {
        str(name): _plain(item, folder, depth + 1)
        for name, item in value.items()
        if _counts(str(name), item)
    }


def _attributes(value: object, folder: Path | None) -> dict[str, Any]:
    """What of an object counts: everything of the project's own, of others what is plain."""
    if isinstance(value, type):
        return {}
    if is_dataclass(value):
        return {field.name: getattr(value, field.name, None) for field in fields(value)}
    state = dict(getattr(value, "__dict__", None) or {})
    here = _folder(type(value))
    if folder is not None and here is not None and (here == folder or folder in here.parents):
        return state
    return {
        name: item
        for name, item in state.items()
        if not name.startswith("_") and isinstance(item, _PLAIN)
    }
