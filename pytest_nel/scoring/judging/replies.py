"""What a judge's reply says: its last JSON object, read strictly or not at all.

A reply is never guessed at. What is out of range, cut off, prose, or a mere copy of the answer
that is judged holds no verdict, and whoever asked asks again.
"""

import json
import math
import re
from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple

_MOST_CHARACTERS = 200_000
_MOST_TRIES = 2_000
_MOST_SCANNED = 5_000_000  # characters in all tries together: nothing else runs meanwhile
_NUMBER = re.compile(r"[+-]?(?:\d{1,300}(?:\.\d{1,300})?|\.\d{1,300})(?:[eE][+-]?\d{1,3})?")
_ONE_NUMBER = re.compile(
    rf"\s*(?:(?:reward|score)\s*[:=]\s*)?({_NUMBER.pattern})\s*", re.IGNORECASE
)
_NO_NUMBER = re.compile(r"[:,\[]\s*-?(?:NaN|Infinity)\b")
_WHY = ("reasoning", "explanation", "notes")
_SCORES = ("scores", "criteria_scores")
_TOTALS = ("total", "score")
CRITERIA_KEYS = (*_TOTALS, *_SCORES)
"""Keys of a reply about several criteria."""


class Verdict(NamedTuple):
    """What one reply of a judge says.

    Attributes:
        share: The reward: 0 is the worst, 1 the best.
        score: The number it gave, on its scale.
        label: The grade it gave.
        reasoning: Why, in its words.
    """

    share: float
    score: float | None = None
    label: str | None = None
    reasoning: str = ""


class Scale(NamedTuple):
    """From the worst score to the best; what lies between is shared out evenly.

    Attributes:
        low: Reward 0.
        high: Reward 1.
    """

    low: float
    high: float

    def share(self, score: float) -> float:
        """The reward of a score within the scale."""
        return min(1.0, max(0.0, (score - self.low) / (self.high - self.low)))


def read_score(reply: str, scale: Scale, *, judged: str = "") -> Verdict | None:
    """Read ``{"score": …}``; None where there is none within the scale.

    Args:
        reply: What the judge said.
        scale: Its scale.
        judged: The answer that was judged: an object copied from it is no verdict.
    """
    found = last_object(reply, "score", judged=judged)
    score = None if found is None else _number(found["score"])
    if found is None or score is None or not scale.low <= score <= scale.high:
        return None
    return Verdict(scale.share(score), score, None, reasoning_of(found))


def read_label(
    reply: str, key: str, shares: Mapping[str, float], *, judged: str = ""
) -> Verdict | None:
    """Read ``{key: label}``; None where it is none of the labels, which have their rewards."""
    found = last_object(reply, key, judged=judged)
    label = None if found is None else found[key]
    if found is None or not isinstance(label, str):
        return None
    known = {name.casefold(): name for name in shares}
    name = known.get(label.strip().casefold().replace(" ", "_"))
    return None if name is None else Verdict(shares[name], None, name, reasoning_of(found))


def read_flag(reply: str, key: str, *, judged: str = "") -> Verdict | None:
    """Read ``{key: true}`` or false, which is reward 1 or 0; None for anything else."""
    found = last_object(reply, key, judged=judged)
    flag = None if found is None else found[key]
    if found is None or not isinstance(flag, bool):
        return None
    return Verdict(float(flag), None, str(flag).lower(), reasoning_of(found))


def read_criteria(reply: str, *, judged: str = "") -> Verdict | None:
    """Read scores of several criteria, and their total: ``{"scores": …, "total": …}``.

    The total counts where it lies in 0 to 1. Where there is none, or it is their sum, it is the
    mean of the criteria, each from 0 to 1. Scores may be a list of objects with ``score``, or an
    object of such objects or of numbers; all is called as the graders of agents call it.
    """
    found = last_object(reply, *CRITERIA_KEYS, judged=judged)
    if found is None:
        return None
    total = _first_number(found, _TOTALS)
    each = _criteria(next((found[name] for name in _SCORES if name in found), ()))
    if total is None or total > 1:
        total = sum(each) / len(each) if each else None
    if total is None or not 0 <= total <= 1:
        return None
    return Verdict(total, total, None, reasoning_of(found))


def _criteria(scores: object) -> list[float] | None:
    """The scores of criteria; None where one of them is none from 0 to 1."""
    given = list(scores.values()) if isinstance(scores, Mapping) else scores
    if not isinstance(given, Sequence) or isinstance(given, str):
        return None
    numbers = [
        _first_number(one, ("score",)) if isinstance(one, Mapping) else _number(one)
        for one in given
    ]
    known = [number for number in numbers if number is not None and 0 <= number <= 1]
    return known if len(known) == len(numbers) else None


