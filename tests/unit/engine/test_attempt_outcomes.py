"""What becomes of an attempt: correct, wrong, unparsed; or unscored, with its cause."""

import asyncio
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from pytest_nel.core.errors import (
    EndpointRefused,
    FailureKind,
    GracefulError,
    InfraError,
    ScorerError,
)
from pytest_nel.core.exchange import current_session
from pytest_nel.core.sandbox import Sandbox
from pytest_nel.core.types import (
    AttemptKey,
    ModelResponse,
    ScorerInput,
    SeedResult,
    SolveResult,
    VerifyResult,
)
from pytest_nel.engine.lifecycle import Workplace
from pytest_nel.records.record import Solved
from tests.unit.engine.parts import KEY, Doubles, Says, Sums, attempted, runner, sums

pytestmark = pytest.mark.asyncio


@pytest.mark.parametrize(
    ("returned", "outcome", "reward"),
    [
        (True, "correct", 1.0),
        (False, "wrong", 0.0),
        (0.5, "wrong", 0.5),
        ({"correct": True}, "correct", 1.0),
        ({"reward": 0.0, "extracted": None}, "unparsed", 0.0),
        ({"reward": 0.25, "extracted": "x"}, "wrong", 0.25),
        (VerifyResult(1.0, "0"), "correct", 1.0),
        (VerifyResult(0.0, None, parsed=False), "unparsed", 0.0),
    ],
)
async def test_the_scorer_decides(
    tmp_path: Path, returned: Any, outcome: str, reward: float
) -> None:
    record = await attempted(tmp_path, Says("0"), sums(lambda _: returned))

    assert (record.scored.outcome, record.scored.reward) == (outcome, reward)


@pytest.mark.parametrize(
    "returned",
    [
        float("nan"),
        float("inf"),
        -0.1,
        1.1,
        None,
        "1.0",
        {"score": 1},
        {"reward": None},
        VerifyResult(float("nan")),
        VerifyResult(2.0),
        VerifyResult(1.0, parsed=False),
        {"correct": True, "reward": 0.0},
        [1.0],
    ],
    ids=repr,
)
async def test_what_is_no_reward_is_unscored_and_named(tmp_path: Path, returned: Any) -> None:
    record = await attempted(tmp_path, Says("0"), sums(lambda _: returned))

    assert (record.scored.outcome, record.scored.reward) == ("unscored", None)
    assert record.scored.failure == FailureKind.SCORER
    assert "parts.py:sums rows[0] (id 's0')" in str(record.scored.error)


async def test_a_scorer_that_raises_leaves_the_attempt_unscored_and_names_its_line(
    tmp_path: Path,
) -> None:
    def scorer(sample: ScorerInput) -> bool:
        return bool(sample.metadata["no such field"])

    record = await attempted(tmp_path, Says("0"), sums(scorer))

    assert (record.scored.outcome, record.scored.failure) == ("unscored", "scorer_error")
    assert "sums rows[0] (id 's0'): the scorer failed" in str(record.scored.error)
    assert "no such field" in str(record.scored.error)


@pytest.mark.parametrize("kind", list(FailureKind))
async def test_no_failure_of_the_machinery_is_ever_a_reward(
    tmp_path: Path, kind: FailureKind
) -> None:
    solver = Says(InfraError("out of order", kind=kind, retryable=False))

    record = await attempted(tmp_path, solver)

    assert (record.scored.outcome, record.scored.reward) == ("unscored", None)
    assert (record.scored.failure, record.scored.error) == (kind, "out of order")


async def test_a_model_that_fails_gracefully_is_wrong_without_a_scorer(tmp_path: Path) -> None:
    record = await attempted(
        tmp_path, Says(GracefulError("out of turns")), sums(lambda _: pytest.fail("was scored"))
    )

    assert (record.scored.outcome, record.scored.reward) == ("wrong", 0.0)
    assert record.scored.failure == FailureKind.MODEL_ERROR
    assert "out of turns" in str(record.scored.error)


async def test_a_broken_machine_is_tried_again_as_often_as_allowed(tmp_path: Path) -> None:
    solver = Says(InfraError("sandbox lost"))

    record = await attempted(tmp_path, solver, max_system_retries=4)

    assert (record.scored.outcome, record.scored.error) == ("unscored", "sandbox lost")
    assert (solver.calls, record.solved.tries) == (4, 4)


async def test_the_answer_of_a_second_try_counts(tmp_path: Path) -> None:
    record = await attempted(tmp_path, Says(InfraError("sandbox lost"), "0"))

    assert (record.scored.outcome, record.solved.tries) == ("correct", 2)


async def test_what_was_retried_below_is_not_retried_here(tmp_path: Path) -> None:
    solver = Says(InfraError("HTTP 500", kind=FailureKind.SERVER_ERROR, retryable=False))

    await attempted(tmp_path, solver, max_system_retries=4)

    assert solver.calls == 1


