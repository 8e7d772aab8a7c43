"""Whatever passes, only what an interceptor owns is changed."""

import asyncio
import copy
import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from pytest_nel.http.sse import as_events, event, outcome, payloads
from pytest_nel.interceptors.payload_modifier import changed
from pytest_nel.interceptors.reasoning import split
from tests.unit.interceptors.chains import Upstream, chain, through

KEYS = st.sampled_from(["a", "b", "c", "seed", "content"])
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3),
    max_leaves=12,
)
BODIES = st.dictionaries(st.text(min_size=1, max_size=4), JSON, max_size=5)
TAGGED = st.lists(
    st.sampled_from(["<think>", "</think>", "<th", "ink>", "`", "\n", " ", "x", "y"]), max_size=9
).map("".join)


@given(BODIES)
def test_what_nobody_owns_arrives_as_it_was(body: dict[str, Any]) -> None:
    pipeline = chain(
        ("drop_params", {"params": ["\0none"]}),
        ("payload_modifier", {"params_to_remove": ["\0none"]}),
        ("consolidate_system", {}),
        ("turn_counter", {}),
        ("reasoning_replay", {}),
        ("reasoning", {}),
        ("modify_tools", {"strip_properties": ["\0none"]}),
        ("log_tokens", {}),
        ("logging", {}),
    )
    upstream, before = Upstream(body), copy.deepcopy(body)

    reply = asyncio.run(through(pipeline, upstream, **body))

    sent = {name: upstream.body[name] for name in body}
    assert sent == before == body
    assert reply.body == before


@given(JSON, st.sets(KEYS, max_size=2), st.dictionaries(KEYS, KEYS, max_size=2))
def test_keys_are_removed_and_renamed_at_every_depth(
    value: Any, removed: set[str], renamed: dict[str, str]
) -> None:
    def names(each: Any) -> set[str]:
        if isinstance(each, list):
            return {name for item in each for name in names(item)}
        if isinstance(each, dict):
            return {*each, *(name for item in each.values() for name in names(item))}
        return set()

    before = names(value)
    after = names(changed(value, frozenset(removed), renamed))

    assert after <= {renamed.get(name, name) for name in before - removed}
    assert not (removed - set(renamed.values())) & after
    assert changed(value, frozenset(), {}) == value


@given(TAGGED, st.none() | TAGGED)
def test_moving_reasoning_twice_is_moving_it_once(content: str, reasoning: str | None) -> None:
    message = {"content": content} | ({} if reasoning is None else {"reasoning": reasoning})
    split(message)
    once = copy.deepcopy(message)

    split(message)

    assert message == once


TEXT = st.text(min_size=1, max_size=4)
CALLS = st.lists(
    st.fixed_dictionaries(
        {
            "id": TEXT,
            "type": st.just("function"),
            "function": st.fixed_dictionaries({"name": TEXT, "arguments": TEXT}),
        }
    ),
    min_size=1,
    max_size=2,
)
MESSAGES = st.fixed_dictionaries(
    {"role": st.just("assistant"), "content": TEXT},
    optional={"reasoning_content": TEXT, "tool_calls": CALLS, "refusal": st.none()},
)


@given(st.lists(MESSAGES, min_size=1, max_size=3), st.booleans())
def test_a_reply_survives_being_streamed(messages: list[dict[str, Any]], chat: bool) -> None:  # noqa: FBT001 - drawn
    choices: list[dict[str, Any]] = [
        {"index": index, "finish_reason": "stop"}
        | ({"message": each} if chat else {"text": each["content"]})
        for index, each in enumerate(messages)
    ]
    kind = "chat.completion" if chat else "text_completion"
    body = {"id": "x", "object": kind, "choices": choices, "usage": {"completion_tokens": 1}}
    wire = b"".join(event(payload) for payload in as_events(copy.deepcopy(body)))

    status, merged = outcome(list(payloads(wire.decode())))

    assert (status, merged) == (200, body)


def test_a_stream_without_its_end_and_one_with_an_error_are_errors() -> None:
    piece = json.dumps({"choices": [{"delta": {"content": "half"}}]})
    failed = json.dumps({"error": {"message": "no", "code": 429}})

    assert outcome([piece])[0] == 502
    assert outcome([piece, failed])[0] == 429
    assert outcome([piece, '{"error": "no"}'])[0] == 502
