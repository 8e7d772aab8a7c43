"""Server-sent events where a plain reply was asked for: chunks put together again.

Some gateways stream whatever the request says. Comments, blank lines, ``[DONE]`` and a comment in
the guise of data (``data: : keepalive``) are tolerated.
"""

from collections.abc import Iterator
from typing import Any

from pytest_nel.core.types import JsonObject

_TEXTS = ("content", "reasoning_content", "reasoning", "refusal")


class CutStream(Exception):  # named for what happened
    """The stream ended before its end mark."""


def looks_like(start: str, content_type: str) -> bool:
    """Whether a body that begins like this is an event stream."""
    return start.startswith(("data:", ":", "event:", "id:", "retry:")) or (
        "event-stream" in content_type and not start.startswith("{")
    )


def events(text: str) -> Iterator[str]:
    """The payloads of the ``data`` lines, without keep-alives and the end mark."""
    for line in text.splitlines():
        if not line.startswith("data:"):
            continue
        payload = line[5:].strip()
        if payload and payload != "[DONE]" and not payload.startswith(":"):
            yield payload


def merge(chunks: list[Any], text: str) -> JsonObject:  # Any: whatever JSON holds
    """Put the chunks of one answer together, in the shape of a plain reply.

    Args:
        chunks: The decoded events.
        text: The stream, in which the end mark is looked for.

    Raises:
        CutStream: Neither an end mark nor a finish reason came.
    """
    whole: JsonObject = {}
    choice: JsonObject = {}
    message: JsonObject = {}
    for chunk in (each for each in chunks if isinstance(each, dict)):
        if chunk.get("error"):
            return chunk
        for key in ("id", "model", "usage"):
            if chunk.get(key) is not None:
                whole[key] = chunk[key]
        _add_choice(choice, message, chunk.get("choices"))
    if chunks and not choice.get("finish_reason") and "[DONE]" not in text:
        msg = f"the event stream ended after {len(chunks)} events without its end mark"
        raise CutStream(msg)
    if message or (choice and "text" not in choice):
        choice["message"] = message
    if choice:
        whole["choices"] = [choice]
    return whole


def _add_choice(choice: JsonObject, message: JsonObject, choices: object) -> None:
    first = choices[0] if isinstance(choices, list) and choices else None
    if not isinstance(first, dict) or first.get("index") not in (None, 0):
        return
    for key in ("finish_reason", "error"):
        if first.get(key) is not None:
            choice[key] = first[key]
    _add_logprobs(choice, first.get("logprobs"))
    if isinstance(first.get("text"), str):
        choice["text"] = choice.get("text", "") + first["text"]
    piece = first.get("delta", first.get("message"))
    if isinstance(piece, dict):
        _add_piece(message, piece)


def _add_logprobs(choice: JsonObject, logprobs: object) -> None:
    """Lists by name: ``content`` of chats, ``tokens`` and others of text completions."""
    for name, values in _object(logprobs).items():
        if isinstance(values, list):
            choice.setdefault("logprobs", {}).setdefault(name, []).extend(values)


def _add_piece(message: JsonObject, piece: JsonObject) -> None:
    for key in _TEXTS:
        if isinstance(piece.get(key), str):
            message[key] = message.get(key, "") + piece[key]
    calls = piece.get("tool_calls")
    if isinstance(calls, list):
        merged = message.setdefault("tool_calls", [])
        for call in calls:
            if isinstance(call, dict):
                _add_call(merged, call)


def _add_call(calls: list[JsonObject], piece: JsonObject) -> None:
    index = piece.get("index")
    known = [call for call in calls if index is not None and call.get("index") == index]
    if not known:
        calls.append({**piece, "function": dict(_object(piece.get("function")))})
        return
    function = known[0]["function"]
    for key, value in _object(piece.get("function")).items():
        if isinstance(value, str) and isinstance(function.get(key), str):
            function[key] += value
        elif value is not None:
            function[key] = value


def _object(value: object) -> JsonObject:
    return value if isinstance(value, dict) else {}
