r"""Numbers as people and models write them, read exactly.

Values are :class:`~fractions.Fraction`; a float is never involved. What can be read in two ways
(``1.234,5``, ``3:45``, a date) is *seen* but has no value, so that a scorer can say "no answer"
instead of guessing.
"""

import re
import unicodedata
from fractions import Fraction
from typing import NamedTuple

from pytest_nel.scoring.unit import CURRENCIES, SCALES, canonical_unit, glued_unit

#: Longer numerals and larger exponents are no answers; Python refuses int ⇄ str beyond 4300.
MAX_DIGITS = 1000
MAX_EXPONENT = 1000


class Quantity(NamedTuple):
    """A number and its unit, ``""`` when there is none; ``%`` is a unit."""

    value: Fraction
    unit: str = ""


class Found(NamedTuple):
    """A numeral in a text.

    Attributes:
        start: Where it begins, sign and currency included.
        end: Where it ends, with its percent sign or scale word ("million").
        quantity: None when it looks like a number and cannot be read as one.
        operand: It follows an operator, as the 3 in ``5 - 3``.
    """

    start: int
    end: int
    quantity: Quantity | None
    operand: bool


_MINUS = dict.fromkeys((0x2212, 0xFE63, 0x2010, 0x2011, 0x2013), "-")
_SPACES = dict.fromkeys((0xA0, 0x2007, 0x2008, 0x2009, 0x200A, 0x202F), "\u202f")
_INVISIBLE = dict.fromkeys((0x200B, 0x200C, 0x200D, 0x2060, 0xFEFF, 0x200E, 0x200F), "")
_WIDE = {code: chr(code - 0xFEE0) for code in range(0xFF01, 0xFF5F)}
_TABLE: dict[int, str] = {
    **_WIDE, **_MINUS, **_SPACES, **_INVISIBLE,
    0x2044: "/", 0x2215: "/", 0x066B: ".", 0x066C: ",", 0x00B0: " degrees ", 0x2019: "'",
}  # fmt: skip
_LATEX = (
    (re.compile(r"<<[^<>\n]{0,200}>>"), ""),  # a calculator's annotation
    (re.compile(r"\\!"), ""),
    (re.compile(r"\{,\}(?=\d)"), ","),
    (re.compile(r"\\,"), "\u202f"),
    (re.compile(r"\\[;: ]|~|\\q?quad(?![a-zA-Z])|\\(?:left|right)(?![a-zA-Z])|\\[()\[\]]"), " "),
    (re.compile(r"\\([$%#&])"), r"\1"),
    (re.compile(r"\\(?:text(?:bf|it|rm)?|mbox|math(?:rm|bf|it))\s{0,4}\{([^{}]{0,200})\}"), r" \1"),
    (re.compile(r"\^\s{0,2}(?:\\circ(?![a-zA-Z])|\{\s{0,2}\\circ\s{0,2}\})"), " degrees "),
    (re.compile(r"\\(?:times|cdot)(?![a-zA-Z])"), "×"),
    (re.compile(r"\\(?:approx|sim|simeq)(?![a-zA-Z])"), "≈"),
)
_PART = r"(?:\{[ ]{0,4}([-+]?[\d.,]{1,60})[ ]{0,4}\}|(\d))"
_FRAC = re.compile(rf"\\[dtc]?frac[ ]{{0,4}}{_PART}[ ]{{0,4}}{_PART}")

_FACTOR = re.compile(r"([.,_/':eE]?)[+-]?\d")

