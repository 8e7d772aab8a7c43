"""The Responses API: what is sent, and what is read."""

import json
from typing import Any

import pytest

from pytest_nel.core.errors import ConfigError
from pytest_nel.core.types import Message
from pytest_nel.http.openai import BadReply, parse_reply
from pytest_nel.http.responses import fields, sampling_as_sent

TEXT = {"type": "output_text", "text": "42", "annotations": []}
MESSAGE = {"type": "message", "role": "assistant", "content": [TEXT]}


def reply(*output: dict[str, Any], **more: Any) -> bytes:
    data = {"object": "response", "model": "m-1", "status": "completed", "output": output}
    return json.dumps(data | more).encode()


def test_a_conversation_is_the_input_and_nothing_is_kept() -> None:
    system, user = {"role": "system", "content": "S"}, {"role": "user", "content": "Q"}

    assert fields([system, user]) == {"input": [system, user], "store": False}


def test_pictures_tools_and_their_results_have_other_names() -> None:
    image = {"type": "image_url", "image_url": {"url": "data:x", "detail": "high"}}
    call = {"id": "c1", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    messages: list[Message] = [
        {"role": "user", "content": [{"type": "text", "text": "Q"}, image]},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c1", "content": "ok"},
    ]

    assert fields(messages)["input"] == [
        {
            "role": "user",
            "content": [
                {"type": "input_text", "text": "Q"},
                {"type": "input_image", "image_url": "data:x", "detail": "high"},
            ],
        },
        {"type": "function_call", "call_id": "c1", "name": "f", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "c1", "output": "ok"},
    ]


def test_sampling_parameters_are_renamed_or_refused() -> None:
    given = {"temperature": 0.5, "max_tokens": 9, "logprobs": True, "top_logprobs": 2}

    assert sampling_as_sent(given) == {
        "temperature": 0.5,
        "max_output_tokens": 9,
        "top_logprobs": 2,
        "include": ["message.output_text.logprobs"],
    }
    with pytest.raises(ConfigError, match="seed, stop: the protocol responses has no such"):
        sampling_as_sent({"stop": ["."], "seed": 1})


def test_text_reasoning_tokens_and_model_are_read() -> None:
    reasoning = {"type": "reasoning", "summary": [{"type": "summary_text", "text": "because"}]}
    usage = {
        "input_tokens": 5,
        "output_tokens": 7,
        "total_tokens": 12,
        "output_tokens_details": {"reasoning_tokens": 3},
    }

    read = parse_reply(reply(reasoning, MESSAGE, usage=usage))

    assert (read.content, read.reasoning_content, read.model) == ("42", "because", "m-1")
    assert (read.prompt_tokens, read.completion_tokens, read.total_tokens) == (5, 7, 12)
    assert (read.reasoning_tokens, read.finish_reason) == (3, "stop")


def test_open_models_reasoning_is_in_its_content() -> None:
    reasoning = {"type": "reasoning", "content": [{"type": "reasoning_text", "text": "hm"}]}

    assert parse_reply(reply(reasoning, MESSAGE)).reasoning_content == "hm"


@pytest.mark.parametrize(
    ("more", "reason"),
    [
        ({"status": "incomplete", "incomplete_details": {"reason": "max_output_tokens"}}, "length"),
        (
            {"status": "incomplete", "incomplete_details": {"reason": "content_filter"}},
            "content_filter",
        ),
        ({"status": "incomplete"}, "incomplete"),
        ({"status": "completed"}, "stop"),
    ],
)
def test_why_it_ended_has_the_words_of_chat_completions(more: dict[str, Any], reason: str) -> None:
    assert parse_reply(reply(MESSAGE, **more)).finish_reason == reason


def test_an_answer_that_ends_at_its_cap_is_cut_whatever_the_server_says() -> None:
    read = parse_reply(reply(MESSAGE, usage={"output_tokens": 9}), "", {"max_output_tokens": 9})

    assert read.finish_reason == "length"


def test_refusals_and_calls_are_read() -> None:
    refusal = {"type": "message", "content": [{"type": "refusal", "refusal": "no"}]}
    call = {"type": "function_call", "call_id": "c1", "name": "f", "arguments": "{}"}

    read = parse_reply(reply(refusal, call))

    assert (read.content, read.refusal, read.finish_reason) == ("", "no", "tool_calls")
    assert read.tool_calls[0]["function"] == {"name": "f", "arguments": "{}"}


def test_a_response_that_failed_is_no_answer() -> None:
    with pytest.raises(BadReply, match="overloaded"):
        parse_reply(reply(status="failed", error={"code": "server_error", "message": "overloaded"}))
    with pytest.raises(BadReply, match="no choices"):
        parse_reply(b'{"object": "response", "status": "failed"}')


def test_a_stream_is_read_from_its_last_event() -> None:
    whole = {"type": "response.completed", "response": json.loads(reply(MESSAGE))}
    delta = {"type": "response.output_text.delta", "delta": "4"}
    stream = "".join(f"event: x\ndata: {json.dumps(event)}\n\n" for event in (delta, whole))

    assert parse_reply(stream.encode(), "text/event-stream").content == "42"


def test_a_stream_that_was_cut_is_no_answer() -> None:
    delta = {"type": "response.output_text.delta", "delta": "4"}

    with pytest.raises(BadReply):
        parse_reply(f"data: {json.dumps(delta)}\n\n".encode(), "text/event-stream")


def test_a_result_of_a_tool_may_come_in_parts() -> None:
    parts = [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]

    [item] = fields([{"role": "tool", "tool_call_id": "c", "content": parts}])["input"]

    assert item["output"] == "ab"
