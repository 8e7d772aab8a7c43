"""What the values are that code has been given: as JSON-like data, the same in every process."""

import json
import math
import re
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence, Sized
from collections.abc import Set as AbstractSet
from enum import Enum
from functools import lru_cache, partial
from hashlib import sha256
from itertools import islice
from pathlib import PurePath
from types import (
    BuiltinFunctionType,
    FunctionType,
    GenericAlias,
    MethodDescriptorType,
    MethodType,
    ModuleType,
    SimpleNamespace,
    UnionType,
    WrapperDescriptorType,
)
from typing import Any, cast

from pytest_nel.core.modules import file_of, is_project, kind_name, near

_ITEMS = 200  # of one container: of what is longer, a digest is enough
_SHOWN_LEVELS = 4  # of what is deeper, too
_DEPTH = 60
_LONGEST_INT = 10_000  # bits; Python refuses to write longer ones in decimal
_CHUNK = 500  # items, written at once
_PLAIN = (str, int, float, bool, type(None))
_SIMPLE = {str, int, bool, type(None)}
_OF_A_ROW = {*_SIMPLE, float}
_ROW_DEPTH = 8
_BUILTIN = {dict, list, tuple, set, frozenset, deque}
_BY_TEXT = {
    *("datetime", "decimal", "fractions", "uuid", "zoneinfo", "ipaddress"),
    *("array", "operator"),
}
_TEXT_TYPES = (range, complex, slice, GenericAlias, UnionType)
_BASES = (list, tuple, dict, set, frozenset)
_SETTINGS = {*_OF_A_ROW, *_BASES}
_NO_STATE = {"__dict__", "__weakref__", "__pydantic_fields_set__"}
_NATIVE = (BuiltinFunctionType, MethodDescriptorType, WrapperDescriptorType)
_SECRET = re.compile(
    r"(?:^|.*_)(?:api_?key|api_token|access_token|auth_token|password|passwd|secret|secret_key"
    r"|access_key|private_key|credentials?|authorization)"
    r"|(?:hf|hub|github|huggingface|refresh|bearer|oauth)_token|token|bearer"
)
_ADDRESS = re.compile(r".*(?:ur[li]|endpoint|host|server|address|base)")
_BEARER = re.compile(r"Bearer \S+")


@lru_cache(maxsize=4096)
def is_secret(name: str) -> bool:
    """Whether a name says that its value is a secret: ``api_key`` does, ``answer_key`` does not."""
    words = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name)
    return bool(_SECRET.fullmatch(re.sub(r"\W+", "_", words).lower().strip("_")))


def counts(name: str, value: object) -> bool:
    """Whether an attribute counts: it is no secret, and no URL: a server may be moved."""
    if is_secret(name):
        return False
    return not (issubclass(type(value), str) and _is_moved_or_secret(str(value)))


def _is_moved_or_secret(value: str) -> bool:
    return value.startswith(("http://", "https://")) or bool(_BEARER.fullmatch(value))


def _item_counts(name: str, value: object) -> bool:
    """As :func:`counts`, for data: a URL in it is data unless its name says otherwise."""
    if is_secret(name):
        return False
    if not isinstance(value, str) or not _is_moved_or_secret(value):
        return True
    return not (_BEARER.fullmatch(value) or _ADDRESS.fullmatch(name.lower()))


@lru_cache(maxsize=4096)
def _harmless(names: tuple[str, ...]) -> bool:
    return all(
        type(name) is str and not is_secret(name) and not _ADDRESS.fullmatch(name.lower())
        for name in names
    )


