"""Judges where there is nothing to judge, nothing to see, or nothing to pay."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pytest_nel.config.schema import BudgetConfig
from pytest_nel.core.errors import GracefulError
from pytest_nel.core.exchange import current_session
from pytest_nel.core.types import AttemptKey, Message, SeedResult
from pytest_nel.engine.budget import Budget
from pytest_nel.engine.run import run_evaluation
from tests.support.endpoint import RunningEndpoint
from tests.unit.engine.judging import Judge, facts, metric, said
from tests.unit.engine.parts import Says, Sums, runner


@pytest.mark.asyncio
@pytest.mark.parametrize("nothing", ["", " \n", GracefulError("out of turns")])
async def test_an_answer_of_nothing_has_a_verdict_and_costs_nothing(
    judged: Judge, grader: RunningEndpoint, nothing: object
) -> None:
    pair = metric("pairwise_judge", name="p", judge_service="one", baseline_service="two")

    record = await judged(nothing, metric(preset="simpleqa"), pair, metric(name="k"), primary="j")

    facts = [said(record, name) for name in "jpk"]
    assert [each.get("verdict") for each in facts] == ["NOT_ATTEMPTED", "loss", None]
    assert [each["spent"] for each in facts] == [{}, {}, {}]
    assert record.scored.scorer_rewards == {"j": 0.0, "p": 0.0, "k": 0.0}
    graceful = isinstance(nothing, GracefulError)
    assert record.scored.failure == ("model_error" if graceful else None)
    assert record.scored.outcome == ("wrong" if graceful else "unparsed")
    assert grader.stats()["requests"] == 0


@pytest.mark.asyncio
async def test_the_f_score_of_simpleqa_counts_what_has_no_answer(
    tmp_path: Path, grader: RunningEndpoint
) -> None:
    spec = {"type": "api", "url": f"{grader.url}/chat/completions", "model": "g"}
    services = {"grader": {**spec, "protocol": "chat_completions"}}
    data = [{"question": f"q{at}", "target": "x"} for at in range(10)]
    says = Says(*["grade=CORRECT"] * 5, *[""] * 4, GracefulError("out of turns"))

    bundle = await run_evaluation(
        facts(dataset=data, judge="simpleqa"),
        says,
        tmp_path / "run",
        services=services,
        scoring={"metrics": [metric(service="grader")]},
        max_concurrent=1,
    )

    found = bundle["benchmark"]["scores"]["scorer:j"]
    assert (found["n"], found["value"]) == (10, 0.5)
    assert found["verdicts"] == {"CORRECT": 5, "NOT_ATTEMPTED": 5}
    assert (found["accuracy_given_attempted"], found["f_score"]) == (1.0, 0.666667)


class Pictures(Sums):
    """A problem with a picture: beside its messages, or in one of them."""

    def __init__(self, *, inside: bool = False) -> None:
        super().__init__(lambda *_: {"reward": 0.0})
        self.inside = inside

    async def seed(self, idx: int) -> SeedResult:
        seed = await super().seed(idx)
        place = "http://x/p.png"
        if not self.inside:
            return replace(seed, images=[place])
        part = {"type": "image_url", "image_url": {"url": place}}
        text = {"type": "text", "text": seed.prompt}
        message: Message = {"role": "user", "content": [text, part]}
        return replace(seed, messages=[message])


BLIND = {
    "pair": metric("pairwise_judge", judge_service="one", baseline_service="two"),
    "reward": metric("reward_model"),
    "free": metric(reference_free=True),
    "ensemble": metric("ensemble_judge", services=["one", "two"], reference_free=True),
}


@pytest.mark.asyncio
@pytest.mark.parametrize("kind", BLIND)
@pytest.mark.parametrize("inside", [False, True])
async def test_who_would_judge_a_picture_without_seeing_it_is_not_asked(
    judged: Judge, grader: RunningEndpoint, kind: str, *, inside: bool
) -> None:
    record = await judged("grade=5", BLIND[kind], benchmark=Pictures(inside=inside), primary="j")

    if kind == "reward" and inside:  # it is sent the messages as they are
        assert record.scored.reward == 0.25
        return
    assert (record.scored.outcome, record.scored.failure) == ("unscored", "scorer_error")
    assert "the problem has pictures, which no judge and no baseline" in said(record)["error"]
    assert grader.stats()["requests"] == 0


@pytest.mark.asyncio
async def test_a_judge_with_a_gold_answer_needs_no_picture_and_the_record_says_it_saw_none(
    judged: Judge,
) -> None:
    record = await judged("grade=5", metric(), benchmark=Pictures())
    plain = await judged("grade=5", metric())

    assert record.scored.scorer_rewards == {"j": 1.0}
    assert said(record)["unseen_pictures"] == 1
    assert "unseen_pictures" not in said(plain)


@pytest.mark.asyncio
@pytest.mark.parametrize(
    ("system", "sent"), [(None, ["Know."]), ("Be brief.", ["Be brief."]), ("", [])]
)
async def test_a_baseline_is_asked_what_the_solver_asks_its_system_prompt_included(
    judged: Judge, grader: RunningEndpoint, system: str | None, sent: list[str]
) -> None:
    pair = metric("pairwise_judge", judge_service="one", baseline_service="two", swap_check=False)
    benchmark = facts(system_prompt="Know.")

    first = await judged("grade=win", pair, benchmark=benchmark, system=system)
    asked = json.loads(grader.bodies()[0])["messages"]
    other = await judged("grade=win", pair, benchmark=benchmark, system="Another.")

    assert [one["content"] for one in asked if one["role"] == "system"] == sent
    assert asked[-1]["content"] == "Capital of France?"
    for name in ("key", "baseline_key"):
        assert said(first)[name] != said(other)[name]


@pytest.mark.asyncio
async def test_a_judge_whose_interceptor_refuses_gives_no_verdict_and_the_own_score_stays(
    judged: Judge,
) -> None:
    proxy = {"interceptors": [{"name": "turn_counter", "config": {"max_turns": 1}}]}

    record = await judged("grade=5", metric(swap_check=True), proxy=proxy)

    assert (record.scored.outcome, record.scored.reward) == ("wrong", 0.0)
    assert record.scored.scorer_rewards == {"j": None}
    assert "judge 'one' was not asked: Turn budget exhausted" in said(record)["error"]
    assert said(record)["spent"]["one"]["calls"] == 1


@pytest.mark.asyncio
async def test_a_reply_that_a_cache_gives_costs_no_tokens_again(
    judged: Judge, tmp_path: Path
) -> None:
    config = {"cache_dir": str(tmp_path / "cache")}
    proxy = {"interceptors": [{"name": "caching", "config": config}]}
    budget = Budget("s", BudgetConfig(max_tokens=1))

    first = await judged("grade=5", metric(), proxy=proxy)
    again = await judged("grade=5", metric(), proxy=proxy, budget=budget)

    paid, free = (said(record)["spent"]["one"] for record in (first, again))
    assert first.scored.scorer_rewards == again.scored.scorer_rewards == {"j": 1.0}
    assert (paid["calls"], paid["cached"], paid["requests"]) == (1, 0, 1)
    assert paid["prompt_tokens"] > 0
    assert (free["calls"], free["cached"], free["requests"]) == (1, 1, 0)
    assert free["prompt_tokens"] == free["completion_tokens"] == free["without_usage"] == 0
    assert "used" not in str(budget.spent)  # which would say how many tokens


@pytest.mark.asyncio
async def test_a_budget_pays_only_for_what_is_asked_now(judged: Judge) -> None:
    once, twice = (Budget("s", BudgetConfig(max_tokens=1)) for _ in range(2))

    first = await judged("!garbage", metric(max_retries=0), budget=once)
    again = await judged("!garbage", metric(max_retries=0), budget=twice, earlier=first.scored)

    assert said(again)["spent"]["one"]["calls"] == 2
    assert (used(twice), used(once)) == (2 * used(once), used(once))  # it is judged twice there


def used(budget: Budget) -> int:
    found = str(budget.spent).rpartition("used ")[2]
    return int(found.replace(",", ""))


@pytest.mark.asyncio
async def test_an_attempt_begins_with_a_session_of_its_own(tmp_path: Path) -> None:
    seen: list[Any] = []

    class Sees(Sums):
        async def seed(self, idx: int) -> SeedResult:
            seen.append(current_session())
            return await super().seed(idx)

    made = runner(tmp_path, Says("1"), Sees(lambda *_: {"reward": 0.0}))
    for problem in (0, 1):  # by one task, as those that look ahead do
        await made.attempt(AttemptKey(made.plan.id, problem, 0))
    made.journal.close()

    assert [session.attempt.problem_idx for session in seen] == [0, 1]
