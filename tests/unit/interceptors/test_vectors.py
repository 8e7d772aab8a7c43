"""The reference's documented behaviour, where it is right."""

from typing import Any

import pytest

from pytest_nel.core.errors import GracefulError
from pytest_nel.core.exchange import Session
from tests.unit.interceptors.chains import USER, Upstream, answer, chain, message_of, through

pytestmark = pytest.mark.asyncio


def cut(tokens: int, reason: str) -> dict[str, Any]:
    reply = answer("x")
    reply["choices"][0]["finish_reason"] = reason
    return {**reply, "usage": {"completion_tokens": tokens}}


@pytest.mark.parametrize(
    ("cap", "tokens", "said", "wanted"),
    [
        ({"max_tokens": 10}, 10, "stop", "length"),
        ({"max_tokens": 10}, 9, "stop", "stop"),
        ({"max_tokens": 10}, 10, "tool_calls", "tool_calls"),
        ({"max_tokens": True}, 10, "stop", "stop"),
        ({"max_tokens": -1}, 10, "stop", "stop"),
        ({"max_completion_tokens": 10, "max_tokens": 99}, 10, "stop", "length"),
        ({}, 10, "stop", "stop"),
    ],
)
async def test_an_answer_that_used_up_its_cap_was_cut(
    cap: dict[str, Any], tokens: int, said: str, wanted: str
) -> None:
    reply = await through(chain(), Upstream(cut(tokens, said)), **cap)

    assert isinstance(reply.body, dict)
    assert reply.body["choices"][0]["finish_reason"] == wanted


async def test_reasoning_tokens_count_towards_the_cap() -> None:
    said = cut(3, "stop")
    said["usage"]["completion_tokens_details"] = {"reasoning_tokens": 10}

    reply = await through(chain(), Upstream(said), max_tokens=10)

    assert isinstance(reply.body, dict)
    assert reply.body["choices"][0]["finish_reason"] == "length"


async def test_parameters_are_removed_at_every_depth_and_added_over_what_is_there() -> None:
    options = {"params_to_remove": ["a"], "params_to_add": {"temperature": 0.6}}
    upstream = Upstream()

    await through(chain(("payload_modifier", options)), upstream, a=1, b={"a": 2}, temperature=0.0)

    assert upstream.body["b"] == {}
    assert "a" not in upstream.body
    assert upstream.body["temperature"] == 0.6


@pytest.mark.parametrize(
    ("content", "answered", "reasoning"),
    [
        (" <think>x</think>\n y", "y", "x"),
        ("x</think> y", "y", "x"),
        ("<think>x", "", "x"),
        ("y", "y", None),
        ("<think></think> y", "y", ""),
    ],
)
async def test_reasoning_leaves_the_answer(
    content: str, answered: str, reasoning: str | None
) -> None:
    reply = await through(chain(("reasoning", {})), Upstream(answer(content)))

    message = message_of(reply)
    assert (message["content"], message.get("reasoning_content")) == (answered, reasoning)


async def test_reasoning_apart_is_renamed_or_left() -> None:
    upstream = Upstream(answer("y", reasoning="x"), answer("<think>", reasoning_content="x"))
    pipeline = chain(("reasoning", {}))

    renamed = message_of(await through(pipeline, upstream))
    left = message_of(await through(pipeline, upstream))

    assert renamed == {"role": "assistant", "content": "y", "reasoning_content": "x"}
    assert (left["content"], left["reasoning_content"]) == ("<think>", "x")


async def test_turns_are_warned_of_urged_and_refused() -> None:
    pipeline, upstream = chain(("turn_counter", {"max_turns": 5})), Upstream()
    session = Session("a")

    for _ in range(5):
        await through(pipeline, upstream, session)
    with pytest.raises(GracefulError, match="Turn budget exhausted: 5/5 turns used"):
        await through(pipeline, upstream, session)

    assert [len(asked.body["messages"]) for asked in upstream.asked] == [1, 1, 1, 2, 2]
    last = [asked.body["messages"][-1] for asked in upstream.asked]
    assert last[3]["role"] == "system"
    assert last[3]["content"].startswith("[SYSTEM] WARNING: turn 4 of 5")
    assert last[4]["content"].startswith("[SYSTEM] URGENT: turn 5 of 5")


async def test_sessions_are_counted_apart() -> None:
    pipeline, upstream = chain(("turn_counter", {"max_turns": 1})), Upstream()

    for name in ("a", "a"):  # two tries of one attempt
        await through(pipeline, upstream, Session(name))

    assert len(upstream.asked) == 2


