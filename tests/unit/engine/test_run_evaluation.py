"""A run without pytest: on the caller's loop, stopped, cancelled, repeated, refused."""

import asyncio
import json
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pytest_nel.core.errors import ConfigError, EndpointRefused, InfraError, RunStopped
from pytest_nel.core.types import (
    Endpoint,
    ModelResponse,
    ScorerInput,
    SeedResult,
    SolveResult,
    VerifyResult,
)
from pytest_nel.engine.run import run_evaluation
from pytest_nel.http.client import ModelClient
from pytest_nel.records.record import StepRecord
from pytest_nel.reports.summary import note_lines, summary_lines
from pytest_nel.solvers.simple import SimpleSolver
from tests.support.endpoint import RunningEndpoint, running_endpoint
from tests.unit.engine.parts import Doubles, Says, Sums, attempted, forty_two, lines, sums

pytestmark = pytest.mark.asyncio


def simple(endpoint: RunningEndpoint, **changes: Any) -> SimpleSolver:
    facts = {"name": "s", "model": "m", "protocol": "chat_completions"}
    url = f"{endpoint.url}/chat/completions"
    client = ModelClient(Endpoint(**{**facts, "url": url, **changes}))
    return SimpleSolver(client, SimpleSolver.Config(service="s"))


async def test_the_bundle_returned_is_the_one_on_the_disk(tmp_path: Path) -> None:
    bundle = await run_evaluation(sums(), Doubles(), tmp_path / "run", repeats=2)

    (path,) = (tmp_path / "run" / "sums").glob("eval-*.json")
    assert json.loads(path.read_text()) == bundle
    assert bundle["benchmark"]["scores"]["mean_reward"]["value"] == 1.0
    assert bundle["n_scored"] == 8


async def test_records_come_in_the_order_of_the_plan(tmp_path: Path) -> None:
    seen: list[StepRecord] = []

    await run_evaluation(
        sums(), Doubles(), tmp_path / "run", on_record=seen.append, repeats=2, shuffle_seed=None
    )

    assert [(r.solved.key.problem_idx, r.solved.key.repeat) for r in seen] == [
        (problem, repeat) for problem in range(4) for repeat in range(2)
    ]


async def test_one_solver_serves_two_runs_and_the_callers_loop_stays_free(tmp_path: Path) -> None:
    beats = 0

    async def beat() -> None:
        nonlocal beats
        while True:
            await asyncio.sleep(0.005)
            beats += 1

    with running_endpoint(latency=0.05) as endpoint:
        solver = simple(endpoint)
        heart = asyncio.create_task(beat())
        bundles = [
            await run_evaluation(forty_two(8), solver, tmp_path / name, max_concurrent=2)
            for name in ("one", "two")
        ]
        heart.cancel()
        requests = endpoint.stats()["requests"]

    assert [bundle["n_correct"] for bundle in bundles] == [8, 8]
    assert requests == 16
    assert beats >= 10


async def test_a_used_directory_is_refused_before_any_call(tmp_path: Path) -> None:
    solver = Says("0")
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "notes.txt").write_text("mine")

    with pytest.raises(ConfigError, match="is not empty"):
        await run_evaluation(sums(), solver, tmp_path / "run")

    assert solver.calls == 0
    assert [path.name for path in (tmp_path / "run").iterdir()] == ["notes.txt"]


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"repeats": 0}, "repeats"),
        ({"repeat": 2}, "Did you mean 'repeats'"),
        ({"max_concurrent": "many"}, "max_concurrent"),
        ({"strict": True}, "unknown setting of run_evaluation 'strict'"),
        ({"max_unscored": 3}, "'max_unscored'"),
        ({"params": {"x": 1}}, "'params'"),
        ({"name": "other"}, "'name'"),
    ],
)
async def test_a_wrong_setting_is_a_config_error_before_any_call(
    tmp_path: Path, settings: dict[str, Any], said: str
) -> None:
    solver = Says("0")

    with pytest.raises(ConfigError, match=said):
        await run_evaluation(sums(), solver, tmp_path / "run", **settings)

    assert solver.calls == 0


async def test_no_more_attempts_than_allowed_run_at_once(tmp_path: Path) -> None:
    class Counts(Doubles):
        running = most = 0

        async def solve(self, seed: Any, sandbox: Any) -> SolveResult:
            self.running += 1
            self.most = max(self.most, self.running)
            await asyncio.sleep(0.005)
            self.running -= 1
            return await super().solve(seed, sandbox)

    solver = Counts()

    await run_evaluation(sums(), solver, tmp_path / "run", repeats=10, max_concurrent=3)

    assert solver.most == 3


async def test_a_solver_is_opened_and_closed_once_on_the_loop_it_works_on(tmp_path: Path) -> None:
    class Opened(Doubles):
        def __init__(self) -> None:
            self.story: list[tuple[str, str]] = []

        async def open(self) -> None:
            self.story.append(("open", threading.current_thread().name))

        async def solve(self, seed: Any, sandbox: Any) -> SolveResult:
            self.story.append(("solve", threading.current_thread().name))
            return await super().solve(seed, sandbox)

        async def close(self) -> None:
            self.story.append(("close", threading.current_thread().name))

    solver = Opened()

    await run_evaluation(sums(), solver, tmp_path / "run", max_problems=2)

    assert [what for what, _ in solver.story] == ["open", "solve", "solve", "close"]
    assert {where for _, where in solver.story} == {"nel-engine"}


