"""Maps of environment variables whose values say where they come from.

Each value begins with its origin: ``host:VAR`` is the variable VAR of the shell that starts the
run, ``runtime:VAR`` that of the place where the process runs (the same for a local one), and
``lit:text`` is the text itself. A bare value is refused: nobody can tell whether it was meant as
a name or as a text, and a secret that is pasted there would be written to the run directory.
"""

import re
from collections.abc import Mapping
from typing import Annotated, Literal, NamedTuple, TypeAlias, get_args

from pydantic import AfterValidator

from pytest_nel.config.interpolate import escape, getenv, unescape
from pytest_nel.core.errors import ConfigError
from pytest_nel.core.values import is_secret

Origin: TypeAlias = Literal["host", "lit", "runtime"]

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_OPENED = re.compile(r"(?<!\$)\$\{")
_ORIGINS: tuple[Origin, ...] = get_args(Origin)


class EnvValue(NamedTuple):
    """One value of a map.

    Attributes:
        origin: Where it comes from.
        text: The variable's name, or for ``lit`` the text.
    """

    origin: Origin
    text: str


def parse_value(name: str, written: str) -> EnvValue:
    """Read ``host:VAR``, ``lit:text`` or ``runtime:VAR``.

    Args:
        name: The variable that is to be set.
        written: What the suite says; no message quotes it, since it may be a secret.

    Raises:
        ValueError: There is no prefix, no name behind it, or a text that may be a secret.
    """
    if not _NAME.fullmatch(name):
        msg = f"expected names of variables, such as HF_HOME, got {name!r}"
        raise ValueError(msg)
    prefix, colon, text = written.partition(":")
    origin = next((known for known in _ORIGINS if colon and prefix == known), None)
    if origin is None:
        msg = (
            f"the value of {name} must have an explicit prefix: host:VAR (read here, when the run "
            "starts), runtime:VAR (read where it runs), or lit:text (the text itself)"
            f"{_meant(written)}"
        )
        raise ValueError(msg)
    if origin == "lit":
        return EnvValue(origin, _literal(name, text))
    if not _NAME.fullmatch(text):
        msg = (
            f"expected the name of a variable after {origin}: in the value of {name}, got "
            "something else (not shown)"
        )
        raise ValueError(msg)
    return EnvValue(origin, text)


def _meant(written: str) -> str:
    found = re.fullmatch(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}", written)
    return "" if found is None else f"; instead of ${{{found[1]}}} write host:{found[1]}"


def _literal(name: str, text: str) -> str:
    if is_secret(name) and text:
        msg = (
            f"{name} is named like a secret, and a literal (not shown) would be written to the run "
            f"directory: export it and write host:{name}"
        )
        raise ValueError(msg)
    if _OPENED.search(text):
        msg = (
            f"lit: is taken as it is, so no variable is put into the value of {name}: write "
            "host:VAR for a variable, or $${ for the literal text"
        )
        raise ValueError(msg)
    if "\0" in text:
        msg = f"the value of {name} holds a NUL character, which no variable can"
        raise ValueError(msg)
    return unescape(text)


def parse(written: Mapping[str, str]) -> dict[str, EnvValue]:
    """Read a whole map.

    Raises:
        ValueError: As :func:`parse_value`; all mistakes, joined by ``; ``.
    """
    parsed, problems = {}, []
    for name, value in written.items():
        try:
            parsed[name] = parse_value(name, value)
        except ValueError as error:
            problems.append(str(error))
    if problems:
        raise ValueError("; ".join(problems))
    return parsed


def _checked(written: dict[str, str]) -> dict[str, str]:
    parse(written)
    return written


EnvMap: TypeAlias = Annotated[dict[str, str], AfterValidator(_checked)]
"""A field that holds such a map, as written; :func:`resolve` gives the values.

The model that has it wants ``hide_input_in_errors=True``: a mistake may be a secret.
"""


def resolve(
    written: Mapping[str, str],
    where: str,
    *,
    host: Mapping[str, str] | None = None,
    runtime: Mapping[str, str] | None = None,
) -> dict[str, str]:
    """Return the values that a process is to be given.

    Args:
        written: The map of the suite.
        where: Its place, to blame in messages, such as ``services.model.extra_env``.
        host: Variables of the shell that starts the run; None means those of this process.
        runtime: Variables of the place where the process runs; None means the same as ``host``.

    Raises:
        ConfigError: A value is malformed, or variables are not set: all are listed.
    """
    sources = {"host": host, "runtime": host if runtime is None else runtime}
    values, problems = {}, []
    for name, text in written.items():
        try:
            value = parse_value(name, text)
        except ValueError as error:
            problems.append(f"{where}.{name}: {error}")
            continue
        found = value.text if value.origin == "lit" else _looked_up(value, sources[value.origin])
        if found is None:
            place = "here" if value.origin == "host" else "where it is to run"
            problems.append(f"{where}.{name}: variable {value.text} is not set {place}; export it")
        else:
            values[name] = found
    if problems:
        raise ConfigError("\n".join(problems))
    return values


def _looked_up(value: EnvValue, variables: Mapping[str, str] | None) -> str | None:
    return getenv(value.text) if variables is None else variables.get(value.text)


def references(written: Mapping[str, str], origin: Origin) -> dict[str, str]:
    """Which of the names are set from which variable of that origin; for ``lit``, the texts.

    Raises:
        ValueError: As :func:`parse`.
    """
    return {name: value.text for name, value in parse(written).items() if value.origin == origin}


def secret_names(written: Mapping[str, str]) -> frozenset[str]:
    """Names whose values may be secrets, so that no file, log or message may hold them.

    Raises:
        ValueError: As :func:`parse`.
    """
    return frozenset(name for name, value in parse(written).items() if value.origin != "lit")


def literal(text: str) -> str:
    """``lit:`` with the text protected, so that it comes back unchanged."""
    return f"lit:{escape(text)}"
