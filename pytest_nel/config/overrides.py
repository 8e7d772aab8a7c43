"""``benchmarks[0].repeats=4``: values that a command line puts into a suite."""

import math
import re
from collections.abc import Iterable
from typing import Any, NamedTuple

import yaml

from pytest_nel.config._document import Place, SuiteLoader, read_document
from pytest_nel.config.interpolate import Path
from pytest_nel.config.paths import BadPath, read_path, written_path
from pytest_nel.config.problems import kind, suggestion
from pytest_nel.config.tree import Node, planted
from pytest_nel.core.errors import ConfigError
from pytest_nel.core.values import is_secret

_STRUCTURED = ("[", "{", '"', "'")
_MASK = "***"
_REFERENCE = re.compile(r"\$\{\w+\}|host:\w+|runtime:\w+")
_DIGITS = re.compile(r"\d{1,9}")


class Override(NamedTuple):
    """One of them, read.

    Attributes:
        path: Where it goes.
        value: What it sets there; None deletes.
    """

    path: Path
    value: Any

    @property
    def place(self) -> Place:
        """What messages call it; its value may be a secret and is not in it."""
        return Place(f"override {written_path(self.path)}", 0)


def read_override(text: str) -> Override:
    """Read ``PATH=VALUE``.

    A value that begins with a bracket, a brace or a quote is YAML; anything else is null, true,
    false, a number or text by the rules of a suite file, and nothing but a space around it is
    taken off. An empty one is empty text: a variable of the shell that is not set deletes nothing.

    Raises:
        ConfigError: It is malformed; the message does not show the value.
    """
    try:
        path, rest = read_path(text.strip())
    except BadPath as error:
        raise _malformed(text, str(error)) from None
    if not rest.startswith("="):
        what = f"there is a {rest[0]!r} where = was expected" if rest else "there is no ="
        raise _malformed(text, what)
    return Override(path, _typed(rest[1:].strip(), written_path(path)))


def _malformed(text: str, why: str) -> ConfigError:
    head = text.partition("=")[0]
    return ConfigError(
        f"override {head[:80]!r}: expected PATH=VALUE such as benchmarks[0].repeats=4: {why}"
    )


def _typed(text: str, where: str) -> Any:
    if text.startswith(_STRUCTURED):
        document = read_document(text)
        if document.problems:
            detail = "" if _may_be_secret(where) else f": {document.problems[0].message}"
            msg = f"override {where}: its value cannot be read as YAML{detail}"
            raise ConfigError(msg)
        return document.value
    if not text:
        return ""
    loader = SuiteLoader("")
    tag = loader.resolve(yaml.ScalarNode, text, (True, False))  # type: ignore[no-untyped-call]
    try:
        return loader.construct_object(yaml.ScalarNode(tag, text))
    except yaml.YAMLError:
        msg = f"override {where}: its value is no number that can be read"
        raise ConfigError(msg) from None


def _may_be_secret(where: str) -> bool:
    return any(is_secret(word) for word in re.findall(r"[\w-]+", where))


def written_override(override: Override) -> str:
    """The override as :func:`read_override` reads it."""
    return f"{written_path(override.path)}={_written(override.value)}"


def masked_override(override: Override) -> str:
    """The same, without a value that its path calls a secret."""
    secret = any(isinstance(part, str) and is_secret(part) for part in override.path)
    if secret and not _is_reference(override.value):
        return f"{written_path(override.path)}={_MASK}"
    return written_override(override._replace(value=_without_secrets(override.value)))


def _without_secrets(value: Any) -> Any:  # Any: YAML
    """The same without what stands under the name of a secret; a reference shows nothing."""
    if isinstance(value, list):
        return [_without_secrets(inner) for inner in value]
    if not isinstance(value, dict):
        return value
    return {
        name: _MASK
        if is_secret(str(name)) and not _is_reference(inner)
        else _without_secrets(inner)
        for name, inner in value.items()
    }


def _is_reference(value: object) -> bool:
    return value is None or (isinstance(value, str) and bool(_REFERENCE.fullmatch(value)))


def _written(value: Any) -> str:
    if isinstance(value, dict):
        inside = ", ".join(f"{_quoted(key)}: {_written(inner)}" for key, inner in value.items())
        return f"{{{inside}}}"
    if isinstance(value, list):
        return f"[{', '.join(_written(inner) for inner in value)}]"
    if isinstance(value, str):
        return _quoted(value)
    if isinstance(value, float) and not math.isfinite(value):
        return ".nan" if math.isnan(value) else f"{'-' if value < 0 else ''}.inf"
    return {"None": "null", "True": "true", "False": "false"}.get(repr(value)) or repr(value)


def _quoted(text: str) -> str:
    dumped: str = yaml.dump(text, default_style='"', allow_unicode=True, width=math.inf)
    return dumped.removesuffix("\n")


def apply_overrides(root: Node, overrides: Iterable[Override]) -> Node:
    """Put the values in, one after the other.

    Raises:
        ConfigError: A path leads nowhere: into text, past the end of a list, to nothing to delete.
    """
    for override in overrides:
        root = _put(root, override, 0, in_list=False)
    return root


def _put(node: Node, override: Override, depth: int, *, in_list: bool) -> Node:
    if depth == len(override.path):
        return planted(override.value, override.place)
    part = override.path[depth]
    if isinstance(node.value, list):
        index = _index(node.value, override, depth)
        changed = list(node.value)
        changed[index] = _put(changed[index], override, depth + 1, in_list=True)
        return Node(changed, node.place)
    if isinstance(node.value, dict) or node.value is None:
        return _put_key(node, _key(part, override, depth), override, depth, in_list)
    before = written_path(override.path[:depth])
    msg = f"{override.place}: {before} is {_shown(node, override)}, which has nothing inside it"
    raise ConfigError(msg)


def _put_key(node: Node, key: str, override: Override, depth: int, in_list: bool) -> Node:  # noqa: FBT001
    entries: dict[str, Node] = dict(node.value or {})
    last = depth + 1 == len(override.path)
    if last and override.value is None and not in_list:
        if key not in entries:
            hint = suggestion(key, entries)
            msg = f"{override.place}: there is nothing to delete{hint}"
            raise ConfigError(msg)
        del entries[key]
        return Node(entries, node.place)
    below = entries.get(key, Node({}, override.place))
    entries[key] = _put(below, override, depth + 1, in_list=in_list)
    return Node(entries, node.place)


def _index(items: list[Node], override: Override, depth: int) -> int:
    part = override.path[depth]
    before = written_path(override.path[:depth])
    if isinstance(part, str) and not _DIGITS.fullmatch(part):
        msg = f"{override.place}: {before} is a list: pick an entry by its index, not by {part!r}"
        raise ConfigError(msg)
    index = int(part)
    if index >= len(items):
        has = f"0 to {len(items) - 1}" if items else "none: it is empty"
        msg = f"{override.place}: {before} has no entry {index}, the indices are {has}"
        raise ConfigError(msg)
    return index


def _key(part: str | int, override: Override, depth: int) -> str:
    if isinstance(part, str):
        return part
    before = written_path(override.path[:depth])
    msg = f"{override.place}: {before or 'the suite'} is no list, so it has no entry [{part}]"
    raise ConfigError(msg)


def _shown(node: Node, override: Override) -> str:
    hidden = any(isinstance(part, str) and is_secret(part) for part in override.path)
    return "a text" if hidden else kind(node.value)
