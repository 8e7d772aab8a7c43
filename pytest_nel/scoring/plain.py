"""JSON-safe copies of whatever a user's scorer put into its details."""

import base64
import dataclasses
import math
from collections.abc import Iterable, Mapping
from enum import Enum
from typing import Any

from pytest_nel.core.text import storable

_DEPTH = 12
_ITEMS = 2000
_TOTAL = 20_000
_HUGE = 10**300  # beyond, other JSON readers overflow, and Python refuses str() from 10**4300 on
_TEXT = 20_000


def plain(value: object) -> Any:  # Any: JSON
    """Copy ``value`` into None, bool, int, float, str, list and dict.

    Numpy scalars, enums, paths, sets, dataclasses and the like become what they stand for;
    non-finite floats become None; what is too deep, too long or cyclic is cut and says so.
    """
    return _Copier().copy(value, 0)


class _Copier:
    """One copy under way: what is being visited, and how much was copied."""

    def __init__(self) -> None:
        self._open: set[int] = set()
        self._left = _TOTAL

    def copy(self, value: object, depth: int) -> Any:
        self._left -= 1
        simple = _scalar(value)
        if simple is not _NOT_SCALAR:
            return simple
        if self._left <= 0 or depth >= _DEPTH:
            return f"<{type(value).__name__}: too large>"
        if id(value) in self._open:
            return f"<{type(value).__name__}: contains itself>"
        self._open.add(id(value))
        try:
            return self._container(value, depth + 1)
        finally:
            self._open.discard(id(value))

    def _container(self, value: object, depth: int) -> Any:
        if dataclasses.is_dataclass(value) and not isinstance(value, type):
            names = [field.name for field in dataclasses.fields(value)]
            value = {name: getattr(value, name) for name in names}
        if isinstance(value, Mapping):
            return {_key(key): self.copy(item, depth) for key, item in self._first(value.items())}
        if isinstance(value, set | frozenset):
            return [self.copy(item, depth) for item in self._first(sorted(value, key=repr))]
        if isinstance(value, list | tuple):
            return [self.copy(item, depth) for item in self._first(value)]
        if (listed := _array(value)) is not None:
            return self.copy(listed, depth)
        return _text(_shown(value))

    def _first(self, items: Iterable[Any]) -> list[Any]:
        return [
            item for _, item in zip(range(min(_ITEMS, max(0, self._left))), items, strict=False)
        ]


_NOT_SCALAR = object()


def _scalar(value: object) -> Any:
    if isinstance(value, Enum):
        return _scalar(value.value)
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int | float):
        return _number(value)
    return _text(value) if isinstance(value, str) else _other_scalar(value)


def _number(value: float) -> Any:
    """Of the exact base type; what no JSON reader takes becomes None or a string."""
    if isinstance(value, int):
        return int(value) if abs(value) < _HUGE else hex(value)[:_TEXT]
    return float(value) if math.isfinite(value) else None


def _other_scalar(value: object) -> Any:
    if isinstance(value, bytes):
        return _text(base64.b64encode(value[:_TEXT]).decode())
    if type(value).__module__ == "numpy" and getattr(value, "shape", None) == ():
        return _scalar(value.item())  # type: ignore[attr-defined]  # every numpy scalar has item()
    return _NOT_SCALAR


def _array(value: object) -> list[Any] | None:
    if type(value).__module__ != "numpy" or not hasattr(value, "tolist"):
        return None
    flat = value.tolist() if getattr(value, "size", 0) <= _TOTAL else None
    return flat if isinstance(flat, list) else None


def _key(key: object) -> str:
    scalar = _scalar(key)
    return scalar if isinstance(scalar, str) else _text(_shown(key))


def _shown(value: object) -> str:
    try:
        return str(value)
    except Exception:  # noqa: BLE001  a user's __str__ may raise anything
        return f"<{type(value).__name__}>"


def _text(text: str) -> str:
    text = storable(str(text))
    return text if len(text) <= _TEXT else f"{text[:_TEXT]}…"
