"""Replies of every shape become a response or our own error."""

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_nel.core.types import ModelResponse
from pytest_nel.http.answer import answer_flags
from pytest_nel.http.openai import BadReply, error_message, parse_reply
from tests.unit.http.raw_server import answer


def parse(data: Any, **sampling: Any) -> ModelResponse:
    return parse_reply(json.dumps(data).encode(), "application/json", sampling)


def test_a_plain_answer_is_read_with_its_tokens() -> None:
    response = parse(answer("42"), temperature=0.5)

    assert (response.content, response.model, response.finish_reason) == ("42", "m-1", "stop")
    assert (response.prompt_tokens, response.completion_tokens, response.total_tokens) == (7, 2, 9)
    assert response.sampling == {"temperature": 0.5}
    assert answer_flags(response) == {}


def test_h07_reasoning_without_an_answer_is_empty() -> None:
    response = parse(answer(None, message={"reasoning_content": "the answer is 42"}))

    assert (response.content, response.reasoning_content) == ("", "the answer is 42")
    assert answer_flags(response) == {"empty": True}


def test_h08_a_tool_call_is_flagged_and_kept() -> None:
    call = {"id": "1", "type": "function", "function": {"name": "f", "arguments": "{}"}}

    response = parse(answer(None, message={"tool_calls": [call]}, finish_reason="tool_calls"))

    assert list(response.tool_calls) == [call]
    assert answer_flags(response) == {"tool_call": True}


def test_h10_a_refusal_is_flagged_and_kept() -> None:
    response = parse(answer(None, message={"refusal": "I can't help"}))

    assert (response.content, response.refusal) == ("", "I can't help")
    assert answer_flags(response) == {"refusal": True}


def test_h11_the_completions_shape_is_read() -> None:
    response = parse({"choices": [{"text": "42", "finish_reason": "stop"}]})

    assert response.content == "42"


@pytest.mark.parametrize("usage", [{}, {"usage": None}, {"usage": "x"}], ids=str)
def test_h12_h13_missing_usage_is_unknown_not_zero(usage: dict[str, Any]) -> None:
    data = answer("42")
    del data["usage"]

    response = parse({**data, **usage})

    assert response.content == "42"
    assert response.prompt_tokens is response.completion_tokens is response.total_tokens is None


def test_h15_a_lone_surrogate_is_replaced_everywhere() -> None:
    body = (
        rb'{"choices":[{"message":{"content":"\ud83542","tool_calls":[{"a\ud800":"\udc00"}]}}],'
        rb'"x":"\ud83d\ude00"}'
    )

    response = parse_reply(body)

    assert response.content == "\ufffd42"
    assert list(response.tool_calls) == [{"a\ufffd": "\ufffd"}]
    assert response.raw_response is not None
    assert response.raw_response["x"] == "\N{GRINNING FACE}"


def test_h16_nan_is_read_as_null() -> None:
    body = b'{"choices":[{"message":{"content":"42"},"logprob":NaN,"x":-Infinity}]}'

    response = parse_reply(body)

    assert response.content == "42"
    assert response.raw_response is not None
    assert response.raw_response["choices"][0]["logprob"] is None


@pytest.mark.parametrize(
    ("sampling", "reason"),
    [
        ({"max_tokens": 2}, "length"),
        ({"max_completion_tokens": 2}, "length"),
        ({"max_tokens": 3}, "stop"),
        ({"max_tokens": True}, "stop"),
        ({"max_tokens": -1}, "stop"),
        ({}, "stop"),
    ],
    ids=str,
)
def test_h25_an_answer_that_ends_at_its_cap_is_truncated(
    sampling: dict[str, Any], reason: str
) -> None:
    assert parse(answer("42"), **sampling).finish_reason == reason


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ([{"type": "text", "text": "4"}, {"type": "text", "text": "2"}], "42"),
        (["4", "2"], "42"),
        ([{"type": "image_url"}], ""),
        ([], ""),
    ],
    ids=str,
)
def test_content_in_parts_is_joined(content: list[Any], text: str) -> None:
    assert parse(answer("", message={"content": content})).content == text


def test_a_message_without_content_is_an_empty_answer() -> None:
    assert parse({"choices": [{"message": {"role": "assistant"}}]}).content == ""


@pytest.mark.parametrize("key", ["reasoning", "reasoning_content"])
def test_reasoning_is_read_under_both_names(key: str) -> None:
    assert parse(answer("42", message={key: "hmm"})).reasoning_content == "hmm"


