"""The parts of the tool loop that are functions of their arguments: editing, cutting, dropping."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_nel.core.types import JsonObject
from pytest_nel.solvers.tool_calling.context import Conversation, limit_in
from pytest_nel.solvers.tool_calling.editor import (
    CannotEdit,
    bytes_of,
    inserted,
    numbered,
    replaced,
    text_of,
)
from pytest_nel.solvers.tool_calling.openapi import operations, resolved
from pytest_nel.solvers.tool_calling.text_calls import calls_in
from pytest_nel.solvers.tool_calling.tools import calls_of, cut

TEXT = st.text(alphabet="ab\n\r\xe9", max_size=12)


@given(st.binary(max_size=60))
def test_every_file_survives_being_read_as_text(data: bytes) -> None:
    assert bytes_of(text_of(data)) == data


@given(st.binary(max_size=30), st.binary(max_size=30))
def test_a_replacement_leaves_all_other_bytes_alone(before: bytes, after: bytes) -> None:
    data = before + b"\x00MARK\x00" + after
    text = text_of(data)

    if text.count("MARK") == 1:
        new = replaced(text, "MARK", "W", "f")

        assert bytes_of(new) == before + b"\x00W\x00" + after


@given(TEXT, TEXT, st.sampled_from(["a", "b", "ab", "a\nb", "\nb"]))
def test_a_replacement_is_made_at_the_one_place_or_not_at_all(
    text: str, new: str, old: str
) -> None:
    places = [at for at in range(len(text)) if text.startswith(old, at)]

    try:
        got = replaced(text, old, new, "f")
    except CannotEdit:
        assert len(places) != 1 or "\r\n" in text
    else:
        assert len(places) == 1 or "\r\n" in text
        if "\r" not in text:
            assert got == text[: places[0]] + new + text[places[0] + len(old) :]


@given(st.lists(st.sampled_from(["a", "b", "c d"]), min_size=1, max_size=5), TEXT)
def test_a_file_with_carriage_returns_keeps_them_all(lines: list[str], new: str) -> None:
    text = "".join(f"{line}\r\n" for line in [*lines, "unique"])
    new = new.replace("\r", "")

    edited = replaced(text, "unique\n", f"{new}\n", "f")
    grown = inserted(text, len(lines), new)

    for result in (edited, grown):
        assert result.count("\r\n") == result.count("\n")
        assert "\r\r" not in result


def test_a_file_of_both_kinds_of_lines_keeps_each() -> None:
    assert replaced("a\r\nb\nc\r\n", "a\nb", "x\ny", "f") == "x\r\ny\nc\r\n"
    assert replaced("a\r\nb\nc\r\n", "b\nc", "x\ny", "f") == "a\r\nx\ny\r\n"


@pytest.mark.parametrize(
    ("text", "old", "said"),
    [
        ("aaa", "aa", "found 2 times"),
        ("abc", "d", "not found in f"),
        ("abc", "", "must not be empty"),
    ],
)
def test_an_edit_without_one_place_is_refused(text: str, old: str, said: str) -> None:
    with pytest.raises(CannotEdit, match=said):
        replaced(text, old, "x", "f")


@given(
    st.lists(st.text(alphabet="ab", max_size=2), max_size=5),
    st.integers(-1, 7),
    st.sampled_from(["", "\n"]),
)
def test_lines_are_inserted_after_the_one_named(lines: list[str], after: int, end: str) -> None:
    text = "\n".join(lines) + (end if lines else "")
    whole = text.removesuffix("\n").split("\n") if text else []

    if 0 <= after <= len(whole):
        got = inserted(text, after, "NEW")

        assert got.removesuffix("\n").split("\n") == [*whole[:after], "NEW", *whole[after:]]
    else:
        with pytest.raises(CannotEdit, match=f"between 0 and {len(whole)}"):
            inserted(text, after, "NEW")


@given(st.lists(st.text(alphabet="ab\x0c\u2028", max_size=3), min_size=1, max_size=6))
def test_lines_are_numbered_as_newlines_divide_them(lines: list[str]) -> None:
    text = "".join(f"{line}\n" for line in lines)

    shown = numbered(text).split("\n")

    assert shown == [f"{at:6}\t{line}" for at, line in enumerate(lines, 1)]


@given(st.text(max_size=200), st.integers(0, 100))
def test_exactly_as_much_is_kept_as_is_allowed(text: str, limit: int) -> None:
    got = cut(text, limit)

    if len(text) <= limit:
        assert got == text
    else:
        missing = len(text) - limit
        head, _, tail = got.partition(f"\n\n... [truncated {missing} chars] ...\n\n")
        assert len(head) + len(tail) == limit
        assert 0 <= len(head) - len(tail) <= 1
        assert text.startswith(head)
        assert text.endswith(tail)


def _turn(calls: int, size: int) -> list[JsonObject]:
    ids = [f"c{at}" for at in range(calls)]
    said = {"role": "assistant", "tool_calls": [{"id": one, "function": {}} for one in ids]}
    return [said, *({"role": "tool", "tool_call_id": one, "content": "x" * size} for one in ids)]


@given(
    st.lists(st.tuples(st.integers(1, 3), st.integers(0, 400)), min_size=1, max_size=12),
    st.integers(1, 600),
    st.lists(st.sampled_from(["", "maximum context length is 300 tokens"]), max_size=3),
)
def test_turns_go_whole_and_the_oldest_first(
    turns: list[tuple[int, int]], budget: int, refusals: list[str]
) -> None:
    head = [{"role": "system", "content": "s"}, {"role": "user", "content": "Fix it."}]
    talk = Conversation(head, budget)
    told = [_turn(*turn) for turn in turns]
    for turn in told:
        talk.add(turn)

    talk.fit()
    fits = talk.tokens() <= budget
    for refusal in refusals:
        shorter = talk.tokens()
        if talk.refused(refusal, 10):
            assert talk.tokens() < shorter + 10  # the note may cost what a small turn has saved

    left = talk.messages[len(head) :]
    kept = next(at for at in range(len(told)) if left == [m for t in told[at:] for m in t])
    assert talk.dropped == sum(len(turn) for turn in told[:kept])
    assert fits or left == told[-1]
    assert talk.messages[0] == head[0]
    assert talk.messages[1]["content"].startswith("Fix it.")


def test_estimates_follow_what_the_model_counts() -> None:
    talk = Conversation([{"role": "user", "content": "x" * 4000}], 10_000)
    talk.fit()
    before = talk.tokens()

    talk.learn(4000)

    assert before == 1001
    assert talk.tokens() == 4001


@pytest.mark.parametrize(
    ("message", "limit"),
    [
        ("This model's maximum context length is 8192 tokens. You requested 9000.", 8192),
        ("exceeds the maximum context length of 131,072 tokens", 131072),
        ("request (5000 tokens) exceeds the available context size (4096 tokens)", 4096),
        ("the prompt is longer than max_model_len 2048", 2048),
        ("context_length_exceeded", None),
        ("too many tokens: 5000", None),
    ],
)
def test_a_models_limit_is_read_from_its_words(message: str, limit: int | None) -> None:
    assert limit_in(message) == limit


@pytest.mark.parametrize(
    ("content", "calls"),
    [
        ('<tool_call>{"name": "a", "arguments": {"x": 1}}</tool_call>', [("a", {"x": 1})]),
        ('<tool_call>\n```json\n{"name": "a", "parameters": {}}\n```\n</tool_call>', [("a", {})]),
        ('<tool_call>{"name": "a", "arguments": "{\\"x\\": 1}"}', [("a", {"x": 1})]),
        (
            '```\n{"tool": "a", "args": {}}\n```\n```json\n{"name":"b","input":{}}\n```',
            [("a", {}), ("b", {})],
        ),
        ('<tool_call>{"function": {"name": "a", "arguments": {}}}</tool_call>', [("a", {})]),
        ('<think><tool_call>{"name": "a"}</tool_call></think>Done.', []),
        ('```json\n{"answer": 4}\n```', []),
        ('```python\nprint({"name": 1})\n```', []),
        ("Done.", []),
        ("<tool_call>[1]</tool_call>", [("", {})]),
    ],
)
def test_calls_are_read_from_text(content: str, calls: list[tuple[str, JsonObject]]) -> None:
    assert [(one.name, one.arguments) for one in calls_in(content, 1)] == calls


JSON: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=4),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3)
    ),
    max_leaves=8,
)


@given(st.lists(st.dictionaries(st.sampled_from(["id", "function", "type"]), JSON), max_size=4))
def test_whatever_a_server_calls_calls_has_ids_and_arguments(given_calls: list[JsonObject]) -> None:
    calls = calls_of(given_calls, 3)

    assert len({call.id for call in calls}) == len(calls) == len(given_calls)
    assert all(isinstance(call.arguments, dict) for call in calls)


@given(st.dictionaries(st.sampled_from(["paths", "components", "/a", "post", "$ref"]), JSON))
def test_a_document_that_is_none_has_no_tools(document: JsonObject) -> None:
    assert isinstance(operations(document), dict)


def test_references_are_followed_and_circles_end() -> None:
    node = {
        "type": "object",
        "title": "Node",
        "properties": {
            "title": {"type": "string", "title": "Title"},
            "next": {"$ref": "#/components/schemas/Node"},
            "tags": {"type": "array", "items": {"$ref": "#/components/schemas/a~1b"}},
        },
        "required": ["title"],
    }
    document = {"components": {"schemas": {"Node": node, "a/b": {"enum": ["x"], "title": "T"}}}}

    schema = resolved(document, {"$ref": "#/components/schemas/Node", "description": "Mine."})

    assert json.loads(json.dumps(schema)) == {
        "type": "object",
        "description": "Mine.",
        "properties": {
            "title": {"type": "string"},
            "next": {},
            "tags": {"type": "array", "items": {"enum": ["x"]}},
        },
        "required": ["title"],
    }
