"""Event streams of chats and text completions: read, put together, and written again."""

import json
from collections.abc import Iterator
from typing import Any

from pytest_nel.core.exchange import Reply
from pytest_nel.core.types import JsonObject

END = "[DONE]"
_JSON = {"content-type": "application/json"}
_KINDS = {"chat.completion.chunk": "chat.completion"}
_CHUNKS = {"chat.completion": "chat.completion.chunk"}


def is_stream(headers: dict[str, str]) -> bool:
    """Whether headers announce an event stream."""
    return "event-stream" in headers.get("content-type", "").lower()


def wants_stream(body: JsonObject) -> bool:
    """Whether a request asks for one."""
    return body.get("stream") is True


def payloads(text: str) -> Iterator[str]:
    """The data of each event; keep-alives are none."""
    for event in text.replace("\r\n", "\n").replace("\r", "\n").split("\n\n"):
        lines = [line[5:].removeprefix(" ") for line in event.split("\n") if line[:5] == "data:"]
        data = "\n".join(lines).strip()
        if data and not data.startswith(":"):
            yield data


def object_of(payload: str) -> JsonObject | None:
    """The JSON object of an event, or None."""
    try:
        value = json.loads(payload, parse_constant=lambda _name: None)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def merged(reply: Reply) -> Reply:
    """A streamed reply as one that was not; an error among its events becomes the reply.

    A stream of another kind than chats and text completions stays as it is.
    """
    assert isinstance(reply.body, bytes)
    events = list(payloads(reply.body.decode("utf-8", "replace")))
    if is_of_another_kind(events):
        return reply
    status, body = merge(events)
    headers = {name: value for name, value in reply.headers.items() if name != "content-type"}
    return Reply(reply.status if status == 200 else status, {**headers, **_JSON}, body)


def is_of_another_kind(events: list[str]) -> bool:
    """Whether events are typed, as those of the responses protocol are, and have no choices."""
    chunks = [chunk for chunk in map(object_of, events) if chunk is not None]
    typed = any(isinstance(chunk.get("type"), str) for chunk in chunks)
    return typed and not any("choices" in chunk for chunk in chunks)


def final_of(events: list[str]) -> JsonObject | bytes:
    """What a stream of another kind amounts to: its last ``response``, or its events."""
    for payload in reversed(events):
        chunk = object_of(payload) or {}
        if isinstance(chunk.get("response"), dict):
            return dict(chunk["response"])
    return b"".join(map(event, events))


def merge(events: list[str]) -> tuple[int, JsonObject]:
    """Put the events of a stream together.

    Args:
        events: The data of each.

    Returns:
        A status, 200 or that of the error that came, and the body. A stream that ended before
        its end is an error: half an answer is none.
    """
    whole: JsonObject = {}
    choices: dict[int, JsonObject] = {}
    ended = False
    for payload in events:
        ended = ended or payload == END
        chunk = object_of(payload)
        if chunk is None:
            continue
        if chunk.get("error"):
            return _status(chunk["error"]), chunk
        for name, value in chunk.items():
            if name != "choices" and (value is not None or name not in whole):
                whole[name] = value
        _add_choices(choices, chunk.get("choices"))
    finished = choices and all(choice.get("finish_reason") for choice in choices.values())
    if not ended and not finished:
        message = f"the upstream's event stream ended after {len(events)} events without its end"
        return 502, {"error": {"message": message, "type": "upstream_error"}}
    kind = whole.get("object")
    if isinstance(kind, str):
        whole["object"] = _KINDS.get(kind, kind)
    whole["choices"] = [_finished(choices[index]) for index in sorted(choices)]
    return 200, whole


def as_events(body: JsonObject, *, usage: bool = True) -> Iterator[str]:
    """A whole reply as the data of a stream's events, the end mark included.

    Args:
        body: The reply.
        usage: Whether its client asked for the usage, in an event of its own.
    """
    base = {name: value for name, value in body.items() if name not in ("choices", "usage")}
    if isinstance(base.get("object"), str):
        base["object"] = _CHUNKS.get(base["object"], base["object"])
    choices = body.get("choices")
    for choice in choices if isinstance(choices, list) else []:
        yield _text({**base, "choices": [_chunk(choice)]})
    if usage and body.get("usage") is not None:
        yield _text({**base, "choices": [], "usage": body["usage"]})
    yield END


