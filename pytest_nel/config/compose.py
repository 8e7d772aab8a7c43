"""``defaults:`` lists: several files become one suite, layer upon layer.

A file's layers are those of its ``defaults`` in their order, with its own body where ``_self_``
stands, at the end if it stands nowhere. A file that is reached twice counts once, where it is
reached first: what one of two bases changes of their common base is not undone by the other.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import reduce
from pathlib import Path as FilePath
from typing import Any, NamedTuple, TypeAlias

from pytest_nel.config._document import Place, read_document
from pytest_nel.config.interpolate import getenv
from pytest_nel.config.problems import is_file, kind, refuse, suggestion, text_of
from pytest_nel.config.tree import Node, merge, pruned, tree_of
from pytest_nel.core.errors import ConfigError

PACKAGED = FilePath(__file__).parent / "defaults"
"""Fragments that come along."""

_ENDINGS = ("", ".yaml", ".yml", ".nel.yaml")
_GROUPS = {"clusters": "cluster"}
_DEEPEST = 50  # files that build on one another
_LONGEST_NAME = 200
_SUITE = "services and benchmarks"
_GROUP = re.compile(r"[A-Za-z0-9_][\w-]*")
_SELF, _BASE = "_self_", "_base_"
_Key: TypeAlias = tuple[FilePath, str | None]


class Layer(NamedTuple):
    """What one file says itself.

    Attributes:
        file: The file; where it is wrapped under a group, each group counts by itself.
        group: The key that its content belongs under; None for the root.
        node: The content, without ``defaults`` and not yet wrapped.
    """

    file: FilePath
    group: str | None
    node: Node


class _Entry(NamedTuple):
    """One entry of a ``defaults`` list; ``group`` and ``base`` say how it is looked for."""

    name: str
    place: Place
    group: str | None = None
    base: bool = False

    def error(self, message: str) -> ConfigError:
        """The message with the place of the entry before it."""
        return ConfigError(f"{self.place}: defaults: {message}")


def user_fragments(variable: Callable[[str], str | None] = getenv) -> list[FilePath]:
    """Where a user keeps fragments for all suites; ``XDG_CONFIG_HOME`` moves it."""
    home, config = variable("HOME"), variable("XDG_CONFIG_HOME")
    if config and FilePath(config).is_absolute():
        return [FilePath(config) / "nemo-evaluator" / "conf"]
    return [FilePath(home) / ".config" / "nemo-evaluator" / "conf"] if home else []


def composed_layers(
    path: FilePath, env: Mapping[str, str] | None = None, *, holds: str = _SUITE
) -> Node:
    """Read a suite file and everything that it builds on.

    Args:
        path: The file.
        env: Variables that say where the user's fragments are; None means the process's.
        holds: What a file is to hold, for messages.

    Raises:
        ConfigError: A file is missing, malformed, or builds on itself.
    """
    return _merged(_Composer(path, env, holds).layers(path, str(path)))


def composed_text(text: str, where: str, env: Mapping[str, str] | None = None) -> Node:
    """The same for the text of a suite; ``where`` is the file that it stands for.

    Raises:
        ConfigError: As :func:`composed_layers`.
    """
    path = FilePath(where)
    return _merged(_Composer(path, env, _SUITE).layers_of_text(text, path, where, None))


def _merged(layers: Sequence[Layer]) -> Node:
    return pruned(reduce(merge, map(_wrapped, layers)))


def _wrapped(layer: Layer) -> Node:
    if layer.group is None:
        return layer.node
    return Node({layer.group: layer.node}, layer.node.place)


class _Composer:
    """Finds and reads each file once."""

    def __init__(self, entry: FilePath, env: Mapping[str, str] | None, holds: str) -> None:
        self._holds = holds
        self._first = entry.parent / "conf"
        self._last = [*user_fragments(getenv if env is None else env.get), PACKAGED]
        self._known: dict[_Key, list[Layer]] = {}
        self._open: list[tuple[FilePath, str]] = []

    def layers(self, path: FilePath, shown: str, group: str | None = None) -> list[Layer]:
        """The layers of a file, lowest first."""
        key = (path.resolve(), group)
        if key not in self._known:
            text = text_of(path, "suite" if not self._open else "fragment")
            self._known[key] = self.layers_of_text(text, path, shown, group)
        return self._known[key]

    def layers_of_text(
        self, text: str, path: FilePath, shown: str, group: str | None
    ) -> list[Layer]:
        """The same for a text that stands for the file."""
        document = read_document(text)
        refuse(document.problems, document, shown)
        node = tree_of(document, shown)
        if node.value is None and self._open:
            node = Node({}, node.place)
        entries: list[_Entry | None] = [None]
        if isinstance(node.value, dict):
            _refuse_misplaced(node.value)
            entries = list(_entries(node.value.get("defaults"), group))
            kept = {name: inner for name, inner in node.value.items() if name != "defaults"}
            node = Node(kept, node.place)
        elif group is None or not isinstance(node.value, list):
            came = "nothing" if node.value is None else kind(node.value)
            msg = f"{node.place}: expected a mapping with {self._holds}, got {came}"
            raise ConfigError(msg)
        self._open.append((path.resolve(), shown))
        own = (path.resolve(), group)
        found = [
            (own, [Layer(*own, node)]) if entry is None else self._below(entry, path)
            for entry in entries
        ]
        self._open.pop()
        return _once(found, entries)

    def _below(self, entry: _Entry, referring: FilePath) -> tuple[_Key, list[Layer]]:
        path = self._found(entry, referring)
        files = [file for file, _ in self._open]
        if path.resolve() in files:
            circle = [shown for _, shown in self._open[files.index(path.resolve()) :]]
            msg = f"this builds on itself: {' → '.join([*circle, circle[0]])}"
            raise entry.error(msg)
        if len(self._open) >= _DEEPEST:
            msg = f"more than {_DEEPEST} files build on one another"
            raise entry.error(msg)
        return (path.resolve(), entry.group), self.layers(path, str(path), entry.group)

    def _found(self, entry: _Entry, referring: FilePath) -> FilePath:
        folders = [self._first, referring.parent / "conf", *self._last]
        if entry.base:
            folders.insert(0, referring.parent)
        folders = list(dict.fromkeys(folders))
        candidates = [folder / f"{entry.name}{end}" for folder in folders for end in _ENDINGS]
        found = next((path for path in candidates if is_file(path)), None)
        if found is None:
            near = suggestion(entry.name, sorted(set(_names(folders, entry.name))))
            places = ", ".join(map(str, folders))
            msg = f"no file {entry.name!r} (nor .yaml, .yml) in {places}{near}"
            raise entry.error(msg)
        return found


def _once(
    found: Sequence[tuple[_Key, list[Layer]]], entries: Sequence[_Entry | None]
) -> list[Layer]:
    """All layers in order, each file where it comes first."""
    layers: dict[_Key, Layer] = {}
    for (own, below), entry in zip(found, entries, strict=True):
        if entry is not None and own in layers:
            msg = (
                f"{entry.name!r} is already part of what stands before it, and counts there: "
                "leave it out, or put it further up"
            )
            raise entry.error(msg)
        for layer in below:
            layers.setdefault((layer.file, layer.group), layer)
    return list(layers.values())


def _names(folders: Sequence[FilePath], name: str) -> Iterator[str]:
    """The fragments that are there, as an entry would name them."""
    inside = FilePath(name).parent
    for folder in folders:
        try:
            files = sorted((folder / inside).iterdir())
        except OSError:
            continue
        for file in files:
            end = next((end for end in reversed(_ENDINGS) if end and file.name.endswith(end)), None)
            if end is not None:
                yield (inside / file.name.removesuffix(end)).as_posix()


def _refuse_misplaced(keys: Mapping[str, Node]) -> None:
    """What belongs into ``defaults`` and stands beside it would be left out without a word."""
    for name in (_BASE, _SELF):
        if name in keys:
            msg = f"{keys[name].place}: {misplaced(name, keys[name].value)}"
            raise ConfigError(msg)


def misplaced(key: str, value: object) -> str | None:
    """Why a key of a suite's top level means nothing there; None for any other."""
    if key not in {_BASE, _SELF}:
        return None
    name = value if isinstance(value, str) else "FILE"
    entry = _SELF if key == _SELF else f"{{{_BASE}: {name}}}"
    return f"{key} is no key of its own, it stands in a list: write `defaults: [{entry}]`"


