"""The OpenAI wire format: requests from our types, our types from whatever comes back.

Servers, gateways and proxies differ in every field, so reading is tolerant in shape and strict in
outcome: a :class:`~pytest_nel.core.types.ModelResponse` or a :class:`BadReply`, never a crash.
"""

import json
import logging
import re
from collections.abc import Mapping
from typing import Any

from pytest_nel.core.errors import ConfigError, FailureKind, InfraError
from pytest_nel.core.text import showable, storable
from pytest_nel.core.types import JsonObject, ModelResponse
from pytest_nel.http import responses, sse

_LOG = logging.getLogger("pytest_nel.http")
_ENCODE = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode
# NaN and Infinity are no JSON, but Python servers write them beside log-probabilities.
_DECODE = json.JSONDecoder(parse_constant=lambda _name: None).decode
RESERVED = frozenset({"input", "messages", "model", "n", "prompt", "stream", "stream_options"})
"""What a request body says of its own accord, and no sampling parameter may say."""
_HEAD = 300


class BadReply(InfraError):
    """A reply that is no answer: not JSON, no choices, or an error in a success's clothes.

    Attributes:
        status: The HTTP status that the body itself states, if any.
    """

    def __init__(self, message: str, *, status: int | None = None, stated: bool = False) -> None:
        super().__init__(message, kind=FailureKind.PROTOCOL, retryable=True)
        self.status = status
        self.stated = stated


def request_fields(
    model: str, asked: Mapping[str, Any], sampling: Mapping[str, Any], *, stream: bool = False
) -> JsonObject:
    """What a request body says.

    Args:
        model: The model's name.
        asked: The question: ``messages``, ``prompt`` or ``input``.
        sampling: Further parameters, without nulls, under the names of the protocol.
        stream: Whether the reply is to come in pieces.

    Raises:
        ConfigError: A parameter is reserved.
    """
    if clash := RESERVED & sampling.keys():
        msg = f"{', '.join(sorted(clash))} is no sampling parameter: the client sets it itself"
        raise ConfigError(msg)
    return {"model": model, **asked, **sampling, **(_streamed(asked) if stream else {})}


def request_body(
    model: str, asked: Mapping[str, Any], sampling: Mapping[str, Any], *, stream: bool = False
) -> bytes:
    """:func:`request_fields` as bytes.

    Raises:
        ConfigError: A parameter is reserved or cannot be written as JSON.
    """
    fields = request_fields(model, asked, sampling, stream=stream)
    try:
        text = _ENCODE(fields)
    except (TypeError, ValueError, RecursionError) as exc:
        msg = f"the request to model {model!r} cannot be written as JSON: {exc}"
        raise ConfigError(msg) from exc
    return storable(text).encode("utf-8")


def _streamed(asked: Mapping[str, Any]) -> JsonObject:
    """A stream says nothing of tokens unless it is asked to; one of responses always does."""
    more = {} if "input" in asked else {"stream_options": {"include_usage": True}}
    return {"stream": True, **more}


def one_line(text: str, limit: int = _HEAD) -> str:
    """The beginning of a text, fit to be shown in a message."""
    return " ".join(showable(text[: 4 * limit], 4 * limit).split())[:limit]


def error_message(body: bytes) -> str:
    """What an error body says, at most 300 characters of it.

    Only the server's own words are taken where they can be told from an echo of the request.
    """
    text = body[:65536].decode("utf-8", "replace")
    data = _json_or_none(text)
    if not isinstance(data, dict):
        return one_line(text)
    for key in ("error", "detail", "message"):
        if said := _words(data.get(key)):
            return one_line(said)
    return one_line(text)