async def test_a_part_that_cannot_be_closed_costs_no_results(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    class Stuck(Doubles):
        async def open(self) -> None: ...

        async def close(self) -> None:
            msg = "the door is jammed"
            raise OSError(msg)

    bundle = await run_evaluation(sums(), Stuck(), tmp_path / "run")

    assert bundle["n_correct"] == 4
    assert "Stuck could not be closed" in caplog.text
    assert "nel-engine" not in {thread.name for thread in threading.enumerate()}


async def test_a_stopped_run_leaves_its_files(tmp_path: Path) -> None:
    solver = Says("0", EndpointRefused("HTTP 401: no"))

    with pytest.raises(RunStopped, match="HTTP 401: no"):
        await run_evaluation(
            sums(), solver, tmp_path / "run", shuffle_seed=None, repeats=50, max_concurrent=1
        )

    rows = lines(tmp_path / "run" / "sums" / "results.jsonl")
    (path,) = (tmp_path / "run" / "sums").glob("eval-*.json")
    bundle = json.loads(path.read_text())
    assert [row["outcome"] for row in rows] == ["correct", "unscored"]
    assert bundle["complete"] is False
    assert (bundle["n_attempted"], bundle["n_planned"]) == (2, 200)


async def test_too_many_in_a_row_without_a_score_stop_the_run(tmp_path: Path) -> None:
    def broken(_: ScorerInput) -> float:
        return 1 / 0

    with pytest.raises(RunStopped, match="20 attempts in a row have no score"):
        await run_evaluation(sums(broken), Doubles(), tmp_path / "run", repeats=50, window=40)

    rows = lines(tmp_path / "run" / "sums" / "results.jsonl")
    assert {row["outcome"] for row in rows} == {"unscored"}
    assert 20 <= len(rows) < 200  # what was answered by then is still judged


async def test_a_few_failures_far_ahead_of_a_slow_scorer_stop_nothing(tmp_path: Path) -> None:
    class Flaky(Doubles):
        async def solve(self, seed: Any, sandbox: Any) -> SolveResult:
            if seed.attempt.repeat % 10 == 0:
                msg = "bad luck"
                raise InfraError(msg, retryable=False)
            return await super().solve(seed, sandbox)

    pauses = iter([0.5])

    def slow_at_first(sample: ScorerInput) -> bool:
        time.sleep(next(pauses, 0.0))
        return bool(sample.response == sample.target)

    bundle = await run_evaluation(
        sums(slow_at_first), Flaky(), tmp_path / "run", repeats=100, max_concurrent=32
    )

    assert bundle["complete"] is True
    assert (bundle["n_scored"], bundle["n_unscored"]) == (360, 40)


class Slow(Doubles):
    """Never answers problem 0; then, after the others, stops the run."""

    async def solve(self, seed: Any, sandbox: Any) -> SolveResult:
        if seed.attempt.problem_idx == 0:
            await asyncio.sleep(60)
        if seed.attempt.problem_idx == 3:
            await asyncio.sleep(0.1)
            msg = "HTTP 401: enough"
            raise EndpointRefused(msg)
        return await super().solve(seed, sandbox)


@pytest.mark.parametrize("plain", [True, False])
async def test_a_stopped_run_says_whether_it_left_out_the_slow_ones(
    tmp_path: Path, *, plain: bool
) -> None:
    def same(response: str, expected: str) -> VerifyResult:
        return VerifyResult(float(response == expected), response)

    judged_as_they_come = Sums(same)
    judged_in_order = sums(lambda sample: same(sample.response, sample.target))

    with pytest.raises(RunStopped, match="401"):
        await run_evaluation(
            judged_in_order if plain else judged_as_they_come,
            Slow(),
            tmp_path / "run",
            shuffle_seed=None,
        )

    (path,) = (tmp_path / "run" / "sums").glob("eval-*.json")
    bundle = json.loads(path.read_text())
    said = [line.text for line in note_lines(bundle, []) if "over-represented" in line.text]
    assert (bundle["n_scored"], bundle["n_overtaken"]) == ((0, 0) if plain else (2, 1))
    assert bool(said) is not plain


async def test_cancelling_the_call_ends_the_run(tmp_path: Path) -> None:
    with running_endpoint(latency=0.1) as endpoint:
        run = asyncio.create_task(
            run_evaluation(forty_two(1000), simple(endpoint), tmp_path / "run", max_concurrent=4)
        )
        await asyncio.to_thread(endpoint.wait_in_flight, 4)
        run.cancel()
        with pytest.raises(asyncio.CancelledError):
            await run
        sent = endpoint.stats()["requests"]
        await asyncio.sleep(0.3)
        later = endpoint.stats()["requests"]

    assert later == sent < 100
    assert "nel-engine" not in {thread.name for thread in threading.enumerate()}


async def test_an_environment_without_a_name_gets_that_of_its_class(tmp_path: Path) -> None:
    class Nameless(Sums):
        name = ""

    bundle = await run_evaluation(
        Nameless(lambda response, expected: response == expected), Doubles(), tmp_path / "run"
    )

    assert bundle["benchmark"]["name"] == "Nameless"
    assert (tmp_path / "run" / "Nameless" / "results.jsonl").is_file()


def slow_scorer(seconds: float) -> Callable[[ScorerInput], bool]:
    def scorer(sample: ScorerInput) -> bool:
        time.sleep(seconds)
        return bool(sample.response == sample.target)

    return scorer


async def test_a_slow_plain_scorer_delays_no_request_in_flight(tmp_path: Path) -> None:
    middles = {}
    with running_endpoint(latency=0.04) as endpoint:
        for name, seconds in {"fast": 0.0, "slow": 0.04}.items():
            benchmark = forty_two(40, scorer=slow_scorer(seconds))
            bundle = await run_evaluation(
                benchmark, simple(endpoint), tmp_path / name, max_concurrent=4
            )
            runtime = bundle["benchmark"]["scores"]["runtime"]
            middles[name] = runtime["latency_percentiles_ms"]["p50"]
        statuses = endpoint.stats()["statuses"]

    assert statuses == {"200": 80}
    assert middles["slow"] / middles["fast"] < 1.5


async def test_latency_counts_neither_the_queue_nor_the_wait_before_a_retry(
    tmp_path: Path,
) -> None:
    with running_endpoint(latency=0.05, fail_first=1) as endpoint:
        solver = simple(endpoint, max_concurrent=1)
        bundle = await run_evaluation(forty_two(4), solver, tmp_path / "run", max_concurrent=4)

    runtime = bundle["benchmark"]["scores"]["runtime"]
    assert runtime["total_retries"] == 4
    assert runtime["latency_percentiles_ms"]["p99"] < 250  # a retry waits half a second or more


async def test_retries_of_attempts_that_failed_in_the_end_are_counted(tmp_path: Path) -> None:
    with running_endpoint(fail_first=9) as endpoint:
        solver = simple(endpoint, max_retries=1)
        bundle = await run_evaluation(forty_two(4), solver, tmp_path / "run")
        requests = endpoint.stats()["requests"]

    steps = lines(tmp_path / "run" / "ft" / "trajectories.jsonl")
    assert (bundle["n_unscored"], requests) == (4, 8)
    assert bundle["benchmark"]["scores"]["runtime"]["total_retries"] == 4
    assert [step["retries"] for step in steps] == [1] * 4


async def test_requests_of_a_try_in_vain_are_counted_with_those_of_the_answer(
    tmp_path: Path,
) -> None:
    lost = InfraError("sandbox lost")
    lost.requests = 2
    solver = Says(lost, SolveResult("0", ModelResponse("0", requests=3)))

    record = await attempted(tmp_path, solver)

    assert record.solved.as_json()["requests"] == 5
    assert record.retries == 4


async def test_tokens_of_a_solver_that_names_no_model_are_unknown(tmp_path: Path) -> None:
    bundle = await run_evaluation(sums(), Doubles(), tmp_path / "run")

    runtime = bundle["benchmark"]["scores"]["runtime"]
    assert (runtime["total_tokens"], runtime["steps_without_usage"]) == (0, 4)
    assert any(" unknown " in line.text for line in summary_lines([bundle]))


async def test_odd_facts_of_a_users_model_response_do_no_harm(tmp_path: Path) -> None:
    odd: Any = {"latency_ms": float("nan"), "total_tokens": "many", "prompt_tokens": -1}
    reply = ModelResponse("0", finish_reason=None, **odd)

    bundle = await run_evaluation(
        sums(), Says(SolveResult("0", reply)), tmp_path / "run", shuffle_seed=None
    )

    runtime = bundle["benchmark"]["scores"]["runtime"]
    assert bundle["n_correct"] == 1
    assert (runtime["total_tokens"], runtime["steps_without_usage"]) == (0, 4)
    assert runtime["latency_percentiles_ms"] == {}


async def test_a_call_goes_on_where_an_earlier_one_has_ended(tmp_path: Path) -> None:
    asked: list[int] = []

    class Counting:
        async def solve(self, seed: SeedResult, sandbox: object) -> SolveResult:
            del sandbox
            assert seed.attempt is not None
            asked.append(seed.attempt.problem_idx)
            return SolveResult("42")

    first = await run_evaluation(forty_two(6), Counting(), tmp_path / "run", max_problems=4)
    second = await run_evaluation(forty_two(6), Counting(), tmp_path / "run", resume=True)
    third = await run_evaluation(forty_two(6), Counting(), tmp_path / "run", resume=True)

    assert sorted(asked) == list(range(6))
    assert (first["n_scored"], second["n_scored"], third["n_scored"]) == (4, 6, 6)
    assert third["turns"] == 3
    with pytest.raises(ConfigError, match="is not empty"):
        await run_evaluation(forty_two(6), Counting(), tmp_path / "run")