def _first_number(found: Mapping[str, Any], names: Collection[str]) -> float | None:
    return next((_number(found[name]) for name in names if name in found), None)


def read_number(reply: str, scale: Scale) -> Verdict | None:
    """Read a reply that is one number (``reward: 1.5`` will do); None where it is anything else."""
    match = _ONE_NUMBER.fullmatch(reply)
    score = None if match is None else _number(match[1])
    if score is None or not scale.low <= score <= scale.high:
        return None
    return Verdict(scale.share(score), score)


def last_object(reply: str, *keys: str, judged: str = "") -> Mapping[str, Any] | None:
    """The last outermost JSON object of a reply that has one of the keys; None without any.

    None also for a reply that ends within an object: what stands before it is not the verdict.
    An object that stands in the judged answer, letter for letter, is a quotation of it.
    """
    found, cut = _objects(reply[-_MOST_CHARACTERS:])
    if cut:
        return None
    having = [(value, text) for value, text in found if any(key in value for key in keys)]
    if not having:
        return None
    copied = [value for value, _ in _objects(judged[:_MOST_CHARACTERS])[0]]
    try:
        own = [value for value, text in having if text not in judged and value not in copied]
    except RecursionError:  # nested too deep to be compared, which no verdict is
        return None
    return own[-1] if own else None


class Form(NamedTuple):
    """What a reply was to hold.

    Attributes:
        keys: The object has one of them; none: it was to be no object.
        wanted: What its value was to be, in words.
        judged: The answer that was judged.
    """

    keys: tuple[str, ...]
    wanted: str
    judged: str = ""

    def lacking(self, reply: str) -> str:
        """Why a reply that holds no verdict holds none."""
        if not self.keys:
            return f"expected {self.wanted}"
        found, cut = _objects(reply[-_MOST_CHARACTERS:])
        if cut:
            return "it ends within its object"
        having = [text for value, text in found if any(key in value for key in self.keys)]
        if not having:
            names = " or ".join(f"`{key}`" for key in self.keys)
            return f"no object in it has {names}" if found else "there is no JSON object in it"
        own = last_object(reply, *self.keys, judged=self.judged)
        if own is None:
            return "an object that also stands in the answer is a quotation of it"
        name = next(key for key in self.keys if key in own)
        return f"`{name}` is {_said(own[name], having[-1])}, expected {self.wanted}"


def _said(value: object, text: str) -> str:
    if value is None and _NO_NUMBER.search(text):
        return "NaN or infinite"
    return repr(value)[:80] if not isinstance(value, str | None) else json.dumps(value)[:80]


def reasoning_of(found: Mapping[str, Any]) -> str:
    """The judge's reasons, where it gave some."""
    return next((value for name in _WHY if isinstance(value := found.get(name), str)), "")


def _objects(text: str) -> tuple[list[tuple[dict[str, Any], str]], bool]:
    """The outermost objects in their order, each with its text, and whether one is cut off."""
    found: list[tuple[dict[str, Any], str]] = []
    position = tries = scanned = 0
    while (start := _opening(text, position)) >= 0 and tries < _MOST_TRIES:
        if scanned > _MOST_SCANNED:
            break
        tries += 1
        try:
            value, position = _DECODER.raw_decode(text, start)
        except json.JSONDecodeError as error:
            if text[start] == "{" and _cut(error, text):
                return found, True
            scanned += error.pos - start
            position = start + 1
        except (ValueError, RecursionError):
            position = start + 1
        else:
            if isinstance(value, dict):
                found.append((value, text[start:position]))
    return found, False


def _opening(text: str, position: int) -> int:
    places = [place for place in (text.find("{", position), text.find("[", position)) if place >= 0]
    return min(places, default=-1)


def _cut(error: json.JSONDecodeError, text: str) -> bool:
    """Whether the decoder came to the text's end and wanted more."""
    return error.msg.startswith("Unterminated string") or error.pos >= len(text.rstrip())


def _number(value: object) -> float | None:
    """A finite number, also as text; true and NaN are none."""
    if isinstance(value, str) and _NUMBER.fullmatch(value.strip()):
        value = float(value)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        number = float(value)
    except OverflowError:
        return None
    return number if math.isfinite(number) else None


def _nan(_name: str) -> None:
    """NaN and Infinity are no JSON; the object around them is one, without a number there."""


def _short(text: str) -> int | None:
    return int(text) if len(text) <= 1000 else None


_DECODER = json.JSONDecoder(parse_constant=_nan, parse_int=_short)


def labels(shares: Mapping[str, float] | Collection[str]) -> str:
    """``"A", "B" or "C"``, for prompts."""
    *others, last = [json.dumps(name) for name in shares]
    return f"{', '.join(others)} or {last}" if others else last
