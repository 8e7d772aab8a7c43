r"""A written formula as a tree. Nothing is evaluated, and no text goes into any evaluator.

Fractions are read left to right (``1/2x`` is half of x), a number before a numeric fraction is
mixed (``3\frac14``), ``\log`` has base 10, and a function takes the product that follows it.
"""

from fractions import Fraction

from pytest_nel.scoring.tokens import NotFormula, Token, tokens
from pytest_nel.scoring.tree import (
    Tree,
    added,
    divided,
    holds,
    multiplied,
    negative,
    number,
    proper,
    written,
)

_DEPTH = 40
_RELATIONS = frozenset("=<>≤≥≠∈≈")
_CLOSING = {"(": ")]", "[": ")]", "\\{": ("\\}",), "⟨": "⟩", "{": "}"}
_ROUNDING = {"⌊": ("floor", "⌋"), "⌈": ("ceil", "⌉")}
_ENDLESS: Tree = ["constant", "∞"]
_VALUES: dict[str, Tree] = {
    "π": ["constant", "π"],
    "∞": _ENDLESS,
    "ℝ": ["ordered", "(", ")", negative(_ENDLESS), _ENDLESS],
    "∅": ["set"],
}
_CONSTANT_NAMES = frozenset("ei")
_ENVIRONMENTS = frozenset({"pmatrix", "bmatrix", "matrix", "Bmatrix", "smallmatrix", "array"})


def parse(text: str) -> Tree:
    """Read the whole text as one answer.

    Raises:
        NotFormula: It is none that we read; the message says why.
    """
    reader = _Reader(tokens(text))
    tree = reader.items()
    if reader.now.kind != "stop":
        msg = f"unexpected {reader.now.text!r}"
        raise NotFormula(msg)
    return tree


def is_formula(text: str) -> bool:
    """Whether the whole text reads as one answer."""
    try:
        parse(text)
    except NotFormula:
        return False
    return True