def parse_reply(
    body: bytes,
    content_type: str = "",
    sampling: Mapping[str, Any] | None = None,
    *,
    seconds: float = 0.0,
) -> ModelResponse:
    """Read the body of a 2xx response.

    Args:
        body: The body, decompressed.
        content_type: Its media type.
        sampling: The parameters as sent; an answer that ends at its cap counts as truncated.
        seconds: What it took.

    Raises:
        BadReply: There is no answer in it.
    """
    data = _decode(body, content_type)
    if responses.is_response(data):
        data = responses.as_completion(data)
    if error := data.get("error"):
        raise _stated_error(error)
    if data.get("object") == "error":
        raise _stated_error(data)
    choices = data.get("choices")
    if not isinstance(choices, list) or not choices or not isinstance(choices[0], dict):
        msg = f"the reply has no choices: {one_line(body.decode('utf-8', 'replace'))}"
        raise BadReply(msg)
    choice = choices[0]
    if error := choice.get("error"):
        raise _stated_error(error)
    return _response(data, choice, dict(sampling or {}), seconds)


def _response(
    data: JsonObject, choice: JsonObject, sampling: JsonObject, seconds: float
) -> ModelResponse:
    message = _message(choice)
    usage = data.get("usage")
    usage = usage if isinstance(usage, dict) else {}
    details = usage.get("completion_tokens_details", usage.get("output_tokens_details"))
    details = details if isinstance(details, dict) else usage
    prompt = _count(usage, "prompt_tokens", "input_tokens")
    completion = _count(usage, "completion_tokens", "output_tokens")
    total = _count(usage, "total_tokens")
    if total is None and prompt is not None and completion is not None:
        total = prompt + completion
    reasoning = _text(message.get("reasoning_content")) or _text(message.get("reasoning"))
    model = data.get("model")
    return ModelResponse(
        content=_content(message),
        model=model if isinstance(model, str) else "",
        finish_reason=_finish_reason(choice.get("finish_reason"), completion, sampling),
        prompt_tokens=prompt,
        completion_tokens=completion,
        total_tokens=total,
        reasoning_tokens=_count(details, "reasoning_tokens"),
        latency_ms=seconds * 1000.0,
        reasoning_content=reasoning or None,
        refusal=_text(message.get("refusal")) or None,
        tool_calls=_tool_calls(message),
        sampling=sampling,
        logprobs=_logprobs(choice),
        raw_response=data,
    )


def _message(choice: JsonObject) -> JsonObject:
    """The answer's object, whichever of three shapes the server speaks."""
    for key in ("message", "delta"):
        message = choice.get(key)
        if isinstance(message, dict):
            return message
    if isinstance(choice.get("text"), str):
        return {"content": choice["text"]}
    msg = f"the reply's first choice has neither message nor text, only {sorted(choice)[:10]}"
    raise BadReply(msg)


def _content(message: JsonObject) -> str:
    content = message.get("content")
    text = _text(content)
    if text is None:
        msg = f"the answer's content is {type(content).__name__}: a string or parts are expected"
        raise BadReply(msg)
    return text


def _text(value: object) -> str | None:
    """Text from a string, from null or from a list of parts; None for anything else."""
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        parts = (
            part if isinstance(part, str) else part.get("text") if isinstance(part, dict) else None
            for part in value
        )
        return "".join(part for part in parts if isinstance(part, str))
    return None


def _tool_calls(message: JsonObject) -> tuple[JsonObject, ...]:
    calls = message.get("tool_calls")
    if isinstance(calls, list):
        return tuple(call for call in calls if isinstance(call, dict))
    legacy = message.get("function_call")
    if isinstance(legacy, dict):
        return ({"type": "function", "function": legacy},)
    return ()


def _logprobs(choice: JsonObject) -> JsonObject | None:
    found = choice.get("logprobs")
    return found if isinstance(found, dict) and found else None


def _count(usage: JsonObject, *names: str) -> int | None:
    for name in names:
        value = usage.get(name)
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            continue
        if 0 <= value < 1 << 53 and value == int(value):
            return int(value)
    return None


