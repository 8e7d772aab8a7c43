"""The loop of tool calls, against a model that follows a script and real processes."""

import json
import re
from typing import Any

import pytest
from pydantic import ValidationError

from pytest_nel.core.errors import ConfigError, DataError, FailureKind, InfraError
from pytest_nel.core.sandbox import NoSandbox, SandboxError
from pytest_nel.core.types import JsonObject, SeedResult
from pytest_nel.solvers import REGISTRY
from pytest_nel.solvers.tool_calling import ToolCallingSolver
from tests.unit.solvers.scripted import says
from tests.unit.solvers.tool_bench import DONE, SEED, Bench, contents, document

pytestmark = pytest.mark.asyncio


async def test_a_file_is_edited_over_several_turns(bench: Bench) -> None:
    editing = {"command": "str_replace", "path": "add.py", "old_str": "a - b", "new_str": "a + b"}
    result = await bench.solve(
        says("I look.", ("bash", {"command": "echo 'def add(a, b): return a - b' | tee add.py"})),
        says(None, ("str_replace_editor", editing)),
        says("", ("bash", {"command": "python3 -c 'import add; print(add.add(2, 2))'"})),
        DONE,
    )

    assert bench.text("add.py") == "def add(a, b): return a + b\n"
    assert result.response == "All done."
    assert result.reward is None
    assert contents(bench.sent(4))[-1] == "4"
    assert result.scoring_details == {"turns": 4, "tool_calls": 3, "tool_errors": 0}


async def test_the_conversation_is_that_of_chat_completions(bench: Bench) -> None:
    await bench.solve(says("I look.", ("bash", {"command": "echo hi"})), DONE)

    first, second = bench.model.bodies
    assert first["messages"] == [
        {"role": "system", "content": "You are careful."},
        {"role": "user", "content": "Fix it."},
    ]
    names = [tool["function"]["name"] for tool in first["tools"]]
    assert names == ["bash", "file_read", "file_write", "str_replace_editor"]
    call = {
        "id": "id0",
        "type": "function",
        "function": {"name": "bash", "arguments": '{"command": "echo hi"}'},
    }
    assert second["messages"][2:] == [
        {"role": "assistant", "content": "I look.", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "id0", "content": "hi"},
    ]


async def test_tokens_requests_and_time_are_those_of_all_turns(bench: Bench) -> None:
    result = await bench.solve(
        says(None, ("bash", {"command": "sleep 0.2"})),
        says("x", usage={"prompt_tokens": 20, "completion_tokens": 5, "total_tokens": 25}),
    )

    reply = result.model_response
    assert reply is not None
    assert (reply.prompt_tokens, reply.completion_tokens, reply.total_tokens) == (30, 8, 38)
    assert (reply.requests, reply.finish_reason, reply.model) == (2, "stop", "scripted")
    assert reply.latency_ms >= 200
    assert "tools" not in reply.sampling


async def test_tokens_that_one_turn_does_not_say_are_unknown(bench: Bench) -> None:
    result = await bench.solve(says(None, ("bash", {"command": "true"})), says("x", usage=None))

    assert result.model_response is not None
    assert result.model_response.total_tokens is None
    assert document(result).final_metrics.total_prompt_tokens is None


async def test_the_trajectory_is_an_atif_document(bench: Bench) -> None:
    result = await bench.solve(
        says(
            None,
            ("bash", {"command": "echo one"}),
            ("bash", {"command": "false"}),
            message={"reasoning_content": "Hm."},
        ),
        says("<think>so</think>Done."),
    )

    steps = document(result).steps
    assert [step.source for step in steps] == ["system", "user", "agent", "agent"]
    assert (steps[2].reasoning_content, steps[3].reasoning_content) == ("Hm.", "so")
    assert steps[3].message == "Done."
    assert steps[2].observation is not None
    told = [(each.content, each.is_error) for each in steps[2].observation.results]
    assert told == [("one", False), ("[exit code 1]\n(no output)", True)]
    assert steps[2].metrics is not None
    assert steps[2].metrics.extra["latency_ms"] > 0


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (("fly", {}), "there is no tool called 'fly'; the tools are bash, file_read"),
        (("bash", '{"command": "ls'), "the arguments are not valid JSON"),
        (("bash", '{"command": "true", "n": ' + "[" * 5000), "the arguments are not valid JSON"),
        (("bash", '{"command": NaN}'), "command must be a string, got nothing"),
        (("run it!", "{}"), "there is no tool called 'run it!'"),
        (("bash", "[1]"), "the arguments must be a JSON object, not a list"),
        (("bash", ""), "command must be a string"),
        (("bash", '{"command": "\\ud800"}'), ""),
    ],
)
async def test_wrong_calls_are_told_and_the_attempt_goes_on(
    bench: Bench, call: tuple[str, Any], said: str
) -> None:
    result = await bench.solve(says(None, call), DONE)

    assert said in contents(bench.sent(2))[0]
    back = bench.sent(2)[-2]["tool_calls"][0]["function"]
    assert isinstance(json.loads(back["arguments"]), dict)
    assert re.fullmatch(r"[A-Za-z0-9_-]+", back["name"])
    assert result.response == "All done."
    assert result.scoring_details["tool_errors"] == 1
    document(result)


