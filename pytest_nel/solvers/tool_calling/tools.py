"""What a tool is to the loop: a description for the model, and a call with an outcome."""

import json
import math
import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from pytest_nel.core.text import storable
from pytest_nel.core.types import JsonObject


class Called(NamedTuple):
    """What came of a call.

    Attributes:
        content: What the model is told.
        is_error: Whether that is a failure.
    """

    content: str
    is_error: bool = False


class ToolCall(NamedTuple):
    """A call that the model asks for.

    Attributes:
        id: Unlike that of every other call of the turn.
        name: As the model has it.
        arguments: Read from its JSON; ``{"raw": text}`` where that is none.
        trouble: Why they cannot be read, for the model; None where they can.
    """

    id: str
    name: str
    arguments: JsonObject
    trouble: str | None = None


class Toolbox(Protocol):
    """The tools of one problem from one place.

    Attributes:
        in_order: Calls are made one after the other, as the model wrote them: each may depend on
            what those before it have done.
        takes_any: A call of a name that none of the tools described has may be made all the same.
    """

    in_order: bool
    takes_any: bool

    @property
    def described(self) -> Sequence[JsonObject]:
        """The tools as chat completions describe them."""
        ...

    async def call(self, name: str, arguments: Mapping[str, Any]) -> Called:
        """Do what one of the tools does.

        Raises:
            InfraError: The machinery failed, not the call.
        """
        ...


def name_of(tool: Mapping[str, Any]) -> str:
    """The name by which a described tool is called."""
    function = tool.get("function")
    return str(function.get("name")) if isinstance(function, Mapping) else ""


def sendable(name: str) -> str:
    """A name that a model made up, as servers take it."""
    return re.sub(r"[^A-Za-z0-9_-]", "_", name)[:64] or "unknown"


def calls_of(given: Sequence[JsonObject], turn: int) -> list[ToolCall]:
    """The calls of a reply as the server sent them.

    Args:
        given: As they came.
        turn: Its number, for calls without an id of their own.
    """
    calls: list[ToolCall] = []
    taken: set[str] = set()
    for at, each in enumerate(given):
        function = each.get("function")
        function = function if isinstance(function, Mapping) else {}
        key = each.get("id")
        if not isinstance(key, str) or not key or key in taken:
            key = f"call_{turn}_{at}"
        taken.add(key)
        name = function.get("name")
        arguments, trouble = arguments_of(function.get("arguments"))
        calls.append(
            ToolCall(key, storable(name) if isinstance(name, str) else "", arguments, trouble)
        )
    return calls


def arguments_of(given: object) -> tuple[JsonObject, str | None]:
    """Read a call's arguments: an object, its JSON, or nothing.

    Returns:
        The arguments, and for the model what is wrong with them.
    """
    if given is None or (isinstance(given, str) and not given.strip()):
        return {}, None
    text = given if isinstance(given, str) else None
    try:
        read = given if text is None else json.loads(text, strict=False)
        read = clean(read)
    except (ValueError, RecursionError) as error:
        return {"raw": storable(str(text))}, f"the arguments are not valid JSON ({error})"
    if not isinstance(read, dict):
        kind = type(read).__name__
        return {"raw": read}, f"the arguments must be a JSON object, not a {kind}"
    return read, None


def clean(value: Any) -> Any:  # Any: JSON-like
    """The same without what no request and no file can hold: lone surrogates, NaN, infinity."""
    if isinstance(value, str):
        return storable(value)
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, list):
        return [clean(one) for one in value]
    if isinstance(value, dict):
        return {storable(str(key)): clean(one) for key, one in value.items()}
    return value


def cut(text: str, limit: int) -> str:
    """At most ``limit`` characters of a text, its head and its tail, and how many are missing."""
    if len(text) <= limit:
        return text
    tail = limit // 2
    head = limit - tail
    missing = len(text) - limit
    end = text[len(text) - tail :]
    return f"{text[:head]}\n\n... [truncated {missing} chars] ...\n\n{end}"
