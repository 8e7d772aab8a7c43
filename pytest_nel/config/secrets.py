"""Secrets that a suite refers to: which values must not be shown, and where they would be."""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from pytest_nel.config.env_map import parse_value
from pytest_nel.config.interpolate import (
    Path,
    Problem,
    getenv,
    named_as_secrets,
    names_in,
    names_secret,
    stays,
    values_in,
)
from pytest_nel.core.values import is_secret

_MAPS = ("env", "extra_env", "container_env", "extra_headers", "headers_to_add")
_PERSON = re.compile(r"://[^/@\s]*:[^/@\s]*@")
_SHORTEST = 8  # shorter ones are parts of innocent words
_PLACES = ("/", "~", "http://", "https://")


def secret_values(services: Iterable[Mapping[str, Any]]) -> frozenset[str]:
    """The values behind ``api_key``, in headers and in variables of the services, as they are now.

    So are those that other options refer to whose names say that they are secrets.
    Those of all variables that are named as secrets are among them: servers inherit them, and a
    solver of a user's may read them.

    Args:
        services: Their options, and those of whatever else has such, references as written.
    """
    return not_places((*named_as_secrets(), *_all_told(services)))


def passed_values(entries: Iterable[Mapping[str, Any]]) -> frozenset[str]:
    """Of :func:`secret_values` those alone that these entries hand on, and that say so.

    A variable's name says it, here or there, and so does an address with a password. Any other
    value, such as a time zone, may be a word of a right answer.
    """
    told = (one for options in entries for one in _told(options))
    return not_places(each.value for each in told if each.named or _PERSON.search(each.value))


def not_places(values: Iterable[str]) -> frozenset[str]:
    """Those that may be secrets, of values of variables.

    Folders and URLs are none, unless somebody's name and password stand in them:
    ``host:HF_HOME`` would otherwise take a path out of every message.
    """
    return frozenset(
        value for value in values if value and ("@" in value or not value.startswith(_PLACES))
    )


def without_known(word: str, mask: str) -> str:
    """A word of a command line without the values of variables that are named as secrets.

    Wherever a shell has put one, such as into an override: what is stored of the line has none.
    """
    for value in sorted(not_places(named_as_secrets()), key=len, reverse=True):
        if len(value) >= _SHORTEST:
            word = word.replace(value, mask)
    return word


class _Told(NamedTuple):
    """A value that options refer to, and whether a name says that it is a secret."""

    value: str
    named: bool


def _all_told(entries: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    return (each.value for options in entries for each in _told(options))


def _told(options: Any) -> Iterator[_Told]:  # Any: JSON-like
    if isinstance(options, list):
        for entry in options:
            yield from _told(entry)
    if not isinstance(options, Mapping):
        return
    for name, inner in options.items():
        if name == "api_key" or (isinstance(inner, str) and is_secret(str(name))):
            yield from (_Told(value, named=True) for value in values_in(str(inner)))
        elif name in _MAPS and isinstance(inner, Mapping):
            for variable, written in inner.items():
                yield from _value(str(variable), str(written))
        else:
            yield from _told(inner)


def _value(variable: str, written: str) -> Iterator[_Told]:
    names = names_in(written)
    try:
        found = parse_value(variable, written)
    except ValueError:  # a header, or text with references
        pass
    else:
        names += [found.text] if found.origin != "lit" else []
    for name in names:
        yield _Told(getenv(name) or "", named=names_secret(variable) or names_secret(name))


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
    inside = (
        at[:1] == ("services",)
        or (at[:1] == ("benchmarks",) and at[2:3] != ("params",))
        or at == ("output", "dir")  # a folder's name is read by everybody
    )
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
