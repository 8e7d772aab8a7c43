"""``${.services.model.port}``: values taken from another place of the same suite."""

import re
from typing import Any

from pytest_nel.config.interpolate import Path, Problem
from pytest_nel.config.paths import BadPath, read_path, written_path
from pytest_nel.config.problems import kind, suggestion
from pytest_nel.config.tree import NODE_LIMIT, Node, children, size

#: The escaped opener first, so that ``$${.a}`` is never read as ``$`` plus a reference.
_REFERENCE = re.compile(r"(?P<escaped>\$\$\{)|\$\{\.(?P<path>[^{}\n]*)\}")
_WHOLE = re.compile(r"\$\{\.(?P<path>[^{}\n]*)\}")
_LONGEST_CHAIN = 50  # references that lead to references
_TOO_LONG = f"leads through more than {_LONGEST_CHAIN} other references"
_MOST_TEXT = 5_000_000  # characters that references may bring into texts, all together


def resolve_self_references(root: Node) -> tuple[Node, list[Problem]]:
    """Replace all of them; what cannot be is left as it is and is a problem.

    A reference that is the whole value takes over the value with its kind, whatever it is; inside
    text it becomes text. What it leads to may be, or hold, a reference itself.
    """
    resolver = _Resolver(root)
    resolved = resolver.visit(root, ())
    if not resolver.problems and size(resolved) > NODE_LIMIT:
        resolver.problems.append(Problem((), "references make this suite too large"))
    return resolved, resolver.problems


class _Nowhere(Exception):
    """A reference cannot be followed; the message says why."""


class _Resolver:
    def __init__(self, root: Node) -> None:
        self.problems: list[Problem] = []
        self._root = root
        self._done: dict[Path, Node] = {}
        self._open: list[Path] = []
        self._heights: dict[Path, int] = {}  # references that lead on from there
        self._below: list[int] = []
        self._text = 0

    def visit(self, node: Node, at: Path) -> Node:
        """The node with all references in it replaced."""
        if isinstance(node.value, str):
            return self._resolved(node, at) if "${." in node.value else node
        if isinstance(node.value, dict):
            inside: Any = {key: self.visit(inner, (*at, key)) for key, inner in children(node)}
        elif isinstance(node.value, list):
            inside = [self.visit(inner, (*at, key)) for key, inner in children(node)]
        else:
            return node
        return Node(inside, node.place, node.hides)

    def _resolved(self, node: Node, at: Path) -> Node:
        """The same for what stands in the suite at that path, once."""
        if at not in self._done:
            if at in self._open:
                circle = [*self._open[self._open.index(at) :], at]
                msg = f"refers to itself: {' → '.join(written_path(path) for path in circle)}"
                raise _Nowhere(msg)
            self._done[at] = self._opened(node, at)
        if self._below:
            self._below[-1] = max(self._below[-1], self._heights[at])
        return self._done[at]

    def _opened(self, node: Node, at: Path) -> Node:
        if len(self._open) > _LONGEST_CHAIN:
            raise _Nowhere(_TOO_LONG)
        self._open.append(at)
        self._below.append(0)
        try:
            return self._replaced(node, at) if isinstance(node.value, str) else self.visit(node, at)
        finally:
            self._open.pop()
            self._heights[at] = self._below.pop() + 1

    def _replaced(self, node: Node, at: Path) -> Node:
        try:
            whole = _WHOLE.fullmatch(node.value)
            if whole is not None:
                return Node(self._target(whole["path"]).value, node.place)
            return Node(_REFERENCE.sub(self._as_text, node.value), node.place)
        except _Nowhere as error:
            self.problems.append(Problem(at, str(error)))
            return node

    def _as_text(self, found: re.Match[str]) -> str:
        if found["escaped"]:
            return found[0]
        value = self._target(found["path"]).value
        if value is None or isinstance(value, dict | list):
            what = "null" if value is None else kind(value)
            msg = f"{found[0]} is {what}, which cannot stand inside text"
            raise _Nowhere(msg)
        text = str(value).lower() if isinstance(value, bool) else str(value)
        self._text += len(text)
        if self._text > _MOST_TEXT:
            msg = "references make this text too long"
            raise _Nowhere(msg)
        return text

    def _target(self, written: str) -> Node:
        shown = f"${{.{written}}}"
        try:
            path, rest = read_path(written)
        except BadPath as error:
            msg = f"{shown} is no path such as ${{.services.model.url}}: {error}{_literal(shown)}"
            raise _Nowhere(msg) from None
        if rest:
            msg = f"{shown}: expected a dot or an index at {rest!r}{_literal(shown)}"
            raise _Nowhere(msg)
        node, done = self._root, False
        at: Path = ()
        for part in path:
            if not done and isinstance(node.value, str) and _WHOLE.fullmatch(node.value):
                node, done = self._followed(node, at), True
            key, node = _inside(node, part, shown, at)
            at = (*at, key)
        return node if done else self._followed(node, at)

    def _followed(self, node: Node, at: Path) -> Node:
        found = self._resolved(node, at)
        if self._heights[at] > _LONGEST_CHAIN:  # so that it is the same in whatever order
            raise _Nowhere(_TOO_LONG)
        return found


def _inside(node: Node, part: str | int, shown: str, at: Path) -> tuple[str | int, Node]:
    """One step of a path."""
    here = written_path(at) or "the suite"
    if isinstance(node.value, list):
        index = int(part) if isinstance(part, int) or part.isdecimal() else None
        if index is not None and index < len(node.value):
            return index, node.value[index]
        msg = f"{shown} leads nowhere: {here} has {len(node.value)} entries, no {part!r}"
    elif isinstance(node.value, dict):
        if isinstance(part, str) and part in node.value:
            return part, node.value[part]
        hint = suggestion(str(part), node.value)
        msg = f"{shown} leads nowhere: {here} has no {part!r}{hint}{_literal(shown)}"
    else:
        msg = f"{shown} leads nowhere: {here} has nothing inside it"
    raise _Nowhere(msg)


def _literal(shown: str) -> str:
    return f"; for the literal text write ${shown}"
