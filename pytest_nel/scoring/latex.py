r"""When two written answers mean the same, without a computer algebra system.

Both sides are brought into a canonical form: numbers with units as exact values, sets and lists
as unordered collections, tuples and intervals as ordered ones, the rest as LaTeX in one spelling.
Formulas are compared as written: ``x+1`` is not ``1+x``.
"""

import re
from collections import Counter
from collections.abc import Hashable
from typing import NamedTuple

from pytest_nel.scoring.formula import is_formula
from pytest_nel.scoring.markers import clean
from pytest_nel.scoring.number import Quantity, parse_quantity
from pytest_nel.scoring.text import normal_text

_LIMIT = 4000  # longer answers are compared as text
_DEPTH = 8

_ASSIGNED = re.compile(
    r"\s{0,4}(?P<name>\\?[A-Za-zα-ω](?:_\{?\w{1,8}\}?)?(?:\([a-z]\))?)\s{0,4}"
    r"(?:=|:=|\\in(?![a-zA-Z])|∈)\s{0,4}(?P<rest>[^=]+)",
    re.DOTALL,
)
_LETTER = re.compile(r"[A-Za-z]")
_PROSE = re.compile(r"(?=.*[^\W\d_]{2})[^\d\\^_=+<>/|{}*√π∞]*", re.DOTALL)
_MEANS = re.compile(r"[-−–!'’()\[\],;:&%~#@]|(?<![A-Za-z])[aA](?![A-Za-z])")
_PRIMED = re.compile(r"(?<![A-Za-z])[A-Z]{1,3}['’′]")
_SHORT_WORD = re.compile(r"\b(?:yes|no|not|odd|all|any)\b", re.IGNORECASE)
_SPELLINGS = tuple(
    (re.compile(pattern), replacement)
    for pattern, replacement in (
        (r"\\[dtc]frac(?![a-zA-Z])", r"\\frac"),
        (r"\\(?:left|right|[bB]igg?[lr]?|displaystyle|limits)(?![a-zA-Z])", ""),
        (
            (
                r"\\(?:text(?:bf|it|rm)?|mbox|math(?:rm|bf|it|bb)|operatorname)\s{0,4}"
                r"\{([^{}]{0,200})\}"
            ),
            r" \1 ",
        ),
        (r"\\[,;:! ]|~|\\q?quad(?![a-zA-Z])", " "),
        (r"\^\s{0,2}(?:\\circ(?![a-zA-Z])|\{\s{0,2}\\circ\s{0,2}\})", "°"),
        (r"\\[$%#]|\$", lambda m: m[0][1:] if m[0] in {"\\%", "\\#"} else ""),
        (r"\\lbrace|\\\{", r"\\{"),
        (r"\\rbrace|\\\}", r"\\}"),
        (r"\\(?:cdot|times)(?![a-zA-Z])|×|·", "*"),
        (r"\\leq?(?![a-zA-Z])|≤", "≤"),
        (r"\\geq?(?![a-zA-Z])|≥", "≥"),
        (r"\\neq?(?![a-zA-Z])|≠", "≠"),
        (r"[−–\u2010\u2011]", "-"),
        (r"∞", r"\\infty"),
        (r"π", r"\\pi"),
        (r"√\s?\{?(\d{1,20}|[A-Za-z])\}?", r"\\sqrt{\1}"),
        (r"√", r"\\sqrt"),
        (r"±", r"\\pm"),
        (r"∪", r"\\cup"),
        (r"\*\*", "^"),
        (r"(?<![A-Za-z\\])sqrt\(([^()]{1,100})\)", r"\\sqrt{\1}"),
        (r"\\sqrt\s{0,4}\(([^()]{1,100})\)", r"\\sqrt{\1}"),
        (r"\\sqrt\s{0,4}([A-Za-z0-9])", r"\\sqrt{\1}"),
        (r"\\frac\s{0,4}([A-Za-z0-9])", r"\\frac{\1}"),
        (r"(\\frac\{[^{}]{1,200}\})\s{0,4}([A-Za-z0-9])", r"\1{\2}"),
        # A leading sign only: behind anything else the product would become a difference.
        (r"((?:^|[(\[{,;=<>≤≥])\s{0,4})\\frac\{\s{0,4}-([^{}+-]{1,200})\}", r"\1-\\frac{\2}"),
        (
            (
                r"(?<![\w.}^_])(\d{0,20}\\(?:pi(?![a-z])|sqrt\{[^{}]{1,40}\})|\d{1,20}|[A-Za-z])"
                r"\s?/\s?(\d{1,20}|[A-Za-z])(?![\w.^!])"
            ),
            r"\\frac{\1}{\2}",
        ),
        (r"([_^])\{(-?\w)\}", r"\1\2"),
        (r"\\([A-Za-z]+)", r" \1"),
        (r"(?<![A-Za-z0-9])\s++|\s++(?![A-Za-z0-9])", ""),
        (r"(?<=\d)\s++(?=[A-Za-z])", ""),
        # "x y" is xy, but "1 2" is not 12 and "\\pi r" not a name of three letters.
        (r"(?<![A-Za-z])([A-Za-z])\s++(?=[A-Za-z](?![A-Za-z]))", r"\1"),
    )
)
_ANGLE = re.compile(r"(?:sin|cos|tan|cot|sec|csc)(?![a-z])")
_IN_BRACKETS = re.compile(r"\(\s{0,4}([^()]{1,100})\)")
_TOKEN = re.compile(r"\\.|.", re.DOTALL)
_OPENING, _CLOSING = {"(", "[", "{", "\\{"}, {")", "]", "}", "\\}"}


