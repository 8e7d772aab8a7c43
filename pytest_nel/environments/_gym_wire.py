"""What stands in requests and replies as JSON, and when it is what stood there before."""

import json
from typing import Any, NoReturn

from pytest_nel.records.record import strict

_COMPACT = (",", ":")


def encoded(content: Any) -> bytes:  # Any: whatever an environment or a scorer says
    """Strict JSON: what it cannot say is said as in a run's records.

    It is ASCII: a lone surrogate of a model's answer is no reason to fail.
    """
    try:
        text = json.dumps(content, separators=_COMPACT, allow_nan=False)
    except (TypeError, ValueError, RecursionError):
        text = json.dumps(strict(content), separators=_COMPACT)
    return text.encode("ascii")


def decoded(text: bytes) -> Any:
    """What a body says.

    Raises:
        ValueError: It is no JSON; Python's ``NaN`` and ``Infinity`` are none.
        RecursionError: It is too deep.
    """
    return json.loads(text, parse_constant=_refuse)


def same(mine: object, said: object) -> bool:
    """Whether what a client says is what it was told."""
    return _plain(mine) == _plain(said)


def _plain(value: object) -> str:
    return json.dumps(json.loads(encoded(value)), sort_keys=True)


def _refuse(name: str) -> NoReturn:
    msg = f"{name} is no JSON"
    raise ValueError(msg)
