"""Which values a run must never show: those that its services are told by reference."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from pytest_nel.config.env_map import parse_value
from pytest_nel.config.interpolate import getenv, named_as_secrets, values_in

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
