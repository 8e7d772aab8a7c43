"""Steps of an agent (ATIF) as chat messages."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pytest_nel.core.types import JsonObject

_ROLES = {"user": "user", "system": "system", "agent": "assistant"}
_SYNTHETIC = re.compile(r"Executed \S+ \S+")
"""What agents write as the text of a step that only calls tools; the model has not said it."""


def messages_of(steps: Sequence[Any]) -> list[JsonObject]:
    """Messages with ``role`` and ``content``, in the order of the steps.

    Those of assistants may have ``reasoning`` and ``tool_calls`` (``id``, ``function``,
    ``arguments``), those of tools ``tool_call_id`` and ``function``. What is no step is left out.
    """
    return [message for step in steps if isinstance(step, Mapping) for message in _of_step(step)]


def _of_step(step: Mapping[str, Any]) -> Iterator[JsonObject]:
    role = _ROLES.get(str(step.get("source")))
    if role is None:
        return
    calls = [_call(call) for call in _mappings(step.get("tool_calls"))]
    message: JsonObject = {"role": role, "content": _text(step.get("message"))}
    if calls and _SYNTHETIC.fullmatch(message["content"].strip()):
        message["content"] = ""
    if step.get("reasoning_content"):
        message["reasoning"] = _text(step["reasoning_content"])
    if calls and role == "assistant":
        message["tool_calls"] = calls
    yield message
    observation = step.get("observation")
    results = observation.get("results") if isinstance(observation, Mapping) else None
    names = {call["id"]: call["function"] for call in calls}
    for result in _mappings(results):
        made = str(result.get("source_call_id") or "")
        yield {
            "role": "tool",
            "content": _text(result.get("content")),
            "tool_call_id": made,
            "function": names.get(made, ""),
        }


def _call(call: Mapping[str, Any]) -> JsonObject:
    arguments = call.get("arguments")
    return {
        "id": str(call.get("tool_call_id") or ""),
        "function": str(call.get("function_name") or ""),
        "arguments": dict(arguments) if isinstance(arguments, Mapping) else {"": arguments},
    }


def _mappings(value: object) -> list[Mapping[str, Any]]:
    found = value if isinstance(value, list) else []
    return [each for each in found if isinstance(each, Mapping)]


def _text(value: object) -> str:
    if isinstance(value, str):
        return value
    return "" if value is None else json.dumps(value, ensure_ascii=False)