async def test_a_refusing_endpoint_ends_the_run(tmp_path: Path) -> None:
    made = runner(tmp_path, Says(EndpointRefused("HTTP 401")))

    record = made.finish(await made.attempt(AttemptKey("sums", 0, 0)))
    made.journal.close()

    assert (record.scored.outcome, record.scored.failure) == ("unscored", "auth_error")
    assert made.guard.reason is not None
    assert made.guard.reason.fatal


@pytest.mark.parametrize(
    ("returned", "said"),
    [
        (42, "must return a SolveResult, got int"),
        (None, "must return a SolveResult, got NoneType"),
        (SolveResult(None), "response=None; it must be text"),  # type: ignore[arg-type]
        (SolveResult("0", model_response={}), "it must be a ModelResponse"),  # type: ignore[arg-type]
        (SolveResult("0", scoring_details=[1]), "it must be a dict"),  # type: ignore[arg-type]
        (SolveResult("0", trajectory=7), "it must be a list"),  # type: ignore[arg-type]
        (SolveResult("0", reward=float("nan")), "must be a number from 0 to 1"),
        (SolveResult("0", reward=7.0), "must be a number from 0 to 1"),
        (SolveResult("0", reward="yes"), "must be a number from 0 to 1"),  # type: ignore[arg-type]
    ],
    ids=lambda value: str(value)[:40],
)
async def test_what_is_no_result_of_a_solver_is_unscored(
    tmp_path: Path, returned: object, said: str
) -> None:
    record = await attempted(tmp_path, Says(returned))

    assert (record.scored.outcome, record.scored.reward) == ("unscored", None)
    assert said in str(record.scored.error)


@pytest.mark.parametrize(("reward", "outcome"), [(0.7, "correct"), (0.4, "wrong")])
async def test_a_solvers_own_reward_is_held_to_the_benchmarks_mark(
    tmp_path: Path, reward: float, outcome: str
) -> None:
    record = await attempted(tmp_path, Says(SolveResult("0", reward=reward)), sums(pass_at=0.5))

    assert (record.scored.outcome, record.scored.reward) == (outcome, reward)


async def test_any_number_will_do_as_a_solvers_own_reward(tmp_path: Path) -> None:
    own: Any = Decimal("0.5")

    record = await attempted(tmp_path, Says(SolveResult("0", reward=own)))

    assert record.scored.reward == 0.5


async def test_an_attempt_that_takes_too_long_is_unscored(tmp_path: Path) -> None:
    class Sleeps:
        async def solve(self, seed: object, sandbox: object) -> SolveResult:
            del seed, sandbox
            await asyncio.sleep(60)
            return SolveResult("0")

    record = await attempted(tmp_path, Sleeps(), timeout=0.05)

    assert (record.scored.outcome, record.scored.failure) == ("unscored", "solve_timeout")
    assert "no answer within 0.05 s" in str(record.scored.error)


async def test_a_judge_that_takes_too_long_leaves_the_answer_unscored(tmp_path: Path) -> None:
    async def scorer(_: ScorerInput) -> bool:
        await asyncio.sleep(60)
        return True

    record = await attempted(tmp_path, Says("0"), sums(scorer), timeout=0.05)

    assert (record.scored.outcome, record.scored.failure) == ("unscored", "scorer_error")
    assert "no judgement within 0.05 s" in str(record.scored.error)
    assert record.solved.response == "0"


@pytest.mark.parametrize(
    ("response", "reasoning", "answer", "thought", "outcome"),
    [
        ("<think>Answer: 41</think>\n\n0", None, "0", "Answer: 41", "correct"),
        ("0", "hmm", "0", "hmm", "correct"),
        ("<think>hmm 0 maybe", None, "", "hmm 0 maybe", "unparsed"),
        ("", None, "", None, "unparsed"),
        (" \n\t", None, " \n\t", None, "unparsed"),
    ],
)
async def test_reasoning_is_taken_off_once_and_kept(  # a row of the table
    tmp_path: Path,
    response: str,
    reasoning: str | None,
    answer: str,
    thought: str | None,
    outcome: str,
) -> None:
    reply = ModelResponse(response, finish_reason="length", reasoning_content=reasoning)

    record = await attempted(tmp_path, Says(SolveResult(response, reply)))

    assert (record.solved.response, record.solved.reasoning) == (answer, thought)
    assert record.scored.outcome == outcome
    assert (record.solved.model or {})["finish_reason"] == "length"


async def test_a_blank_answer_is_never_correct_whatever_the_scorer_says(tmp_path: Path) -> None:
    async def generous(_: ScorerInput) -> float:
        return 1.0

    kinds: list[Any] = [sums(lambda _: 1.0), sums(generous), Sums(lambda *_: VerifyResult(1.0))]
    records = [
        await attempted(tmp_path / str(number), Says(" \n"), kind)
        for number, kind in enumerate(kinds)
    ]

    assert [record.scored.outcome for record in records] == ["unparsed"] * 3
    assert [record.scored.reward for record in records] == [0.0] * 3


