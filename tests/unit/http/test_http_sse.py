"""One reader of event streams: what the client and the adapter proxy make of them is the same."""

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_nel.http.openai import BadReply, parse_reply
from pytest_nel.http.sse import outcome, payloads

NAMES = st.sampled_from(
    [
        *("choices", "delta", "message", "content", "role", "text", "index", "error", "logprobs"),
        *("finish_reason", "tool_calls", "function", "function_call", "arguments", "object"),
    ]
)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=5),
    max_leaves=25,
)
PIECES = st.fixed_dictionaries({}, optional={"content": st.text(max_size=4), "tool_calls": JSON})
CHUNKS = st.fixed_dictionaries(
    {"choices": st.lists(st.fixed_dictionaries({"delta": PIECES | JSON}), min_size=1, max_size=2)}
)


def chunk(**choice: Any) -> str:
    return json.dumps({"choices": [{"index": 0, **choice}]}, ensure_ascii=False)


ENDED = chunk(finish_reason="stop")


def streamed(*events: str) -> bytes:
    """A stream of data, or of whole events, with its end mark."""
    blocks = [each if each.startswith("event:") else f"data: {each}" for each in events]
    return "".join(f"{block}\n\n" for block in [*blocks, "data: [DONE]"]).encode()


@settings(deadline=None)
@given(st.lists(CHUNKS | JSON, max_size=4), st.booleans())
def test_a_stream_is_an_answer_to_both_of_its_readers_or_to_none(
    chunks: list[Any],
    done: bool,  # noqa: FBT001 - drawn
) -> None:
    events = [json.dumps(each) for each in chunks] + ["[DONE]"] * done
    wire = "".join(f"data: {event}\n\n" for event in events).encode()

    status, body = outcome(events)

    try:
        answer = parse_reply(wire, "text/event-stream")
    except BadReply:
        if status == 200:  # whole, but no answer is in it
            with pytest.raises(BadReply):
                parse_reply(json.dumps(body).encode())
        return
    assert status == 200
    assert answer.content == parse_reply(json.dumps(body).encode()).content


def test_events_without_blank_lines_between_them_are_events_of_their_own() -> None:
    wire = f"data: {chunk(delta={'content': '4'})}\ndata: {chunk(text='')}\ndata: [DONE]\n"
    in_two_lines = 'data: {"choices":\ndata: []}\n\n'

    found = list(payloads(wire)), list(payloads(in_two_lines))

    assert [len(events) for events in found] == [3, 1]
    assert json.loads(found[1][0]) == {"choices": []}


def test_a_line_separator_within_an_answer_does_not_cut_its_event() -> None:
    said = chunk(delta={"content": "a\u2028b\x85"}, finish_reason="stop")

    answer = parse_reply(f"data: {said}\n\ndata: [DONE]\n\n".encode())

    assert answer.content == "a\u2028b\x85"


def test_a_function_named_in_every_piece_has_that_name_once() -> None:
    calls = [{"index": 0, "function": {"name": "f", "arguments": part}} for part in ('{"a"', ":1}")]
    pieces = [chunk(delta={"tool_calls": [call]}) for call in calls]
    wire = "".join(f"data: {piece}\n\n" for piece in pieces) + f"data: {ENDED}\n\n"

    (call,) = parse_reply(wire.encode()).tool_calls

    assert call == {"function": {"name": "f", "arguments": '{"a":1}'}}


@pytest.mark.parametrize("said", ['{"message": "oom"}', "oom", '{"error": {"message": "oom"}}'])
def test_an_event_named_error_is_an_error_as_an_error_in_the_data_is(said: str) -> None:
    wire = streamed(chunk(delta={"content": "4"}), f"event: error\ndata: {said}", ENDED)

    status, body = outcome(list(payloads(wire.decode())))

    assert status == 502
    assert "oom" in json.dumps(body["error"])
    with pytest.raises(BadReply, match="oom"):
        parse_reply(wire)


def test_the_whole_message_after_its_pieces_does_not_double_the_answer() -> None:
    pieces = [chunk(delta={"content": part}) for part in ("4", "2")]
    whole = chunk(message={"content": "42"}, finish_reason="stop")

    said = parse_reply(streamed(*pieces, whole)).content

    assert said == "42"


def test_an_empty_message_after_the_pieces_takes_nothing_back() -> None:
    end = chunk(message={"content": ""}, finish_reason="stop")

    assert parse_reply(streamed(chunk(delta={"content": "42"}), end)).content == "42"


def test_messages_in_place_of_deltas_are_pieces_like_them() -> None:
    pieces = [chunk(message={"content": part}) for part in ("4", "2")]

    assert parse_reply(streamed(*pieces, ENDED)).content == "42"


def test_an_end_mark_without_finish_reason_and_usage_does_not_make_an_answer_whole() -> None:
    piece = chunk(delta={"content": "42"})

    with pytest.raises(BadReply, match="without a finish reason or its usage"):
        parse_reply(streamed(piece))


def test_an_answer_whose_usage_came_is_whole_without_a_finish_reason() -> None:
    usage = json.dumps({"choices": [], "usage": {"prompt_tokens": 1, "completion_tokens": 1}})

    answer = parse_reply(streamed(chunk(delta={"content": "42"}), usage))

    assert (answer.content, answer.finish_reason) == ("42", None)
