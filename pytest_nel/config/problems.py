"""What is wrong with a YAML file, said one line each: where, what was wanted, what came."""

import difflib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path as FilePath
from typing import Any, Protocol

from pytest_nel.config._document import Place, shown
from pytest_nel.config.interpolate import Path, Problem
from pytest_nel.core.errors import ConfigError
from pytest_nel.core.values import is_secret

_KINDS = (
    ("int", "a whole number"),
    ("float", "a number"),
    ("bool", "true or false"),
    ("string", "text (quote it)"),
    ("list", "a list"),
    ("dict", "a mapping (key: value)"),
    ("model", "a mapping (key: value)"),
)


def text_of(path: str | FilePath, what: str) -> str:
    """The text of a UTF-8 file, with or without a byte order mark.

    Raises:
        ConfigError: It cannot be read; ``what`` says what it was to be.
    """
    try:
        return FilePath(path).read_text(encoding="utf-8-sig")
    except OSError as error:
        msg = f"{path}: cannot read this {what}: {error.strerror or error}"
        raise ConfigError(msg) from error
    except UnicodeDecodeError as error:
        line = error.object.count(b"\n", 0, error.start) + 1
        msg = f"{path}:{line}: not UTF-8: save the file as UTF-8"
        raise ConfigError(msg) from error


class Places(Protocol):
    """Knows where each value was written: one document, or what several were composed to."""

    def at(self, path: Path) -> Place:
        """The place of the value, or of the nearest one that encloses it."""


def is_file(path: FilePath) -> bool:
    """Whether there is a file that can be looked at."""
    try:
        return path.is_file()
    except OSError:  # in a folder that may not be read
        return False


def refuse(problems: Iterable[Problem], places: Places | None, where: str) -> None:
    """Raise a ConfigError with a line for each, in the order of the file; nothing for none.

    Args:
        problems: What is wrong.
        places: Where values come from; None where there are no lines.
        where: The name of the file at hand; what stands in others comes after it.
    """
    lines = []
    for path, message in problems:
        source, line = ("", 0) if places is None else places.at(path)
        source = source or where
        text = f"{Place(source, line)}: {shown(path)}{message}"
        lines.append((source != where, source, line, text))
    if lines:
        raise ConfigError("\n".join(text for *_, text in sorted(set(lines))))


def suggestion(name: str, known: Iterable[str]) -> str:
    """``. Did you mean 'x'? Known: x, y``."""
    names = sorted(known)
    near = difflib.get_close_matches(name, names, n=1)
    hint = f" Did you mean {near[0]!r}?" if near else ""
    return f".{hint} Known: {', '.join(names) or 'none'}"


def expected(error: Mapping[str, Any]) -> str:
    """What pydantic wanted, in words."""
    context = error.get("ctx", {})
    bounds = {"ge": "at least", "gt": "more than", "le": "at most", "lt": "less than"}
    for key, words in bounds.items():
        if key in context:
            return f"{words} {context[key]}"
    exact = {
        "literal_error": f"one of {context.get('expected')}",
        "finite_number": "a finite number",
        "too_short": f"at least {_entries(context.get('min_length'))}",
        "too_long": f"at most {_entries(context.get('max_length'))}",
        "string_too_short": "text that is not empty",
        "string_pattern_mismatch": f"text like {context.get('pattern')}",
    }
    if error["type"] in exact:
        return exact[error["type"]]
    found = (words for prefix, words in _KINDS if error["type"].startswith(prefix))
    return next(found, own_words(error).removeprefix("expected "))


def own_words(error: Mapping[str, Any]) -> str:
    """What a validator of ours says, without pydantic's words before it."""
    return str(error["msg"]).removeprefix("Value error, ").removeprefix("Assertion failed, ")


def _entries(count: object) -> str:
    return f"{count} {'entry' if count == 1 else 'entries'}" if count else "none"


def came(error: Mapping[str, Any], path: Path, raw: Any) -> str:
    """As :func:`got`, and of a list that is too short or too long how many entries it has."""
    if error["type"] in {"too_short", "too_long"}:
        return _entries(error.get("ctx", {}).get("actual_length"))
    return got(path, raw)


def got(path: Path, raw: Any) -> str:
    """What the *file* says there: an expanded variable may be a secret."""
    if any(is_secret(str(part)) for part in path):
        return "something else (not shown)"
    value = raw
    for part in path:
        if not isinstance(value, dict | list):
            break
        value = value[part]  # type: ignore[index]  # a list is only ever indexed by numbers here
    if isinstance(value, dict | list):
        return kind(value)
    text = "null" if value is None else repr(value)
    return text if len(text) <= 80 else f"{text[:80]}…"


def kind(value: object) -> str:
    """``a mapping``, ``a list``, or the value itself."""
    if isinstance(value, dict):
        return "a mapping"
    return "a list" if isinstance(value, list) else repr(value)[:80]


def taken_for_numbers(raw: Any, made: Any, path: Path = ()) -> Iterator[Problem]:
    """Where pydantic has taken true for the number 1: ``repeats: true`` is a mistake all the same.

    Args:
        raw: What was written.
        made: What a model has made of it.
        path: Where it stands.
    """
    if isinstance(raw, bool):
        if isinstance(made, int | float) and not isinstance(made, bool):
            yield Problem(path, f"expected a number, got {str(raw).lower()}")
    elif isinstance(raw, Mapping):
        for key, value in raw.items():
            inside = made.get(key) if isinstance(made, Mapping) else getattr(made, str(key), None)
            yield from taken_for_numbers(value, inside, (*path, key))
    elif isinstance(raw, list) and isinstance(made, list | tuple):
        for index, (value, inside) in enumerate(zip(raw, made, strict=False)):
            yield from taken_for_numbers(value, inside, (*path, index))