def judge(response: str, expected: str) -> VerifyResult:
    if response == "boom":
        msg = "the judge is ill"
        raise ScorerError(msg)
    return VerifyResult(float(response == expected), response or None, {"rule": "same"})


async def ajudge(sample: ScorerInput) -> VerifyResult:
    await asyncio.sleep(0)
    return judge(sample.response, sample.target)


@pytest.mark.parametrize("response", ["0", "1", "", "boom"])
async def test_plain_and_async_scorers_and_classes_say_the_same(
    tmp_path: Path, response: str
) -> None:
    ways: list[Any] = [sums(lambda s: judge(s.response, s.target)), sums(ajudge), Sums(judge)]

    records = [
        await attempted(tmp_path / str(number), Says(response), way)
        for number, way in enumerate(ways)
    ]

    facts = {(r.scored.outcome, r.scored.reward, r.scored.extracted) for r in records}
    assert len(facts) == 1


async def test_a_class_that_judges_in_the_callers_thread_is_held_to_the_same_rules(
    tmp_path: Path,
) -> None:
    class Now(Sums):
        judges_now = True

        def verify_now(self, response: str, expected: str, metadata: Any) -> Any:
            del metadata
            return self.judge(response, expected)

    ways: dict[str, Any] = {
        "nan": lambda *_: VerifyResult(float("nan")),
        "raises": lambda *_: 1 // 0,
        "fine": lambda response, expected: response == expected,
    }
    outcomes = {
        name: (await attempted(tmp_path / name, Says("0"), Now(way))).scored.outcome
        for name, way in ways.items()
    }

    assert outcomes == {"nan": "unscored", "raises": "unscored", "fine": "correct"}


async def test_a_seed_that_fails_is_unscored_and_costs_no_call(tmp_path: Path) -> None:
    class Broken(Sums):
        async def seed(self, idx: int) -> Any:
            return 1 // idx if idx == 0 else "a prompt"

    solver = Doubles()
    first = await attempted(tmp_path / "0", solver, Broken(judge))
    second = await attempted(tmp_path / "1", solver, Broken(judge), key=AttemptKey("sums", 1, 0))

    assert "seed failed: ZeroDivisionError" in str(first.scored.error)
    assert "seed() must return a SeedResult, got str" in str(second.scored.error)
    assert {first.scored.outcome, second.scored.outcome} == {"unscored"}


async def test_a_seed_that_a_server_fails_to_give_fails_as_the_server_does(tmp_path: Path) -> None:
    class Remote(Sums):
        async def seed(self, idx: int) -> Any:
            msg = f"the server of problem {idx} ended"
            raise InfraError(msg, kind=FailureKind.RATE_LIMIT)

    solver = Doubles()

    record = await attempted(tmp_path, solver, Remote(judge))

    assert record.scored.outcome == "unscored"
    assert record.scored.failure == FailureKind.RATE_LIMIT
    assert record.scored.error == "seed failed: the server of problem 0 ended"


async def test_a_name_for_a_problem_that_cannot_be_had_is_unscored(tmp_path: Path) -> None:
    class Nameless(Sums):
        def problem_id(self, idx: int) -> str:
            return ["only one"][idx + 1]

    record = await attempted(tmp_path, Doubles(), Nameless(judge))

    assert record.scored.outcome == "unscored"
    assert "IndexError" in str(record.scored.error)


async def test_reserved_names_in_metadata_do_not_shadow_the_arguments(tmp_path: Path) -> None:
    class Shadows(Sums):
        async def seed(self, idx: int) -> Any:
            seed = await super().seed(idx)
            hostile = {"response": "x", "expected": "x", "sandbox": "x", "self": "x"}
            return type(seed)(seed.prompt, seed.expected_answer, hostile)

    record = await attempted(tmp_path, Doubles(), Shadows(judge))

    assert record.scored.outcome == "correct"


@pytest.mark.parametrize(("because", "again"), [(None, False), ("wrong", True)])
async def test_what_an_attempt_that_is_made_again_asks_says_so(
    tmp_path: Path, because: str | None, *, again: bool
) -> None:
    seen: list[Any] = []

    class Sees(Says):
        async def solve(self, seed: SeedResult, sandbox: Sandbox) -> SolveResult:
            seen.append(current_session())
            return await super().solve(seed, sandbox)

    made = runner(tmp_path, Sees(InfraError("once more"), "4"))
    solved = Solved(KEY, "0", because=because)
    seed = SeedResult("2+2")

    await made._answer(seed, solved, Workplace(made.cycle, seed, KEY))
    made.journal.close()

    assert [session.again for session in seen] == [again, again]  # two tries
    assert seen[0].id != seen[1].id
