"""What a run records for each odd reply of an endpoint; the answer should be 42."""

import asyncio
import json
import time
from collections.abc import Awaitable, Callable
from email.utils import formatdate
from typing import Any, TypeAlias

import pytest

from pytest_nel.core.errors import RunStopped
from tests.unit.engine.parts import Measured, forty_two
from tests.unit.http.raw_server import Peer, Step, answer, reply

pytestmark = pytest.mark.asyncio
Measure: TypeAlias = Callable[..., Awaitable[Measured]]

OK = reply(answer("42"))
TOO_MANY = "429 Too Many Requests"


async def cut_in_the_middle(peer: Peer) -> None:
    await peer.send(OK[:-10])
    peer.reset()


async def silence(peer: Peer) -> None:
    await asyncio.sleep(30)
    peer.close()


def sse(*events: str) -> bytes:
    return reply("".join(f"{event}\n\n" for event in events), content_type="text/event-stream")


CHUNK = json.dumps({"choices": [{"index": 0, "delta": {"content": "42"}, "finish_reason": "stop"}]})


@pytest.mark.parametrize(
    "first",
    [
        pytest.param(reply("<html>oops</html>", "500 Oops", content_type="text/html"), id="h03"),
        pytest.param(reply("<html>login</html>", content_type="text/html"), id="h04"),
        pytest.param(reply({"error": {"message": "overloaded", "code": 429}}), id="h05"),
        pytest.param(reply({"choices": None}), id="h06-null"),
        pytest.param(reply({"choices": []}), id="h06-empty"),
        pytest.param(cut_in_the_middle, id="h17"),
    ],
)
async def test_what_a_second_request_cures_is_no_accuracy_event(
    measure: Measure, first: Step
) -> None:
    run = await measure(first, OK)

    assert (run.row["outcome"], run.row["reward"], run.row["model_response"]) == (
        "correct",
        1.0,
        "42",
    )
    assert (run.steps[0]["retries"], run.bundle["n_results"]) == (1, 1)
    assert "failure_category" not in run.row


@pytest.mark.parametrize("how", ["seconds", "date"])
async def test_the_wait_that_a_server_asks_for_is_kept_and_is_no_latency(
    measure: Measure, how: str
) -> None:
    told = "1" if how == "seconds" else formatdate(time.time() + 2, usegmt=True)

    run = await measure(reply("slow down", TOO_MANY, [f"Retry-After: {told}"]), OK)

    waited = run.server.times[1] - run.server.times[0]
    assert waited >= 1
    assert run.row["outcome"] == "correct"
    assert run.row["latency_ms"] < waited * 1000 / 2


@pytest.mark.parametrize(
    ("message", "outcome", "kept"),
    [
        pytest.param(
            {"content": None, "reasoning_content": "the answer is 42"},
            "unparsed",
            {"reasoning": "the answer is 42", "model_response": ""},
            id="h07",
        ),
        pytest.param(
            {"content": None, "tool_calls": [{"id": "1", "function": {"name": "f"}}]},
            "unparsed",
            {"model_response": ""},
            id="h08",
        ),
        pytest.param(
            {"content": None, "refusal": "I can't help"}, "unparsed", {"reward": 0.0}, id="h10"
        ),
        pytest.param(
            {"content": "<think>hmm 41</think>\n\nAnswer: 42"},
            "correct",
            {"model_response": "Answer: 42", "reasoning": "hmm 41"},
            id="h20",
        ),
        pytest.param({"content": " \n "}, "unparsed", {"reward": 0.0}, id="blank"),
    ],
)
async def test_a_reply_without_an_answer_is_unparsed(
    measure: Measure, message: dict[str, Any], outcome: str, kept: dict[str, Any]
) -> None:
    run = await measure(reply(answer(None, message=message)))

    assert run.row["outcome"] == outcome
    assert {name: run.row[name] for name in kept} == kept


async def test_what_a_refusal_or_a_tool_call_said_is_kept(measure: Measure) -> None:
    refusal = {"content": None, "refusal": "I can't help"}
    call = {"content": None, "tool_calls": [{"id": "1", "function": {"name": "f"}}]}

    run = await measure(
        reply(answer(None, message=refusal)),
        reply(answer(None, message=call)),
        benchmark=forty_two(2),
        settings={"max_concurrent": 1},
    )

    journal = (run.folder / "journal" / "main.jsonl").read_text()
    assert "I can't help" in journal
    assert '"name":"f"' in journal
    assert [row["scoring_details"].get("refusal") for row in run.rows] == [True, None]
    assert [row["scoring_details"].get("tool_call") for row in run.rows] == [None, True]
    assert (run.bundle["n_refusals"], run.bundle["n_unparsed"]) == (1, 2)


