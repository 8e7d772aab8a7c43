"""What an agent did, out of a solver's trajectory: as events that checks read, and as text.

The events have the form that agents' own logs have: ``{"type": "message", "message": {"role":
"assistant", "content": [{"type": "toolCall", "name": …, "arguments": {…}}]}}``.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pytest_nel.core.types import JsonObject

_ARGUMENT, _RESULT, _TEXT = 200, 400, 2_000
"""Characters of one argument, one result and one message in the text."""


def transcript(trajectory: Sequence[Mapping[str, Any]], response: str = "") -> list[JsonObject]:
    """Events of a trajectory; the response is the last one where it is not in it.

    Args:
        trajectory: Such events, chat messages, or steps of ATIF (Harbor's format), also as a
            whole document; what is none of these is left out.
        response: The answer.
    """
    events = [event for entry in trajectory for event in _events(entry)]
    said = [each["text"] for event in events for each in _parts(event) if each["type"] == "text"]
    if response.strip() and response.strip() not in (text.strip() for text in said):
        events.append(_message("assistant", [_text(response)]))
    return events


def transcript_text(events: Sequence[Mapping[str, Any]], limit: int = 60_000) -> str:
    """The events for a reader, one paragraph each; long arguments and results are cut.

    Of more than ``limit`` characters beginning and end are kept.
    """
    text = "\n\n".join(line for event in events for line in _lines(event))
    half = limit // 2
    return text if len(text) <= limit else f"{text[:half]}\n[…]\n{text[-half:]}"


def _events(entry: object) -> Iterator[JsonObject]:
    if not isinstance(entry, Mapping):
        return
    steps = entry.get("steps")
    if isinstance(steps, Sequence) and not isinstance(steps, str):
        for step in steps:
            yield from _events(step)
    elif entry.get("type") == "message" and isinstance(entry.get("message"), Mapping):
        yield dict(entry)
    elif "source" in entry:
        yield from _of_atif(entry)
    elif "role" in entry:
        yield from _of_chat(entry)


def _of_atif(step: Mapping[str, Any]) -> Iterator[JsonObject]:
    calls = [
        _call(each.get("tool_call_id"), each.get("function_name"), each.get("arguments"))
        for each in _mappings(step.get("tool_calls"))
    ]
    role = {"agent": "assistant", "user": "user"}.get(str(step["source"]))
    content = [*_texts(step.get("message")), *calls]
    if role is not None and content:
        yield _message(role, content)
    observed = step.get("observation")
    for result in _mappings(observed.get("results") if isinstance(observed, Mapping) else None):
        yield _message("toolResult", _texts(result.get("content")), result.get("source_call_id"))


def _of_chat(message: Mapping[str, Any]) -> Iterator[JsonObject]:
    role, content = message["role"], [*_texts(message.get("content"))]
    if role == "tool":
        yield _message("toolResult", content, message.get("tool_call_id"))
        return
    content += [
        _call(call.get("id"), function.get("name"), function.get("arguments"))
        for call in _mappings(message.get("tool_calls"))
        for function in _mappings([call.get("function")])
    ]
    if role in ("assistant", "user") and content:
        yield _message(str(role), content)


def _mappings(value: object) -> list[Mapping[str, Any]]:
    """The objects of a list; whatever else is in it is left out."""
    given = value if isinstance(value, Sequence) and not isinstance(value, str) else ()
    return [each for each in given if isinstance(each, Mapping)]


def _message(role: str, content: list[JsonObject], call: object = None) -> JsonObject:
    named = {} if call is None else {"toolCallId": call}
    return {"type": "message", "message": {"role": role, "content": content, **named}}


def _texts(content: object) -> list[JsonObject]:
    """A message's own text, or those of its parts."""
    given = [content] if isinstance(content, str) else content
    if not isinstance(given, Sequence):
        return []
    texts = [each.get("text") if isinstance(each, Mapping) else each for each in given]
    return [_text(text) for text in texts if isinstance(text, str) and text]


def _text(text: str) -> JsonObject:
    return {"type": "text", "text": text}


def _call(name: object, function: object, arguments: object) -> JsonObject:
    """A call of a tool; ``params`` are its arguments once more, as some checks call them."""
    if isinstance(arguments, str):
        try:
            arguments = json.loads(arguments)
        except ValueError:
            arguments = {"raw": arguments}
    known = dict(arguments) if isinstance(arguments, Mapping) else {}
    tool = str(function or "")
    return {"type": "toolCall", "id": name, "name": tool, "arguments": known, "params": known}


def _parts(event: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    content = event["message"].get("content")
    if isinstance(content, str):
        return [_text(content)]
    return [
        each
        for each in _mappings(content)
        if each.get("type") == "toolCall"
        or (each.get("type") == "text" and isinstance(each.get("text"), str))
    ]


def _lines(event: Mapping[str, Any]) -> Iterator[str]:
    role = str(event["message"].get("role"))
    for part in _parts(event):
        if part["type"] == "toolCall":
            given = part.get("arguments", part.get("params"))
            known = given if isinstance(given, Mapping) else {}
            short = {name: _cut(value, _ARGUMENT) for name, value in known.items()}
            yield f"[call] {part.get('name')} {json.dumps(short, ensure_ascii=False)}"
        else:
            limit = _RESULT if role == "toolResult" else _TEXT
            name = "result" if role == "toolResult" else role
            yield f"[{name}] {_cut(part['text'].strip(), limit)}"


def _cut(value: Any, limit: int) -> Any:  # Any: an argument of a tool
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    if len(text) <= limit:
        return value
    return f"{text[:limit]} … ({len(text) - limit} characters more)"
