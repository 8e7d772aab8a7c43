"""One registry for every kind of plugin: name → "module:attribute", loaded on first use."""

import difflib
from collections.abc import Iterator, Mapping
from importlib import import_module
from importlib.metadata import entry_points
from typing import Any, Generic, TypeVar

from pytest_nel.core.errors import UnknownName

T = TypeVar("T")


def unknown(kind: str, name: str, known: list[str]) -> UnknownName:
    """Build the error every look-up by name raises: what was asked, the nearest, all known."""
    near = difflib.get_close_matches(name, known, n=1)
    hint = f" Did you mean {near[0]!r}?" if near else ""
    return UnknownName(f"unknown {kind} {name!r}.{hint} Known: {', '.join(known) or 'none'}.")


class Registry(Generic[T]):
    """The plugins of one kind. Third parties add theirs as entry points ``pytest_nel.<kind>``.

    Args:
        kind: What they are, in the plural.
        rows: Ours, name to ``module:attribute``.
        refused: Names that other tools have and that are none here, to why and the way out.
    """

    def __init__(
        self, kind: str, rows: Mapping[str, str], refused: Mapping[str, str] | None = None
    ) -> None:
        self.kind = kind
        self._rows = dict(rows)
        self._refused = dict(refused or {})

    def __iter__(self) -> Iterator[str]:
        return iter(sorted({*self._rows, *self._third_party()}))

    @property
    def rows(self) -> Mapping[str, str]:
        """Our own rows, name to ``module:attribute``."""
        return self._rows

    def refusal(self, name: str) -> str | None:
        """Why a name of other tools is none here, and the way out; None where it is not refused."""
        if name not in self._refused or name in self._third_party():
            return None
        return f"{name!r} {self._refused[name]}"

    def load(self, name: str) -> type[T]:
        """Return the class behind ``name``.

        Raises:
            UnknownName: Nothing is registered under that name; the message says what is near, or
                why it is refused.
        """
        target = self._rows.get(name) or self._third_party().get(name)
        if target is None:
            if (refusal := self.refusal(name)) is not None:
                msg = f"type {refusal}"
                raise UnknownName(msg)
            raise unknown(self.kind, name, list(self))
        module, _, attribute = target.partition(":")
        loaded: Any = getattr(import_module(module), attribute)  # Any: checked by the caller's T
        return loaded  # type: ignore[no-any-return]  # a row names a class of this kind

    def _third_party(self) -> dict[str, str]:
        group = f"pytest_nel.{self.kind}"
        return {point.name: point.value for point in entry_points(group=group)}