async def test_calls_without_ids_and_with_equal_ones_are_told_apart(bench: Bench) -> None:
    def twins(_: JsonObject) -> JsonObject:
        said = says(None, ("bash", {"command": "echo 1"}), ("bash", {"command": "echo 2"}))
        calls = said["choices"][0]["message"]["tool_calls"]
        calls[1]["id"] = "id0"
        calls.append({"function": {"name": "bash", "arguments": {"command": "echo 3"}}})
        return said

    await bench.solve(twins, DONE)

    back = bench.sent(2)[-4:]
    ids = [call["id"] for call in back[0]["tool_calls"]]
    assert len(set(ids)) == 3
    assert [message["tool_call_id"] for message in back[1:]] == ids
    assert contents(back) == ["1", "2", "3"]


async def test_calls_in_the_sandbox_are_made_in_order(bench: Bench) -> None:
    await bench.solve(
        says(
            None,
            ("bash", {"command": "sleep 0.3; mkdir d; cd d"}),
            ("file_write", {"path": "f", "content": "x"}),
            ("bash", {"command": "cat f; pwd"}),
        ),
        DONE,
    )

    assert contents(bench.sent(2))[2] == f"x{bench.sandbox.workdir}/d"


async def test_at_the_last_turn_the_attempt_is_wrong_and_says_why(bench: Bench) -> None:
    result = await bench.solve(says("On it.", ("bash", {"command": "echo x >>f"})), max_turns=3)

    assert bench.text("f") == "x\nx\nx\n"
    assert (result.reward, result.response) == (0.0, "")
    assert result.scoring_details["error"] == "max_turns_exhausted (3 turns)"
    assert result.scoring_details["error_category"] == FailureKind.TURN_BUDGET
    assert result.model_response is not None
    assert result.model_response.total_tokens == 39
    last = document(result)
    assert last.extra["status"] == "error"
    assert (last.steps[-1].source, last.steps[-1].message) == (
        "system",
        "max_turns_exhausted (3 turns)",
    )
    assert last.steps[-2].observation is not None


async def test_what_the_last_turn_has_made_is_verified_where_that_is_what_counts(
    bench: Bench,
) -> None:
    endless = says("On it.", ("bash", {"command": "true"}))

    result = await bench.solve(endless, max_turns=2, response_mode="sandbox_artifact")

    assert (result.reward, result.response) == (None, "On it.")
    assert result.scoring_details["error_category"] == FailureKind.TURN_BUDGET


async def test_work_in_the_sandbox_is_an_answer_where_that_is_what_counts(bench: Bench) -> None:
    mode: dict[str, Any] = {"response_mode": "sandbox_artifact"}
    worked = await bench.solve(says(None, ("bash", {"command": "true"})), says(None), **mode)
    idle = await bench.solve(says(None), **mode)

    assert worked.response == "[worked in the sandbox]"
    assert idle.response == ""
    assert idle.scoring_details["empty"]


@pytest.mark.parametrize("last", [says(None), says("", finish_reason="length")])
async def test_what_was_said_before_an_empty_last_reply_is_no_answer(
    bench: Bench, last: JsonObject
) -> None:
    guess = says("First guess: 12. Let me check.", ("bash", {"command": "true"}))

    result = await bench.solve(guess, last)

    assert result.response == ""
    assert result.model_response is not None
    assert result.model_response.content == ""
    assert result.scoring_details["empty"]


async def test_output_is_cut_in_the_middle(bench: Bench) -> None:
    printed = says(None, ("bash", {"command": "printf abcdefghij"}))

    await bench.solve(printed, DONE, max_output_chars=5)

    assert contents(bench.sent(2)) == ["abc\n\n... [truncated 5 chars] ...\n\nij"]


async def test_a_call_has_its_time(bench: Bench) -> None:
    await bench.solve(says(None, ("bash", {"command": "echo a; sleep 9"})), DONE, tool_timeout=0.3)

    assert "timed out after 0.3 s" in contents(bench.sent(2))[0]


async def test_a_failing_sandbox_leaves_the_attempt_without_score(bench: Bench) -> None:
    bench.sandbox.broken = True

    with pytest.raises(SandboxError) as caught:
        await bench.solve(says(None, ("bash", {"command": "true"})), DONE)

    assert caught.value.requests == 0  # that of the answered turn is told by the session


async def test_a_failing_endpoint_leaves_the_attempt_without_score(bench: Bench) -> None:
    with pytest.raises(InfraError) as caught:
        await bench.solve(
            says(None, ("bash", {"command": "true"})), (500, {"error": {"message": "broken"}})
        )

    assert caught.value.requests == 1  # as above


