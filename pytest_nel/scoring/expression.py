"""Trees as sympy expressions. Only nodes of the tables below are built: no text is evaluated."""

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import sympy

from pytest_nel.scoring.forms import Undecided
from pytest_nel.scoring.tree import Tree

# What would be written out as a number of more digits is not computed.
_MAX_BITS = 40_000
_MAX_EXPONENT = 10_000
_MAX_FACTORIAL = 2_000

_TRIGONOMETRIC = {
    "sin": sympy.sin, "cos": sympy.cos, "tan": sympy.tan,
    "cot": sympy.cot, "sec": sympy.sec, "csc": sympy.csc,
}  # fmt: skip
_FUNCTIONS = {
    **_TRIGONOMETRIC,
    "arcsin": sympy.asin, "arccos": sympy.acos, "arctan": sympy.atan,
    "sinh": sympy.sinh, "cosh": sympy.cosh, "tanh": sympy.tanh,
    "ln": sympy.log, "abs": sympy.Abs, "floor": sympy.floor, "ceil": sympy.ceiling,
}  # fmt: skip
_CONSTANTS = {"π": sympy.pi, "e": sympy.E, "i": sympy.I, "∞": sympy.oo}


def expression(tree: Tree) -> Any:  # Any: sympy has no types
    """Build the expression.

    Raises:
        Undecided: A power or factorial in it is too large to be computed.
    """
    return _Builder().build(tree)


def value(built: Any, point: dict[Any, Any], digits: int) -> Any:
    """Its value where the names have the values of ``point``: a number of sympy, or None."""
    there = built.xreplace(point)
    if there in {sympy.oo, -sympy.oo}:
        return None if point else there
    number = there.evalf(digits)
    real, imaginary = number.as_real_imag()
    if not (real.is_Float or real.is_Rational) or not (imaginary.is_Float or imaginary.is_Rational):
        return None
    if not (real.is_finite and imaginary.is_finite):
        return None
    noise = sympy.Float(10, digits) ** (10 - digits)
    return real if abs(imaginary) <= noise * max(1, abs(real)) else number


def decimal(number: Fraction, digits: int) -> Any:
    """The fraction as a decimal number of that many digits."""
    return sympy.Rational(number.numerator, number.denominator).evalf(digits)


class _Builder:
    """Builds one expression; knows whether it is inside an angle."""

    def __init__(self) -> None:
        self._angle = False

    def build(self, tree: Tree) -> Any:
        kind = tree[0]
        if kind == "number":
            fraction = Fraction(tree[1])
            return sympy.Rational(fraction.numerator, fraction.denominator)
        if kind == "name":
            return sympy.Symbol(tree[1])
        if kind == "constant":
            return _CONSTANTS[tree[1]]
        if kind == "call":
            return self._call(tree[1], tree[2])
        parts = [self.build(part) for part in tree[1:]]
        return _OPERATIONS[kind](*parts) if kind != "degree" else self._degree(parts[0])

    def _call(self, name: str, argument: Tree) -> Any:
        outer, self._angle = self._angle, name in _TRIGONOMETRIC
        built = self.build(argument)
        self._angle = outer
        return _factorial(built) if name == "factorial" else _FUNCTIONS[name](built)

    def _degree(self, built: Any) -> Any:
        """In the argument of a trigonometric function an angle, elsewhere a unit."""
        return built * sympy.pi / 180 if self._angle else built


def _power(base: Any, exponent: Any) -> Any:
    if exponent.is_number and not exponent.is_Rational and not base.free_symbols:
        size = abs(exponent.evalf(15))
        if not size.is_Float or size > _MAX_EXPONENT:
            raise Undecided
    if exponent.is_Rational:
        size = max(abs(exponent.p), exponent.q)
        plain = base.is_Symbol or base in {sympy.pi, sympy.E, sympy.I}
        if size > _MAX_EXPONENT and not plain:
            raise Undecided
        if base.is_Rational and size * (base.p.bit_length() + base.q.bit_length()) > _MAX_BITS:
            raise Undecided
    return sympy.Pow(base, exponent)


def _root(degree: Any, radicand: Any) -> Any:
    """The real root of a negative number where the degree is odd, else the principal one."""
    if degree.is_Integer and degree % 2 == 1 and radicand.is_negative:
        return -_power(-radicand, 1 / degree)
    return _power(radicand, 1 / degree)


def _factorial(number: Any) -> Any:
    if number.is_number and not (number.is_Integer and 0 <= number <= _MAX_FACTORIAL):
        raise Undecided
    return sympy.factorial(number)


def _binomial(above: Any, below: Any) -> Any:
    for number in (above, below):
        if number.is_number and not (number.is_Integer and abs(number) <= _MAX_FACTORIAL):
            raise Undecided
    return sympy.binomial(above, below)


_OPERATIONS: dict[str, Callable[..., Any]] = {
    "+": sympy.Add,
    "*": sympy.Mul,
    "/": lambda above, below: above / below,
    "^": _power,
    "root": _root,
    "log": lambda base, number: sympy.log(number) / sympy.log(base),
    "binom": _binomial,
}
