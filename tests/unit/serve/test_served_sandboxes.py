"""Scorers of a served benchmark in sandboxes: one each, removed again, and no reward without."""

import json
from pathlib import Path
from typing import Any

import httpx
import pytest

from pytest_nel.config.schema import BenchmarkConfig, PluginSpec
from pytest_nel.core.errors import ConfigError, InfraError
from pytest_nel.core.protocols import EvalEnvironment
from pytest_nel.core.sandbox import Sandbox, SandboxSpec
from pytest_nel.core.types import SeedResult, VerifyResult
from pytest_nel.engine.loop import LoopThread
from pytest_nel.serve.gym import GymApp
from pytest_nel.serve.ready import problems
from tests.support.gym import URL, Across, Hosted, hosted, records

LOCAL = {"type": "local", "concurrency": 2}


class Commands(EvalEnvironment):
    """An answer is a command; right is one that ends with 0."""

    needs_sandbox = True

    def __init__(self) -> None:
        self.name = "commands"  # of the object: a class with a name is a benchmark of this file
        self.places: list[Path] = []

    async def dataset_size(self) -> int:
        return 1

    async def seed(self, idx: int) -> SeedResult:
        return SeedResult(f"{idx}?", verify_sandbox_spec=SandboxSpec(env={"WORD": "seven"}))

    async def verify(
        self, response: str, expected: str, sandbox: Sandbox | None = None, **metadata: Any
    ) -> VerifyResult:
        del expected, metadata
        assert sandbox is not None
        user = "somebody-else" if response == "fault" else None
        ran = await sandbox.exec(response, user=user)
        self.places.append(Path(sandbox.workdir))
        return VerifyResult(float(ran.return_code == 0), ran.stdout.strip())


async def verdict(server: Hosted, answer: str) -> httpx.Response:
    transport = Across(GymApp(server.served), server.loop)
    async with httpx.AsyncClient(transport=transport, base_url=URL) as http:
        seed = (await http.post("/seed_session", json={})).json()
        body = {"response": answer, "expected": "", "metadata": seed["metadata"]}
        return await http.post("/verify", content=json.dumps(body))


@pytest.mark.asyncio
async def test_each_answer_is_judged_in_a_fresh_sandbox_that_is_removed() -> None:
    environment = Commands()

    with hosted(environment, sandbox=LOCAL) as server:
        first = (await verdict(server, "echo $WORD; test ! -e left && touch left")).json()
        again = (await verdict(server, "test ! -e left && touch left")).json()
        wrong = (await verdict(server, "exit 3")).json()
        there = [place.exists() for place in environment.places]

    assert (first["reward"], first["extracted_answer"]) == (1.0, "seven")
    assert (again["reward"], wrong["reward"]) == (1.0, 0.0)
    assert there == [False] * 3


@pytest.mark.asyncio
async def test_a_sandbox_that_fails_is_no_reward_and_the_attempt_of_a_client_is_unscored(
    tmp_path: Path,
) -> None:
    with hosted(Commands(), sandbox=LOCAL) as server:
        reply = await verdict(server, "fault")
        (record,) = await records(server.asked(), ["fault"], tmp_path / "run")

    assert (reply.status_code, reply.json()["failure"]) == (500, "infra_error")
    assert "not as 'somebody-else'" in reply.json()["detail"]
    assert "reward" not in reply.json()
    assert (record["outcome"], record["reward"]) == ("unscored", None)


@pytest.mark.parametrize(
    ("sandbox", "said"),
    [
        ({"type": "none"}, "--sandbox docker, or serve it from a suite whose entry has"),
        ({"type": "dokcer"}, "Did you mean 'docker'?"),
        ({"type": "local", "memry": "1g"}, "memry"),
        ({"type": "local", "stateful": True}, "sandbox: stateful: what was done"),
        ({"type": "local", "capture_cmd": "tar"}, "sandbox: capture_cmd: what was done"),
    ],
)
def test_without_a_sandbox_that_can_be_used_it_is_not_served(
    sandbox: dict[str, str], said: str
) -> None:
    with pytest.raises(ConfigError) as caught, hosted(Commands(), sandbox=sandbox):
        pass

    assert said in str(caught.value)


class Shared(Commands):
    """Looks into the sandbox of the solver."""

    async def seed(self, idx: int) -> SeedResult:
        return SeedResult(f"{idx}?", sandbox_spec=SandboxSpec())


def test_what_is_judged_in_the_sandbox_of_the_solver_is_not_served() -> None:
    with pytest.raises(InfraError) as caught, hosted(Shared(), sandbox=LOCAL):
        pass

    assert "which no request can bring" in str(caught.value)


@pytest.mark.asyncio
async def test_another_sandbox_is_another_way_to_judge() -> None:
    facts = []

    for more in ({}, {"memory": "1GiB"}):
        with hosted(Commands(), sandbox={**LOCAL, **more}) as server:
            facts.append(server.served.facts()["judging"])

    assert facts[0] != facts[1]


def test_problems_are_handed_out_without_a_sandbox(tmp_path: Path) -> None:
    (tmp_path / "bench_runs.py").write_text(RUNS, encoding="utf-8")
    config = BenchmarkConfig(name="bench_runs.py", solver=PluginSpec(type="custom"))
    loop = LoopThread("nel-test")

    try:
        with problems(config, base=tmp_path, loop=loop) as found:
            seed = loop.call(found.seed(0))
    finally:
        loop.close()

    assert (found.size, seed.prompt) == (1, "echo 7")


RUNS = '''"""An answer is a command."""

from pytest_nel import ScorerInput, SandboxSpec, benchmark, scorer


@benchmark(
    name="runs",
    dataset=[{"say": "echo 7", "target": "7"}],
    prompt="{say}",
    sandbox=SandboxSpec(),
)
@scorer
async def runs(sample: ScorerInput) -> object:
    """What it prints counts."""
    return (await sample.sandbox.exec(sample.response)).stdout.strip() == sample.target
'''
