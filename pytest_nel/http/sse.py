"""Server-sent events of models: read, put together, and written again.

The one place that knows them. Some gateways stream whatever a request says, so the client merges
what it gets; interceptors and the adapter proxy merge streams to see a whole reply, and write one
as a stream. Comments, and comments in the guise of data (``data: : keepalive``), are tolerated.
"""

import json
import re
from collections.abc import AsyncIterator, Iterable, Iterator
from typing import Any

from pytest_nel.core.exchange import Reply
from pytest_nel.core.types import JsonObject

END = "[DONE]"
_JSON = {"content-type": "application/json"}
_ERROR = re.compile(r"event:\s*error\s*")
_KINDS = {"chat.completion.chunk": "chat.completion"}
_CHUNKS = {"chat.completion": "chat.completion.chunk"}


class CutStream(Exception):  # named for what happened
    """The stream ended before its end: half an answer is none."""


def looks_like(start: str, content_type: str) -> bool:
    """Whether a body that begins like this is an event stream."""
    return start.startswith(("data:", ":", "event:", "id:", "retry:")) or (
        "event-stream" in content_type and not start.startswith("{")
    )


def is_stream(headers: dict[str, str]) -> bool:
    """Whether headers announce an event stream."""
    return "event-stream" in headers.get("content-type", "").lower()


def wants_stream(body: JsonObject) -> bool:
    """Whether a request asks for one."""
    return body.get("stream") is True


async def event_blocks(pieces: AsyncIterator[bytes]) -> AsyncIterator[str]:
    """Whole events, or comments, from the pieces of a stream; all line ends are made one."""
    waiting = b""
    async for piece in pieces:
        waiting = waiting + piece
        whole, ended, rest = waiting.replace(b"\r\n", b"\n").rpartition(b"\n\n")
        if ended:
            waiting = rest
            for block in whole.split(b"\n\n"):
                yield block.decode("utf-8", "replace")
    if waiting.strip():
        yield waiting.decode("utf-8", "replace")


def payloads(text: str) -> Iterator[str]:
    """The data of each event, the end mark included; keep-alives are none."""
    for block in text.replace("\r\n", "\n").replace("\r", "\n").split("\n\n"):
        lines = [line[5:].removeprefix(" ") for line in block.split("\n") if line[:5] == "data:"]
        apart = len(lines) > 1 and all(map(_stands_alone, lines))
        failed = any(_ERROR.fullmatch(line) for line in block.split("\n"))
        for joined in lines if apart else ["\n".join(lines)]:
            data = joined.strip()
            if data and not data.startswith(":"):
                yield _as_error(data) if failed else data


def _as_error(data: str) -> str:
    """The data of an ``event: error``, in the shape of an error that comes without that name."""
    found = object_of(data)
    if data == END or (found is not None and found.get("error")):
        return data
    return _text({"error": data} if found is None else {**found, "error": found})


def _stands_alone(line: str) -> bool:
    """Whether a line of data is an event of its own: some servers leave out the blank line."""
    data = line.strip()
    return data in ("", END) or data.startswith(":") or (data[0], data[-1]) == ("{", "}")


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
    status, body = outcome(events)
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


def outcome(events: list[str]) -> tuple[int, JsonObject]:
    """What the events of a stream amount to, as a reply that was not streamed.

    Args:
        events: The data of each.

    Returns:
        A status, 200 or that of the error that came, and the body. A stream that was cut is an
        error of the upstream's.
    """
    try:
        body = merge(map(object_of, events), ended=END in events)
    except CutStream as exc:
        return 502, {"error": {"message": f"the upstream: {exc}", "type": "upstream_error"}}
    return (_status(body["error"]) if body.get("error") else 200), body


