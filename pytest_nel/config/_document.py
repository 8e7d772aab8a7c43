"""YAML text to plain values, with the line of each.

PyYAML reads YAML 1.1, whose surprises (``no`` is false, ``010`` is 8, ``1:30`` is 90, ``1e3`` is
text, a date is an object) have no place in a suite: here the rules are those of YAML 1.2's core
schema, and whatever is neither null, true, false nor a number is text.
"""

import math
import re
from typing import Any, NamedTuple

import yaml

from pytest_nel.config.interpolate import Path, Problem, dotted

_MAP, _SEQ, _STR = (f"tag:yaml.org,2002:{kind}" for kind in ("map", "seq", "str"))
_MERGE, _INT, _FLOAT = (f"tag:yaml.org,2002:{kind}" for kind in ("merge", "int", "float"))
_SCALARS = {_STR, _INT, _FLOAT, "tag:yaml.org,2002:bool", "tag:yaml.org,2002:null"}
_NODE_LIMIT = 100_000  # a suite has hundreds; aliases of aliases can mean billions

_RESOLVERS = (
    ("bool", r"true|True|TRUE|false|False|FALSE", "tTfF"),
    ("null", r"~|null|Null|NULL|", ["~", "n", "N", ""]),
    ("int", r"[-+]?\d+|0x[0-9a-fA-F]+|0o[0-7]+", "-+0123456789"),
    (
        "float",
        r"[-+]?(?:\.\d+|\d+(?:\.\d*)?)(?:[eE][-+]?\d+)?|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)",
        "-+.0123456789",
    ),
    ("merge", r"<<", "<"),
)


class SuiteLoader(yaml.SafeLoader):
    """SafeLoader with the scalars of YAML 1.2."""

    yaml_implicit_resolvers: dict[str, list[tuple[str, re.Pattern[str]]]] = {}  # noqa: RUF012

    def construct_yaml_int(self, node: yaml.ScalarNode) -> int:
        """Decimal with leading zeros allowed, 0x and 0o."""
        text = str(node.value)
        try:
            return int(text, 10 if text.lstrip("+-").isdigit() else 0)
        except ValueError:  # Python refuses numbers of more than 4300 digits
            raise yaml.constructor.ConstructorError(
                None, None, "this is no whole number that can be read", node.start_mark
            ) from None

    def construct_yaml_float(self, node: yaml.ScalarNode) -> float:
        """As Python reads it, and ``.inf``, ``.nan``."""
        text = str(node.value).lower()
        if text.endswith(".inf"):
            return -math.inf if text.startswith("-") else math.inf
        try:
            return math.nan if text == ".nan" else float(text)
        except ValueError:
            raise yaml.constructor.ConstructorError(
                None, None, "this is no number", node.start_mark
            ) from None


for _kind, _pattern, _first in _RESOLVERS:
    SuiteLoader.add_implicit_resolver(
        f"tag:yaml.org,2002:{_kind}", re.compile(rf"(?:{_pattern})\Z", re.ASCII), list(_first)
    )
SuiteLoader.add_constructor(_INT, SuiteLoader.construct_yaml_int)
SuiteLoader.add_constructor(_FLOAT, SuiteLoader.construct_yaml_float)


class Place(NamedTuple):
    """Where a value was written.

    Attributes:
        source: A file, or what else has set it; empty for the document at hand.
        line: From 1; 0 where there are no lines.
    """

    source: str
    line: int

    def __str__(self) -> str:
        return f"{self.source}:{self.line}" if self.line else self.source


class Document(NamedTuple):
    """A YAML file as plain values.

    Attributes:
        value: What the file says; None when it could not be built.
        lines: The line (from 1) where each value's key or list item stands.
        problems: What is wrong with it as YAML.
    """

    value: Any
    lines: dict[Path, int]
    problems: list[Problem]

    def line(self, path: Path) -> int:
        """The line of the value, or of the nearest one that encloses it."""
        for length in range(len(path), -1, -1):
            if path[:length] in self.lines:
                return self.lines[path[:length]]
        return 1

    def at(self, path: Path) -> Place:
        """The place of the value, in this document."""
        return Place("", self.line(path))


