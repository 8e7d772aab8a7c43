"""The ``input`` of a native row, which is that of the Responses API, as chat messages.

Nothing of it is left out: a question without a part of it is another question.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from pytest_nel.core.errors import DataError
from pytest_nel.core.types import JsonObject, Message

_TEXTS = ("text", "input_text", "output_text")
_ROLES = {"developer": "system"}
_KINDS = "a message, function_call or function_call_output"
_SHOWN = 200


def conversation(params: Mapping[str, Any]) -> list[Message]:
    """``responses_create_params`` as chat messages.

    Raises:
        DataError: An item of the input, which is named, cannot be said as one.
    """
    given = params["input"]
    turns = [{"role": "user", "content": given}] if isinstance(given, str) else given
    found: list[Message] = []
    if isinstance(params.get("instructions"), str):
        found.append({"role": "system", "content": params["instructions"]})
    for at, turn in enumerate(turns):
        try:
            _add(found, turn)
        except ValueError as error:
            msg = f"responses_create_params.input[{at}]: {error}"
            raise DataError(msg) from None
    return found


def text_of(content: object) -> str:
    """The text of a message's content."""
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, Sequence) else ()
    return "\n".join(part["text"] for part in parts if isinstance(part.get("text"), str))


def _add(found: list[Message], turn: Any) -> None:  # Any: JSON
    """One more item; calls of one turn stand in one message, as chat has them.

    Raises:
        ValueError: It cannot be carried.
    """
    kind = (turn.get("type") or "message") if isinstance(turn, Mapping) else None
    if kind == "function_call":
        if not found or found[-1]["role"] != "assistant":
            found.append({"role": "assistant", "content": None})
        found[-1].setdefault("tool_calls", []).append(_call(turn))
    elif kind == "function_call_output":
        said = {"role": "tool", "tool_call_id": _said(turn, "call_id"), "content": _output(turn)}
        found.append(said)
    elif kind == "message" and isinstance(turn.get("role"), str):
        found.append(_message(turn))
    else:
        msg = f"expected {_KINDS}, got {_short(turn)}: it would not be asked"
        raise ValueError(msg)


def _message(turn: Mapping[str, Any]) -> Message:
    message: Message = {"role": _ROLES.get(turn["role"], turn["role"])}
    message["content"] = _content(turn.get("content"))
    if isinstance(turn.get("tool_calls"), list):  # of chat: rows of `nel serve` may have it so
        message["tool_calls"] = list(turn["tool_calls"])
    if isinstance(turn.get("tool_call_id"), str):
        message["tool_call_id"] = turn["tool_call_id"]
    return message


def _call(turn: Mapping[str, Any]) -> JsonObject:
    function = {"name": _said(turn, "name"), "arguments": _said(turn, "arguments")}
    return {"id": _said(turn, "call_id"), "type": "function", "function": function}


def _output(turn: Mapping[str, Any]) -> str:
    """What a tool gave: text alone, for a chat's tools say nothing else."""
    output = turn.get("output")
    texts = _content(output) if isinstance(output, list) else output
    if not isinstance(texts, str):
        msg = f"expected text in output of a function_call_output, got {_short(output)}"
        raise ValueError(msg)  # noqa: TRY004 - of a file's content
    return texts


def _said(turn: Mapping[str, Any], name: str) -> str:
    value = turn.get(name)
    if not isinstance(value, str):
        msg = f"expected a text as {name} of a {turn['type']}, got {_short(value)}"
        raise ValueError(msg)  # noqa: TRY004 - of a file's content
    return value


def _content(content: object) -> str | list[JsonObject]:
    if content is None or isinstance(content, str):
        return content or ""
    if not isinstance(content, list) or not all(isinstance(part, dict) for part in content):
        msg = f"expected a text or a list of parts as content, got {_short(content)}"
        raise ValueError(msg)
    if all(part.get("type") in _TEXTS for part in content):
        return text_of(content)
    return [_part(part) for part in content]


def _part(part: JsonObject) -> JsonObject:
    if part.get("type") in _TEXTS:
        return {"type": "text", "text": part.get("text", "")}
    if part.get("type") == "input_image" and isinstance(part.get("image_url"), str):
        return {"type": "image_url", "image_url": {"url": part["image_url"]}}
    return part


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= _SHOWN else text[:_SHOWN] + "…"
