r"""A written formula as tokens: LaTeX, plain text and Unicode in one alphabet.

Spacing, sizes and spelling variants disappear here. Whatever is not known to belong to an answer
(``\int``, ``\ldots``, words) raises :class:`NotFormula`: better no formula than a guessed one.
"""

import re
from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import NamedTuple

MAX_CHARACTERS = 4000
MAX_TOKENS = 1500


def _set(words: str) -> frozenset[str]:
    return frozenset(words.split())


FUNCTIONS = _set("sin cos tan cot sec csc arcsin arccos arctan sinh cosh tanh ln log exp")
_FUNCTION_NAMES = {
    **{name: name for name in FUNCTIONS},
    "asin": "arcsin", "acos": "arccos", "atan": "arctan", "abs": "abs",
}  # fmt: skip
_GREEK = _set(
    "alpha beta gamma delta epsilon varepsilon zeta eta theta vartheta iota kappa lambda mu nu xi "
    "rho sigma tau upsilon phi varphi chi psi omega Gamma Delta Theta Lambda Xi Pi Sigma Upsilon "
    "Phi Psi Omega ell"
)
_OPERATORS = {
    "cdot": "*", "times": "*", "ast": "*", "div": "/", "pm": "±", "mp": "∓",
    "le": "≤", "leq": "≤", "leqslant": "≤", "ge": "≥", "geq": "≥", "geqslant": "≥", "lt": "<",
    "gt": ">", "ne": "≠", "neq": "≠", "in": "∈", "cup": "∪", "cap": "∩", "setminus": "∖",
    "backslash": "∖", "circ": "°", "degree": "°", "lvert": "|", "rvert": "|", "vert": "|",
    "mid": "|", "lfloor": "⌊", "rfloor": "⌋", "lceil": "⌈", "rceil": "⌉", "lbrace": "\\{",
    "rbrace": "\\}", "langle": "⟨", "rangle": "⟩", "infty": "∞", "pi": "π", "approx": "≈",
    "emptyset": "∅", "varnothing": "∅", "land": ",", "lor": ",",
}  # fmt: skip
_SILENT = _set(
    "left right middle big Big bigg Bigg bigl bigr Bigl Bigr biggl biggr Biggl Biggr displaystyle "
    "textstyle limits quad qquad thinspace enspace space"
)
_STRUCTURES = {
    "frac": "frac", "dfrac": "frac", "tfrac": "frac", "cfrac": "frac",
    "binom": "binom", "dbinom": "binom", "tbinom": "binom",
    "sqrt": "root", "overline": "over", "bar": "over",
}  # fmt: skip
_ACCENTS = _set("vec hat widehat tilde mathcal overrightarrow")

_GREEK_LETTERS = {
    "α": "alpha", "β": "beta", "γ": "gamma", "δ": "delta", "ε": "epsilon", "ζ": "zeta",
    "η": "eta", "θ": "theta", "κ": "kappa", "λ": "lambda", "μ": "mu", "ν": "nu", "ξ": "xi",
    "ρ": "rho", "σ": "sigma", "τ": "tau", "φ": "phi", "χ": "chi", "ψ": "psi", "ω": "omega",
    "Γ": "Gamma", "Δ": "Delta", "Θ": "Theta", "Λ": "Lambda", "Σ": "Sigma", "Φ": "Phi",
    "Ψ": "Psi", "Ω": "Omega",
}  # fmt: skip
_UNICODE = str.maketrans(
    {
        "−": "-", "–": "-", "‐": "-", "‑": "-", "×": "*", "·": "*", "⋅": "*", "∙": "*", "÷": "/",
        "∕": "/", "⁄": "/", "√": "\\sqrt ", "º": "°", "∶": ":",
        "\u00a0": " ", "\u2009": " ", "\u202f": " ", "\u200b": "", "\u2061": "", "\u2062": "",
        **{letter: f"\\{name} " for letter, name in _GREEK_LETTERS.items()},
    }
)  # fmt: skip
_SUPERSCRIPTS = re.compile(r"[⁰¹²³⁴⁵⁶⁷⁸⁹⁻⁺ⁿ]+")
_RAISED = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁻⁺ⁿ", "0123456789-+n")
_REWRITES = tuple(
    (re.compile(pattern), replacement)
    for pattern, replacement in (
        (r"\\(?:mathrm|mathbf|mathit|mathsf|boldsymbol|bm|operatorname\*?|rm)\s?\{(\w{1,20})\}",
         r" \1 "),
        (r"\\(?:text(?:rm|bf|it|normal)?|mbox|hbox)\s?\{\s?(?:and|or|,|;)\s?\}", " , "),
        (r"\\(?:text(?:rm|bf|it|normal)?|mbox|hbox)\s?\{\s?([-\d.]{1,20}|[A-Za-z])\s?\}", r" \1 "),
        (r"\\mathbb\s?\{?R\}?|\\R(?:eals)?(?![a-zA-Z])", " ℝ "),
        (r"\{,\}(?=\d)|,\\!\s?(?=\d{3})|(?<=\d)\\!,(?=\d{3})|(?<=\d)\\,(?=\d{3}(?!\d))", ""),
        (r"(?<!\\)\\[,;:!> ]|~|\\hspace\{[^{}]{0,20}\}", " "),
        (r"\\\$|\$", ""),
        (r"\*\*", "^"),
        (r"(?<![A-Za-z\\])(?:and|or)(?![A-Za-z])", ","),
        (r"<=", "≤"), (r">=", "≥"), (r"(?<=\s)!=", "≠"), (r":=", "="),
    )
)  # fmt: skip
_TOKEN = re.compile(
    r"(?P<space>\s+)"
    r"|(?P<whole>\d*)\.(?P<fixed>\d*)\\(?:overline|bar)\s?\{(?P<repeating>\d{1,30})\}"
    r"|\\(?P<edge>begin|end)\s?\{(?P<environment>[a-zA-Z]{1,20})\}(?:\s?\{[lcr| ]{0,20}\})?"
    r"|(?P<number>(?:\d+(?:\.\d+)?|\.\d+)(?:[eE][+-]?\d{1,4}(?![\d.A-Za-z]))?)"
    r"|\\(?P<command>[A-Za-z]+)"
    r"|(?P<row>\\\\)|(?P<brace>\\[{}|])"
    r"|(?P<letters>[A-Za-z]+)"
    r"|(?P<sign>[-+*/^_!=<>≤≥≠≈±∓∈∪∩∖°|(){}\[\],;&π∞ℝ∅⌊⌋⌈⌉⟨⟩])"
)
_GROUPED = re.compile(r"[1-9]\d{0,2}(?:,\d{3})+(?![\d,])(?:\.\d+)?")


