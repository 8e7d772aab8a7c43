"""``pattern``: a regular expression of the benchmark's own finds the answer."""

import re
import unicodedata
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any, NamedTuple

from pytest_nel.core.errors import ConfigError, ScorerError
from pytest_nel.core.types import ScorerInput, VerifyResult
from pytest_nel.scoring.bounded import OutOfBounds, TaskFailed, ask
from pytest_nel.scoring.number import Quantity, canonical, parse_quantity
from pytest_nel.scoring.numeric import percent_hint
from pytest_nel.scoring.verdict import judged, unparsed

_METHOD = "pattern"
_FLAGS = {"i": re.IGNORECASE, "m": re.MULTILINE, "s": re.DOTALL, "x": re.VERBOSE, "a": re.ASCII}
_WHICH = ("last", "first", "only")
_COMPARE = ("text", "number", "choice")
_KEYS = ("pattern", "group", "flags", "match", "compare")


class Settings(NamedTuple):
    """How the answer is found and compared.

    Attributes:
        pattern: The regular expression, as Python's ``re`` reads it.
        group: Number or name of the group that holds the answer; None means the first, or the
            whole match where there is none.
        flags: Letters of ``imsxa``, as in ``(?i)``.
        match: Which match counts: the last, the first, or the only one (several are unparsed).
        compare: As text (exactly, save for outer space and Unicode's compatibility forms), as a
            number (exactly), or as a choice (one letter, in any case).
    """

    pattern: str
    group: int | str | None = None
    flags: str = ""
    match: str = "last"
    compare: str = "text"


def pattern(sample: ScorerInput) -> VerifyResult:
    """Compare what the benchmark's regular expression finds with the target.

    ``sample.config`` holds ``pattern`` and, where they differ from the defaults, ``group``,
    ``flags``, ``match`` and ``compare`` (see :class:`Settings`).

    Raises:
        ConfigError: A setting is missing or wrong.
        ScorerError: The target does not fit ``compare``, or the pattern backtracks on this
            response without an end in sight.
    """
    settings = pattern_settings(sample.config)
    wanted = _wanted(sample.target, settings.compare)
    if not sample.response.strip():
        return unparsed(_METHOD, "empty response")
    found = _search(sample.response, settings)
    if len(found) > 1 and settings.match == "only":
        return unparsed(_METHOD, f"{len(found)} matches, and only one may be", rule=_METHOD)
    answer = (found[0] if settings.match == "first" else found[-1]) if found else None
    if not answer or not answer.strip():
        return unparsed(_METHOD, "the pattern matches nothing", rule=_METHOD)
    return _judge(answer, wanted, settings.compare)


def pattern_settings(config: Mapping[str, Any]) -> Settings:
    """Read and check the settings, before anything is asked.

    Raises:
        ConfigError: One is missing or wrong; the message names it.
    """
    given = {key: config[key] for key in _KEYS if config.get(key) is not None}
    for key, value in given.items():
        kinds = (str, int) if key == "group" else (str,)
        if not isinstance(value, kinds) or isinstance(value, bool):
            msg = f"{_METHOD}: {key}: expected text, got {value!r}"
            raise ConfigError(msg)
    if not given.get("pattern"):
        msg = f"{_METHOD}: wants a regular expression as config['pattern'], got {config!r}"
        raise ConfigError(msg)
    settings = Settings(**given)
    for key, allowed in (("match", _WHICH), ("compare", _COMPARE)):
        if getattr(settings, key) not in allowed:
            msg = f"{_METHOD}: {key}: expected {', '.join(allowed)}, got {getattr(settings, key)!r}"
            raise ConfigError(msg)
    compiled = _compiled(settings.pattern, settings.flags)
    group = settings.group
    if group is not None and not _has_group(compiled, group):
        msg = f"{_METHOD}: group {group!r} is not in the pattern {settings.pattern!r}"
        raise ConfigError(msg)
    return settings


def find(text: str, expression: str, flags: str, group: int | str | None) -> list[str | None]:
    """Every match's answer, in order; a task for a worker, for patterns may backtrack for ever."""
    compiled = _compiled(expression, flags)
    wanted = group if group is not None else min(1, compiled.groups)
    return [match[wanted] for match in compiled.finditer(text)]


@lru_cache(maxsize=64)
def _compiled(expression: str, flags: str) -> re.Pattern[str]:
    unknown = sorted(set(flags) - set(_FLAGS))
    if unknown:
        msg = f"{_METHOD}: flags: expected letters of {''.join(_FLAGS)}, got {flags!r}"
        raise ConfigError(msg)
    value = re.RegexFlag(0)
    for flag in flags:
        value |= _FLAGS[flag]
    try:
        return re.compile(expression, value)
    except (re.error, RecursionError, OverflowError) as error:
        msg = f"{_METHOD}: pattern must be a regular expression, got {expression!r}: {error}"
        raise ConfigError(msg) from error


def _has_group(compiled: re.Pattern[str], group: int | str) -> bool:
    if isinstance(group, str):
        return group in compiled.groupindex
    return 0 <= group <= compiled.groups


def _search(response: str, settings: Settings, ask: Callable[..., Any] = ask) -> list[str | None]:
    try:
        found: list[str | None] = ask(
            "pattern:find", response, settings.pattern, settings.flags, settings.group
        )
    except (OutOfBounds, TaskFailed) as error:
        msg = (
            f"{_METHOD}: {settings.pattern!r} finds no end on a response of {len(response)} "
            f"characters: {error}; nested repetition such as (a+)+ does that"
        )
        raise ScorerError(msg) from error
    return found


def _wanted(target: object, compare: str) -> str | Quantity:
    text = unicodedata.normalize("NFKC", str(target)).strip()
    if compare == "number":
        quantity = parse_quantity(text)
        if quantity is None:
            msg = f"{_METHOD}: the target must be a number, got {target!r}: check target_field"
            raise ScorerError(msg)
        return quantity
    if not text or (compare == "choice" and not (len(text) == 1 and text.isalpha())):
        kind = "one letter" if compare == "choice" else "text"
        msg = f"{_METHOD}: the target must be {kind}, got {target!r}: check target_field"
        raise ScorerError(msg)
    return text.upper() if compare == "choice" else text


def _judge(found: str, wanted: str | Quantity, compare: str) -> VerifyResult:
    answer = unicodedata.normalize("NFKC", found).strip()
    if isinstance(wanted, Quantity):
        quantity = parse_quantity(answer)
        if quantity is None:
            return unparsed(_METHOD, f"not readable as one number: {answer[:80]!r}", rule=_METHOD)
        equal = quantity.value == wanted.value
        hint = None if equal else percent_hint(quantity, wanted)
        return judged(_METHOD, canonical(quantity.value), correct=equal, rule=_METHOD, hint=hint)
    if compare == "choice":
        answer = answer.strip("()[]*_.:` ").upper()
        if len(answer) != 1 or not answer.isalpha():
            return unparsed(_METHOD, f"not one letter: {found[:80]!r}", rule=_METHOD)
    return judged(_METHOD, answer, correct=answer == wanted, rule=_METHOD)
