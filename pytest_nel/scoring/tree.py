r"""Trees of formulas: what they consist of, and how the parts are put together.

A tree is a list: the kind of node, then what it holds (numbers as text, names, trees):

* ``["number", "3/4"]``, ``["name", "x_1"]``, ``["constant", "π"]`` (also e, i, ∞)
* ``["+", a, b…]``, ``["*", a, b…]``, ``["/", a, b]``, ``["^", a, b]``; ``±`` and ``∓`` likewise
* ``["call", "sin", a]``, ``["log", base, a]``, ``["root", degree, a]``, ``["binom", a, b]``,
  ``["degree", a]``
* ``["ordered", "(", "]", items…]``, ``["set", items…]``, ``["list", items…]``,
  ``["union", a, b…]``, ``["matrix", [cells…]…]``
* ``["relation", ["=", "<"], a, b, c]``: a chain
"""

import json
from fractions import Fraction
from typing import Any, TypeAlias

from pytest_nel.scoring.tokens import NotFormula

Tree: TypeAlias = list[Any]  # Any: text or further trees

MAX_DIGITS = 1000
_MAX_EXPONENT = 1000


def number(text: str) -> Fraction:
    """The exact value of a numeral.

    Raises:
        NotFormula: It has more digits, or a larger exponent, than an answer has.
    """
    digits, _, exponent = text.lower().partition("e")
    if len(digits) > MAX_DIGITS or abs(int(exponent or 0)) > _MAX_EXPONENT:
        msg = f"a number of more than {MAX_DIGITS} digits"
        raise NotFormula(msg)
    return Fraction(text)


def negative(tree: Tree) -> Tree:
    """Minus the tree."""
    if tree[0] == "number":
        return ["number", str(-Fraction(tree[1]))]
    return multiplied(["number", "-1"], tree)


def added(left: Tree, right: Tree, sign: str) -> Tree:
    """The sum, flat; ``±`` and ``∓`` keep their two branches."""
    if sign in {"±", "∓"}:
        return [sign, left, right]
    right = negative(right) if sign == "-" else right
    return [*left, right] if left[0] == "+" else ["+", left, right]


def multiplied(left: Tree, right: Tree) -> Tree:
    """The product, flat."""
    return [*left, right] if left[0] == "*" else ["*", left, right]


def divided(left: Tree, right: Tree) -> Tree:
    """The quotient as a flat product, so that ``a/b/c…`` does not nest."""
    return multiplied(left, ["^", right, ["number", "-1"]])


def proper(above: Tree, below: Tree) -> Fraction | None:
    """The fraction of two whole numbers when it is between 0 and 1."""
    if above[0] != "number" or below[0] != "number":
        return None
    top, bottom = Fraction(above[1]), Fraction(below[1])
    whole = top.denominator == bottom.denominator == 1
    return top / bottom if whole and 0 < top < bottom else None


def written(tree: Tree) -> str:
    """A subscript or accent's content as part of a name."""
    return str(tree[1]) if tree[0] in {"number", "name", "constant"} else json.dumps(tree)


def holds(tree: Tree, kind: str, text: str | None = None) -> bool:
    """Whether a node of that kind (and text) is anywhere in the tree."""
    if tree and tree[0] == kind and (text is None or text == tree[1]):
        return True
    return any(holds(part, kind, text) for part in tree if isinstance(part, list))


def branches(tree: Tree) -> list[Tree]:
    """The tree with ``±`` as plus, and with it as minus; only the tree where there is none."""
    if not holds(tree, "±") and not holds(tree, "∓"):
        return [tree]
    return [_signed(tree, {"±": "+", "∓": "-"}), _signed(tree, {"±": "-", "∓": "+"})]


def _signed(tree: Tree, signs: dict[str, str]) -> Tree:
    parts = [_signed(part, signs) if isinstance(part, list) else part for part in tree]
    return added(parts[1], parts[2], signs[tree[0]]) if tree and tree[0] in {"±", "∓"} else parts
