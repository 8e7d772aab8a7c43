"""Further scorers judge beside the benchmark's own."""

import asyncio
import os
import threading
from pathlib import Path
from typing import Any

import pytest

from pytest_nel.authoring.benchmark import Benchmark
from pytest_nel.config.metrics import MetricConfig
from pytest_nel.config.schema import BenchmarkConfig, PluginSpec
from pytest_nel.core.errors import ConfigError, GracefulError
from pytest_nel.core.types import AttemptKey, ScorerInput, SolveResult, VerifyResult
from pytest_nel.engine.plan import make_plan
from pytest_nel.engine.run import run_evaluation
from pytest_nel.environments.builtin import BenchmarkEnvironment
from pytest_nel.environments.scorers import extra_scorers
from pytest_nel.records.files import result_row
from pytest_nel.records.record import Scored, StepRecord
from tests.unit.engine.parts import Doubles, Says, Sums, attempted, last_number, lines, sums

METRICS = {"metrics": [{"name": "numeric_match", "type": "scorer"}]}


def third(sample: ScorerInput) -> dict[str, Any]:
    return {"reward": 1 / 3, "extracted": sample.response.upper(), "words": 1}


async def judged(folder: Path, says: object, scorer: Any = None, **scorers: Any) -> StepRecord:
    """The attempt at 1+1 (the right answer is 2), by these scorers."""
    benchmark = sums(scorer, scorers=scorers, extra={"strictness": 3})
    return await attempted(folder, Says(says), benchmark, key=AttemptKey("sums", 1, 0))


@pytest.mark.asyncio
async def test_a_fractional_reward_is_kept_as_it_is(tmp_path: Path) -> None:
    record = await judged(tmp_path, "two", third=third)

    assert record.scored.reward == 0.0
    assert record.scored.scorer_rewards == {"third": 1 / 3}
    assert record.scored.details["scorer:third"] == {
        "method": "third",
        "reward": 1 / 3,
        "extracted": "TWO",
        "words": 1,
    }


@pytest.mark.asyncio
async def test_it_sees_all_that_the_own_scorer_sees(tmp_path: Path) -> None:
    seen: list[ScorerInput] = []

    def look(sample: ScorerInput) -> bool:
        seen.append(sample)
        return True

    await judged(tmp_path, "2", look, also=look)

    own, further = seen
    assert further == own
    assert further.target == "2"
    assert further.config == {"strictness": 3}
    assert further.metadata["question"] == "1+1"
    assert further.metadata["target"] == "2"


@pytest.mark.asyncio
async def test_one_that_raises_costs_its_own_reward_and_not_the_attempts(tmp_path: Path) -> None:
    def broken(sample: ScorerInput) -> bool:
        return bool(sample.metadata["nope"])

    record = await judged(tmp_path, "2", broken=broken, third=third)

    assert record.scored.outcome == "correct"
    assert record.scored.scorer_rewards == {"broken": None, "third": 1 / 3}
    details = record.scored.details["scorer:broken"]
    assert details["reward"] is None
    assert details["error"].startswith("scorer 'broken': the scorer failed: ")
    assert "test_extra_scorers.py:" in details["error"]
    assert details["error"].endswith("KeyError: 'nope'")


@pytest.mark.parametrize("returned", [None, "1", 2, float("nan"), {}])
@pytest.mark.asyncio
async def test_what_is_no_reward_is_missing_and_not_zero(tmp_path: Path, returned: object) -> None:
    record = await judged(tmp_path, "2", odd=lambda _: returned)

    assert record.scored.scorer_rewards == {"odd": None}
    assert "scorer 'odd': the scorer returned" in record.scored.details["scorer:odd"]["error"]


@pytest.mark.asyncio
async def test_one_that_would_end_the_process_is_missing_too(tmp_path: Path) -> None:
    def leaves(sample: ScorerInput) -> bool:
        raise SystemExit(sample.response)

    record = await judged(tmp_path, "2", leaves=leaves)

    assert record.scored.scorer_rewards == {"leaves": None}


@pytest.mark.asyncio
async def test_a_blank_answer_has_reward_zero_and_nobody_is_asked(tmp_path: Path) -> None:
    calls: list[str] = []

    def generous(sample: ScorerInput) -> bool:
        calls.append(sample.response)
        return True

    record = await judged(tmp_path, "  \n", generous=generous)

    assert record.scored.outcome == "unparsed"
    assert record.scored.scorer_rewards == {"generous": 0.0}
    assert calls == []


