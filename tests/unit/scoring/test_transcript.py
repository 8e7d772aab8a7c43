"""What an agent did, out of the forms in which solvers say it."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_nel.scoring.transcript import transcript, transcript_text

CALL = {"type": "toolCall", "id": "c1", "name": "bash", "arguments": {"command": "ls"}}
CALL["params"] = CALL["arguments"]
EVENTS = [
    {"type": "message", "message": {"role": "user", "content": [{"type": "text", "text": "Go"}]}},
    {
        "type": "message",
        "message": {"role": "assistant", "content": [{"type": "text", "text": "I look."}, CALL]},
    },
    {
        "type": "message",
        "message": {
            "role": "toolResult",
            "content": [{"type": "text", "text": "a.txt"}],
            "toolCallId": "c1",
        },
    },
]
STEP: dict[str, Any] = {
    "source": "agent",
    "message": "I look.",
    "tool_calls": [{"tool_call_id": "c1", "function_name": "bash", "arguments": {"command": "ls"}}],
}
SEEN = {"results": [{"source_call_id": "c1", "content": "a.txt"}]}
USER = {"source": "user", "message": "Go"}
FUNCTION = {"name": "bash", "arguments": '{"command": "ls"}'}
CHAT: list[dict[str, Any]] = [
    {"role": "system", "content": "You are an agent."},
    {"role": "user", "content": [{"type": "text", "text": "Go"}]},
    {
        "role": "assistant",
        "content": "I look.",
        "tool_calls": [{"id": "c1", "type": "function", "function": FUNCTION}],
    },
    {"role": "tool", "tool_call_id": "c1", "content": "a.txt"},
]


@pytest.mark.parametrize(
    "trajectory",
    [
        EVENTS,
        [USER, {**STEP, "observation": SEEN}],
        [USER, STEP, {"source": "system", "message": "", "observation": SEEN}],
        [{"schema_version": "ATIF-v1.6", "steps": [USER, {**STEP, "observation": SEEN}]}],
        CHAT,
    ],
    ids=["events", "atif", "atif, observations apart", "atif document", "chat"],
)
def test_each_form_gives_the_same_events(trajectory: list[dict[str, Any]]) -> None:
    assert transcript(trajectory) == EVENTS


def test_the_response_comes_last_unless_it_was_said_already() -> None:
    assert transcript(EVENTS, " I look.\n") == EVENTS
    assert transcript(EVENTS, "Done.")[-1]["message"]["content"] == [
        {"type": "text", "text": "Done."}
    ]
    assert transcript([], " ") == []


def test_a_reader_sees_calls_and_results_and_long_ones_cut() -> None:
    long = {**STEP, "tool_calls": [{"function_name": "write", "arguments": {"text": "x" * 500}}]}

    text = transcript_text(transcript([USER, {**STEP, "observation": SEEN}, long]))

    assert '[user] Go\n\n[assistant] I look.\n\n[call] bash {"command": "ls"}' in text
    assert "[result] a.txt" in text
    assert "(300 characters more)" in text
    assert len(transcript_text(transcript([STEP] * 100), 1000)) < 1010


odd = st.one_of(
    st.none(),
    st.text(max_size=3),
    st.lists(st.none() | st.text(max_size=3) | st.integers(), max_size=2),
    st.dictionaries(
        st.sampled_from(["results", "function", "arguments"]), st.integers() | st.none()
    ),
)
odder = odd | st.lists(odd, max_size=2) | st.dictionaries(st.sampled_from(["content", "role"]), odd)
entries = st.fixed_dictionaries(
    {},
    optional={
        "type": st.just("message") | odd,
        **dict.fromkeys(("message", "content", "tool_calls", "observation", "steps"), odder),
        "source": st.sampled_from(["agent", "user"]) | odd,
        "role": st.sampled_from(["assistant", "tool", "user"]) | odd,
    },
)


@given(st.lists(entries | odd, max_size=3), st.text(max_size=5))
def test_no_trajectory_of_whatever_form_is_an_error(trajectory: Any, response: str) -> None:
    events = transcript(trajectory, response)

    assert isinstance(transcript_text(events), str)
