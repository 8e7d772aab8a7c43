"""Faults of an endpoint change neither the score nor what is paid for."""

from pathlib import Path
from typing import Any

import pytest

from pytest_nel.authoring.benchmark import Benchmark
from pytest_nel.core.types import Endpoint, ScorerInput
from pytest_nel.engine.run import run_evaluation
from pytest_nel.http.client import ModelClient
from pytest_nel.http.retry import Exponential, Jittered, Retry
from pytest_nel.solvers.simple import SimpleSolver
from tests.plugin.truth import lines
from tests.support.endpoint import running_endpoint

pytestmark = pytest.mark.asyncio

ROWS = [
    {"id": f"q{i}", "question": f"{i}: [gold={i % 7}]", "target": str(i % 7)} for i in range(300)
]


MODEL = """
def answer(request, nth):
    number = int(request["messages"][0]["content"].partition(":")[0])
    return str(number % 7) if number % 3 else ["", "no idea"][number % 2]
"""


def same(sample: ScorerInput) -> bool:
    return bool(sample.response == sample.target)


async def measured(folder: Path, url: str) -> dict[str, Any]:
    benchmark = Benchmark(name="truth", dataset=ROWS, prompt="{question}", scorer=same)
    endpoint = Endpoint("s", f"{url}/chat/completions", "chat_completions", "m", timeout=0.5)
    retry = Retry(8, wait=Jittered(Exponential(0.05, cap=0.5)))
    solver = SimpleSolver(ModelClient(endpoint, retry=retry), SimpleSolver.Config(service="s"))
    return await run_evaluation(benchmark, solver, folder, max_concurrent=32)


def outcomes(folder: Path) -> dict[int, tuple[str, float]]:
    rows = lines(folder / "truth" / "results.jsonl")
    found = {row["problem_idx"]: (row["outcome"], row["reward"]) for row in rows}
    assert len(found) == len(rows) == 300
    return found


async def test_a_disturbed_run_says_what_the_undisturbed_one_says(tmp_path: Path) -> None:
    script = tmp_path / "model.py"
    script.write_text(MODEL)
    usual: dict[str, Any] = {"latency": 0.02, "script": str(script)}
    faults = {"rate_429": 0.05, "rate_500": 0.02, "rate_reset": 0.02, "rate_hang": 0.01}
    with running_endpoint(**usual) as endpoint:
        calm = await measured(tmp_path / "calm", endpoint.url)
    with running_endpoint(**usual, **faults) as endpoint:
        rough = await measured(tmp_path / "rough", endpoint.url)
        stats = endpoint.stats()

    assert set(stats["statuses"]) == {"200", "429", "500", "reset", "abandoned"}
    assert outcomes(tmp_path / "rough") == outcomes(tmp_path / "calm")
    assert headline(rough) == headline(calm)
    assert (stats["ok"], stats["paid_twice"]) == (300, 0)
    retries = rough["benchmark"]["scores"]["runtime"]["total_retries"]
    assert 0 < retries <= stats["requests"] - 300  # the transport itself renews stale connections


def headline(bundle: dict[str, Any]) -> dict[str, Any]:
    scores: dict[str, Any] = bundle["benchmark"]["scores"]
    return {"mean": scores["mean_reward"], "n": bundle["n_scored"], "pass": scores["pass@1"]}
