"""``${NAME}`` from the environment; the one module that reads ``os.environ``.

A value written under ``api_key``, in the ``env`` of a service or in the headers of its ``proxy`` is
never expanded here: it stays a reference until the service starts, so that no copy of a
configuration, on disk or in memory, holds the secret itself.
"""

import os
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple, TypeAlias

from pytest_nel.core.errors import ConfigError
from pytest_nel.core.values import is_secret

Path: TypeAlias = tuple[str | int, ...]

#: Escaped opener first, so that ``$${NAME}`` is never read as ``$`` plus a reference.
_REFERENCE = re.compile(r"(?P<escaped>\$\$\{)|\$\{(?P<name>\w+)(?::-(?P<default>[^}]*))?\}")
_SELF_REFERENCE = re.compile(r"(?<!\$)\$\{\.[\w.]+\}")
_WHOLE_REFERENCE = re.compile(r"\$\{(\w+)\}")
_SECRET_KEY = "api_key"  # noqa: S105  # the name of a key, not a key
_OF_A_SERVER = "env"
_ENV_MAPS = ("extra_env", "container_env")
_HEADERS = frozenset({"extra_headers", "headers_to_add"})


class Problem(NamedTuple):
    """Something wrong at a place of a nested value."""

    path: Path
    message: str


def getenv(name: str) -> str | None:
    """The variable's value, or None when it is not set."""
    return os.environ.get(name)


def names_secret(variable: str) -> bool:
    """Whether a variable's name says that its value is a secret; any token is one."""
    return is_secret(variable) or variable.upper().endswith("_TOKEN")


def named_as_secrets() -> list[str]:
    """The values of all variables that are named so."""
    return list(secrets_by_name().values())


def secrets_by_name() -> dict[str, str]:
    """The same, by the names of their variables."""
    return {name: value for name, value in os.environ.items() if names_secret(name)}


def dotted(path: Path) -> str:
    """``benchmarks[0].repeats``."""
    text = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in path)
    return text.removeprefix(".")


def expand(value: Any, env: Mapping[str, str] | None = None) -> Any:  # Any: JSON-like, kept so
    """Replace references in every string of a nested value; keys stay as they are.

    ``${NAME}`` is the variable (set but empty counts as set), ``${NAME:-text}`` has a default,
    ``$${NAME}`` is the literal text ``${NAME}``. Results are strings.

    Raises:
        ConfigError: Variables are missing (all are listed), a self-reference is used, or an
            ``api_key`` is something else than a reference.
    """
    problems = list(reference_problems(value, env))
    if problems:
        raise ConfigError("\n".join(f"{dotted(at) or 'value'}: {text}" for at, text in problems))
    return _expanded(value, os.environ if env is None else env, ())


def reference_problems(
    value: object, env: Mapping[str, str] | None = None, at: Path = ()
) -> Iterator[Problem]:
    """Yield everything that keeps :func:`expand` from succeeding, secrets never quoted."""
    variables = os.environ if env is None else env
    if at and at[-1] == _SECRET_KEY:
        if not _is_secret_reference(value):
            yield Problem(at, _LITERAL_KEY)
    elif isinstance(value, str):
        yield from (Problem(at, text) for text in _string_problems(value, variables))
    elif not is_env_map(at):  # whose values have an origin, which the plugin's model checks
        for key, inner in _entries(value):
            yield from reference_problems(inner, variables, (*at, key))


def _entries(value: object) -> Iterable[tuple[str | int, object]]:
    if isinstance(value, Mapping):
        return value.items()
    return enumerate(value) if isinstance(value, list) else ()


def escape(text: str) -> str:
    """Protect literal text, so that :func:`expand` gives it back unchanged."""
    return text.replace("${", "$${")


def unescape(text: str) -> str:
    """Undo :func:`escape`."""
    return text.replace("$${", "${")