class Values:
    """Turns values into JSON-like data.

    Objects of a project count by all their attributes, others by their public plain ones;
    nothing of theirs is called but what containers need.

    Args:
        folder: Paths in it or above it are written as seen from it.
    """

    def __init__(self, folder: str | None = None) -> None:
        self._code: dict[tuple[str, str | None], Any] = {}
        self._folder = folder
        self._open: set[int] = set()
        self._marks: dict[int, tuple[object, str]] = {}  # with the object, so that it stays

    @property
    def code(self) -> list[Any]:
        """The project's classes and functions among the values, in the order of their names."""
        return [self._code[key] for key in sorted(self._code, key=lambda key: key[0])]

    def plain(self, value: Any, depth: int = 0) -> Any:
        """The value as JSON-like data; never raises."""
        kind = type(value)
        if kind in _SIMPLE and (kind is not int or value.bit_length() < _LONGEST_INT):
            return value
        try:
            leaf = self._leaf(value)
            return self._nested(value, depth) if leaf is None else leaf
        except Exception:  # noqa: BLE001 - a user's object may raise anything when it is read
            return kind_name(kind)

    def _nested(self, value: Any, depth: int) -> Any:
        if id(value) in self._open or depth >= _DEPTH:
            return f"… {kind_name(type(value))}"
        if depth < _SHOWN_LEVELS:
            return self._inside(value, depth + 1)
        return self._mark(value, depth + 1)

    def attributes(self, value: object, depth: int = 0, *, whole: bool = True) -> dict[str, Any]:
        """What counts of an object's attributes, those in slots included."""
        found = dict(_attributes(value))
        if whole:
            found = _class_settings(type(value)) | found
        else:
            found = {
                name: item
                for name, item in found.items()
                if not name.startswith("_") and isinstance(item, _PLAIN)
            }
        return {name: self.plain(item, depth) for name, item in found.items() if counts(name, item)}

    def bound(self, value: Any, depth: int = 0) -> dict[str, Any]:
        """What a function holds beside its source: defaults, closure, what it is a method of."""
        self._use(value)
        if isinstance(value, MethodType):
            return {"of": self.plain(value.__self__, depth), **self.bound(value.__func__, depth)}
        if isinstance(value, partial):
            parts = {"function": value.func, "args": value.args, "keywords": value.keywords}
            return {name: self.plain(item, depth) for name, item in parts.items()}
        wrapped = getattr(value, "__wrapped__", None)
        parts = {
            "defaults": getattr(value, "__defaults__", None),
            "keywords": getattr(value, "__kwdefaults__", None),
            "closure": [*_cells(value)],
            "wraps": wrapped if callable(wrapped) else None,
        }
        return {name: self.plain(item, depth) for name, item in parts.items() if item}

    def _leaf(self, value: Any) -> Any:
        """What is written as one text or number; None for all else."""
        if isinstance(value, Enum):
            self._use(type(value))
            return f"{kind_name(type(value))}.{value.name or value.value}"
        if isinstance(value, type):
            self._use(value)
            return f"class {kind_name(value)}"
        if isinstance(value, ModuleType):
            self._use(value)
            return f"module {value.__name__}"
        if isinstance(value, PurePath):
            return f"path:{near(str(value), self._folder)}"
        found = _scalar(value)
        return _described(value) if found is None else found

    def _inside(self, value: Any, depth: int) -> Any:
        self._open.add(id(value))
        try:
            content = self._content(value, depth)
            kind = type(value)
            if kind in _BUILTIN:
                return content
            if isinstance(value, partial | FunctionType | MethodType) or _wraps(value):
                name = kind_name(kind if isinstance(value, partial) else value)
                return {"": name, **self.bound(value, depth)}
            known = self._use(kind)
            whole = known or hasattr(kind, "__dataclass_fields__") or kind is SimpleNamespace
            state = self.attributes(value, depth, whole=whole)
            if content is not None:
                return {"": kind_name(kind), "[]": content, **state} if state else content
            return {"": kind_name(kind), **state}
        finally:
            self._open.discard(id(value))

    def _content(self, value: Any, depth: int) -> Any:
        """What a container contains; None for what is none."""
        if isinstance(value, tuple) and hasattr(value, "_fields"):
            value = dict(zip(value._fields, value, strict=False))
        if isinstance(value, Mapping):
            return self._mapping(value, depth)
        if isinstance(value, AbstractSet):
            texts = sorted(_written(self.plain(item, depth)) for item in list(value))
            return texts if len(texts) <= _ITEMS else self._long(texts, depth)
        if isinstance(value, Sequence | deque):
            count = len(value)
            if count > _ITEMS:
                return self._long(islice(value, count), depth)
            return [self.plain(item, depth) for item in islice(value, count)]
        return None

    def _mapping(self, value: Mapping[Any, Any], depth: int) -> Any:
        found = {
            name: item
            for name, item in list(value.items())
            if not isinstance(name, str) or _item_counts(name, item)
        }
        if len(found) > _ITEMS or not all(type(name) is str for name in found):
            pairs = [
                _written([self.plain(name, depth), self.plain(item, depth)])
                for name, item in found.items()
            ]
            return self._long(sorted(pairs), depth)
        return {name: self.plain(item, depth) for name, item in found.items()}

    def _long(self, items: Iterable[Any], depth: int) -> str:
        """Digest of many items, one after the other."""
        mark, depth, count = sha256(), max(depth, _SHOWN_LEVELS), 0
        rest = iter(items)
        while chunk := list(islice(rest, _CHUNK)):
            count += len(chunk)
            lines = [item if _is_row(item) else self.plain(item, depth) for item in chunk]
            try:
                text = _written(lines)
            except ValueError:  # a number of thousands of digits
                text = _written([self.plain(item, depth) for item in chunk])
            mark.update(text.encode("utf-8", "surrogatepass"))
        return f"{count} items sha256:{mark.hexdigest()}"

    def _mark(self, value: Any, depth: int) -> str:
        known = self._marks.get(id(value))
        if known is not None:
            return known[1]
        text = _written(self._inside(value, depth))
        mark = f"sha256:{sha256(text.encode('utf-8', 'surrogatepass')).hexdigest()}"
        self._marks[id(value)] = (value, mark)
        return mark

    def _use(self, thing: Any) -> bool:
        """Take note of a class or function; whether it is of the project."""
        file = file_of(thing)
        theirs = is_project(file)
        if theirs:  # a wrapper has the name of what it wraps
            self._code.setdefault((kind_name(thing), file), thing)
        return theirs