_CHUNK = re.compile(
    r"""
    (?<![A-Za-z0-9)]) (?<![A-Za-z0-9]_) (?<!\^)
    (?<![A-Za-z0-9_^}]\{) (?<![A-Za-z0-9]\() (?<![A-Za-z]-)
    (?P<sign>(?:minus|negative)[ ]|[-+]?) (?P<currency>[$€£¥₹₩]?) (?P<sign2>-?)
    (?P<body>
        \d{1,9}[ ]\d{1,9}/\d{1,9}(?![\d/.,])
      | [1-9]\d{0,2}(?:[ ]\d{3}(?!\d))++ (?:\.\d++)?
      | [1-9]\d{0,2}(?:\u202f\d{3}(?!\d))++ (?:\.\d++)?
      | \.?\d[\d.,_/':]*+
    )
    """,
    re.VERBOSE | re.IGNORECASE,
)
_SUFFIX = re.compile(
    r"(?:e(?P<exp>[+-]?\d++)"
    r"|[ \u202f]{0,2}[×x*·][ \u202f]{0,2}10[ ]?"
    r"(?:\^[ ]?\{?(?P<pow>[+-]?\d++)\}?|(?P<sup>[⁻⁺]?[⁰¹²³⁴⁵⁶⁷⁸⁹]++)))",
    re.IGNORECASE,
)
_TEN = re.compile(r"\^[ ]?\{?(?P<pow>[+-]?\d++)\}?")
_SUPERSCRIPT = str.maketrans("⁻⁺⁰¹²³⁴⁵⁶⁷⁸⁹", "-+0123456789")
_PERCENT = re.compile(r"[ \u202f*_]{0,3}(?:%|per[ ]?cent\b|percentage[ ]points?\b)", re.IGNORECASE)
_SCALE = re.compile(
    rf"[ \u202f]{{0,3}}(?:({'|'.join(k for k in SCALES if k.isascii())})\b|([万萬億亿만억]))",
    re.IGNORECASE,
)
_GROUPED = re.compile(
    r"\d+|[1-9]\d{0,2}(?:(?:,\d{3})+|(?:_\d{3})+|(?:'\d{3})+|(?: \d{3})+|(?:\u202f\d{3})+)"
    r"|[1-9]\d?(?:,\d{2})+,\d{3}"  # Indian grouping: 12,34,567
)
_SEPARATORS = str.maketrans("", "", ",_' \u202f")
_OPERAND = re.compile(r"[\d)}][ ]{0,3}[-+*/×÷·^][ ]{0,3}[$(]?$")
_LOOSE_MINUS = re.compile(r"(?:\A|[=(:])[ ]{0,4}-[ ]{1,4}\Z")  # "- 5": a sign or a bullet?
_LATIN = re.compile(r"[A-Za-z]")
_SYMBOLIC = re.compile(r"[\\^_](?=[\w{\\])|[⁰¹²³⁴⁵⁶⁷⁸⁹⁻]|\((?:\d|[A-Za-z]\b)|\\")


def readable(text: str) -> str:
    """The text with one spelling of digits, signs, spaces, fractions and LaTeX numerals."""
    text = text.translate(_TABLE)
    if not text.isascii():
        text = "".join(_ascii_digit(char) for char in text)
    if "\\" in text or "<<" in text or "{" in text:
        for pattern, replacement in _LATEX:
            text = pattern.sub(replacement, text)
        text = _FRAC.sub(_plain_fraction, text)
    return text


def scan(text: str) -> list[Found]:
    """Every numeral of a :func:`readable` text; what is part of a word ("5th") is none."""
    found = []
    position = 0
    while match := _CHUNK.search(text, position):
        entry, position = _entry(text, match)
        if entry is not None:
            found.append(entry)
    return found


def parse_quantity(text: str) -> Quantity | None:
    """Read the whole text as one number with at most a unit; None when it is anything else."""
    text = readable(text).strip(" \t\n*`~≈\u202f")
    if text.startswith("$") and text.endswith("$"):
        text = text[1:-1].strip()
    match = _CHUNK.match(text)
    entry = _entry(text, match)[0] if match else None
    if match is None or entry is None or entry.quantity is None:
        return None
    value, unit = entry.quantity
    rest = text[entry.end :].strip(" \t\n*`$.\u202f")
    if not rest:
        return Quantity(value, unit or CURRENCIES.get(match["currency"], ""))
    named = canonical_unit(rest, glued=not text[entry.end : entry.end + 1].isspace())
    if named is None or unit:
        return None
    return Quantity(value, named)


