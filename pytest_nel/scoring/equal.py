r"""``math_equal``: the answer is mathematics, equal in whatever form it is written."""

import itertools
import re
from collections.abc import Callable
from functools import lru_cache
from typing import Any, NamedTuple

from pytest_nel.core.errors import ScorerError
from pytest_nel.core.types import ScorerInput, VerifyResult
from pytest_nel.scoring.bounded import OutOfBounds, TaskFailed, ask, require
from pytest_nel.scoring.formula import parse
from pytest_nel.scoring.latex import compare, unassigned
from pytest_nel.scoring.line import announced, counts, hint_of, is_value, one_answer, shorter
from pytest_nel.scoring.markers import EXPLICIT, clean, has_content, marked
from pytest_nel.scoring.number import readable
from pytest_nel.scoring.tokens import NotFormula
from pytest_nel.scoring.tree import Tree
from pytest_nel.scoring.unit import CURRENCIES, canonical_unit, glued_unit
from pytest_nel.scoring.verdict import judged, unparsed

_METHOD = "math_equal"
_APPROXIMATELY = re.compile(r"\\(?:approx|simeq)(?![a-zA-Z])|≈")
_DOTS = re.compile(r"(?:\\[lc]?dots(?![a-zA-Z])|\.{3}|…)\s{0,4}$")
_DECIMAL = re.compile(r"[-−]?\d{0,20}\.\d{1,100}")
_NUMERAL = re.compile(r"[-−]?\d{0,20}(?:,\d{3}){0,6}(?:\.(?P<places>\d{1,100})|(?<=\d))")
_LONGEST = 4000
_UNIT_TEXT = re.compile(
    r"(?:\\[,;:! ]|[~\s]){0,8}\\(?:text(?:rm|normal)?|mbox|mathrm|rm|hbox)\s?"
    r"\{\s{0,4}(?P<words>[^{}\\]{1,60}?)\s{0,4}\}\s{0,4}(?P<power>\^\s?\{?[23]\}?)?$"
)
_UNIT_WORDS = re.compile(r"\s(?P<words>[A-Za-z]{1,20}(?:[ /][A-Za-z]{1,20}){0,3})$")
_DEGREES = re.compile(r"\s{0,4}(?:\^\s?(?:\\circ|\{\s?\\circ\s?\})|°)$")
_PERCENT = re.compile(r"\s{0,4}\\?%$")
_ANGLE = re.compile(r"\\?(?:sin|cos|tan|cot|sec|csc)(?![a-z])")
_INLINE = re.compile(r"\$([^$]{1,1000})\$|\\\(([^\\]{0,2}.{0,1000}?)\\\)")


class _Read(NamedTuple):
    tree: Tree
    unit: str
    text: str


class _Claim(NamedTuple):
    """An answer, or both sides of an approximation.

    ``rounded`` is the exact side's tree and the one that was rounded, to multiples of ``step``.
    """

    sides: tuple[_Read, ...]
    rounded: tuple[Tree, Tree]
    step: str


def math_equal(sample: ScorerInput) -> VerifyResult:
    r"""Compare the last ``\boxed{}``, else what the last marker announces, with the target.

    Numbers and texts are compared as :func:`answer_line` does. Formulas that are not written
    alike are parsed and compared by sympy in a worker process with limits on time and memory; no
    text is evaluated. An answer whose equality cannot be decided within the limits is wrong, with
    ``scoring_details["rule"] == "undecided"``.

    Raises:
        ScorerError: The target is blank or cannot be evaluated, or no worker could be run.
        ConfigError: sympy is not installed.
    """
    require("sympy", extra="math", scorer=_METHOD)
    target = _target(sample.target)
    if not sample.response.strip():
        return unparsed(_METHOD, "empty response")
    line, rule = _final(sample.response)
    if len(line) > _LONGEST:
        return unparsed(_METHOD, f"longer than an answer is: {len(line)} characters", rule=rule)
    if not has_content(unassigned(clean(line))[1]):
        return unparsed(_METHOD, "no answer", rule=rule)
    return _judge(line, target, rule)


def _judge(line: str, target: str, rule: str) -> VerifyResult:
    answer = unassigned(clean(line))[1]
    plain = compare(line, target)
    readings = [line, *shorter(line, rule)]
    if any(compare(reading, target).equal for reading in readings):
        return judged(_METHOD, answer, correct=True, rule=rule)
    if plain.left is not None and plain.right is not None:  # two numbers
        return judged(_METHOD, answer, correct=False, rule=rule, hint=hint_of(plain))
    equal, reason = _decide(readings, target)
    if equal is None:
        _check(target)
        hint = f"whether it equals the target could not be decided: {reason}"
        return judged(_METHOD, answer, correct=False, rule="undecided", hint=hint)
    return judged(_METHOD, answer, correct=equal, rule=rule)


def _target(target: object) -> str:
    text = str(target)
    boxes = [one_answer(mark) for mark in marked(text) if mark.rule == "boxed"]
    text = boxes[-1] if boxes else text
    if not has_content(text):  # blank, or delimiters only
        msg = f"{_METHOD}: wants a target, got {target!r}: check target_field"
        raise ScorerError(msg)
    return text


