"""What ends an attempt, and what is left out of its conversation before that."""

import json
from collections.abc import Sequence
from typing import Any

import pytest

from pytest_nel.core.errors import FailureKind, GracefulError, InfraError
from pytest_nel.core.exchange import Exchange, Request
from pytest_nel.core.types import JsonObject
from tests.unit.solvers.scripted import says
from tests.unit.solvers.tool_bench import DONE, SEED, Bench, contents, document

pytestmark = pytest.mark.asyncio


async def test_over_its_budget_the_oldest_turns_are_left_out_whole(bench: Bench) -> None:
    noisy = says("next", ("bash", {"command": "printf %0999d 1"}), usage=None)

    result = await bench.solve(*([noisy] * 8), DONE, max_context_tokens=1500)

    for body in bench.model.bodies:
        _no_orphans(body["messages"])
        assert len(json.dumps(body)) / 4 < 2000
    last = bench.sent(9)
    assert [message["role"] for message in last[:2]] == ["system", "user"]
    assert last[1]["content"].startswith("Fix it.\n\n[")
    assert len(contents(last)) < 8
    assert result.scoring_details["omitted_messages"] >= 2
    assert sum(step.source == "agent" for step in document(result).steps) == 9


async def test_the_limit_is_the_services_where_the_solver_says_none(bench: Bench) -> None:
    noisy = says("next", ("bash", {"command": "printf %0999d 1"}), usage=None)
    bench.endpoint = {"max_input_tokens": 1500}

    result = await bench.solve(*([noisy] * 8), DONE)

    assert result.scoring_details["omitted_messages"] >= 2


async def test_a_model_that_finds_a_prompt_too_long_is_asked_again_with_less(bench: Bench) -> None:
    def model(body: JsonObject) -> JsonObject | tuple[int, JsonObject]:
        size = len(json.dumps(body))
        if size > 8000:
            words = f"This model's maximum context length is 2000 tokens, you sent {size // 4}."
            return 400, {"error": {"message": words}}
        if len(bench.model.bodies) > 10:
            return DONE
        return says("next", ("bash", {"command": "printf %0999d 1"}), usage=None)

    result = await bench.solve(model)

    assert result.response == "All done."
    for body in bench.model.bodies:
        _no_orphans(body["messages"])
    assert result.scoring_details["omitted_messages"] >= 2


async def test_a_prompt_that_cannot_be_made_shorter_ends_the_attempt(bench: Bench) -> None:
    refusal = (400, {"error": {"message": "maximum context length is 10 tokens"}})

    with pytest.raises(InfraError) as first:
        await bench.solve(refusal)
    bench.model.bodies.clear()
    result = await bench.solve(says(None, ("bash", {"command": "true"})), refusal)

    assert first.value.kind is FailureKind.CONTEXT_WINDOW
    assert result.reward == 0.0
    assert result.scoring_details["error_category"] == FailureKind.CONTEXT_WINDOW


class Refuses:
    """Interceptors that let only so many requests pass."""

    fixes_finish_reason = True

    def __init__(self, most: int) -> None:
        self.left = most

    async def open(self) -> None: ...

    async def close(self) -> None: ...

    async def run(self, request: Request, exchange: Exchange, ask: Any) -> Any:
        del exchange
        self.left -= 1
        if self.left < 0:
            msg = "Turn budget exhausted: 2/2 turns used."
            raise GracefulError(msg)
        return await ask(request)


async def test_turns_that_interceptors_refuse_end_the_attempt_as_its_own_limit_does(
    bench: Bench,
) -> None:
    solver = bench.solver(says(None, ("bash", {"command": "true"})))
    solver._client.equip(Refuses(2))

    result = await solver.solve(SEED, bench.sandbox)
    await solver.close()

    assert result.reward == 0.0
    assert result.scoring_details["turns"] == 2
    assert result.scoring_details["error_category"] == FailureKind.TURN_BUDGET


def _no_orphans(messages: Sequence[JsonObject]) -> None:
    open_calls: set[str] = set()
    for message in messages:
        if message["role"] == "tool":
            assert message["tool_call_id"] in open_calls
            open_calls.discard(message["tool_call_id"])
        else:
            assert not open_calls
            open_calls = {call["id"] for call in message.get("tool_calls") or ()}
    assert not open_calls
