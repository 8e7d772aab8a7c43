"""A composed suite for reading: where each value comes from, and no secret."""

import json
import math
import re
from collections.abc import Iterator, Sequence
from typing import Any

import yaml

from pytest_nel.config.interpolate import Path
from pytest_nel.config.paths import written_path
from pytest_nel.config.snapshot import SuiteDumper
from pytest_nel.config.tree import Composed
from pytest_nel.core.values import is_secret

MASK = "***"

_SAFE = re.compile(r"\$\{[A-Za-z_]\w*\}|(?:host|runtime):[A-Za-z_]\w*|\?\?\?|")
_LOGIN = re.compile(r"(\w+://)[^/@\s]+@")
_IN_QUERY = re.compile(
    r"([?&#](?:access_token|api[-_]?key|key|token|secret|password)=)[^&#\s]+", re.IGNORECASE
)


def masked(value: Any, path: Path = ()) -> Any:
    """The same with ``***`` for each text that may be a secret; references stay readable."""
    if isinstance(value, dict):
        return {key: masked(inner, (*path, key)) for key, inner in value.items()}
    if isinstance(value, list):
        return [masked(inner, (*path, at)) for at, inner in enumerate(value)]
    if value is None or isinstance(value, bool):
        return value
    return _masked_scalar(value, secret=_names_secret(path))


def _masked_scalar(value: Any, *, secret: bool) -> Any:
    if secret and not (isinstance(value, str) and _SAFE.fullmatch(value)):
        return MASK
    if isinstance(value, str):
        return _IN_QUERY.sub(rf"\1{MASK}", _LOGIN.sub(rf"\1{MASK}@", value))
    return value


def _names_secret(path: Path) -> bool:
    """Whether a key says so; the name that a user has given to a service does not."""
    keys = path[2:] if path[:1] in {("services",), ("sandboxes",)} else path
    return any(isinstance(part, str) and is_secret(part) for part in keys)


def shown_json(composed: Composed) -> str:
    """The suite, and the place of each value by its path, as JSON."""
    places = {written_path(path): str(place) for path, place in composed.places.items() if path}
    return json.dumps(
        {"suite": masked(composed.value), "places": places}, indent=2, ensure_ascii=False
    )


def shown_yaml(composed: Composed) -> str:
    """The suite as YAML, each value followed by ``# file:line``."""
    value = masked(composed.value)
    lines = list(_lines(value, (), composed)) if value else ["{}"]
    return "\n".join([*lines, ""])


def _lines(value: Any, path: Path, composed: Composed) -> Iterator[str]:
    entries: Sequence[tuple[str, str | int, Any]]
    if isinstance(value, dict):
        entries = [(f"{_scalar(key)}:", key, inner) for key, inner in value.items()]
    else:
        entries = [("-", at, inner) for at, inner in enumerate(value)]
    for head, key, inner in entries:
        at = (*path, key)
        place = str(composed.at(at)).replace("\n", " ")
        if not (isinstance(inner, dict | list) and inner):
            yield f"{head} {_scalar(inner)}  # {place}"
            continue
        below = list(_lines(inner, at, composed))
        if head == "-":
            yield f"- {below[0]}"
            yield from (f"  {line}" for line in below[1:])
        else:
            yield f"{head}  # {place}"
            yield from (f"  {line}" for line in below)


def _scalar(value: Any) -> str:
    style = '"' if isinstance(value, str) and not value.isprintable() else None
    dumped: str = yaml.dump(
        value,
        Dumper=SuiteDumper,
        default_flow_style=True,
        default_style=style,
        allow_unicode=True,
        width=math.inf,
    )
    return dumped.removesuffix("\n").removesuffix("\n...")