def read_document(text: str) -> Document:
    """Parse YAML; never raises for bad text, the problems say what is wrong."""
    walk = _Walk()
    try:
        loader = SuiteLoader(text.removeprefix("\N{BYTE ORDER MARK}"))
        root = loader.get_single_node()
        if root is None:
            return Document(None, {}, [])
        walk.visit(root, ())
        value = None if walk.problems else loader.construct_document(root)
    except yaml.YAMLError as error:
        line, message = _yaml_problem(error, text)
        return Document(None, {(): line}, [Problem((), message)])
    except (RecursionError, OverflowError):
        return Document(None, {(): 1}, [Problem((), "nested too deeply to be read")])
    return Document(value, walk.lines, walk.problems)


class _Walk:
    """Collects lines, and what plain values cannot express: duplicate keys, odd tags, cycles."""

    def __init__(self) -> None:
        self.lines: dict[Path, int] = {}
        self.problems: list[Problem] = []
        self._open: set[int] = set()
        self._visited = 0

    def visit(self, node: yaml.Node, path: Path) -> None:
        self._visited += 1
        self.lines.setdefault(path, node.start_mark.line + 1)
        if self._visited > _NODE_LIMIT:
            raise yaml.constructor.ConstructorError(
                None, None, "aliases make this file too large", node.start_mark
            )
        if id(node) in self._open:
            self.problems.append(Problem(path, "an alias (*name) contains itself"))
            return
        self._open.add(id(node))
        self._inside(node, path)
        self._open.discard(id(node))

    def _inside(self, node: yaml.Node, path: Path) -> None:
        if isinstance(node, yaml.MappingNode) and node.tag == _MAP:
            self._mapping(node, path)
        elif isinstance(node, yaml.SequenceNode) and node.tag == _SEQ:
            for index, item in enumerate(node.value):
                self.lines.setdefault((*path, index), item.start_mark.line + 1)
                self.visit(item, (*path, index))
        elif not (isinstance(node, yaml.ScalarNode) and node.tag in _SCALARS):
            kind = "<<" if node.tag == _MERGE else node.tag.replace("tag:yaml.org,2002:", "!!")
            name = "" if path[-1:] == ("api_key",) else f" {kind}"  # it may be the key itself
            self.problems.append(Problem(path, f"the YAML tag{name} is not supported here"))

    def _mapping(self, node: yaml.MappingNode, path: Path) -> None:
        seen: dict[str, int] = {}
        merged: list[yaml.Node] = []
        for key, value in node.value:
            line = key.start_mark.line + 1
            if key.tag == _MERGE:
                merged += value.value if isinstance(value, yaml.SequenceNode) else [value]
                continue
            if key.tag != _STR or not isinstance(key, yaml.ScalarNode):
                shown = repr(key.value) if isinstance(key, yaml.ScalarNode) else "a collection"
                self._at((*path, str(shown)), line, f"a key must be text, got {shown}: quote it")
                continue
            inner = (*path, str(key.value))
            if key.value in seen:
                self._at(inner, line, f"duplicate key, first used in line {seen[key.value]}")
                continue
            seen[key.value] = line
            self.lines.setdefault(inner, line)  # a merged key does not hide the mapping's own
            self.visit(value, inner)
        for source in merged:  # after the mapping's own keys, which win
            self.visit(source, path)

    def _at(self, path: Path, line: int, message: str) -> None:
        self.lines[path] = line
        self.problems.append(Problem(path, message))


def _yaml_problem(error: yaml.YAMLError, text: str) -> tuple[int, str]:
    """Line and message, without the excerpt that PyYAML adds: it may hold a key."""
    if isinstance(error, yaml.reader.ReaderError):
        line = text.count("\n", 0, error.position) + 1
        return line, f"not valid YAML: character {error.character!r} is not allowed"
    mark = getattr(error, "problem_mark", None)  # only errors about a place have one
    line = mark.line + 1 if mark is not None else 1
    lines = text.splitlines()
    near = "\n".join(lines[max(0, line - 2) : line])
    if "api_key" in near:
        return line, "not valid YAML (no detail shown: an api_key stands there)"
    said = str(getattr(error, "problem", None) or "unreadable")
    if said.endswith("found '?'"):  # of {a: ???}
        said += '; within braces and brackets a placeholder stands in quotes: "???"'
    return line, f"not valid YAML: {said}"


def shown(path: Path) -> str:
    """The path for a message; the whole file has none."""
    return f"{dotted(path)}: " if path else ""
