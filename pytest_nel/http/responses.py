"""The wire format of the Responses API: a conversation as its input, its output as a reply.

Source: the OpenAPI description of ``POST /responses``. What it knows under another name is renamed;
what it does not know is refused before anything is sent, for it would be ignored in silence.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pytest_nel.core.errors import ConfigError
from pytest_nel.core.types import JsonObject, Message

UNKNOWN = ("frequency_penalty", "presence_penalty", "seed", "stop")
"""Sampling parameters that the protocol has not."""
_RENAMED = {"max_tokens": "max_output_tokens", "max_completion_tokens": "max_output_tokens"}
_LOGPROBS = "message.output_text.logprobs"
_ENDED = ("response.completed", "response.incomplete", "response.failed")
_REASONS = {"max_output_tokens": "length"}


def sampling_as_sent(sampling: Mapping[str, Any]) -> JsonObject:
    """Sampling parameters under the names that this protocol gives them.

    Raises:
        ConfigError: It has no such parameter.
    """
    if unknown := [name for name in UNKNOWN if name in sampling]:
        msg = (
            f"{', '.join(unknown)}: the protocol responses has no such parameter; leave it out, or "
            "use the protocol chat_completions"
        )
        raise ConfigError(msg)
    sent = {_RENAMED.get(name, name): value for name, value in sampling.items()}
    if sent.pop("logprobs", False):
        sent["include"] = sorted({*sent.get("include", ()), _LOGPROBS})
    return sent


def fields(messages: Sequence[Message]) -> JsonObject:
    """What the body says of a conversation; nothing is kept on the server."""
    return {"input": [item for message in messages for item in _items(message)], "store": False}


def as_completion(data: JsonObject) -> JsonObject:
    """A response in the shape of a chat completion, which one reader then reads.

    A response that failed has its ``error``; one without output has no choices.
    """
    whole = {key: data[key] for key in ("id", "model", "usage", "error") if data.get(key)}
    output = data.get("output")
    if not isinstance(output, list) or whole.get("error"):
        return whole
    message: JsonObject = {"content": "".join(_texts(output, "message", "output_text", "text"))}
    refusal = "".join(_texts(output, "message", "refusal", "refusal"))
    reasoning = "\n".join(
        part
        for name, kind in (("summary", "summary_text"), ("content", "reasoning_text"))
        for part in _texts(output, "reasoning", kind, "text", within=name)
    )
    calls = [_call(item) for item in output if _is(item, "function_call")]
    for name, value in (("refusal", refusal), ("reasoning_content", reasoning)):
        if value:
            message[name] = value
    if calls:
        message["tool_calls"] = calls
    choice: JsonObject = {"message": message, "finish_reason": _finish(data, calls)}
    if logprobs := [found for part in _parts(output) for found in part.get("logprobs") or ()]:
        choice["logprobs"] = {"content": logprobs}
    return {**whole, "choices": [choice]}


def is_response(data: Mapping[str, Any]) -> bool:
    """Whether a reply speaks this protocol."""
    return data.get("object") == "response" and "choices" not in data


def streamed(chunks: Sequence[object]) -> JsonObject | None:
    """The response that an event stream ends with; None where the events are of another protocol.

    A stream that was cut has none, either.
    """
    for chunk in reversed(chunks):
        if isinstance(chunk, dict) and chunk.get("type") in _ENDED:
            response = chunk.get("response")
            return response if isinstance(response, dict) else None
    return None


def _items(message: Message) -> Iterator[JsonObject]:
    role, content = message.get("role"), message.get("content")
    if role == "tool":
        yield {
            "type": "function_call_output",
            "call_id": message.get("tool_call_id"),
            "output": _text(content),
        }
        return
    if content:
        yield {"role": role, "content": _content(content, assistant=role == "assistant")}
    for call in message.get("tool_calls") or ():
        function = call.get("function") or {}
        yield {
            "type": "function_call",
            "call_id": call.get("id"),
            "name": function.get("name"),
            "arguments": function.get("arguments"),
        }


def _text(content: object) -> str:
    if not isinstance(content, list):
        return content if isinstance(content, str) else ""
    parts = (part.get("text") if isinstance(part, dict) else part for part in content)
    return "".join(part for part in parts if isinstance(part, str))


def _content(content: object, *, assistant: bool) -> object:
    if not isinstance(content, list):
        return content
    text = "output_text" if assistant else "input_text"
    return [_part(part, text) for part in content]


def _part(part: object, text: str) -> object:
    if not isinstance(part, dict):
        return part
    if part.get("type") == "text":
        return {"type": text, "text": part.get("text")}
    image = part.get("image_url")
    if part.get("type") == "image_url" and isinstance(image, dict):
        return {
            "type": "input_image",
            "image_url": image.get("url"),
            "detail": image.get("detail", "auto"),
        }
    return part


def _is(item: object, kind: str) -> bool:
    return isinstance(item, dict) and item.get("type") == kind


def _parts(output: list[Any], kind: str = "message", within: str = "content") -> list[JsonObject]:
    found = (item.get(within) for item in output if _is(item, kind))
    return [part for parts in found if isinstance(parts, list) for part in parts if _object(part)]


def _object(value: object) -> bool:
    return isinstance(value, dict)


def _texts(
    output: list[Any], kind: str, part: str, key: str, *, within: str = "content"
) -> Iterator[str]:
    for found in _parts(output, kind, within):
        if found.get("type") == part and isinstance(found.get(key), str):
            yield found[key]


def _call(item: JsonObject) -> JsonObject:
    function = {"name": item.get("name"), "arguments": item.get("arguments")}
    return {"id": item.get("call_id"), "type": "function", "function": function}


def _finish(data: JsonObject, calls: list[JsonObject]) -> str | None:
    if data.get("status") == "incomplete":
        details = data.get("incomplete_details")
        reason = details.get("reason") if isinstance(details, dict) else None
        return _REASONS.get(str(reason), str(reason)) if reason else "incomplete"
    if data.get("status") != "completed":
        return None
    return "tool_calls" if calls else "stop"
