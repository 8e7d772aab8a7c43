"""PinchBench in whole runs: workspaces that attempts do not share, judgements that last."""

from pathlib import Path
from typing import Any

import pytest

from benchmarks.pinchbench import PinchBench
from pytest_nel import Sandbox, SeedResult, SolveResult
from pytest_nel.engine.run import run_evaluation
from tests.benchmarks.pinch_tasks import CHECKS, task, tree
from tests.support.endpoint import RunningEndpoint
from tests.unit.engine.judging import metric

pytest.importorskip("pytest_nel.sandboxes", reason="the engine has no sandboxes yet")

FILES = "workspace_files:\n  - source: csvs/prices.csv\n    dest: data/prices.csv\n"
WEIGHTS = "grading_weights: {automated: 0.6, llm_judge: 0.4}\n"


class Agent:
    """Looks into its workspace, and leaves a note there where it found no other."""

    def __init__(self) -> None:
        self.calls = 0

    def fingerprint(self) -> dict[str, str]:
        """It answers alike, however often it was asked."""
        return {"agent": "the same"}

    async def solve(self, seed: SeedResult, sandbox: Sandbox) -> SolveResult:
        self.calls += 1
        del seed
        ran = await sandbox.exec(
            "test ! -e note.txt && cat data/prices.csv && echo milk > note.txt"
        )
        call = {"function_name": "bash", "arguments": {"command": "cat data/prices.csv"}}
        step = {"source": "agent", "message": "", "tool_calls": [call]}
        seen = {"source": "system", "observation": {"results": [{"content": ran.stdout}]}}
        return SolveResult("reply=r2", trajectory=[step, seen])


async def measured(folder: Path, recorded: RunningEndpoint, agent: Agent) -> dict[str, Any]:
    spec = {"type": "api", "url": f"{recorded.url}/chat/completions", "model": "g"}
    more: dict[str, Any] = {"sandbox": {"type": "local"}, "resume": (folder / "run").exists()}
    return await run_evaluation(
        PinchBench(str(folder / "data")),
        agent,
        folder / "run",
        services={"grader": {**spec, "protocol": "chat_completions"}},
        scoring={"metrics": [metric(service="grader")]},
        repeats=2,
        **more,
    )


@pytest.mark.asyncio
async def test_attempts_share_no_workspace_and_a_resumed_run_asks_nobody_again(
    tmp_path: Path, recorded: RunningEndpoint
) -> None:
    recorded.reset()
    agent = Agent()
    tree(
        tmp_path / "data",
        checks=task(checks=CHECKS, front=FILES),
        both=task("hybrid", checks=CHECKS, front=FILES + WEIGHTS),
        judge=task("llm_judge", checks=None, front=FILES),
    )

    first = await measured(tmp_path, recorded, agent)
    asked = recorded.stats()["requests"]
    again = await measured(tmp_path, recorded, agent)

    scores = first["benchmark"]["scores"]
    assert (first["n_scored"], first["n_unscored"]) == (6, 0)
    assert scores["mean_reward"]["value"] == pytest.approx((1.0 + 0.9 + 0.75) / 3, abs=1e-6)
    assert "day,price" in recorded.bodies()[-1]
    assert again["benchmark"]["scores"]["mean_reward"] == scores["mean_reward"]
    assert (agent.calls, asked, recorded.stats()["requests"]) == (6, 4, 4)