def merge(chunks: Iterable[object], *, ended: bool) -> JsonObject:
    """Put the chunks of one answer together, in the shape of a plain reply.

    Args:
        chunks: The decoded events; what is no object is passed over.
        ended: Whether the end mark came.

    Returns:
        The reply; where one of the chunks is an error, that chunk.

    Raises:
        CutStream: Neither the end mark nor the finish reason of each choice came; or the mark
            alone, without a finish reason and without usage: some servers leave out one of
            these, and whoever says none of them has not said that the answer is whole.
    """
    whole: JsonObject = {}
    choices: dict[int, JsonObject] = {}
    count = 0
    for count, chunk in enumerate(chunks, 1):  # noqa: B007 - the number of the last is wanted
        if not isinstance(chunk, dict):
            continue
        if chunk.get("error"):
            return chunk
        for name, value in chunk.items():
            if name != "choices" and (value is not None or name not in whole):
                whole[name] = value
        _add_choices(choices, chunk.get("choices"))
    finished = choices and all(choice.get("finish_reason") for choice in choices.values())
    if not finished and not (ended and (whole.get("usage") or _any_finished(choices))):
        lacks = "a finish reason or its usage" if ended else "its end mark"
        msg = f"the event stream ended after {count} events without {lacks}"
        raise CutStream(msg)
    kind = whole.get("object")
    if isinstance(kind, str):
        whole["object"] = _KINDS.get(kind, kind)
    whole["choices"] = [_finished(choices[index]) for index in sorted(choices)]
    return whole


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
        if isinstance(piece, dict):
            index = piece.get("index")
            _add_choice(choices.setdefault(index if isinstance(index, int) else 0, {}), piece)


def _any_finished(choices: dict[int, JsonObject]) -> bool:
    return any(choice.get("finish_reason") for choice in choices.values())


def _add_choice(known: JsonObject, piece: JsonObject) -> None:
    if _is_object(piece.get("delta")):
        known["delta"] = True
        _add(known.setdefault("message", {}), piece["delta"])
    elif _is_object(piece.get("message")):
        # After deltas it is the whole, said again; in their place it is a piece like them.
        put = _replace if "delta" in known else _add
        put(known.setdefault("message", {}), piece["message"])
    for name, value in piece.items():
        if name in ("delta", "message"):
            continue
        if name == "text" and isinstance(value, str) and isinstance(known.get(name), str):
            known[name] += value
        elif name == "logprobs" and _is_object(known.get(name)) and _is_object(value):
            _lengthen(known[name], value)
        elif value is not None or name not in known:
            known[name] = value


def _replace(message: JsonObject, whole: JsonObject) -> None:
    """What the whole leaves empty stays."""
    message.update({name: value for name, value in whole.items() if value or name not in message})


def _add(message: JsonObject, piece: JsonObject) -> None:
    for name, value in piece.items():
        if name == "tool_calls" and isinstance(value, list):
            _add_calls(message, value)
        elif name == "function_call" and _is_object(value):
            if not _is_object(message.get(name)):
                message[name] = {}
            _add_text(message[name], value)
        elif name == "role":
            message[name] = value or message.get(name)
        elif isinstance(value, str) and isinstance(message.get(name), str):
            message[name] += value
        elif value is not None or name not in message:
            message[name] = value


def _add_calls(message: JsonObject, pieces: list[Any]) -> None:
    if not isinstance(message.get("tool_calls"), list):
        message["tool_calls"] = []
    calls: list[JsonObject] = message["tool_calls"]
    for piece in (each for each in pieces if isinstance(each, dict)):
        index = piece.get("index")
        function = piece.get("function")
        function = function if isinstance(function, dict) else {}
        known = [call for call in calls if index is not None and call.get("index") == index]
        if not known:
            calls.append({**piece, "function": dict(function)})
            continue
        call = known[0]
        for name, value in piece.items():
            if name != "function" and value is not None:
                call[name] = value
        _add_text(call["function"], function)


def _add_text(target: JsonObject, piece: JsonObject) -> None:
    """Arguments come in pieces; a name comes whole, and may be repeated."""
    for name, value in piece.items():
        if name == "arguments" and isinstance(value, str):
            before = target.get(name)
            target[name] = before + value if isinstance(before, str) else value
        elif value is not None:
            target[name] = value


def _lengthen(known: JsonObject, more: JsonObject) -> None:
    """Log-probabilities come in pieces, too: their lists are joined."""
    for name, value in more.items():
        if isinstance(known.get(name), list) and isinstance(value, list):
            known[name].extend(value)
        else:
            known[name] = value


def _is_object(value: object) -> bool:
    return isinstance(value, dict)


def _finished(choice: JsonObject) -> JsonObject:
    """A choice as it is without a stream: with an answer, be it empty, and plain calls."""
    choice.pop("delta", None)
    if "text" not in choice:
        choice.setdefault("message", {})
    message = choice.get("message")
    calls = message.get("tool_calls") if isinstance(message, dict) else None
    for call in calls if isinstance(calls, list) else []:
        if isinstance(call, dict):
            call.pop("index", None)
    return choice