async def test_periodic_reminders_go_to_the_last_user_message() -> None:
    options = {"max_turns": 9, "trigger": "periodic", "interval": 2, "position": "user_message"}
    pipeline, upstream, session = chain(("turn_counter", options)), Upstream(), Session("a")

    for _ in range(2):
        await through(pipeline, upstream, session)

    text = "ENVIRONMENT REMINDER: You have 7 turns left to complete the task."
    assert upstream.asked[0].body["messages"] == [USER]
    assert upstream.asked[1].body["messages"][0]["content"] == f"6 x 7?\n\n{text}"


async def test_system_messages_become_one_at_the_beginning() -> None:
    upstream = Upstream()
    system: list[dict[str, Any]] = [{"role": "system", "content": [{"type": "text", "text": "a"}]}]
    system.append({"role": "system", "content": "b"})

    await through(chain(("consolidate_system", {})), upstream, messages=[USER, *system])

    assert upstream.body["messages"] == [{"role": "system", "content": "a\n\nb"}, USER]


@pytest.mark.parametrize(
    ("strategy", "contents"),
    [
        ("prepend", ["own", "old", "6 x 7?"]),
        ("append", ["old", "6 x 7?", "own"]),
        ("replace", ["own", "6 x 7?"]),
    ],
)
async def test_a_system_message_is_inserted(strategy: str, contents: list[str]) -> None:
    options = {"system_message": "own", "strategy": strategy}
    upstream = Upstream()

    await through(
        chain(("system_message", options)),
        upstream,
        messages=[{"role": "system", "content": "old"}, USER],
    )

    assert [message["content"] for message in upstream.body["messages"]] == contents


async def test_a_completion_has_no_place_for_a_system_message() -> None:
    upstream = Upstream()

    await through(
        chain(("system_message", {"system_message": "own"})), upstream, messages=None, prompt="x"
    )

    assert upstream.body["messages"] is None


async def test_parameters_are_dropped_at_the_top_only() -> None:
    upstream = Upstream()

    await through(chain(("drop_params", {"params": ["seed"]})), upstream, seed=1, x={"seed": 2})

    assert "seed" not in upstream.body
    assert upstream.body["x"] == {"seed": 2}


async def test_properties_of_tools_are_stripped_and_added() -> None:
    schema = {"type": "object", "properties": {"a": {}, "b": {"x": 1}}, "required": ["a", "b"]}
    tool = {"type": "function", "function": {"name": "f", "parameters": schema}}
    options = {"strip_properties": ["a"], "add_properties": {"b": {"x": 2}, "c": {"x": 3}}}
    upstream = Upstream()

    await through(chain(("modify_tools", options)), upstream, tools=[tool])

    assert upstream.body["tools"][0]["function"]["parameters"] == {
        "type": "object",
        "properties": {"b": {"x": 1}, "c": {"x": 3}},
        "required": ["b"],
    }
    assert schema["required"] == ["a", "b"]  # the caller's own stays as it is


@pytest.mark.parametrize(
    ("mode", "wanted"),
    [
        ("think_tags", {"content": "<think>why</think>said"}),
        ("native", {"content": "said", "reasoning": "why", "reasoning_content": "why"}),
    ],
)
async def test_reasoning_is_given_back_in_its_session_only(
    mode: str, wanted: dict[str, str]
) -> None:
    pipeline = chain(("reasoning", {}), ("reasoning_replay", {"mode": mode}))
    upstream, mine = Upstream(answer("<think>why</think>said")), Session("a")
    history = [USER, {"role": "assistant", "content": "said"}, USER]

    await through(pipeline, upstream, mine)
    await through(pipeline, upstream, mine, messages=history)
    await through(pipeline, upstream, Session("b"), messages=history)

    assert upstream.asked[1].body["messages"][1] == {"role": "assistant", **wanted}
    assert upstream.asked[2].body["messages"][1] == history[1]


async def test_reasoning_before_a_tool_call_is_found_by_the_call() -> None:
    call = {"id": "c1", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    pipeline, session = chain(("reasoning_replay", {})), Session("a")
    upstream = Upstream(answer(None, tool_calls=[call], reasoning="why"))
    history = [USER, {"role": "assistant", "content": None, "tool_calls": [call]}]

    await through(pipeline, upstream, session)
    await through(pipeline, upstream, session, messages=history)

    assert upstream.body["messages"][1]["content"] == "<think>why</think>"
