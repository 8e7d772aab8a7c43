"""What a piece of a user's code is: its source, and the plain values it was given."""

import inspect
import json
from collections.abc import Iterator
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Any

from pytest_nel.core.modules import file_of, is_project, namespace, near, tree_digest
from pytest_nel.core.values import Values, counts, is_setting

_WRAPPERS = 20
_BASES = (list, tuple, dict, set, frozenset)


def source_digest(thing: object) -> str:
    """Digest of the file that defines a function or class, and of the project's files it uses.

    Files that it imports, at the top or inside functions, are read, too, and what they import:
    a scorer is what its helpers make of it. Installed packages are not: their versions change
    for many reasons. Comments, formatting and the place of the checkout do not count. What a
    function was given (a closure, defaults, arguments of ``partial``) and what an object holds
    does.
    """
    values = Values(_folder(thing))
    bound = _bound(thing, values)
    first: Any = thing.func if isinstance(thing, partial) else thing
    own = _files(first if file_of(first) else type(first))
    used = [file for code in values.code for file in _files(code)]
    files = list(dict.fromkeys([*own, *filter(is_project, used)]))
    text = (tree_digest(files) if files else None) or _own_source(thing)
    if bound:
        text += "\n" + json.dumps(bound, sort_keys=True)
    return f"sha256:{sha256(text.encode('utf-8', 'surrogatepass')).hexdigest()}"


def plain_state(thing: object) -> dict[str, Any]:
    """The attributes of an object as plain values, nested ones included.

    Objects of the same project count by all their attributes and by their source (under the
    name ``(code)``), others by their public plain attributes. What is a URL is left out: the
    same server may stand elsewhere the next time; so is what is named as a secret, which may
    be renewed.
    """
    values = Values(_folder(type(thing)))
    state = values.attributes(thing)
    for kind in _BASES:
        if issubclass(type(thing), kind):
            content: Any = thing
            state["[]"] = values.plain(kind(content))
    used = {file for code in values.code for file in _files(code) if is_project(file)}
    used.discard(str(file_of(type(thing))))
    if used:
        marks = sorted(str(tree_digest([file])) for file in used)
        state["(code)"] = f"sha256:{sha256(' '.join(marks).encode()).hexdigest()}"
    return state


def constants(thing: object) -> dict[str, Any]:
    """The plain values in capitals of the module that defines it; they may come from anywhere."""
    found: dict[str, Any] = {}
    for each in reversed([*_wrapped(thing)]):
        folder = _folder(each)
        values = Values(folder)
        found |= {
            name: near(value, folder) if isinstance(value, str) else values.plain(value)
            for name, value in dict(namespace(each) or {}).items()
            if name.isupper() and is_setting(value) and counts(name, value)
        }
    return found


def _wrapped(thing: object) -> Iterator[object]:
    """A function, and what it is a wrapper of."""
    inner: object = thing
    for _ in range(_WRAPPERS):  # an object may have any attribute one asks it for
        if inner is None:
            return
        if not isinstance(inner, partial):
            yield inner
        inner = inner.func if isinstance(inner, partial) else getattr(inner, "__wrapped__", None)


def _folder(thing: object) -> str | None:
    file = file_of(thing)
    return str(Path(file).parent) if file else None


def _bound(thing: object, values: Values) -> dict[str, Any]:
    if isinstance(thing, type):
        return {}
    if inspect.isroutine(thing) or isinstance(thing, partial) or hasattr(thing, "__wrapped__"):
        return values.bound(thing)
    return values.attributes(thing)


def _files(thing: Any) -> list[str]:
    """The files of what defines it: its own, whatever that is, and those of its base classes."""
    things = [thing, *thing.__mro__[1:]] if isinstance(thing, type) else [thing]
    found = [file_of(each) for each in things]
    return [
        file for at, file in enumerate(found) if file is not None and (not at or is_project(file))
    ]


def _own_source(thing: object) -> str:
    try:
        return inspect.getsource(thing)  # type: ignore[arg-type]  # TypeError is caught
    except (OSError, TypeError):  # no file, or a built-in
        return ""