def _attributes(value: object) -> Iterator[tuple[str, Any]]:
    """Attributes as they are stored: no property is run."""
    for kind in type(value).__mro__:
        names = vars(kind).get("__slots__", ())
        for name in (names,) if isinstance(names, str) else names:
            if name in _NO_STATE:
                continue
            own = f"_{kind.__name__.lstrip('_')}{name}" if _is_private(name) else name
            try:
                yield name, vars(kind)[own].__get__(value, type(value))
            except (KeyError, AttributeError):  # not set
                continue
    try:
        state = object.__getattribute__(value, "__dict__")
    except AttributeError:
        return
    if isinstance(state, Mapping):
        yield from ((str(name), item) for name, item in list(state.items()))


def _class_settings(kind: type) -> dict[str, Any]:
    """What a project's classes say for all their objects; it may come from anywhere."""
    found: dict[str, Any] = {}
    for each in reversed(kind.__mro__):
        if is_project(file_of(each)):
            found |= {
                name: item
                for name, item in vars(each).items()
                if is_setting(item) and not name.startswith("__")
            }
    return found


def is_setting(value: object) -> bool:
    """Whether it is plain and short; what is long is data, and data has a hash of its own."""
    kind = type(value)
    return kind in _SETTINGS and (kind in _OF_A_ROW or len(cast("Sized", value)) <= _ITEMS)


def _is_private(name: str) -> bool:
    return name.startswith("__") and not name.endswith("__")


def _wraps(value: Any) -> bool:
    """Whether it is a function's wrapper, such as that of ``functools.cache``."""
    return type(value).__module__ == "functools" and hasattr(value, "__wrapped__")


def _cells(function: Any) -> Iterator[Any]:
    for cell in getattr(function, "__closure__", None) or ():
        try:
            yield cell.cell_contents
        except ValueError:  # not filled yet
            continue


def _scalar(value: Any) -> str | int | float | None:
    found: str | int | float | None = None
    if isinstance(value, str):
        found = str.__str__(value)
    elif isinstance(value, int):
        short = value.bit_length() < _LONGEST_INT
        found = int(value) if short else f"int:{int(value):x}"
    elif isinstance(value, float):
        found = float(value) if math.isfinite(value) else f"float:{float(value)!r}"
    elif isinstance(value, bytes | bytearray | memoryview):
        found = f"{type(value).__name__} sha256:{sha256(value).hexdigest()}"
    return found


def _described(value: Any) -> str | None:
    kind = type(value)
    found: str | None = None
    if isinstance(value, re.Pattern):
        found = f"re:{value.flags}:{value.pattern!r}"
    elif isinstance(value, _NATIVE):
        own = getattr(value, "__self__", None)
        found = f"{kind_name(value)} {own if isinstance(own, str) else ''}"
    elif _is_text(value):
        found = f"{kind_name(kind)}:{value}"
    elif kind.__module__ == "numpy":
        found = _array(value)
    return found


def _is_text(value: Any) -> bool:
    """Whether its text says all of it."""
    modules = {base.__module__ for base in type(value).__mro__}
    of_typing = type(value).__module__ == "typing"  # not a user's class with a type parameter
    return not _BY_TEXT.isdisjoint(modules) or of_typing or isinstance(value, _TEXT_TYPES)


def _array(value: Any) -> str | None:
    if not hasattr(value, "dtype"):
        return str(value) if type(value).__name__ == "ufunc" else None
    head = f"{kind_name(type(value))}:{value.dtype}:{value.shape}"
    if value.ndim == 0:
        return f"{head}:{value}"
    if value.dtype.hasobject:
        mark = sha256(_written(Values().plain(value.tolist())).encode("utf-8", "surrogatepass"))
    else:
        mark = sha256(value.tobytes())
    return f"{head} sha256:{mark.hexdigest()}"


def _is_row(item: Any, depth: int = 0) -> bool:
    """Whether it can be written as it is: the usual row of a dataset, looked at quickly."""
    kind = type(item)
    if kind is dict:
        if not _harmless(tuple(item)):
            return False
        values = item.values()
    elif kind is list:
        values = item
    else:
        return kind in _OF_A_ROW
    if _OF_A_ROW.issuperset(map(type, values)):
        return True
    return depth < _ROW_DEPTH and all(
        type(value) in _OF_A_ROW or _is_row(value, depth + 1) for value in values
    )


def _written(value: Any) -> str:
    return _JSON.encode(value)


_JSON = json.JSONEncoder(sort_keys=True, ensure_ascii=False, separators=(",", ":"))