def values_in(text: str, env: Mapping[str, str] | None = None) -> list[str]:
    """The values of the variables that a text refers to: what must not be shown of it."""
    variables = os.environ if env is None else env
    return [variables[name] for name in names_in(text) if variables.get(name)]


def names_in(text: str) -> list[str]:
    """The variables that a text refers to."""
    return [match["name"] for match in _REFERENCE.finditer(text) if match["name"] is not None]


def resolve_secret(reference: str, where: str, env: Mapping[str, str] | None = None) -> str:
    """Return the key behind ``${NAME}``; the message of an error never shows it.

    Args:
        reference: What the suite says, ``${NAME}``.
        where: The place to blame, such as ``services.model.api_key``.
        env: The variables; None means those of the process.

    Raises:
        ConfigError: It is no reference, or the variable is unset, empty or no header value.
    """
    match = _WHOLE_REFERENCE.fullmatch(reference)
    if match is None:
        msg = f"{where}: {_LITERAL_KEY}"
        raise ConfigError(msg)
    name = match[1]
    value = (os.environ if env is None else env).get(name)
    if not value:
        state = "not set" if value is None else "empty"
        msg = f"{where}: environment variable {name} is {state}; export {name}=… and run again"
        raise ConfigError(msg)
    if not value.isascii() or not value.isprintable() or " " in value:
        msg = (
            f"{where}: the value of environment variable {name} holds a space, a line break or "
            "another character that no key has; export it again without"
        )
        raise ConfigError(msg)
    return value


_LITERAL_KEY = (
    "expected a reference such as ${NAME}, got something else (not shown): a literal key would "
    "be written to the run directory: export it and write ${NAME}"
)


def _is_secret_reference(value: object) -> bool:
    return value is None or (isinstance(value, str) and bool(_WHOLE_REFERENCE.fullmatch(value)))


def _string_problems(text: str, variables: Mapping[str, str]) -> Iterator[str]:
    for match in _REFERENCE.finditer(text):
        name = match["name"]
        if name is not None and match["default"] is None and name not in variables:
            yield (
                f"environment variable {name} is not set; export it, give a default as in "
                f"${{{name}:-text}}, or write $${{{name}}} for the literal text"
            )
    for match in _SELF_REFERENCE.finditer(text):
        yield (
            f"{match[0]} refers to another place of a suite file, and this stands in none: "
            f"write the value, or ${match[0]} for the literal text"
        )


def _expanded(value: Any, variables: Mapping[str, str], at: Path) -> Any:
    if stays(at):
        return value
    if isinstance(value, str):
        return _REFERENCE.sub(lambda match: _replacement(match, variables), value)
    if isinstance(value, Mapping):
        return {key: _expanded(inner, variables, (*at, key)) for key, inner in value.items()}
    if isinstance(value, list):
        return [_expanded(inner, variables, (*at, index)) for index, inner in enumerate(value)]
    return value


def stays(at: Path) -> bool:
    """Whether what stands there is read when the service starts, and never written."""
    return (
        (at[:1] == ("services",) and "proxy" in at and at[-1] in _HEADERS)
        or at[-1:] == (_SECRET_KEY,)
        or (len(at) == 3 and at[::2] == ("services", _OF_A_SERVER))
        or is_env_map(at)
    )


def is_env_map(at: Path) -> bool:
    """Whether a map of variables with origins stands there, see :mod:`pytest_nel.config.env_map`.

    Only where processes are described: a benchmark may have a parameter of that name.
    """
    inside = at[:1] in {("services",), ("sandboxes",), ("cluster",)}
    inside = inside or (at[:1] == ("benchmarks",) and at[2:3] in {("solver",), ("sandbox",)})
    return inside and at[-1] in _ENV_MAPS


def _replacement(match: re.Match[str], variables: Mapping[str, str]) -> str:
    if match["escaped"]:
        return "${"
    return variables.get(match["name"], match["default"] or "")
