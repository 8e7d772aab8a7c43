"""JSON inside a response: the last fenced block, else the last value that stands in the text."""

import json
import math
import re
from collections.abc import Iterator
from typing import Any, NoReturn

_FENCE = re.compile(r"[ \t]{0,3}(?P<mark>`{3,8}|~{3,8})[ \t]*(?P<language>[^`\s]*)[ \t]*")
_OPENING = re.compile(r"[{\[]")
_MAX_CHARACTERS = 2_000_000
_MAX_TRIES = 2_000
_MAX_SCANNED = 20_000_000  # characters read in all tries together
_KINDS: dict[object, type] = {"object": dict, "array": list}


class NoJson(ValueError):
    """The text holds no JSON value."""


def embedded(text: str, wanted: object = None) -> Any:  # Any: JSON
    r"""Return the JSON value of a response.

    The last fenced block (without a language, or ``json``) that is JSON; else the whole text;
    else the last outermost object or array in it, of the type ``wanted`` where there is one. What
    is inside another value is no value of its own: ``[{"a": 1}]`` is a list. Strict: no NaN, no
    comments, no trailing commas, no number beyond a double.

    Args:
        text: The response.
        wanted: ``"object"`` or ``"array"``: the type the schema asks for.

    Raises:
        NoJson: There is none.
    """
    text = text[-_MAX_CHARACTERS:]
    for body in reversed(list(_fenced(text))):
        try:
            return _decode(body)
        except ValueError:
            continue
    try:
        return _decode(text)
    except ValueError:
        values = list(_values(text))
    kind = _KINDS.get(wanted) if isinstance(wanted, str) else None
    fitting = [value for value in values if kind is not None and isinstance(value, kind)] or values
    if not fitting:
        msg = "Could not extract valid JSON from response"
        raise NoJson(msg)
    return fitting[-1]


def _fenced(text: str) -> Iterator[str]:
    """The contents of closed fenced blocks without a language or with json as language."""
    mark, language = "", ""
    body: list[str] = []
    for line in text.splitlines(keepends=True):
        fence = _FENCE.fullmatch(line.rstrip("\r\n"))
        if not mark:
            if fence:
                mark, language, body = fence["mark"], fence["language"], []
        elif fence and fence["mark"].startswith(mark) and not fence["language"]:
            if language.casefold() in {"", "json"}:
                yield "".join(body)
            mark = ""
        else:
            body.append(line)


def _values(text: str) -> Iterator[Any]:
    """The outermost objects and arrays, in order; what begins as one and is none is skipped."""
    position = scanned = tries = 0
    while match := _OPENING.search(text, position):
        tries += 1
        if tries > _MAX_TRIES or scanned > _MAX_SCANNED:
            return
        try:
            value, position = _DECODER.raw_decode(text, match.start())
        except json.JSONDecodeError as error:
            scanned += error.pos - match.start()
            position = match.end()
        except (ValueError, RecursionError):
            position = match.end()
        else:
            scanned += position - match.start()
            yield value


def too_deep(value: Any, levels: int) -> bool:
    """Whether objects and arrays are nested more than so many levels deep."""
    row = [value]
    for _ in range(levels):
        row = [
            inner
            for outer in row
            if isinstance(outer, dict | list)
            for inner in (outer.values() if isinstance(outer, dict) else outer)
        ]
    return any(isinstance(value, dict | list) for value in row)


def _decode(text: str) -> Any:
    try:
        return json.loads(text, parse_constant=_no_constant, parse_float=_finite, parse_int=_short)
    except RecursionError as error:
        msg = "nested too deep"
        raise ValueError(msg) from error


def _no_constant(name: str) -> NoReturn:
    msg = f"{name} is no JSON"
    raise ValueError(msg)


def _finite(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        msg = "a number beyond a double"
        raise ValueError(msg)
    return value


def _short(text: str) -> int:
    if len(text) > 1000:
        msg = "an integer of more than 1000 digits"
        raise ValueError(msg)
    return int(text)


_DECODER = json.JSONDecoder(parse_constant=_no_constant, parse_float=_finite, parse_int=_short)