class NotFormula(ValueError):
    """The text is no formula that we read."""


class Token(NamedTuple):
    """``kind``: number, name, function, structure, accent, sign, begin or end of a matrix, stop."""

    kind: str
    text: str
    spaced: bool = False  # white space before it


def tokens(text: str) -> list[Token]:
    """Cut a formula into tokens, a ``stop`` last.

    Raises:
        NotFormula: A character or command is none we know, or the text is too long.
    """
    if len(text) > MAX_CHARACTERS:
        msg = f"longer than {MAX_CHARACTERS} characters"
        raise NotFormula(msg)
    text = _SUPERSCRIPTS.sub(lambda m: f"^{{{m[0].translate(_RAISED)}}}", text)
    text = text.translate(_UNICODE)
    for pattern, replacement in _REWRITES:
        text = pattern.sub(replacement, text)
    found = [*_cut(text), Token("stop", "")]
    if len(found) > MAX_TOKENS:
        msg = f"more than {MAX_TOKENS} tokens"
        raise NotFormula(msg)
    return found


def _cut(text: str) -> Iterator[Token]:
    position = depth = 0
    spaced = False
    while position < len(text):
        grouped = _GROUPED.match(text, position) if depth == 0 else None
        match = grouped or _TOKEN.match(text, position)
        if match is None:
            msg = f"unknown character {text[position]!r}"
            raise NotFormula(msg)
        position = match.end()
        if grouped:
            made = [Token("number", match[0].replace(",", ""), spaced)]
        else:
            made = [token._replace(spaced=spaced) for token in _tokens_of(match)]
        spaced = match.lastgroup == "space" or (spaced and not made)
        for token in made:
            depth += (token.text in {"(", "[", "{", "\\{"}) - (token.text in {")", "]", "}", "\\}"})
        yield from made


def _tokens_of(match: re.Match[str]) -> list[Token]:
    kind, text = match.lastgroup or "", match[0]
    if kind in _READERS:
        return _READERS[kind](match)
    return [Token("number" if kind == "number" else "sign", "|" if text == "\\|" else text)]


def _repeating(match: re.Match[str]) -> str:
    r"""``0.1\overline{6}`` as a fraction."""
    fixed, period = match["fixed"], match["repeating"]
    start = Fraction(f"{match['whole'] or '0'}.{fixed or '0'}")
    return str(start + Fraction(int(period), (10 ** len(period) - 1) * 10 ** len(fixed)))


def _command(name: str) -> list[Token]:
    if name in _SILENT:
        return []
    for known, kind in ((_OPERATORS, "sign"), (_STRUCTURES, "structure")):
        if name in known:
            return [Token(kind, known[name])]
    if name in FUNCTIONS:
        return [Token("function", name)]
    if name in _GREEK:
        return [Token("name", name.removeprefix("var"))]
    if name in _ACCENTS:
        return [Token("accent", name)]
    msg = f"unknown command \\{name}"
    raise NotFormula(msg)


def _letters(text: str) -> list[Token]:
    """A function's name, a product of small letters, or a name of capitals (``AB``)."""
    known = _KNOWN_LETTERS.get(text)
    if known is not None:
        return [known]
    if len(text) == 1 or (text.isupper() and len(text) <= 4):
        return [Token("name", text)]
    if text[:-1] in FUNCTIONS:  # sinx
        return [Token("function", text[:-1]), Token("name", text[-1])]
    if len(text) <= 3 and text.islower() and text not in _ENGLISH:
        return [Token("name", letter) for letter in text]
    msg = f"a word: {text[:20]!r}"
    raise NotFormula(msg)


# "0 if n is odd" is no product, and hence not 0.
_ENGLISH = _set(
    "if is of on no we he the for not are all any but yes odd per out was who its let mod gcd lcm "
    "max min lim det one two six ten via has had can may she his her our you use see get got"
)
_KNOWN_LETTERS = {
    **{name: Token("function", known) for name, known in _FUNCTION_NAMES.items()},
    "sqrt": Token("structure", "root"),
    "pi": Token("sign", "π"),
    **dict.fromkeys(("infinity", "infty", "inf", "oo"), Token("sign", "∞")),
}
_READERS: dict[str, Callable[[re.Match[str]], list[Token]]] = {
    "space": lambda _: [],
    "repeating": lambda match: [Token("number", _repeating(match))],
    "environment": lambda match: [Token(match["edge"], match["environment"])],
    "command": lambda match: _command(match["command"]),
    "letters": lambda match: _letters(match[0]),
}