def _entries(node: Node | None, group: str | None) -> Iterator[_Entry | None]:
    """The entries of a ``defaults`` list, None for the file itself."""
    items = [] if node is None or node.value is None else node.value
    if node is not None and not isinstance(items, list):
        msg = f"{node.place}: defaults: expected a list of names, got {kind(items)}"
        raise ConfigError(msg)
    selves = [item for item in items if item.value == _SELF]
    if len(selves) > 1:
        msg = f"{selves[1].place}: defaults: {_SELF} stands there twice"
        raise ConfigError(msg)
    for item in items:
        yield None if item.value == _SELF else _entry(item, group)
    if not selves:
        yield None


def _entry(item: Node, group: str | None) -> _Entry:
    value = item.value
    base = isinstance(value, dict) and set(value) == {_BASE}
    name = value[_BASE].value if base else value
    if not isinstance(name, str) or not name.strip() or len(name) > _LONGEST_NAME:
        msg = (
            f"{item.place}: defaults: expected a name such as services/local, "
            f"{{{_BASE}: name}}, or {_SELF}, got {_came(value)}"
        )
        raise ConfigError(msg)
    entry = _Entry(name, item.place, group, base=base or group is not None)
    if "${" in name:
        msg = f"{name!r}: a name here is plain text, references are read later"
        raise entry.error(msg)
    if base:
        return entry._replace(name=_at_home(name))
    first, slash, _ = name.partition("/")
    if FilePath(name).is_absolute() or not _GROUP.fullmatch(first):
        msg = (
            f"{name!r}: a fragment is named as group/name; for a file elsewhere write "
            f"{{{_BASE}: {name}}}"
        )
        raise entry.error(msg)
    if not slash:
        return entry
    key = _GROUPS.get(first, first)
    if group not in {None, key}:
        msg = f"{name!r}: a fragment of {group} builds on others of {group} alone"
        raise entry.error(msg)
    return entry._replace(group=key, base=False)


def _came(value: Any) -> str:
    if isinstance(value, dict) and _BASE in value:
        return f"{_BASE} beside other keys"
    return kind(value)


def _at_home(name: str) -> str:
    try:
        return str(FilePath(name).expanduser())
    except RuntimeError:  # nobody of that name
        return name