def canonical(value: Fraction) -> str:
    """``1234.5`` where the decimal expansion ends, else ``2/3``."""
    rest, twos, fives = value.denominator, 0, 0
    while rest % 2 == 0:
        rest, twos = rest // 2, twos + 1
    while rest % 5 == 0:
        rest, fives = rest // 5, fives + 1
    if rest != 1:
        return f"{value.numerator}/{value.denominator}"
    places = max(twos, fives)
    if places == 0:
        return str(value.numerator)
    digits = str(abs(value.numerator) * 10**places // value.denominator).rjust(places + 1, "0")
    sign = "-" if value < 0 else ""
    return f"{sign}{digits[:-places]}.{digits[-places:]}"


def _entry(text: str, match: re.Match[str]) -> tuple[Found | None, int]:
    """Judge one chunk; also say where scanning goes on."""
    body = match["body"].rstrip(".,:/'_")
    end = match.start("body") + len(body)
    value = _value(body)
    value, end = _with_exponent(text, body, value, end)
    symbolic = _SYMBOLIC.match(text, end)
    if symbolic:
        value = None
    elif _LATIN.match(text, end) and not glued_unit(text, end):
        word_end = re.compile(r"[A-Za-z0-9]*+").match(text, end)
        return None, word_end.end() if word_end else end
    if value is not None and ("-" in match["sign"] or len(match["sign"]) > 1):
        value = -value
    if value is not None and match["sign2"]:
        value = -value
    unit = ""
    if scale := _SCALE.match(text, end):
        value = None if value is None else value * SCALES[(scale[1] or scale[2]).lower()]
        end = scale.end()
    elif percent := _PERCENT.match(text, end):
        unit, end = "%", percent.end()
    if _LOOSE_MINUS.search(text[max(0, match.start() - 10) : match.start()]):
        value = None
    operand = _OPERAND.search(text[max(0, match.start() - 10) : match.start()]) is not None
    quantity = None if value is None else Quantity(value, unit)
    return Found(match.start(), end, quantity, operand), max(end, match.end("body"))


def _with_exponent(
    text: str, body: str, value: Fraction | None, end: int
) -> tuple[Fraction | None, int]:
    suffix = _SUFFIX.match(text, end) or (_TEN.match(text, end) if body == "10" else None)
    if suffix is None:
        return value, end
    groups = suffix.groupdict()
    power = groups.get("exp") or groups.get("pow") or (groups.get("sup") or "")
    power = power.translate(_SUPERSCRIPT)
    if value is None or len(power) > 6 or abs(int(power)) > MAX_EXPONENT:
        return None, suffix.end()
    base = Fraction(1) if suffix.re is _TEN else value
    return base * Fraction(10) ** int(power), suffix.end()


def _value(body: str) -> Fraction | None:
    if len(body) > 2 * MAX_DIGITS:
        return None
    whole, space, fraction = body.partition(" ")
    if space and "/" in fraction:
        part = _value(fraction)
        return None if part is None or part >= 1 else int(whole) + part
    if "/" not in body:
        return _decimal(body)
    above, _, below = body.partition("/")
    numerator, denominator = _decimal(above), _decimal(below)
    if numerator is None or not denominator:
        return None
    return numerator / denominator


def _decimal(numeral: str) -> Fraction | None:
    """``1,234.50``; None for what is not grouped properly or is too long."""
    whole, dot, part = numeral.partition(".")
    if len(numeral) > MAX_DIGITS or (part and not part.isdecimal()) or not (whole or part):
        return None
    if whole and not _GROUPED.fullmatch(whole):
        return None
    return Fraction(
        f"{whole.translate(_SEPARATORS) or '0'}.{part or '0'}"
        if dot
        else whole.translate(_SEPARATORS)
    )


def _ascii_digit(char: str) -> str:
    """Digits of other scripts as ASCII; vulgar fractions as ``n/d`` behind a space."""
    if char.isascii():
        return char
    digit = unicodedata.decimal(char, None)
    if digit is not None:
        return str(digit)
    plain = unicodedata.normalize("NFKC", char)
    return f" {plain.replace('⁄', '/')}" if "⁄" in plain and plain[-1].isdigit() else char


def _plain_fraction(match: re.Match[str]) -> str:
    above, below = match[1] or match[2], match[3] or match[4]
    before = match.string[match.start() - 1 : match.start()] if match.start() else ""
    space = " " if before.isdigit() else ""
    # What follows is a factor or another numeral, no more digits of the denominator.
    behind = _FACTOR.match(match.string, match.end())
    return f"{space}{above}/{below}{(behind and ('×' if not behind[1] else ' ')) or ''}"