class Comparison(NamedTuple):
    """Whether two answers are the same, and what a number was on each side."""

    equal: bool
    left: Quantity | None = None
    right: Quantity | None = None


def compare(answer: str, target: str) -> Comparison:
    """Compare a cleaned answer with the target, form for form."""
    name_a, left = unassigned(clean(answer))
    name_b, right = unassigned(clean(target))
    if name_a and name_b and name_a != name_b:
        return Comparison(equal=False)
    a, b = parse_quantity(left), parse_quantity(right)
    if a is None and b is not None and (inside := _IN_BRACKETS.fullmatch(left)):
        a = parse_quantity(inside[1])  # "(1,000)" is a number where a number is wanted
    if a is not None and b is not None:
        return Comparison(_same_quantity(a, b), a, b)
    if max(len(left), len(right)) > _LIMIT:
        return Comparison(normal_text(left) == normal_text(right))
    return Comparison(_form(left) == _form(right), a, b)


def unassigned(text: str) -> tuple[str, str]:
    r"""Split ``x = 5`` and ``x \in [1,2]`` into the name and what it is; else ``("", text)``."""
    match = _ASSIGNED.fullmatch(text) if len(text) <= _LIMIT else None
    if match is None:
        return "", text
    return match["name"].lstrip("\\"), match["rest"].strip()


def spelling(text: str) -> str:
    """The formula in one spelling, without white space."""
    for pattern, replacement in _SPELLINGS:
        text = pattern.sub(replacement, text)
    if not _ANGLE.search(text):  # a unit, save where it is the measure of an argument
        text = text.replace("°", "")
    return text.rstrip(".,;")


def _same_quantity(a: Quantity, b: Quantity) -> bool:
    return a.value == b.value and (not a.unit or not b.unit or a.unit == b.unit)


def _form(text: str, depth: int = 0) -> Hashable:
    text = clean(text)
    quantity = parse_quantity(text)
    if quantity is not None:
        return "number", quantity.value, quantity.unit if depth == 0 else ""
    if depth > _DEPTH:
        return "formula", spelling(text)
    words = _words(text)
    if _is_prose(words) or _LETTER.fullmatch(words):
        return "text", normal_text(words)
    several = _several(text, depth)
    return ("formula", spelling(text)) if several is None else several


def _is_prose(words: str) -> bool:
    """Words, whose case, articles and punctuation do not count; ``AB - CD`` is no such thing."""
    if not _PROSE.fullmatch(words) or _PRIMED.search(words):
        return False
    return (
        _SHORT_WORD.search(words) is not None or not _MEANS.search(words) or not is_formula(words)
    )


def _several(text: str, depth: int) -> Hashable | None:
    """The form of a set, tuple, interval or list of parts; None when the text is none."""
    bare = re.sub(r"\\(?:left|right)(?![a-zA-Z])|\\[!,;: ]", "", text).strip()
    opening, inner, closing = _bracketed(bare)
    if opening:
        parts = _elements(_split(inner), depth)
        return _collection(opening, parts, closing, inner)
    pieces = _split(bare)
    if len(pieces) > 1 and all(pieces):
        return "list", frozenset(Counter(_elements(pieces, depth)).items())
    return None


def _elements(parts: list[str], depth: int) -> list[Hashable]:
    """The forms of the parts; names that tell them apart (``x = 1, y = 2``) belong to them."""
    named = [unassigned(part.strip()) for part in parts]
    names = {name for name, _ in named if name}
    if len(names) > 1:
        return [("named", name, _form(value, depth + 1)) for name, value in named]
    return [_form(value, depth + 1) for _, value in named]


def _collection(opening: str, parts: list[Hashable], closing: str, inner: str) -> Hashable:
    if opening == "\\{":
        return "set", frozenset(parts) if inner.strip() else frozenset()
    if len(parts) == 1 and (opening, closing) == ("(", ")"):
        return parts[0]
    return "ordered", opening, tuple(parts), closing


def _bracketed(text: str) -> tuple[str, str, str]:
    """Bracket, inside, bracket, when one pair spans the whole text; else three empty strings."""
    tokens = _TOKEN.findall(text)
    if len(tokens) < 2 or tokens[0] not in {"(", "[", "\\{"} or tokens[-1] not in _CLOSING - {"}"}:
        return "", "", ""
    depth = 0
    for position, token in enumerate(tokens):
        depth += (token in _OPENING) - (token in _CLOSING)
        if depth == 0 and position < len(tokens) - 1:
            return "", "", ""
    return tokens[0], "".join(tokens[1:-1]), tokens[-1]


def _split(text: str) -> list[str]:
    """Cut at commas that are in no bracket."""
    parts, depth = [""], 0
    for piece in _TOKEN.findall(text):
        depth += (piece in _OPENING) - (piece in _CLOSING)
        if piece == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += piece
    return parts


def _words(text: str) -> str:
    r"""The words of ``\text{…}``, parentheses around a single letter taken off."""
    plain = re.sub(r"\\(?:text(?:bf|it|rm)?|mbox|mathrm)\s{0,4}\{([^{}]{0,200})\}", r"\1", text)
    return re.sub(r"\s{0,4}\(([A-Za-z])\)\s{0,4}", r"\1", plain)
