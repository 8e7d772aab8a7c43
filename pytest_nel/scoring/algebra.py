"""Whether two trees mean the same: tasks for a worker process, since algebra has no bounds.

Collections are compared part by part. Two expressions are equal when sympy gives both the same
canonical form, or when their values agree to 60 digits at fixed points where both are real (with
100 digits of working precision; complex values count when there are no real ones). They differ
when one such value differs. Testing an identity at points is the method of Schwartz (1980) and
Zippel (1979) for polynomials; for the elementary functions of answers an agreement to 60 digits
at 16 unrelated points by chance is beyond concern.
"""

import hashlib
from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import partial
from itertools import combinations
from typing import Any, TypeAlias

from pytest_nel.scoring.forms import Form, Undecided, form, value_of
from pytest_nel.scoring.tree import Tree

#: Imported by the worker before its time is counted.
NEEDS = ("sympy", "pytest_nel.scoring.expression")

Expression: TypeAlias = Any  # a sympy expression; sympy is optional and has no types

_WORKING_DIGITS = 100
_EQUAL_DIGITS = 60
_NOISE_DIGITS = 90  # what is smaller than 10**-90 may be the noise of a cancellation
_RANGES = (
    *[(1, 5)] * 5, *[(0, 1)] * 3, *[(-4, 4)] * 3, *[(5, 60)] * 2, (-60, -5),
    (100, 2000), (-2000, -100),
)  # fmt: skip
_WHOLE = {"n": (6, 7, 9, 12, 20, 31), "k": (2, 3, 4, 5, 7, 10), "m": (3, 5, 6, 8, 11, 17)}
_ENOUGH_REAL = 3
_MAX_NAMES = 12


def any_equal(pairs: Sequence[Sequence[Any]]) -> bool | None:
    """Whether in one of the pairs the answer is the target; None when that cannot be said.

    Args:
        pairs: Answer, target, and None or an approximation that the answer states: the exact
            side, the rounded one, and the step it is a multiple of, as a fraction.
    """
    undecided = False
    for answer, target, near in pairs:
        try:
            if (near is None or _agree(*near)) and _same(form(answer), form(target)):
                return True
        except Undecided:
            undecided = True
    return None if undecided else False


def evaluates(tree: Tree) -> bool:
    """Whether every expression in the tree has a value, so that it can be compared at all."""
    try:
        return all(_has_value(part) for part in _leaves(form(tree)))
    except Undecided:
        return False


def _agree(exact: Tree, rounded: Tree, step: str) -> bool:
    """Whether one is the other, rounded or cut off at its last digit."""
    forms = [
        value_of(side, _same) if side.kind == "equation" else side
        for side in (form(exact), form(rounded))
    ]
    values = [
        _value(_expression(side.tree), {}) if side is not None and side.kind == "scalar" else None
        for side in forms
    ]
    left, right = values
    if left is None or right is None:
        return False
    off, unit = abs(left - right), _float(Fraction(step))
    return bool(2 * off <= unit or (off < unit and abs(right) <= abs(left))) or _close(left, right)


def _leaves(node: Form) -> list[Tree]:
    if node.kind == "scalar":
        return [node.tree]
    return [leaf for part in node.parts for leaf in _leaves(part)]


def _has_value(tree: Tree) -> bool:
    expression = _expression(tree)
    names = sorted(expression.free_symbols, key=str)
    return any(_value(expression, _point(names, at)) is not None for at in range(len(_RANGES)))


def _same(a: Form, b: Form) -> bool:
    if a.kind == b.kind:
        return _SAME.get(a.kind, _same_parts)(a, b)
    if {a.kind, b.kind} <= {"list", "set", "union"}:
        return _same_collection(a, b)
    if "equation" in {a.kind, b.kind}:
        equation, other = (a, b) if a.kind == "equation" else (b, a)
        value = value_of(equation, _same)
        return value is not None and _same(value, other)
    return False


def _same_parts(a: Form, b: Form) -> bool:
    if a.detail != b.detail or len(a.parts) != len(b.parts):
        return False
    return all(_same(left, right) for left, right in zip(a.parts, b.parts, strict=True))


def _same_collection(a: Form, b: Form) -> bool:
    """In any order. In braces an element counts once; a bare list of intervals may be a union."""
    kinds = {a.kind, b.kind}
    if "union" in kinds and kinds != {"union"}:
        listed = a if a.kind != "union" else b
        if listed.kind == "set" or any(part.kind != "ordered" for part in listed.parts):
            return False
    left, right = list(a.parts), list(b.parts)
    if "set" in kinds:
        left, right = _distinct(left), _distinct(right)
    if len(left) != len(right):
        return False
    for part in left:
        match = next((at for at, other in enumerate(right) if _same(part, other)), None)
        if match is None:
            return False
        del right[match]
    return True


def _distinct(parts: Sequence[Form]) -> list[Form]:
    kept: list[Form] = []
    for part in parts:
        if not any(_same(part, other) for other in kept):
            kept.append(part)
    return kept


