"""What kind of answer a tree is: an expression, a collection, an interval, an equation."""

from collections.abc import Callable
from typing import NamedTuple

from pytest_nel.scoring.tree import Tree, branches, holds

_MAX_PARTS = 60
_MIRRORED = {">": "<", "≥": "≤", "<": "<", "≤": "≤"}
_BRACKETS = {"<": ("(", ")"), "≤": ("[", "]")}


class Undecided(Exception):
    """Whether the two are equal cannot be said."""


class Form(NamedTuple):
    """``kind`` is scalar, list, set, ordered, union, matrix, equation, ``≠``, ``<`` or ``≤``.

    A scalar has a tree; the others have parts. ``detail`` holds brackets or the rows of a matrix.
    """

    kind: str
    tree: Tree
    parts: tuple["Form", ...] = ()
    detail: str = ""

    @property
    def is_name(self) -> bool:
        """Whether it is a name or a tuple of names: what an answer may be called."""
        if self.kind == "scalar":
            return bool(self.tree[0] == "name")
        return self.kind == "ordered" and all(part.is_name for part in self.parts)


def form(tree: Tree) -> Form:
    """Sort the tree into its kind.

    Raises:
        Undecided: It has too many parts, or relations that are no answer.
    """
    kind = tree[0]
    if kind in {"list", "set", "union"}:
        return _collection(kind, tree[1:])
    if kind == "ordered":
        opening, closing = tree[1].replace("⟨", "("), tree[2].replace("⟩", ")")
        parts = _limited([form(part) for part in tree[3:]])
        return Form("ordered", [], parts, opening + closing)
    if kind == "matrix":
        rows = tree[1:]
        cells = _limited([form(cell) for row in rows for cell in row])
        return Form("matrix", [], cells, f"{len(rows)} rows")
    if kind == "relation":
        return _relation(tree[1], tree[2:])
    return _scalar(tree)


def value_of(equation: Form, same: Callable[[Form, Form], bool]) -> Form | None:
    """What ``x = 2 + 3 = 5`` or ``2 + 3 = 5`` says the answer is; None when it says no such thing.

    Args:
        equation: A form of the kind equation.
        same: Whether two forms are equal: the members must be.
    """
    members = equation.parts
    if members[-1].is_name and not members[0].is_name:  # 5 = x
        members = members[::-1]
    members = members[1:] if members[0].is_name else members
    last = members[-1]
    return last if all(same(member, last) for member in members[:-1]) else None


def _scalar(tree: Tree) -> Form:
    found = branches(tree)
    if len(found) > 1:
        return Form("list", [], tuple(Form("scalar", branch) for branch in found))
    for kind in ("list", "set", "ordered", "union", "matrix", "relation"):
        if holds(tree, kind):
            raise Undecided
    return Form("scalar", tree)


def _collection(kind: str, items: list[Tree]) -> Form:
    parts: list[Form] = []
    for part in (form(item) for item in _unnamed(items)):
        parts += part.parts if part.kind == "list" else [part]
    return Form(kind, [], _limited(parts))


def _unnamed(items: list[Tree]) -> list[Tree]:
    """``x = 1, x = 2`` without the name; several names stay, for they tell the values apart."""
    named = [
        item[0] == "relation" and item[1] in (["="], ["∈"]) and item[2][0] == "name"
        for item in items
    ]
    names = {item[2][1] for item, is_named in zip(items, named, strict=True) if is_named}
    if len(names) != 1:
        return items
    return [item[3] if is_named else item for item, is_named in zip(items, named, strict=True)]


def _limited(parts: list[Form]) -> tuple[Form, ...]:
    if len(parts) > _MAX_PARTS:
        raise Undecided
    return tuple(parts)


def _relation(signs: list[str], operands: list[Tree]) -> Form:
    if set(signs) == {"="}:
        return Form("equation", [], _limited([form(operand) for operand in operands]))
    if signs == ["∈"]:
        return form(operands[1])
    if "=" in signs or "∈" in signs or "≈" in signs:
        raise Undecided
    interval = _interval(signs, operands)
    if interval is not None:
        return interval
    if len(signs) != 1:
        raise Undecided
    left, right = (_scalar(operand) for operand in operands)
    if "list" in {left.kind, right.kind}:
        raise Undecided
    if signs[0] in {">", "≥"}:
        left, right = right, left
    return Form(_MIRRORED.get(signs[0], "≠"), [], (left, right))


def _interval(signs: list[str], operands: list[Tree]) -> Form | None:
    """``1 < x ≤ 2``, ``x > 3`` and the like as the interval they are."""
    if signs[0] in {">", "≥"}:  # read from the right
        signs, operands = signs[::-1], operands[::-1]
        if not {">", "≥"} >= set(signs):
            return None
    elif not {"<", "≤"} >= set(signs):
        return None
    signs = [_MIRRORED[sign] for sign in signs]
    endless: Tree = ["constant", "∞"]
    if len(operands) == 2 and operands[0][0] == "name":  # x < 3
        minus: Tree = ["*", ["number", "-1"], endless]
        signs, operands = ["<", *signs], [minus, *operands]
    elif len(operands) == 2 and operands[1][0] == "name":  # 3 < x
        signs, operands = [*signs, "<"], [*operands, endless]
    if len(operands) != 3 or operands[1][0] != "name":
        return None
    low, high = operands[0], operands[2]
    if holds(low, "name") or holds(high, "name"):
        return None
    brackets = _BRACKETS[signs[0]][0] + _BRACKETS[signs[1]][1]
    return Form("ordered", [], (form(low), form(high)), brackets)