def test_reasoning_tokens_are_read_from_the_details() -> None:
    usage = {"completion_tokens": 9, "completion_tokens_details": {"reasoning_tokens": 5}}

    assert parse(answer("42", usage=usage)).reasoning_tokens == 5


@pytest.mark.parametrize("tokens", [True, -1, 1.5, "7", [7], 1e300], ids=str)
def test_an_impossible_token_count_is_unknown(tokens: Any) -> None:
    assert parse(answer("42", usage={"completion_tokens": tokens})).completion_tokens is None


@pytest.mark.parametrize("choices", [None, [], {}, ["x"], 7], ids=str)
def test_h06_a_reply_without_choices_is_retryable(choices: Any) -> None:
    with pytest.raises(BadReply, match="no choices") as caught:
        parse({"choices": choices})

    assert caught.value.retryable


@pytest.mark.parametrize(
    ("error", "status", "message"),
    [
        ({"message": "upstream overloaded", "code": 429}, 429, "upstream overloaded"),
        ({"message": "no", "code": "503"}, 503, "no"),
        ({"message": "no", "code": "bad_thing", "status": 400}, 400, r"no \(bad_thing\)"),
        ({"message": "no", "code": True}, None, "no"),
        ("plain words", None, "plain words"),
        ({"code": 1}, None, "code"),
    ],
    ids=str,
)
def test_h05_an_error_in_a_success_keeps_status_and_message(
    error: Any, status: int | None, message: str
) -> None:
    with pytest.raises(BadReply, match=message) as caught:
        parse({"error": error})

    assert (caught.value.status, caught.value.stated) == (status, True)


def test_an_error_inside_a_choice_is_an_error() -> None:
    with pytest.raises(BadReply, match="provider died") as caught:
        parse({"choices": [{"error": {"code": 502, "message": "provider died"}}]})

    assert caught.value.status == 502


def test_a_null_error_beside_an_answer_is_ignored() -> None:
    assert parse({**answer("42"), "error": None}).content == "42"


@pytest.mark.parametrize(
    ("body", "content_type"),
    [
        (b"<!DOCTYPE html><html>Sign in</html>", "text/html"),
        (b"\n  <html>Sign in</html>", "application/json"),
        (b"Sign in", "text/html; charset=utf-8"),
    ],
)
def test_h04_html_says_so(body: bytes, content_type: str) -> None:
    with pytest.raises(BadReply, match=r"HTML instead of JSON.*Sign in"):
        parse_reply(body, content_type)


@pytest.mark.parametrize(
    "body", [b"", b"  \n", b"{", b"[" * 100_000, b"[1]", b"3", b'"x"'], ids=len
)
def test_what_is_no_json_object_is_a_bad_reply(body: bytes) -> None:
    with pytest.raises(BadReply):
        parse_reply(body)


def test_an_absurd_number_is_a_bad_reply() -> None:
    with pytest.raises(BadReply, match="not JSON"):
        parse_reply(b'{"choices": ' + b"9" * 5000 + b"}")


def test_invalid_utf8_is_replaced_and_noted() -> None:
    response = parse_reply(b'{"choices":[{"message":{"content":"a\xffb"}}]}')

    assert response.content == "a\ufffdb"
    assert response.raw_response is not None
    assert "not UTF-8" in response.raw_response["nel_notes"][0]


def test_a_byte_order_mark_is_skipped() -> None:
    assert parse_reply(b"\xef\xbb\xbf" + json.dumps(answer("42")).encode()).content == "42"


def stream(*events: str) -> bytes:
    return "".join(f"{event}\n\n" for event in events).encode()


def delta(**piece: Any) -> str:
    finish = piece.pop("finish_reason", None)
    return "data: " + json.dumps(
        {"model": "m-1", "choices": [{"index": 0, "delta": piece, "finish_reason": finish}]}
    )


def test_h23_an_event_stream_is_put_together() -> None:
    body = stream(
        ": OPENROUTER PROCESSING",
        ": ping",
        "",
        delta(role="assistant", content="4"),
        "data: : keepalive",
        delta(content="2", reasoning="hm"),
        delta(reasoning="m", finish_reason="stop"),
        'data: {"choices": [], "usage": {"completion_tokens": 2}}',
        "data: [DONE]",
    )

    response = parse_reply(body, "text/event-stream")

    assert (response.content, response.reasoning_content) == ("42", "hmm")
    assert (response.finish_reason, response.completion_tokens) == ("stop", 2)
    assert response.model == "m-1"