@pytest.mark.asyncio
async def test_a_failure_of_the_model_is_zero_for_all(tmp_path: Path) -> None:
    record = await judged(tmp_path, GracefulError("gave up"), third=third)

    assert record.scored.reward == 0.0
    assert record.scored.scorer_rewards == {"third": 0.0}


@pytest.mark.asyncio
async def test_an_attempt_without_a_score_has_no_further_rewards(tmp_path: Path) -> None:
    def broken(sample: ScorerInput) -> bool:
        raise RuntimeError(sample.response)

    record = await judged(tmp_path, "2", broken, third=third)

    assert record.scored.outcome == "unscored"
    assert record.scored.scorer_rewards == {}


@pytest.mark.asyncio
async def test_answers_that_a_solver_graded_itself_are_judged_as_well(tmp_path: Path) -> None:
    record = await judged(tmp_path, SolveResult("hm", reward=0.75), third=third)

    assert record.scored.reward == 0.75
    assert record.scored.scorer_rewards == {"third": 1 / 3}


@pytest.mark.asyncio
async def test_beside_an_async_scorer_plain_ones_run_in_a_thread_and_async_ones_are_awaited(
    tmp_path: Path,
) -> None:
    threads: list[threading.Thread] = []

    async def own(sample: ScorerInput) -> bool:
        await asyncio.sleep(0)
        return bool(sample.response == sample.target)

    async def half(sample: ScorerInput) -> float:
        await asyncio.sleep(0)
        threads.append(threading.current_thread())
        return 0.5 * bool(sample.response)

    def plain(sample: ScorerInput) -> float:
        threads.append(threading.current_thread())
        return 0.25 * bool(sample.response)

    record = await judged(tmp_path, "2", own, half=half, plain=plain)

    assert record.scored.outcome == "correct"
    assert record.scored.scorer_rewards == {"half": 0.5, "plain": 0.25}
    here = threading.current_thread()
    assert [thread is here for thread in threads] == [True, False]


@pytest.mark.asyncio
async def test_an_async_scorer_that_hangs_is_missing(tmp_path: Path) -> None:
    async def own(sample: ScorerInput) -> bool:
        await asyncio.sleep(0)
        return bool(sample.response == sample.target)

    async def hangs(sample: ScorerInput) -> bool:
        await asyncio.sleep(60)
        return bool(sample)

    benchmark = sums(own, scorers={"hangs": hangs})

    record = await attempted(
        tmp_path, Says("2"), benchmark, key=AttemptKey("sums", 1, 0), timeout=0.05
    )

    assert record.scored.outcome == "correct"
    assert record.scored.scorer_rewards == {"hangs": None}
    assert "no judgement within 0.05 s" in record.scored.details["scorer:hangs"]["error"]


def test_an_async_scorer_beside_a_plain_one_is_refused_where_it_stands() -> None:
    async def judge(sample: ScorerInput) -> bool:
        await asyncio.sleep(0)
        return bool(sample)

    with pytest.raises(ConfigError, match=r"parts\.py:\d+: .*scorers\['judge'\]: async, but"):
        sums(last_number, scorers={"judge": judge})


@pytest.mark.parametrize(
    ("scorers", "what"),
    [
        ([], "scorers: expected a mapping from name to scorer"),
        ({" a": third}, "scorers: expected names without space around them"),
        ({3: third}, "scorers: expected names without space around them"),
        ({"a": "exact_match"}, "expected a scorer, a function that takes one ScorerInput"),
        ({"a": sums()}, "@scorer stands above @benchmark"),
    ],
)
def test_what_can_be_no_scorer_is_refused_where_it_stands(scorers: Any, what: str) -> None:
    with pytest.raises(ConfigError) as caught:
        sums(scorers=scorers)

    assert what in str(caught.value)


@pytest.mark.asyncio
async def test_a_suites_scorer_judges_answers_to_a_class(tmp_path: Path) -> None:
    def judge(response: str, expected: str) -> VerifyResult:
        return VerifyResult(float(response == expected))

    record = await attempted(
        tmp_path, Says("it is 2."), Sums(judge), key=AttemptKey("sums", 1, 0), scoring=METRICS
    )

    assert record.scored.reward == 0.0
    assert record.scored.scorer_rewards == {"numeric_match": 1.0}


@pytest.mark.asyncio
async def test_settings_of_the_suite_stand_in_place_of_the_benchmarks(tmp_path: Path) -> None:
    scoring = {
        "metrics": [
            {"name": "words", "type": "scorer", "scorer": "answer_line",
             "config": {"pattern": "says (.*)"}},
        ]
    }  # fmt: skip
    benchmark = sums(extra={"pattern": "never (.*)"})

    record = await attempted(
        tmp_path, Says("he says 2"), benchmark, key=AttemptKey("sums", 1, 0), scoring=scoring
    )

    assert record.scored.scorer_rewards == {"words": 1.0}