def _same_equation(a: Form, b: Form) -> bool:
    """The same name for the same value, or the same equation up to a constant factor."""
    named = a.parts[0], b.parts[0]
    if named[0].is_name and named[0] == named[1]:
        values = [value_of(equation, _same) for equation in (a, b)]
        if values[0] is not None and values[1] is not None:
            return _same(values[0], values[1])
    if len(a.parts) != 2 or len(b.parts) != 2:
        return False
    if all(part.kind == "scalar" for part in (*a.parts, *b.parts)):
        return _proportional(a, b, signed=False)
    return _same(a.parts[0], b.parts[0]) and _same(a.parts[1], b.parts[1])


def _proportional(a: Form, b: Form, *, signed: bool) -> bool:
    """Whether left minus right of both is the same up to a constant (positive) factor."""
    f, g = (_expression(left.tree) - _expression(right.tree) for left, right in (a.parts, b.parts))
    ratios = []
    names = _names(f, g)
    for at in range(len(_RANGES)):
        point = _point(names, at)
        above, below = _value(f, point), _value(g, point)
        if above is None or below is None or abs(below) < _tiny(_NOISE_DIGITS):
            continue
        ratios.append(above / below)
    if len(ratios) < _ENOUGH_REAL:
        raise Undecided
    if abs(ratios[0]) < _tiny(_EQUAL_DIGITS) or (signed and not _positive(ratios[0])):
        return False
    return all(_close(left, right) for left, right in combinations(ratios[:4], 2)) and all(
        _close(ratios[0], ratio) for ratio in ratios
    )


def _same_scalar(a: Form, b: Form) -> bool:
    left, right = _expression(a.tree), _expression(b.tree)
    if left == right:
        return True
    exact = (left.is_Rational and right.is_Rational) or left.is_infinite or right.is_infinite
    return not exact and _same_values(left, right)


def _same_values(a: Expression, b: Expression) -> bool:
    """Whether they agree wherever both are real, or, where they never are, as complex numbers."""
    names = _names(a, b)
    real, rest = 0, []
    whole = [_whole_point(names, at) for at in range(len(_WHOLE["n"]))] if _counts(names) else []
    points = [_point(names, at) for at in range(len(_RANGES) if names else 1)]
    for point in points + whole:
        left, right = _value(a, point), _value(b, point)
        if left is None or right is None:
            continue
        if not (left.is_real and right.is_real):
            if point in whole and len(_counts(names)) == len(names) and not _close(left, right):
                return False  # i^n is no cosine, though it is one for every second n
            rest.append(_close(left, right))
        elif not _close(left, right):
            return False
        else:
            real += 1
    if not real and not rest:
        raise Undecided
    return real >= (_ENOUGH_REAL if names else 1) or all(rest)


def _names(a: Expression, b: Expression) -> list[Any]:
    names = sorted(a.free_symbols | b.free_symbols, key=str)
    if len(names) > _MAX_NAMES:
        raise Undecided
    return names


def _counts(names: Sequence[Any]) -> list[Any]:
    """The names that commonly stand for integers: ``(-1)^n`` has a sign for these only."""
    return [name for name in names if str(name) in _WHOLE]


def _whole_point(names: Sequence[Any], at: int) -> dict[Any, Any]:
    """As :func:`_point`, of positive numbers, with integers for n, k and m."""
    import sympy  # noqa: PLC0415  # optional and slow to import

    return {
        **_point(names, at % 5),
        **{name: sympy.Integer(_WHOLE[str(name)][at]) for name in _counts(names)},
    }


def _point(names: Sequence[Any], at: int) -> dict[Any, Any]:
    """The ``at``-th value of every name: fixed, unrelated, with many digits."""
    low, high = _RANGES[at]
    values = {}
    for name in names:
        digest = hashlib.sha256(f"{at} {name}".encode()).digest()
        share = Fraction(int.from_bytes(digest, "big"), 1 << 256)
        values[name] = _float(low + share * (high - low))
    return values


def _expression(tree: Tree) -> Expression:
    from pytest_nel.scoring.expression import expression  # noqa: PLC0415  # it imports sympy

    return expression(tree)


def _value(expression: Expression, point: dict[Any, Any]) -> Expression | None:
    """The number it is at a point, with its working precision; None when it has none."""
    from pytest_nel.scoring.expression import value  # noqa: PLC0415  # it imports sympy

    return value(expression, point, _WORKING_DIGITS)


def _float(value: Fraction) -> Expression:
    from pytest_nel.scoring.expression import decimal  # noqa: PLC0415  # it imports sympy

    return decimal(value, _WORKING_DIGITS + 20)


def _tiny(digits: int) -> Expression:
    return _float(Fraction(1, 10**digits))


def _positive(value: Expression) -> bool:
    return bool(value.is_real) and bool(value > 0)


def _close(left: Expression, right: Expression) -> bool:
    size = max(abs(left), abs(right))
    return bool(abs(left - right) <= size * _tiny(_EQUAL_DIGITS)) or bool(
        size < _tiny(_NOISE_DIGITS)
    )


_SAME: dict[str, Callable[[Form, Form], bool]] = {
    "scalar": _same_scalar,
    "list": _same_collection,
    "set": _same_collection,
    "union": _same_collection,
    "equation": _same_equation,
    "≠": partial(_proportional, signed=False),
    "<": partial(_proportional, signed=True),
    "≤": partial(_proportional, signed=True),
}
