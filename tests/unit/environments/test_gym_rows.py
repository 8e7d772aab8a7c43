"""Rows of native Gym servers: what is asked of them, and what comes back to be judged."""

import json
from pathlib import Path
from typing import Any

import httpx
import pytest

from pytest_nel.core.errors import DataError
from pytest_nel.environments._gym_input import conversation
from pytest_nel.environments.gym import GymEnvironment
from tests.support.gym_pages import Answer, environment, pages


def native(tmp_path: Path, *rows: object, answer: Answer | None = None) -> GymEnvironment:
    path = tmp_path / "rows.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return environment(answer or pages({}), data=str(path))


ROW = {
    "responses_create_params": {
        "input": [
            {"role": "developer", "content": "Be brief."},
            {"role": "user", "content": [{"type": "input_text", "text": "2+2?"}]},
        ],
        "tools": [{"type": "function", "name": "add"}],
        "temperature": 0.5,
    },
    "expected_answer": 4,
    "verifier_metadata": {"tests": ["a", "b"]},
    "accepted": ["4", "four"],
    "level": 3,
}


@pytest.mark.asyncio
async def test_the_whole_row_comes_back_to_a_native_server(tmp_path: Path) -> None:
    bodies: list[Any] = []

    def answer(request: httpx.Request) -> httpx.Response:
        if request.method == "GET":
            return httpx.Response(404)
        body = json.loads(request.content)
        bodies.append(body)
        verdict = {"reward": 1.0, "extracted_sql": "SELECT 4", "library": "sympy"}
        return httpx.Response(200, json={**body, **verdict})

    made = native(tmp_path, {"responses_create_params": {"input": "?"}}, ROW, answer=answer)

    size = await made.dataset_size()
    seed = await made.seed(1)
    kept = json.loads(json.dumps(dict(seed.metadata)))  # as after a resumption
    result = await made.verify("four", seed.expected_answer, None, **kept)

    assert size == 2
    assert made.name == "gym-native@rows"
    assert (seed.prompt, seed.expected_answer, seed.system) == ("2+2?", "4", "Be brief.")
    assert seed.metadata == {
        "level": 3,
        "tests": ["a", "b"],
        "tools": ROW["responses_create_params"]["tools"],  # type: ignore[index]  # of objects
        "gym_row": 1,
    }
    (body,) = bodies
    answered = body.pop("response")
    assert body == ROW
    assert answered["output"][0]["content"] == [
        {"type": "output_text", "text": "four", "annotations": []}
    ]
    assert (result.reward, result.extracted_answer) == (1.0, "SELECT 4")
    assert result.scoring_details == {"library": "sympy"}


def said_after(item: str) -> str:
    """A row that asks something, and then says this."""
    question = '{"role": "user", "content": "?"}'
    return f'{{"responses_create_params": {{"input": [{question}, {item}]}}}}'


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("{", "no JSON"),
        ("[]", "expected an object with responses_create_params.input"),
        ('{"responses_create_params": {"input": 3}}', "expected an object with"),
        ('{"responses_create_params": {"input": []}}', "has no user message"),
        (said_after('{"type": "reasoning"}'), "input[1]: expected a message, function_call or"),
        (said_after('{"type": "item_reference", "id": "i"}'), "got {'type': 'item_reference'"),
        (said_after('"text"'), "input[1]: expected a message"),
        (said_after('{"content": "?"}'), "it would not be asked"),
        (said_after('{"role": "user", "content": 3}'), "a list of parts as content, got 3"),
        (said_after('{"role": "user", "content": ["?"]}'), "a list of parts as content, got ['?']"),
        (
            said_after('{"type": "function_call", "call_id": "a", "name": "add", "arguments": {}}'),
            "expected a text as arguments of a function_call, got {}",
        ),
        (
            said_after('{"type": "function_call_output", "output": "4"}'),
            "expected a text as call_id of a function_call_output, got None",
        ),
        (
            said_after(
                '{"type": "function_call_output", "call_id": "a",'
                ' "output": [{"type": "input_image", "image_url": "data:x"}]}'
            ),
            "expected text in output of a function_call_output",
        ),
    ],
)
def test_a_row_that_asks_nothing_is_named_with_its_line(
    tmp_path: Path, line: str, said: str
) -> None:
    path = tmp_path / "rows.jsonl"
    good = '{"responses_create_params": {"input": "?"}}'
    path.write_text(f"{good}\n\n{line}\n", encoding="utf-8")

    with pytest.raises(DataError, match=r"rows\.jsonl:3: ") as caught:
        environment(pages({}), data=str(path))

    assert said in str(caught.value)


def test_responses_input_becomes_chat_messages() -> None:
    picture = {"type": "input_image", "image_url": "data:image/png;base64,xx"}
    given = [
        {"role": "user", "content": [{"type": "input_text", "text": "What?"}, picture]},
        {"role": "assistant", "content": [{"type": "output_text", "text": "a"}]},
    ]

    found = conversation({"instructions": "Look.", "input": given})

    assert found == [
        {"role": "system", "content": "Look."},
        {
            "role": "user",
            "content": [
                {"type": "text", "text": "What?"},
                {"type": "image_url", "image_url": {"url": "data:image/png;base64,xx"}},
            ],
        },
        {"role": "assistant", "content": "a"},
    ]


def call(name: str, call_id: str) -> dict[str, str]:
    return {"type": "function_call", "call_id": call_id, "name": name, "arguments": '{"a": 2}'}


def called(name: str, call_id: str) -> dict[str, object]:
    function = {"name": name, "arguments": '{"a": 2}'}
    return {"id": call_id, "type": "function", "function": function}


@pytest.mark.asyncio
async def test_calls_and_what_they_gave_are_part_of_the_conversation_that_is_asked(
    tmp_path: Path,
) -> None:
    parts = [{"type": "input_text", "text": "9"}]
    given = [
        {"role": "user", "content": "2+2, and 3*3?"},
        {
            "type": "message",
            "role": "assistant",
            "content": [{"type": "output_text", "text": "So:"}],
        },
        call("add", "one"),
        call("times", "two"),
        {"type": "function_call_output", "call_id": "one", "output": "4"},
        {"type": "function_call_output", "call_id": "two", "output": parts},
        call("sum", "three"),
        {"type": "function_call_output", "call_id": "three", "output": ""},
        {"role": "user", "content": "And?"},
    ]
    made = native(tmp_path, {"responses_create_params": {"input": given}})

    seed = await made.seed(0)

    assert seed.prompt == "And?"
    assert seed.messages == [
        {"role": "user", "content": "2+2, and 3*3?"},
        {
            "role": "assistant",
            "content": "So:",
            "tool_calls": [called("add", "one"), called("times", "two")],
        },
        {"role": "tool", "tool_call_id": "one", "content": "4"},
        {"role": "tool", "tool_call_id": "two", "content": "9"},
        {"role": "assistant", "content": None, "tool_calls": [called("sum", "three")]},
        {"role": "tool", "tool_call_id": "three", "content": ""},
        {"role": "user", "content": "And?"},
    ]


def test_calls_of_chat_messages_are_carried_as_they_stand() -> None:
    given: list[dict[str, Any]] = [
        {"role": "user", "content": "2+2?"},
        {"role": "assistant", "content": None, "tool_calls": [called("add", "one")]},
        {"role": "tool", "tool_call_id": "one", "content": "4"},
    ]

    found = conversation({"input": given})

    assert found == [given[0], {**given[1], "content": ""}, given[2]]