def event(payload: str) -> bytes:
    """An event on the wire."""
    return b"".join(b"data: " + line.encode() + b"\n" for line in payload.split("\n")) + b"\n"


def _text(value: JsonObject) -> str:
    return json.dumps(value, ensure_ascii=True, separators=(",", ":"))


def _chunk(choice: Any) -> Any:  # Any: JSON
    if not isinstance(choice, dict) or not isinstance(choice.get("message"), dict):
        return choice
    delta = dict(choice["message"])
    calls = delta.get("tool_calls")
    if isinstance(calls, list):
        delta["tool_calls"] = [
            {"index": index, **call} if isinstance(call, dict) else call
            for index, call in enumerate(calls)
        ]
    return {**{name: value for name, value in choice.items() if name != "message"}, "delta": delta}


def _status(error: object) -> int:
    said = [error.get(name) for name in ("code", "status")] if isinstance(error, dict) else []
    for value in said:
        if isinstance(value, int | str) and str(value).isdigit() and 400 <= int(value) <= 599:
            return int(value)
    return 502


def _add_choices(choices: dict[int, JsonObject], pieces: object) -> None:
    for piece in pieces if isinstance(pieces, list) else []:
        if not isinstance(piece, dict):
            continue
        index = piece.get("index")
        known = choices.setdefault(index if isinstance(index, int) else 0, {})
        for name, value in piece.items():
            if name == "delta" and isinstance(value, dict):
                _add(known.setdefault("message", {}), value)
            elif name == "text" and isinstance(value, str):
                known["text"] = known.get("text", "") + value
            elif name == "logprobs":
                known["logprobs"] = _longer(known.get("logprobs"), value)
            elif value is not None or name not in known:
                known[name] = value


def _add(message: JsonObject, piece: JsonObject) -> None:
    for name, value in piece.items():
        if name == "tool_calls" and isinstance(value, list):
            _add_calls(message.setdefault("tool_calls", []), value)
        elif name == "function_call" and isinstance(value, dict):
            _add_text(message.setdefault("function_call", {}), value)
        elif name == "role":
            message["role"] = value or message.get("role")
        elif isinstance(value, str) and isinstance(message.get(name), str):
            message[name] += value
        elif value is not None or name not in message:
            message[name] = value


def _add_calls(calls: list[JsonObject], pieces: list[Any]) -> None:
    for piece in (each for each in pieces if isinstance(each, dict)):
        index = piece.get("index")
        known = [call for call in calls if index is not None and call.get("index") == index]
        if not known:
            calls.append({**piece, "function": dict(piece.get("function") or {})})
            continue
        call = known[0]
        for name, value in piece.items():
            if name != "function" and value is not None:
                call[name] = value
        _add_text(call["function"], piece.get("function") or {})


def _add_text(target: JsonObject, piece: JsonObject) -> None:
    """Arguments come in pieces; a name comes whole, and may be repeated."""
    for name, value in piece.items():
        if name == "arguments" and isinstance(value, str):
            target[name] = (target.get(name) or "") + value
        elif value is not None:
            target[name] = value


def _longer(known: Any, more: Any) -> Any:  # Any: JSON
    """Log-probabilities come in pieces, too: their lists are joined."""
    if not isinstance(known, dict) or not isinstance(more, dict):
        return known if more is None else more
    joined = dict(known)
    for name, value in more.items():
        both = isinstance(joined.get(name), list) and isinstance(value, list)
        joined[name] = [*joined[name], *value] if both else value
    return joined


def _finished(choice: JsonObject) -> JsonObject:
    """A choice without what only a stream has."""
    message = choice.get("message")
    calls = message.get("tool_calls") if isinstance(message, dict) else None
    for call in calls if isinstance(calls, list) else []:
        call.pop("index", None)
    return choice
