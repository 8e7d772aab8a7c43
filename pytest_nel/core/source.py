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
    own: Mapping[str, Any] | None = getattr(thing, "__globals__", None)
    if own is not None:
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

    What is a URL is left out: the same server may stand elsewhere the next time; so is what is
    named as a secret, which may be renewed. Other objects count by their type.
    """
    state = getattr(thing, "__dict__", None) or {}
    return {
        name: _plain(value, 0)
        for name, value in state.items()
        if not (_is_url(value) or _SECRET.search(name))
    }


def _is_url(value: object) -> bool:
    return isinstance(value, str) and value.startswith(("http://", "https://"))


def _plain(value: Any, depth: int) -> Any:  # Any: an attribute may be anything
    if isinstance(value, Enum):
        return str(value)
    if isinstance(value, _PLAIN):
        return value
    if is_dataclass(value) and not isinstance(value, type):
        value = {field.name: getattr(value, field.name) for field in fields(value)}
    elif hasattr(value, "model_dump"):
        value = dict(value)
    if depth < _DEPTH and isinstance(value, Mapping | Sequence) and len(value) <= _ITEMS:
        return _plain_items(value, depth + 1)
    return f"{type(value).__module__}.{type(value).__qualname__}"


def _plain_items(value: Any, depth: int) -> Any:  # Any: as above
    if isinstance(value, Mapping):
        return {str(key): _plain(item, depth) for key, item in value.items() if not _is_url(item)}
    return [_plain(item, depth) for item in value]