class _Reader:
    """A recursive descent over the tokens; each method reads one level of binding."""

    def __init__(self, found: list[Token]) -> None:
        self._tokens = found
        self._at = 0
        self._depth = 0
        self._bars = 0  # open |…|

    @property
    def now(self) -> Token:
        return self._tokens[self._at]

    def items(self) -> Tree:
        """Items between commas; a single one stands for itself."""
        found = self._item_list()
        return found[0] if len(found) == 1 else ["list", *found]

    def _item_list(self) -> list[Tree]:
        self._depth += 1
        if self._depth > _DEPTH:
            msg = f"nested more than {_DEPTH} deep"
            raise NotFormula(msg)
        found = [self._relation()]
        while self._take(",", ";"):
            if self._peek(",", ";"):
                continue  # "1, 2, and 3"
            found.append(self._relation())
        self._depth -= 1
        return found

    def _relation(self) -> Tree:
        operands, signs = [self._union()], []
        while self.now.kind == "sign" and self.now.text in _RELATIONS:
            signs.append(self._next().text)
            operands.append(self._union())
        return ["relation", signs, *operands] if signs else operands[0]

    def _union(self) -> Tree:
        found = [self._sum()]
        while self._take("∪"):
            found.append(self._sum())
        if self._peek("∩", "∖"):
            msg = f"{self.now.text} is not read"
            raise NotFormula(msg)
        return ["union", *found] if len(found) > 1 else found[0]

    def _sum(self) -> Tree:
        total = self._term()
        while sign := self._take("+", "-", "±", "∓"):
            term = self._term()
            total = added(total, term, sign)
        return total

    def _term(self) -> Tree:
        if sign := self._take("-", "+", "±", "∓"):
            self._deeper()
            term = self._term()
            self._depth -= 1
            if sign in "±∓":
                return [sign, ["number", "0"], term]
            return negative(term) if sign == "-" else term
        product = self._power()
        while True:
            if self._take("*"):
                product = multiplied(product, self._signed())
            elif self._take("/"):
                product = divided(product, self._signed())
            elif self._starts_factor():
                product = multiplied(product, self._power())
            else:
                return product

    def _signed(self) -> Tree:
        """A factor behind ``*``, ``/`` or ``^``, which may have a sign of its own."""
        if self._take("-"):
            return negative(self._power())
        self._take("+")
        return self._power()

    def _power(self) -> Tree:
        base = self._primary()
        if self._take("!"):
            base = ["call", "factorial", base]
        if self._take("^"):
            degree = self._take("°") or self._braced_degree()
            base = ["degree", base] if degree else ["^", base, self._exponent()]
        return ["degree", base] if self._take("°") else base

    def _braced_degree(self) -> bool:
        inside = [token.text for token in self._tokens[self._at : self._at + 3]]
        if inside == ["{", "°", "}"]:
            self._at += 3
            return True
        return False

    def _exponent(self) -> Tree:
        """Of ``^``: binds to the right, as in ``x^{y^z}`` and ``2^3^4``."""
        self._deeper()
        exponent = self._signed()
        self._depth -= 1
        return exponent

    def _deeper(self) -> None:
        self._depth += 1
        if self._depth > _DEPTH:
            msg = f"nested more than {_DEPTH} deep"
            raise NotFormula(msg)

    def _starts_factor(self) -> bool:
        token = self.now
        if token.kind in {"name", "function", "accent"}:
            return True
        if token.kind == "structure":
            return token.text in {"frac", "root", "binom", "over"}
        opening = (
            {"(", "{", "π", "∞", "⌊", "⌈"} if self._bars else {"(", "{", "π", "∞", "⌊", "⌈", "|"}
        )
        return token.kind == "sign" and token.text in opening

    def _primary(self) -> Tree:
        token = self._next()
        readers = {
            "number": self._number,
            "name": self._name,
            "function": self._function,
            "structure": self._structure,
            "begin": self._matrix,
            "accent": self._accent,
        }
        return readers.get(token.kind, self._sign)(token.text)

    def _accent(self, name: str) -> Tree:
        return ["name", f"{name} {written(self._argument())}"]

    def _sign(self, sign: str) -> Tree:
        if sign in _VALUES:
            return _VALUES[sign]
        if sign == "|":
            return self._absolute()
        if sign in _ROUNDING:
            name, closing = _ROUNDING[sign]
            inside = self.items()
            self._want(closing)
            return ["call", name, inside]
        if sign in _CLOSING:
            return self._bracket(sign)
        msg = f"unexpected {sign or 'end'!r}"
        raise NotFormula(msg)

    def _absolute(self) -> Tree:
        self._deeper()
        self._bars += 1
        inside = self._sum()
        self._want("|")
        self._bars -= 1
        self._depth -= 1
        return ["call", "abs", inside]

    def _bracket(self, opening: str) -> Tree:
        bars, self._bars = self._bars, 0
        if opening == "\\{" and self._take("\\}"):
            found: list[Tree] = []
            closing = "\\}"
        else:
            found = self._item_list()
            closing = self._next().text
        self._bars = bars
        if not closing or closing not in _CLOSING[opening]:
            msg = f"{opening!r} ends with {closing or 'nothing'!r}"
            raise NotFormula(msg)
        if opening == "\\{" or (opening == "{" and len(found) > 1):
            return ["set", *found]
        if len(found) == 1:
            return found[0]
        return ["ordered", opening, closing, *found]

    def _number(self, text: str) -> Tree:
        if self._take("_"):
            return ["name", f"{text} base {written(self._argument())}"]  # 52_8: another numeral
        value = number(text)
        part = self._fraction_behind() if text.isdecimal() else None
        return ["number", str(value if part is None else value + part)]

    def _fraction_behind(self) -> Fraction | None:
        r"""The proper fraction of a mixed number: ``3\frac{1}{4}`` or ``3 1/4``."""
        at, kept = self._at, list(self._tokens)  # an argument may cut a numeral in two
        value = None
        if self.now.kind == "structure" and self.now.text == "frac":
            self._next()
            above, below = self._argument(), self._argument()
            value = proper(above, below)
        elif self.now.kind == "number" and self.now.spaced:
            above = ["number", str(number(self._next().text))]
            if self._take("/") and self.now.kind == "number":
                value = proper(above, ["number", str(number(self._next().text))])
        if value is None:
            self._at, self._tokens = at, kept
        return value

    def _name(self, name: str) -> Tree:
        if name in _CONSTANT_NAMES and not self._peek("_"):
            return ["constant", name]
        if self._take("_"):
            name = f"{name}_{written(self._argument())}"
        return ["name", name]

    def _function(self, name: str) -> Tree:
        base: Tree | None = None
        if self._take("_"):
            base = self._argument()
        power = self._argument() if self._take("^") else None
        if power == ["number", "-1"] and f"arc{name}" in {"arcsin", "arccos", "arctan"}:
            name, power = f"arc{name}", None
        argument = self._function_argument()
        if base is not None and name != "log":
            msg = f"{name} takes no base"
            raise NotFormula(msg)
        if name == "log":
            made: Tree = ["log", base or ["number", "10"], argument]
        else:
            made = ["^", ["constant", "e"], argument] if name == "exp" else ["call", name, argument]
        return made if power is None else ["^", made, power]

    def _function_argument(self) -> Tree:
        """In brackets, or the product that follows, up to the next function."""
        self._deeper()
        if self._peek("(", "{"):
            argument = self._primary()
        else:
            argument = self._signed()
            while self._starts_factor() and self.now.kind != "function" and not self._peek("("):
                argument = multiplied(argument, self._power())
            if self._peek("/") and holds(argument, "constant", "π"):
                self._next()
                argument = divided(argument, self._power())
        self._depth -= 1
        return argument

    def _structure(self, name: str) -> Tree:
        if name in {"frac", "binom"}:
            above, below = self._argument(), self._argument()
            return ["/" if name == "frac" else "binom", above, below]
        if name == "root":
            degree: Tree = ["number", "2"]
            if self._take("["):
                degree = self._sum()
                self._want("]")
            return ["root", degree, self._argument()]
        return ["name", f"over {written(self._argument())}"]

    def _argument(self) -> Tree:
        r"""Of a command: a group in braces, or the next single digit, letter or command."""
        self._deeper()
        if self._take("{"):
            found = self.items()
            self._want("}")
        elif self.now.kind == "number" and len(self.now.text) > 1:
            first, rest = self.now.text[0], self.now.text[1:]
            if first == "." or rest[0] in ".eE":
                msg = f"{self.now.text!r} as an argument without braces"
                raise NotFormula(msg)
            self._tokens[self._at] = Token("number", rest)
            found = ["number", first]
        elif self._take("-"):
            found = negative(self._primary())
        elif self.now.kind == "number":
            found = ["number", self._next().text]
        elif self.now.kind == "name":
            name = self._next().text
            found = ["constant" if name in _CONSTANT_NAMES else "name", name]
        else:
            found = self._primary()
        self._depth -= 1
        return found

    def _matrix(self, kind: str) -> Tree:
        if kind not in _ENVIRONMENTS:
            msg = f"unknown environment {kind!r}"
            raise NotFormula(msg)
        rows: list[list[Tree]] = [[self._union()]]
        while self.now.kind != "end":
            if self._take("&"):
                rows[-1].append(self._union())
            else:
                self._want("\\\\")
                if self.now.kind != "end":
                    rows.append([self._union()])
        self._want(kind)
        if len({len(row) for row in rows}) != 1:
            msg = "an uneven matrix"
            raise NotFormula(msg)
        return ["matrix", *rows]

    def _peek(self, *signs: str) -> bool:
        return self.now.kind == "sign" and self.now.text in signs

    def _take(self, *signs: str) -> str:
        return self._next().text if self._peek(*signs) else ""

    def _want(self, text: str) -> None:
        token = self._next()
        if token.text != text:
            msg = f"expected {text!r}, got {token.text or 'end'!r}"
            raise NotFormula(msg)

    def _next(self) -> Token:
        token = self.now
        if token.kind != "stop":
            self._at += 1
        return token
