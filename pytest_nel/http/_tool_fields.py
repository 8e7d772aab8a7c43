"""What a request body says of the tools that a model may call, in each protocol's shape."""

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

from pytest_nel.core.types import JsonObject, Protocol

ToolChoice: TypeAlias = str | Mapping[str, Any]
"""``auto``, ``required``, ``none``, or an object that names one function."""


def tool_fields(
    protocol: Protocol, tools: Sequence[JsonObject], choice: ToolChoice | None
) -> JsonObject:
    """The fields of a request; none where there are no tools.

    Args:
        protocol: Of the request.
        tools: Functions as chat completions have them: ``{type, function: {name, …}}``.
        choice: Whether a tool has to be called, and which; None leaves it to the server.
    """
    if not tools:
        return {}
    flat = protocol == "responses"
    fields: JsonObject = {"tools": [_flat(tool) for tool in tools] if flat else list(tools)}
    if choice is not None:
        fields["tool_choice"] = _flat(choice) if flat and isinstance(choice, Mapping) else choice
    return fields


def _flat(tool: Mapping[str, Any]) -> JsonObject:
    """Responses have the function's own fields beside ``type``."""
    function = tool.get("function")
    if not isinstance(function, Mapping):
        return dict(tool)
    return {**{name: value for name, value in tool.items() if name != "function"}, **function}