def test_a_name_that_the_benchmark_uses_is_taken() -> None:
    environment = BenchmarkEnvironment(sums(scorers={"numeric_match": third}))
    metric = MetricConfig(name="numeric_match", type="scorer")

    with pytest.raises(ConfigError, match="the benchmark has a scorer 'numeric_match' itself"):
        extra_scorers(environment, [metric])


def _plan(benchmark: Benchmark, **scoring: Any) -> Any:
    given = {"name": "sums", "solver": PluginSpec(type="x"), "scoring": scoring}
    config = BenchmarkConfig.model_validate(given)
    return make_plan(config, BenchmarkEnvironment(benchmark), 4)


def test_further_scorers_are_in_the_fingerprint_with_their_settings() -> None:
    plain = _plan(sums(), **METRICS)
    other = {"metrics": [{"name": "numeric_match", "type": "scorer", "config": {"a": 1}}]}

    identity = plain.facts["scorers"]["numeric_match"]

    assert identity.startswith("pytest_nel:numeric_match sha256:")
    assert _plan(sums(), **other).facts["scorers"]["numeric_match"].startswith(identity)
    assert " config sha256:" in _plan(sums(), **other).facts["scorers"]["numeric_match"]
    assert "scorers" not in _plan(sums()).facts


def test_further_scorers_and_their_settings_determine_judgements() -> None:
    none = _plan(sums()).judging()
    one = _plan(sums(), **METRICS).judging()
    other = {"metrics": [{"name": "numeric_match", "type": "scorer", "config": {"a": 1}}]}

    assert "scorers" not in none
    assert one != none
    assert _plan(sums(), **other).judging() != one


@pytest.mark.asyncio
async def test_a_run_without_pytest_has_them_too(tmp_path: Path) -> None:
    benchmark = sums(scorers={"third": third})

    await run_evaluation(benchmark, Doubles(), tmp_path / "run", scoring=METRICS)

    rows = lines(tmp_path / "run" / "sums" / "results.jsonl")
    assert [row["scorer_rewards"] for row in rows] == [{"third": 1 / 3, "numeric_match": 1.0}] * 4


@pytest.mark.asyncio
async def test_beside_an_async_scorer_one_that_failed_is_asked_again_and_its_own_is_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = tmp_path / "calls"  # a list would be seen to change, and with it the scorer

    async def own(sample: ScorerInput) -> bool:
        await asyncio.sleep(0)
        with calls.open("a") as file:
            file.write("x")
        return bool(sample.response == sample.target)

    async def flaky(sample: ScorerInput) -> float:
        await asyncio.sleep(0)
        return float(os.environ["HELPER"]) * bool(sample.response)

    benchmark = sums(own, scorers={"flaky": flaky})
    await run_evaluation(benchmark, Doubles(), tmp_path / "run")
    before = lines(tmp_path / "run" / "sums" / "results.jsonl")
    monkeypatch.setenv("HELPER", "0.5")

    await run_evaluation(benchmark, Doubles(), tmp_path / "run", resume=True)

    rows = lines(tmp_path / "run" / "sums" / "results.jsonl")
    assert [row["scorer_rewards"] for row in before] == [{"flaky": None}] * 4
    assert [row["scorer_rewards"] for row in rows] == [{"flaky": 0.5}] * 4
    assert [row["reward"] for row in rows] == [row["reward"] for row in before]
    assert calls.read_text() == "xxxx"


def test_rewards_come_out_of_the_journal_as_they_went_in() -> None:
    scored = Scored("correct", 1.0, scorer_rewards={"a": 1 / 3, "b": None})

    written = scored.as_json(AttemptKey("b", 0, 0))

    assert written["scorer_rewards"] == {"a": 1 / 3, "b": None}
    assert Scored.from_json(written) == scored
    assert result_row({"problem_idx": 0, "repeat": 0}, written)["scorer_rewards"] == {
        "a": 1 / 3,
        "b": None,
    }


@pytest.mark.asyncio
async def test_a_primary_metric_decides_and_the_own_scorer_is_kept_beside(tmp_path: Path) -> None:
    scoring = {**METRICS, "primary": "numeric_match"}

    record = await attempted(
        tmp_path,
        Says("it is 2.0"),
        sums(lambda _: 0.25),
        key=AttemptKey("sums", 1, 0),
        scoring=scoring,
    )

    assert (record.scored.outcome, record.scored.reward) == ("correct", 1.0)
    assert record.scored.details["own_scorer"] == {"outcome": "wrong", "reward": 0.25}