async def test_calls_in_text_are_made_where_that_is_wanted(bench: Bench) -> None:
    result = await bench.solve(
        says('Look: <tool_call>{"name": "bash", "arguments": {"command": "echo 7"}}</tool_call>'),
        says('```json\n{"name": "bash", "arguments": {"command": "echo 8"}}\n```'),
        says("<tool_call>{oops</tool_call>"),
        DONE,
        tool_format="text",
    )

    assert all("tools" not in body for body in bench.model.bodies)
    assert "str_replace_editor" in bench.sent(1)[0]["content"]
    assert bench.sent(1)[0]["content"].startswith("You are careful.\n\n")
    said = contents(bench.sent(4), "user")[1:]
    assert said[:2] == [
        '<tool_response name="bash">\n7\n</tool_response>',
        '<tool_response name="bash">\n8\n</tool_response>',
    ]
    assert "not valid JSON" in said[2]
    assert result.response == "All done."
    document(result)


async def test_a_problems_own_tools_are_sent_and_routed(bench: Bench) -> None:
    own = {
        "type": "function",
        "function": {"name": "bash", "description": "Ours.", "parameters": {"type": "object"}},
    }
    seed = SeedResult(prompt="P", metadata={"tools": [own]})

    await bench.solve(
        says(None, ("bash", {"command": "echo ours"}), ("file_read", {"path": "f"})),
        DONE,
        seed=seed,
    )

    assert bench.model.bodies[0]["tools"] == [own]
    told = contents(bench.sent(2))
    assert told[0] == "ours"
    assert "there is no tool called 'file_read'; the tools are bash" in told[1]


async def test_a_problems_own_tool_that_nothing_does_is_an_error_of_its_data(bench: Bench) -> None:
    own = {"type": "function", "function": {"name": "get_weather"}}
    calls = says(None, ("get_weather", {}))

    with pytest.raises(DataError, match="describe get_weather, and nothing here does that"):
        await bench.solve(calls, DONE, seed=SeedResult(prompt="P", metadata={"tools": [own]}))

    assert bench.model.bodies == []


@pytest.mark.parametrize("tools", ["bash", [1], [{"type": "function"}], {"a": 1}])
async def test_tools_of_a_problem_that_are_none_are_an_error_of_its_data(
    bench: Bench, tools: object
) -> None:
    with pytest.raises(DataError, match="metadata `tools"):
        await bench.solve(DONE, seed=SeedResult(prompt="P", metadata={"tools": tools}))


async def test_the_solvers_system_prompt_replaces_the_problems(bench: Bench) -> None:
    messages = [{"role": "system", "content": "theirs"}, {"role": "user", "content": "Q"}]
    seed = SeedResult(prompt="Q", messages=messages)

    await bench.solve(DONE, seed=seed, system_prompt="mine")
    await bench.solve(DONE, seed=seed)
    await bench.solve(DONE, seed=seed, system_prompt="")

    systems = [contents(body["messages"], "system") for body in bench.model.bodies]
    assert systems == [["mine"], ["theirs"], []]


async def test_responses_endpoints_are_spoken_to_in_their_own_form(bench: Bench) -> None:
    bench.endpoint = {"url": f"{bench.model.url}/v1/responses", "protocol": "responses"}
    call = {
        "type": "function_call",
        "call_id": "c1",
        "name": "bash",
        "arguments": '{"command": "echo 5"}',
    }
    said = {"type": "message", "content": [{"type": "output_text", "text": "Five."}]}

    result = await bench.solve(
        {"object": "response", "status": "completed", "output": [call]},
        {"object": "response", "status": "completed", "output": [said]},
    )

    first, second = bench.model.bodies
    assert first["tools"][0]["name"] == "bash"
    assert "function" not in first["tools"][0]
    assert second["input"][-2:] == [
        {"type": "function_call", "call_id": "c1", "name": "bash", "arguments": call["arguments"]},
        {"type": "function_call_output", "call_id": "c1", "output": "5"},
    ]
    assert result.response == "Five."


async def test_without_a_sandbox_its_tools_are_refused(bench: Bench) -> None:
    solver = bench.solver(DONE)

    with pytest.raises(SandboxError, match="sandbox_tools") as caught:
        await solver.solve(SEED, NoSandbox())

    await solver.close()
    assert not caught.value.retryable


async def test_without_any_tools_it_is_refused() -> None:
    with pytest.raises(ValidationError, match="sandbox_tools: true"):
        ToolCallingSolver.Config.model_validate({"service": "s"})


async def test_text_completions_are_refused(bench: Bench) -> None:
    bench.endpoint = {"protocol": "completions"}

    with pytest.raises(ConfigError, match="chat_completions"):
        bench.solver(DONE)


async def test_it_is_registered_under_its_name() -> None:
    assert REGISTRY.load("tool_calling") is ToolCallingSolver