async def test_a_completions_shape_from_a_chat_url_is_no_crash(measure: Measure) -> None:
    run = await measure(
        reply({"model": "m", "choices": [{"text": "42", "finish_reason": "stop"}]}), attempts=1
    )

    assert run.row["outcome"] in {"correct", "unscored"}
    assert run.row["outcome"] == "correct" or "message" in run.row["error"]


@pytest.mark.parametrize("usage", ["missing", None], ids=["h12", "h13"])
async def test_unknown_tokens_are_not_zero(measure: Measure, usage: str | None) -> None:
    body = answer("42")
    body.pop("usage")
    if usage is None:
        body["usage"] = None

    run = await measure(reply(body))

    assert run.row["outcome"] == "correct"
    assert run.row["tokens"] is None
    assert run.steps[0]["model"]["tokens"] == {
        "prompt": None,
        "completion": None,
        "total": None,
        "reasoning": None,
    }
    assert run.bundle["benchmark"]["scores"]["runtime"]["steps_without_usage"] == 1


async def test_a_lone_surrogate_becomes_the_replacement_character(measure: Measure) -> None:
    body = json.dumps(answer("@@42")).replace("@@", "\\ud835")

    run = await measure(reply(body))

    assert (run.row["model_response"], run.row["outcome"]) == ("\ufffd42", "correct")


async def test_nan_in_a_body_leaves_our_files_strict_json(measure: Measure) -> None:
    body = json.dumps(answer("42", message={"logprob": float("nan")}))

    run = await measure(reply(body))

    assert run.row["outcome"] == "correct"
    assert "NaN" not in (run.folder / "results.jsonl").read_text()


@pytest.mark.parametrize("text", ["<think>hmm Answer: 41 maybe", "<think>Answer: 42"])
async def test_a_thought_cut_off_holds_no_answer(measure: Measure, text: str) -> None:
    run = await measure(reply(answer(text, finish_reason="length")))

    assert (run.row["outcome"], run.row["reward"]) == ("unparsed", 0.0)
    assert (run.row["finish_reason"], run.bundle["n_truncated"]) == ("length", 1)
    assert run.row["reasoning"] == text.removeprefix("<think>")


async def test_too_long_a_context_is_asked_once_and_unscored(measure: Measure) -> None:
    body = {"error": {"message": "This model's maximum context length is 10 tokens"}}

    run = await measure(reply(body, "400 Bad Request"))

    assert (run.row["outcome"], run.row["reward"]) == ("unscored", None)
    assert run.row["failure_category"] == "context_window_exceeded"
    assert len(run.server.requests) == 1


@pytest.mark.parametrize("status", ["401 Unauthorized", "403 Forbidden", "404 Not Found"])
async def test_a_refusal_of_the_endpoint_ends_the_run_at_once(
    measure: Measure, status: str
) -> None:
    with pytest.raises(RunStopped, match=f"HTTP {status[:3]}"):
        await measure(
            reply({"error": {"message": "no"}}, status),
            benchmark=forty_two(200),
            settings={"max_concurrent": 2},
        )


@pytest.mark.parametrize(
    "events",
    [
        (": OPENROUTER PROCESSING", ": ping", "", f"data: {CHUNK}", "data: [DONE]"),
        ("data: : keepalive", f"data: {CHUNK}", "data: [DONE]"),
    ],
    ids=["comments", "keepalive"],
)
async def test_a_stream_that_nobody_asked_for_is_read(
    measure: Measure, events: tuple[str, ...]
) -> None:
    run = await measure(sse(*events))

    assert (run.row["outcome"], run.row["model_response"]) == ("correct", "42")


async def test_a_stop_at_the_token_cap_counts_as_truncated(measure: Measure) -> None:
    body = answer("The answer is", usage={"prompt_tokens": 7, "completion_tokens": 16})

    run = await measure(reply(body), generation={"max_tokens": 16})

    assert (run.row["outcome"], run.row["finish_reason"]) == ("unparsed", "length")
    assert run.steps[0]["sampling"] == {"max_tokens": 16}
    assert run.row["tokens"] == 23


async def test_a_huge_answer_is_scored_whole_and_stored_in_part(measure: Measure) -> None:
    text = "1 " * 1_000_000 + "42"

    run = await measure(reply(answer(text)))

    assert run.row["outcome"] == "correct"
    assert len(run.row["model_response"]) == 1_000_000
    assert run.row["response_chars"] == len(text)


async def test_silence_is_a_model_timeout_and_others_go_on(measure: Measure) -> None:
    run = await measure(
        silence, OK, attempts=1, timeout=0.2, benchmark=forty_two(3), settings={"max_concurrent": 1}
    )

    assert [row["outcome"] for row in run.rows] == ["unscored", "correct", "correct"]
    assert run.rows[0]["failure_category"] == "model_timeout"
    assert (run.bundle["n_scored"], run.bundle["n_attempted"]) == (2, 3)
    assert run.bundle["benchmark"]["scores"]["mean_reward"]["value"] == 1.0
