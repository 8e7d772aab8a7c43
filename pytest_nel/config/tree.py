"""Nested values that know where each of them was written, and how two of them are merged."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from pytest_nel.config._document import Document, Place
from pytest_nel.config.interpolate import Path

NODE_LIMIT = 100_000
"""Values of one suite at most: it has hundreds; references to references can mean billions."""


@dataclass(frozen=True, slots=True)
class Node:
    """A value and its place. Never changed: what is merged may share its parts.

    Attributes:
        value: A scalar, or nodes by name, or a list of nodes.
        place: Where it was written.
        hides: Whether this null stands over something, which it deletes.
    """

    value: Any
    place: Place
    hides: bool = False


class Composed(NamedTuple):
    """Plain values, and the place of each.

    Attributes:
        value: What all files and overrides together say.
        places: Where it was written, by path.
    """

    value: Any
    places: Mapping[Path, Place]

    def at(self, path: Path) -> Place:
        """The place of the value, or of the nearest one that encloses it."""
        for length in range(len(path), -1, -1):
            if path[:length] in self.places:
                return self.places[path[:length]]
        return Place("", 0)


def tree_of(document: Document, source: str) -> Node:
    """The values of a document, each with its place."""

    def node(value: Any, path: Path) -> Node:
        place = Place(source, document.line(path))
        if isinstance(value, dict):
            return Node({key: node(inner, (*path, key)) for key, inner in value.items()}, place)
        if isinstance(value, list):
            return Node([node(inner, (*path, at)) for at, inner in enumerate(value)], place)
        return Node(value, place)

    return node(document.value, ())


def planted(value: Any, place: Place) -> Node:
    """Plain values that were all written at one place."""
    if isinstance(value, dict):
        return Node({key: planted(inner, place) for key, inner in value.items()}, place)
    if isinstance(value, list):
        return Node([planted(inner, place) for inner in value], place)
    return Node(value, place)


def merge(lower: Node, upper: Node) -> Node:
    """Two mappings become one, key by key; anything else above replaces what is below.

    A null above something marks it as deleted, for :func:`pruned`; so merging is associative
    wherever no mapping meets another kind of value.
    """
    if isinstance(lower.value, dict) and isinstance(upper.value, dict):
        below = lower.value
        above = {
            key: merge(below[key], node) if key in below else node
            for key, node in upper.value.items()
        }
        return Node({**below, **above}, upper.place)
    if upper.value is None:
        hides = upper.hides or lower.hides or lower.value is not None
        return Node(None, upper.place, hides=hides)
    return upper


def pruned(node: Node) -> Node:
    """Without what a null of a later layer deletes; a null that stood alone says null."""
    if not isinstance(node.value, dict):
        return node
    kept = {key: pruned(inner) for key, inner in node.value.items() if not inner.hides}
    return Node(kept, node.place)


def composed_of(node: Node) -> Composed:
    """The plain values of a tree, and their places."""
    places: dict[Path, Place] = {}

    def plain(node: Node, path: Path) -> Any:
        places[path] = node.place
        if isinstance(node.value, dict):
            return {key: plain(inner, (*path, key)) for key, inner in node.value.items()}
        if isinstance(node.value, list):
            return [plain(inner, (*path, at)) for at, inner in enumerate(node.value)]
        return node.value

    return Composed(plain(node, ()), places)


def children(node: Node) -> Iterator[tuple[str | int, Node]]:
    """The nodes directly inside, with their keys or indices."""
    if isinstance(node.value, dict):
        yield from node.value.items()
    elif isinstance(node.value, list):
        yield from enumerate(node.value)


def size(node: Node) -> int:
    """How many values it holds, shared ones as often as they are used."""
    known: dict[int, int] = {}

    def counted(node: Node) -> int:
        if id(node) not in known:
            known[id(node)] = 1 + sum(counted(inner) for _, inner in children(node))
        return known[id(node)]

    return counted(node)