def test_an_event_stream_is_known_without_its_content_type() -> None:
    body = stream(delta(content="42", finish_reason="stop"))

    assert parse_reply(body, "application/json").content == "42"


def test_a_streamed_completion_is_put_together() -> None:
    body = stream(
        'data: {"choices":[{"text":"4"}]}',
        'data: {"choices":[{"text":"2","finish_reason":"stop"}]}',
        "data: [DONE]",
    )

    assert parse_reply(body).content == "42"


def test_streamed_tool_calls_are_put_together() -> None:
    first = {"index": 0, "id": "c1", "function": {"name": "f", "arguments": '{"a"'}}
    rest = {"index": 0, "function": {"arguments": ": 1}"}}
    body = stream(delta(tool_calls=[first]), delta(tool_calls=[rest], finish_reason="tool_calls"))

    (call,) = parse_reply(body).tool_calls

    assert call["function"] == {"name": "f", "arguments": '{"a": 1}'}


def test_a_stream_without_an_end_is_a_bad_reply() -> None:
    with pytest.raises(BadReply, match="end mark"):
        parse_reply(stream(delta(content="4")))


def test_an_error_in_a_stream_is_an_error() -> None:
    with pytest.raises(BadReply, match="boom") as caught:
        parse_reply(stream(delta(content="4"), 'data: {"error": {"message": "boom", "code": 500}}'))

    assert caught.value.status == 500


SCALARS = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8)
KEYS = st.sampled_from(
    [
        "choices", "message", "content", "text", "usage", "error", "code", "delta", "refusal",
        "tool_calls", "function_call", "reasoning", "reasoning_content", "finish_reason", "model",
        "completion_tokens", "completion_tokens_details", "reasoning_tokens", "object", "index",
        "function", "type", "status",
    ]
)  # fmt: skip
JSON = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(KEYS | st.text(max_size=4), inner, max_size=5)
    ),
    max_leaves=25,
)
CHOICES = st.dictionaries(KEYS, JSON, max_size=4).map(lambda choice: {"choices": [choice]})


@settings(max_examples=500, deadline=None)
@given(JSON | CHOICES, st.dictionaries(st.sampled_from(["max_tokens"]), SCALARS))
def test_any_json_is_a_response_or_a_bad_reply(data: Any, sampling: dict[str, Any]) -> None:
    try:
        response = parse_reply(json.dumps(data).encode(), "", sampling)
    except BadReply as exc:
        assert str(exc) or data  # noqa: PT017  # the error is one of two right outcomes
        return

    assert isinstance(response.content, str)
    response.content.encode("utf-8")
    assert response.completion_tokens is None or response.completion_tokens >= 0
    answer_flags(response)


@settings(max_examples=300, deadline=None)
@given(st.lists(JSON | CHOICES, max_size=4), st.booleans())
def test_any_event_stream_is_a_response_or_a_bad_reply(chunks: list[Any], done: bool) -> None:  # noqa: FBT001  # drawn by hypothesis
    lines = ["data: " + json.dumps(chunk) for chunk in chunks] + ["data: [DONE]"] * done

    try:
        response = parse_reply(stream(": c", *lines))
    except BadReply:
        return

    assert isinstance(response.content, str)


@settings(deadline=None)
@given(st.binary(max_size=200), st.sampled_from(["", "text/html", "text/event-stream"]))
def test_any_bytes_are_a_response_or_a_bad_reply(body: bytes, content_type: str) -> None:
    with pytest.raises(BadReply):
        parse_reply(body, content_type)


@settings(deadline=None)
@given(st.binary(max_size=400) | JSON.map(lambda value: json.dumps(value).encode()))
def test_any_error_body_has_a_short_message(body: bytes) -> None:
    message = error_message(body)

    assert len(message) <= 300
    assert "\n" not in message


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b'{"error": {"message": "no such model", "code": "x"}}', "no such model (x)"),
        (b'{"error": "no"}', "no"),
        (b'{"detail": "Not Found"}', "Not Found"),
        (b'{"detail": [{"msg": "field required", "input": "the prompt"}]}', "field required"),
        (b'{"object": "error", "message": "too long"}', "too long"),
        (b"<html>\n<b>502</b>\n</html>", "<html> <b>502</b> </html>"),
    ],
)
def test_an_error_message_is_the_servers_own_words(body: bytes, message: str) -> None:
    assert error_message(body) == message