def _final(response: str) -> tuple[str, str]:
    """The last box, unless an explicit marker behind it announces a value; else as answer_line."""
    marks = [mark for mark in marked(response) if counts(mark)]
    boxes = [at for at, mark in enumerate(marks) if mark.rule == "boxed"]
    if not boxes:
        return _in_last_line(*announced(response))
    later = [m for m in marks[boxes[-1] + 1 :] if m.rule in EXPLICIT and is_value(m.payload)]
    mark = later[-1] if later else marks[boxes[-1]]
    return one_answer(mark), mark.rule


def _in_last_line(line: str, rule: str) -> tuple[str, str]:
    """A last line in words that holds one formula is about that formula."""
    if rule == "last_line" and len(line) <= _LONGEST and _read(line) is None:
        formulas = [first or second for first, second in _INLINE.findall(line)]
        if len(formulas) == 1:
            return formulas[0], "last_formula"
    return line, rule


def _decide(
    readings: list[str], target: str, ask: Callable[..., Any] = ask
) -> tuple[bool | None, str]:
    """Whether a reading equals the target; None, with the reason, when that is undecided.

    All of it is one task, so that the limit on processor time is that of the answer.
    """
    pairs = []
    for reading, gold in itertools.product(dict.fromkeys(readings), _golds(target)):
        claim = _claim(reading)
        if claim is None:
            continue
        sides = claim.sides if _DECIMAL.fullmatch(readable(gold.text).strip()) else claim.sides[:1]
        units = {side.unit for side in claim.sides if side.unit}
        if gold.unit and units and units != {gold.unit}:
            continue
        near = [*claim.rounded, claim.step] if len(claim.sides) > 1 else None
        pairs += [[side.tree, gold.tree, near] for side in sides]
    if not pairs:
        return False, ""  # one side is words
    try:
        equal = ask("algebra:any_equal", pairs)
    except (OutOfBounds, TaskFailed) as error:  # sympy's, on this answer
        return None, str(error)
    return equal, "too large, or of no value" if equal is None else ""


def _claim(text: str) -> _Claim | None:
    """What the text says; ``a ≈ b ≈ c`` would be a guess more, and words after ``≈`` say nothing.

    ``x ≈ 7.07`` says the decimal.
    """
    parts = _APPROXIMATELY.split(clean(text))
    written = [part for part in parts if has_content(part)]
    reads = [read for part in written if (read := _read(_DOTS.sub("", part))) is not None]
    if len(parts) > 2 or not reads or len(reads) < len(written):
        return None
    if reads[0].tree[0] == "name":
        reads = reads[-1:]
    first, last = reads[0], reads[-1]
    if step := _step(last.text):
        return _Claim(tuple(reads), (first.tree, last.tree), step)
    return _Claim(tuple(reads), (last.tree, first.tree), _step(first.text) or "0")


def _step(text: str) -> str:
    """One unit of the last digit written, as a fraction; "" where the text is no numeral."""
    text = readable(text).strip()
    numeral = _NUMERAL.fullmatch(text)
    if numeral is None:
        return ""
    if numeral["places"]:
        return f"1/{10 ** len(numeral['places'])}"
    digits = text.replace(",", "")
    return str(10 ** (len(digits) - len(digits.rstrip("0"))) if digits.strip("0-−") else 1)


def _golds(target: str) -> list[_Read]:
    """The target; of ``a ≈ b`` both sides."""
    parts = [part for part in _APPROXIMATELY.split(target) if has_content(part)]
    return [gold for part in parts if (gold := _read(part)) is not None]


def _check(target: str) -> None:
    """Make sure that it was not the target that could not be compared.

    Raises:
        ScorerError: It was.
    """
    if not _evaluates(target):
        msg = f"{_METHOD}: the target {target[:80]!r} cannot be evaluated"
        raise ScorerError(msg)


@lru_cache(maxsize=256)
def _evaluates(target: str) -> bool:
    try:
        return all(ask("algebra:evaluates", gold.tree) for gold in _golds(target))
    except (OutOfBounds, TaskFailed):
        return False


def _read(text: str) -> _Read | None:
    """The text as a tree and a unit; None when it is no formula."""
    body = clean(text)
    unit = ""
    if not _ANGLE.search(body):
        body, unit = _without_unit(body)
    name, value = unassigned(body)
    text = clean(value) if "(" in name else body  # f(x) = … is no product
    try:
        return _Read(parse(text), unit, text)
    except NotFormula:
        return None


def _without_unit(body: str) -> tuple[str, str]:
    if _PERCENT.search(body):
        return _PERCENT.sub("", body), "%"
    if _DEGREES.search(body):
        return _DEGREES.sub("", body), "degree"
    match = _UNIT_TEXT.search(body)
    words = match or _UNIT_WORDS.search(body)
    if words is None or not body[: words.start()].strip():
        return _without_currency(body)
    name = words["words"] + ("^" + words["power"].strip("^ {}") if match and match["power"] else "")
    unit = canonical_unit(name, glued=False)
    if unit is None or (match is None and len(words["words"]) < 4 and not glued_unit(name, 0)):
        return _without_currency(body)
    return body[: words.start()], unit


def _without_currency(body: str) -> tuple[str, str]:
    bare = body.removeprefix("\\")
    return (bare[1:], CURRENCIES[bare[0]]) if bare[:1] in CURRENCIES else (body, "")
