"""``numeric_match``: the answer is a number, compared exactly."""

import re
from typing import NamedTuple

from pytest_nel.core.errors import ScorerError
from pytest_nel.core.types import ScorerInput, VerifyResult
from pytest_nel.scoring.markers import EXPLICIT, Marked, marked
from pytest_nel.scoring.number import Found, Quantity, canonical, parse_quantity, readable, scan
from pytest_nel.scoring.verdict import judged, unparsed

_METHOD = "numeric_match"
_LEAD = re.compile(
    r"[\s*_`$(\[{\"'~≈=:]{0,12}"
    r"(?:(?:is|about|approximately|approx\.?|exactly|around|roughly|only|just|clearly|therefore|thus"
    r"|now|actually|then|simply|indeed|definitely|equal to)\b[\s*_`$(\[{\"'~≈=:]{0,12}){0,3}"
)
_CONTINUES = re.compile(
    r"[\s*_$)]{0,6}(?:,|;|and\b|or\b|&|to\b|[-*×x·/+÷^]{1,2})[\s$(*]{0,4}-?\.?\d", re.IGNORECASE
)
_EQUALS = re.compile(r"[\s*_$)A-Za-z]{0,20}=")
_NEGATED = re.compile(r"\b(?:not|never|cannot|no|neither|nor)\b|n't\b", re.IGNORECASE)
_REFUSED = re.compile(r"(?:\bnot|n't)(?: be| equal(?: to)?)?[\s*$]{1,4}$", re.IGNORECASE)
_SENTENCE_END = re.compile(r"[.!?](?=\s)")
_HEADING = re.compile(r"\s*[.:)]\s*[A-Za-z]")


class _Reading(NamedTuple):
    rule: str
    text: str
    quantity: Quantity | None


def numeric_match(sample: ScorerInput) -> VerifyResult:
    """Compare the number of the last valid answer marker, else the last number, with the target.

    ``50`` matches ``50%``; ``0.5`` does not, and ``scoring_details["hint"]`` says so. Units and
    currencies are not compared. There is no tolerance and there are no settings.

    Raises:
        ScorerError: The target is not a number.
    """
    target = _target(sample.target)
    if not sample.response.strip():
        return unparsed(_METHOD, "empty response")
    reading = _from_markers(sample.response) or _last_number(sample.response)
    if reading is None:
        return unparsed(_METHOD, "no number")
    if reading.quantity is None:
        return unparsed(_METHOD, f"not readable as one number: {reading.text!r}", rule=reading.rule)
    equal = reading.quantity.value == target.value
    hint = None if equal else percent_hint(reading.quantity, target)
    extracted = canonical(reading.quantity.value)
    return judged(_METHOD, extracted, correct=equal, rule=reading.rule, hint=hint)


def percent_hint(answer: Quantity, target: Quantity) -> str | None:
    """Say so when answer and target differ by a factor of 100 and one is a percentage."""
    ratios = {answer.value * 100 == target.value, answer.value == target.value * 100}
    if True in ratios and "%" in {answer.unit, target.unit} and answer.unit != target.unit:
        return "differs by the factor 100: one side is a percentage, the other is not"
    return None


def _target(target: object) -> Quantity:
    text = str(target).rsplit("####", 1)[-1]
    quantity = parse_quantity(text)
    if quantity is None:
        numbers = [found for found in scan(readable(text)) if found.quantity is not None]
        quantity = numbers[0].quantity if len(numbers) == 1 else None
    if quantity is None:
        msg = f"{_METHOD}: the target must be a number, got {target!r}: check target_field"
        raise ScorerError(msg)
    return quantity


def _from_markers(response: str) -> _Reading | None:
    """The last marker that states a number; a sentence that merely contains one comes last."""
    vague: _Reading | None = None
    for mark in reversed(marked(response)):
        values = [parse_quantity(box) for box in mark.boxes]
        same = None not in values and len(set(values)) == 1
        text = readable(mark.boxes[-1] if same else mark.payload)
        found = _announced(text, mark)
        if found is None:
            continue
        reading = _Reading(mark.rule, text[found.start : found.end][:80], found.quantity)
        if mark.rule in EXPLICIT or _LEAD.fullmatch(text[: found.start]) or "=" in text:
            return reading
        vague = vague or reading
    return vague


def _announced(text: str, mark: Marked) -> Found | None:
    """The number a marker's payload states; with ``quantity=None`` when it is not just one."""
    numbers = scan(text)
    if not numbers:
        return None
    first = numbers[0]
    rest = text[first.end :]
    starts = _LEAD.fullmatch(text[: first.start]) is not None
    if mark.rule == "hash" and (not starts or (_HEADING.match(rest) and not mark.final)):
        return None  # "#### Step 3": a heading, not an answer
    if not starts:
        return None if _NEGATED.search(text[: first.start]) else _stated(text, numbers)
    several = _CONTINUES.match(rest) is not None
    if several or _EQUALS.match(rest):
        result = _after_equals(text, numbers)
        if result is not None:
            return result
    return first._replace(quantity=None) if several else first


def _stated(text: str, numbers: list[Found]) -> Found | None:
    """The number of a sentence that does not begin with it: what "=" gives, else the last."""
    result = _after_equals(text, numbers)
    if result is not None:
        return result
    end = _SENTENCE_END.search(text, numbers[0].end)
    limit = end.start() if end else len(text)
    last = [found for found in numbers if found.start < limit][-1]
    return last._replace(quantity=None) if last.operand else last


def _after_equals(text: str, numbers: list[Found]) -> Found | None:
    sign = text.rfind("=")
    found = next((found for found in numbers if found.start > sign), None)
    if sign < 0 or found is None or not _LEAD.fullmatch(text[sign + 1 : found.start]):
        return None
    return None if _CONTINUES.match(text[found.end :]) else found


def _last_number(response: str) -> _Reading | None:
    text = readable(response)
    numbers = scan(text)
    if not numbers:
        return None
    last = numbers[-1]
    before = text[max(0, last.start - 20) : last.start]
    expression = last.operand or _spaced_group(text, last) or _REFUSED.search(before)
    quantity = None if expression else last.quantity
    return _Reading("last_number", text[last.start : last.end][:80], quantity)


def _spaced_group(text: str, found: Found) -> bool:
    """``12 345`` in running text may be one number or two."""
    whole = text[found.start : found.end].strip()
    return (
        " " in whole
        and "/" not in whole
        and whole != text.strip(" \t\n.*`$")
        and (re.search(r"\d \d", whole) is not None)
    )