def _finish_reason(reason: object, completion: int | None, sampling: JsonObject) -> str | None:
    if not isinstance(reason, str):
        return None
    cap = _count(sampling, "max_completion_tokens", "max_tokens", "max_output_tokens")
    if reason == "stop" and cap and completion is not None and completion >= cap:
        return "length"  # some servers report "stop" for an answer that was cut at its cap
    return reason


def _stated_error(error: object) -> BadReply:
    status = None
    if isinstance(error, dict):
        for key in ("code", "status", "status_code"):
            status = status or _status(error.get(key))
    return BadReply(one_line(_words(error) or str(error)), status=status, stated=True)


def _status(value: object) -> int | None:
    if isinstance(value, str) and re.fullmatch(r"[45][0-9]{2}", value.strip()):
        return int(value)
    if isinstance(value, int) and not isinstance(value, bool) and 400 <= value <= 599:
        return value
    return None


def _words(value: object) -> str:
    """The sentence in an error value: text, or the usual keys of an object or list."""
    if isinstance(value, str):
        return value
    if isinstance(value, list):  # validation errors: never their "input", which echoes the prompt
        found = (v.get("msg") for v in value if isinstance(v, dict))
        return "; ".join(v for v in found if isinstance(v, str))
    if not isinstance(value, dict):
        return ""
    message = value.get("message")
    text = message if isinstance(message, str) else ""
    marks = [value.get(key) for key in ("code", "type")]
    extra = [mark for mark in marks if isinstance(mark, str) and mark and mark not in text]
    return f"{text} ({', '.join(extra)})" if text and extra else text or ", ".join(extra)


def _decode(body: bytes, content_type: str) -> JsonObject:
    notes: list[str] = []
    try:
        text = body.decode("utf-8-sig")
    except UnicodeDecodeError as exc:
        text = body.decode("utf-8", "replace")
        notes.append(f"the reply is not UTF-8 at byte {exc.start}: replaced by U+FFFD")
        _LOG.warning("%s", notes[0])
    start = text.lstrip()[:16].lower()
    if not start:
        msg = "the reply is empty"
        raise BadReply(msg)
    if start.startswith("<") or (not start.startswith(("{", "[")) and "html" in content_type):
        msg = f"HTML instead of JSON: {one_line(text)}"
        raise BadReply(msg)
    streamed = sse.looks_like(start, content_type)
    data: Any = _merged_stream(text) if streamed else _json(text, "the reply")  # Any: JSON
    if "\\ud" in text or "\\uD" in text:  # the only way in for a lone surrogate
        data = _clean(data)
    if not isinstance(data, dict):
        msg = f"the reply is a JSON {type(data).__name__}, an object is expected: {one_line(text)}"
        raise BadReply(msg)
    if notes:
        data["nel_notes"] = notes
    return data


def _merged_stream(text: str) -> JsonObject:
    payloads = list(sse.payloads(text))
    events = [_json(each, "an event") for each in payloads if each != sse.END]
    if (response := responses.streamed(events)) is not None:
        return response
    try:
        return sse.merge(events, ended=sse.END in payloads)
    except sse.CutStream as exc:
        raise BadReply(str(exc)) from None


def _json(text: str, what: str) -> Any:  # Any: whatever JSON holds
    try:
        return _DECODE(text)
    except (ValueError, RecursionError) as exc:
        msg = f"{what} is not JSON ({type(exc).__name__}): {one_line(text)}"
        raise BadReply(msg) from None


def _json_or_none(text: str) -> Any:  # Any: whatever JSON holds
    try:
        return _DECODE(text)
    except (ValueError, RecursionError):
        return None


def _clean(value: Any) -> Any:  # Any: whatever JSON holds
    if isinstance(value, str):
        return storable(value)
    if isinstance(value, list):
        return [_clean(item) for item in value]
    if isinstance(value, dict):
        return {storable(key): _clean(item) for key, item in value.items()}
    return value
