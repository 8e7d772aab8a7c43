"""Secrets that a suite refers to: which values must not be shown, and where they would be."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from pytest_nel.config.env_map import parse_value
from pytest_nel.config.interpolate import (
    Path,
    Problem,
    getenv,
    named_as_secrets,
    names_in,
    stays,
    values_in,
)
from pytest_nel.core.values import is_secret

_MAPS = ("env", "extra_env", "container_env", "extra_headers", "headers_to_add")
_PLACES = ("/", "~", "http://", "https://")


def secret_values(services: Iterable[Mapping[str, Any]]) -> frozenset[str]:
    """The values behind ``api_key``, in headers and in variables of the services, as they are now.

    Those of all variables that are named as secrets are among them: servers inherit them, and a
    solver of a user's may read them.

    Folders and URLs are no secrets: ``host:HF_HOME`` would otherwise take a path out of every
    message.

    Args:
        services: Their options, references as written.
    """
    told = (value for options in services for value in _told(options))
    return frozenset(
        value for value in (*named_as_secrets(), *told) if value and not value.startswith(_PLACES)
    )


def _told(options: Any) -> Iterator[str]:  # Any: JSON-like
    if isinstance(options, list):
        for entry in options:
            yield from _told(entry)
    if not isinstance(options, Mapping):
        return
    for name, inner in options.items():
        if name == "api_key":
            yield from values_in(str(inner))
        elif name in _MAPS and isinstance(inner, Mapping):
            for variable, written in inner.items():
                yield from _value(str(variable), str(written))
        else:
            yield from _told(inner)


def _value(variable: str, written: str) -> Iterator[str]:
    yield from values_in(written)
    try:
        found = parse_value(variable, written)
    except ValueError:  # a header, or text with references
        return
    if found.origin != "lit":
        yield getenv(found.text) or ""


def shown_secrets(raw: Mapping[str, Any]) -> Iterator[Problem]:
    """Yield each reference to a secret from where its value would be written, or put into argv.

    A secret is what ``api_key`` refers to, and any variable that is named like one. Parameters of
    a benchmark are written unread, so they may have any.
    """
    keys = {name for _, text in _texts(raw, (), keys=True) for name in names_in(text)}
    for at, text in _texts(raw, (), keys=False):
        for name in names_in(text):
            if _is_written(at) and (name in keys or is_secret(name)):
                yield Problem(at, _SHOWN.format(name=name))


_SHOWN = (
    "{name} is a secret, and its value would be written to the run directory or stand on a command "
    "line here: pass it by api_key, by extra_headers of `proxy`, or by env or extra_env of the "
    "service; where a shell is to read it, write $${{{name}}}"
)


def _is_written(at: Path) -> bool:
    inside = at[:1] == ("services",) or (at[:1] == ("benchmarks",) and at[2:3] != ("params",))
    return inside and not any(stays(at[:depth]) for depth in range(1, len(at) + 1))


def _texts(value: Any, at: Path, *, keys: bool) -> Iterator[tuple[Path, str]]:  # Any: JSON-like
    """The texts under ``api_key``, or all others."""
    if isinstance(value, str):
        if (at[-1:] == ("api_key",)) == keys:
            yield at, value
    elif isinstance(value, Mapping):
        for name, inner in value.items():
            yield from _texts(inner, (*at, name), keys=keys)
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from _texts(inner, (*at, index), keys=keys)
