"""``answer_line``: the answer is what the last marker announces, or the last line."""

import re

from pytest_nel.core.errors import ConfigError, ScorerError
from pytest_nel.core.types import ScorerInput, VerifyResult
from pytest_nel.scoring.formula import is_formula
from pytest_nel.scoring.latex import Comparison, compare, unassigned
from pytest_nel.scoring.markers import (
    EXPLICIT,
    Marked,
    announces_nothing,
    clean,
    has_content,
    is_echo,
    last_line,
    marked,
)
from pytest_nel.scoring.number import parse_quantity
from pytest_nel.scoring.numeric import percent_hint
from pytest_nel.scoring.prose import beginnings, without_prose
from pytest_nel.scoring.verdict import judged, unparsed

_METHOD = "answer_line"
_PRELUDE = re.compile(
    r"(?:let'?s|let us|to (?:find|solve|determine|calculate|compute|answer)|first,?|"
    r"(?:we|i) (?:need|have to|will|can|must|know|start)|i'?ll|step \d)\b",
    re.IGNORECASE,
)
_MATH = re.compile(r"(?:\$[^$]+\$|\\\(.+\\\)|\\\[.+\\\])\.?")
#: Longer payloads are no values, and nothing is cut out of them.
_LONGEST = 4000


def answer_line(sample: ScorerInput, *, pattern: str | None = None) -> VerifyResult:
    r"""Compare the announced answer, else the last line, with the target.

    Equal are: the same text in normal form, the same number (with a unit on one side only, or
    the same unit), the same LaTeX in another spelling, sets in any order (see
    docs/reference/scorers.md). A sentence that begins with "The answer is" counts only where no
    explicit marker stands, unless it announces a number or formula.

    Args:
        sample: ``config["pattern"]`` is the default of ``pattern``.
        pattern: A regular expression instead of our markers: its last match counts, and its first
            group is the answer.

    Raises:
        ScorerError: The target is blank.
        ConfigError: ``pattern`` is no regular expression.
    """
    target = str(sample.target)
    if not target.strip():
        msg = f"{_METHOD}: wants a target, got {sample.target!r}: check target_field"
        raise ScorerError(msg)
    if not sample.response.strip():
        return unparsed(_METHOD, "empty response")
    pattern = pattern or sample.config.get("pattern")
    if pattern is not None:
        line, rule = _matched(sample.response, pattern), "pattern"
    else:
        line, rule = announced(sample.response)
    answer = unassigned(clean(line))[1]
    if not has_content(answer):
        return unparsed(_METHOD, "no answer line", rule=rule)
    return _judge(line, answer, target, rule)


def _judge(line: str, answer: str, target: str, rule: str) -> VerifyResult:
    best = compare(line, target)
    if not best.equal:
        for reading in shorter(line, rule):
            if compare(reading, target).equal:
                return judged(_METHOD, unassigned(clean(reading))[1], correct=True, rule=rule)
    return judged(_METHOD, answer, correct=best.equal, rule=rule, hint=hint_of(best))


def hint_of(comparison: Comparison) -> str | None:
    """Why an answer may be wrong only by form: other units, a percentage."""
    answer, target = comparison.left, comparison.right
    if comparison.equal or answer is None or target is None:
        return None
    if answer.value == target.value:
        return f"units differ: {answer.unit!r} and {target.unit!r}"
    return percent_hint(answer, target)


def shorter(line: str, rule: str) -> list[str]:
    """The line without the words that explain it: "18 dollars. She earns it daily" is 18 dollars.

    What is in a box is all answer, and so is what reads as a formula: nothing is cut off them.
    """
    text = clean(line)
    if rule == "boxed" or len(text) > _LONGEST or is_formula(text):
        return []
    return without_prose(text)


def announced(response: str) -> tuple[str, str]:
    """What the last marker that counts announces, else the last line; and the rule."""
    marks = [mark for mark in marked(response) if counts(mark)]
    explicit = any(mark.rule in EXPLICIT for mark in marks)
    for mark in reversed(marks):
        if mark.rule in EXPLICIT or not explicit or is_value(mark.payload):
            return one_answer(mark), mark.rule
    line = last_line(response)
    return ("" if is_echo(line) or announces_nothing(line) else line), "last_line"


def one_answer(mark: Marked) -> str:
    """The payload; of one answer that was boxed in several forms the last."""
    *others, last = mark.boxes or (mark.payload,)
    if len(mark.payload) <= _LONGEST and all(compare(other, last).equal for other in others):
        return last
    return mark.payload


def is_value(payload: str) -> bool:
    """Whether a sentence's payload is a number (with a unit) or one piece of mathematics."""
    if len(payload) > _LONGEST:
        return False
    if _MATH.fullmatch(payload.strip()):
        return True
    readings = [payload, *beginnings(clean(payload))]
    return any(parse_quantity(clean(reading)) is not None for reading in readings)


def counts(mark: Marked) -> bool:
    """A heading "#### Step 1" is no answer, nor is what begins an explanation."""
    if mark.rule == "boxed":
        return True
    if mark.rule == "hash":
        return mark.final or parse_quantity(clean(mark.payload)) is not None
    return mark.final or not _PRELUDE.match(clean(mark.payload))


def _matched(response: str, pattern: str) -> str:
    try:
        compiled = re.compile(pattern)
    except re.error as error:
        msg = f"{_METHOD}: pattern must be a regular expression, got {pattern!r}: {error}"
        raise ConfigError(msg) from error
    found = [match for match in compiled.finditer(response) if not is_echo(match[0])]
    if not found:
        return ""
    return (found[-1][1] if compiled.groups else found[-1][0]) or ""
