"""Attempts that are ended before their solver returns: what of them is kept, judged and paid."""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from pytest_nel.config.schema import BudgetConfig, PluginSpec
from pytest_nel.core.errors import FailureKind
from pytest_nel.core.exchange import Usage, begin_session, keep_progress
from pytest_nel.core.sandbox import TIMED_OUT, ExecResult, NoSandbox, Sandbox
from pytest_nel.core.types import (
    Endpoint,
    JsonObject,
    ModelResponse,
    SeedResult,
    SolveResult,
    VerifyResult,
)
from pytest_nel.engine.budget import Budget, Purse
from pytest_nel.engine.lazy_sandbox import Ledger
from pytest_nel.engine.run import run_evaluation
from pytest_nel.engine.unfinished import ended, lost
from pytest_nel.http.client import ModelClient
from pytest_nel.records.record import Solved
from pytest_nel.solvers.agent import AgentSolver
from pytest_nel.solvers.around import Around
from pytest_nel.solvers.tool_calling import ToolCallingSolver
from tests.support.agent_proxy import AgentProxy
from tests.unit.engine.parts import KEY, lines
from tests.unit.engine.sandboxed import CARRIED, Reads, attempted, prepared, room_of
from tests.unit.solvers.scripted import ScriptedModel, Step, running, says

pytestmark = pytest.mark.asyncio

WORKS = says("I write it.", ("bash", {"command": "echo 42 > answer.txt"}))
BROKEN = (500, {"error": {"message": "broken"}})


@pytest.fixture
def model() -> Iterator[ScriptedModel]:
    made = ScriptedModel()
    with running(made):
        yield made


def solver(model: ScriptedModel, *steps: Step, **options: Any) -> ToolCallingSolver:
    model.steps = list(steps)
    url = f"{model.url}/v1/chat/completions"
    client = ModelClient(
        Endpoint(name="s", url=url, protocol="chat_completions", model="m", max_retries=0)
    )
    given = {"service": "s", "sandbox_tools": True, **options}
    return ToolCallingSolver(client, ToolCallingSolver.Config.model_validate(given))


class Keeps(Reads):
    """A verifier that notes what it is told."""

    def __init__(self, **seeded: Any) -> None:
        super().__init__(**seeded)
        self.told: list[tuple[str, Any]] = []

    async def seed(self, idx: int) -> SeedResult:
        return SeedResult(f"write 42 ({idx})", "42", {"trajectory": None}, **self.seeded)

    async def verify(
        self, response: str, expected: str, sandbox: Sandbox | None = None, **metadata: Any
    ) -> VerifyResult:
        self.told.append((response, metadata["trajectory"]))
        return await super().verify(response, expected, sandbox, **metadata)


async def test_an_agent_whose_time_is_up_is_judged_with_all_it_had_done(
    model: ScriptedModel, tmp_path: Path
) -> None:
    room, _ = room_of()
    lasting = says("Now I wait.", ("bash", {"command": "sleep 3"}))
    agent = solver(model, WORKS, lasting, response_mode="sandbox_artifact")
    environment = Keeps(**CARRIED)

    record = await attempted(prepared(tmp_path, agent, environment, room, timeout=2.0))
    await agent.close()

    ((response, trajectory),) = environment.told
    assert record.scored.reward == 1.0
    assert response == "Now I wait."
    assert "echo 42" in json.dumps(trajectory)
    assert record.tokens == 26
    assert record.solved.details["turns"] == 2
    assert record.solved.details["cut_by_timeout"] is True


async def test_an_agent_whose_text_is_its_answer_has_none_when_its_time_is_up(
    model: ScriptedModel, tmp_path: Path
) -> None:
    room, _ = room_of()
    agent = solver(model, WORKS, says("It is 42.", ("bash", {"command": "sleep 3"})))
    environment = Keeps()

    record = await attempted(prepared(tmp_path, agent, environment, room, timeout=2.0))
    await agent.close()

    assert environment.told[0][0] == "[worked in the sandbox]"
    assert record.tokens == 26


@pytest.mark.parametrize("tries", [1, 2])
async def test_turns_that_were_answered_before_the_machinery_failed_are_recorded_and_paid(
    model: ScriptedModel, tmp_path: Path, tries: int
) -> None:
    room, _ = room_of()
    agent = solver(model, WORKS, WORKS, BROKEN)
    made = prepared(tmp_path, agent, Keeps(), room, max_system_retries=tries)
    budget = Budget("s", BudgetConfig(max_tokens=26))
    made.purse = Purse([budget])

    record = await attempted(made)
    await agent.close()

    (solved,) = (
        row for row in lines(tmp_path / "sums" / "journal" / "main.jsonl") if row.get("prompt")
    )
    assert (record.scored.outcome, record.solved.response) == ("unscored", "")
    assert (solved["prompt_tokens"], solved["completion_tokens"]) == (20, 6)
    assert solved["requests"] == 3
    assert "echo 42" in json.dumps(solved["trajectory"])
    assert budget.spent == "the budget of s is spent: max_tokens 26, used 26"


async def test_a_try_that_came_to_nothing_is_paid_and_no_part_of_the_answer(
    model: ScriptedModel, tmp_path: Path
) -> None:
    room, backend = room_of()

    def ends_the_sandbox(body: JsonObject) -> JsonObject:
        del body
        backend.broken["exec"] = 1
        return WORKS

    agent = solver(model, WORKS, ends_the_sandbox, WORKS, says("done"))
    made = prepared(tmp_path, agent, Keeps(), room)
    budget = Budget("s", BudgetConfig(max_tokens=52))
    made.purse = Purse([budget])

    record = await attempted(made)
    await agent.close()

    assert (record.scored.outcome, record.solved.tries) == ("correct", 2)
    assert record.tokens == 26
    assert list(record.solved.lost) == [{"prompt_tokens": 20, "completion_tokens": 6}]
    assert budget.spent == "the budget of s is spent: max_tokens 52, used 52"
    assert record.solved.all_requests == 4


async def test_a_try_is_paid_once_where_the_time_is_up_before_the_next_one() -> None:
    begin_session(KEY)
    reply = ModelResponse("", prompt_tokens=10, completion_tokens=3)
    keep_progress(lambda: SolveResult("", reply))
    solved = Solved(KEY, "p")

    lost(solved, Ledger())
    ended(solved, FailureKind.SOLVE_TIMEOUT, "no answer within 5 s")

    assert list(solved.lost) == [{"prompt_tokens": 10, "completion_tokens": 3}]
    assert (solved.model, solved.all_requests) == (None, 1)


class Sleeps:
    """A solver that works as long as each problem says, in its sandbox."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    def fingerprint(self) -> Mapping[str, object]:
        return {}

    async def solve(self, seed: SeedResult, sandbox: Sandbox) -> SolveResult:
        self.asked.append(seed.prompt)
        seconds = seed.prompt.partition(" ")[2]
        await sandbox.exec(f"echo 41 > answer.txt; sleep {seconds}; echo 42 > answer.txt")
        return SolveResult("done")


class Timed(Reads):
    """Two problems: one that takes no time and one that takes 1.5 s."""

    def __len__(self) -> int:
        return 2

    async def seed(self, idx: int) -> SeedResult:
        return SeedResult(f"sleep {idx * 1.5}", "42", {})

    async def verify(
        self, response: str, expected: str, sandbox: Sandbox | None = None, **metadata: Any
    ) -> VerifyResult:
        del response, metadata
        assert sandbox is not None
        found = (await sandbox.read("answer.txt")).decode().strip()
        return VerifyResult(float(found == expected), found)


async def test_a_resumption_with_another_timeout_asks_again_what_that_changes(
    tmp_path: Path,
) -> None:
    agent, environment = Sleeps(), Timed(sandbox_spec=None)

    async def run(seconds: float) -> tuple[list[str], list[float]]:
        agent.asked = []
        await run_evaluation(
            environment,
            agent,
            tmp_path / "run",
            resume=(tmp_path / "run").exists(),
            sandbox=PluginSpec(type="local"),
            timeout=seconds,
            shuffle_seed=None,
        )
        rows = lines(tmp_path / "run" / "reads" / "results.jsonl")
        return sorted(agent.asked), [row["reward"] for row in rows]

    first = await run(1.0)
    same = await run(1.0)
    longer = await run(10.0)
    again = await run(10.0)
    shorter = await run(1.0)

    assert first == (["sleep 0.0", "sleep 1.5"], [1.0, 0.0])
    assert same == ([], [1.0, 0.0])
    assert longer == (["sleep 1.5"], [1.0, 1.0])
    assert again == ([], [1.0, 1.0])
    assert shorter == (["sleep 1.5"], [1.0, 0.0])


class Slow(NoSandbox):
    """A sandbox in which every command uses up its time."""

    async def exec(self, *_: Any, **__: Any) -> ExecResult:
        return ExecResult(return_code=TIMED_OUT, timed_out=True)

    async def write(self, *_: Any, **__: Any) -> None: ...

    def resolve_outside_endpoint(self, url: str) -> str:
        return url


@pytest.mark.parametrize(("run_timeout", "cut"), [(None, True), (900.0, True), (1.0, None)])
async def test_an_agents_record_says_whether_it_was_the_timeout_that_cut_it_off(
    tmp_path: Path, *, run_timeout: float | None, cut: bool | None
) -> None:
    (tmp_path / "run.sh.j2").write_text("work\n")
    around = Around(
        600.0,
        PluginSpec(type="local"),
        lambda **_: AgentProxy(Usage(requests=1, prompt=10, completion=3)),
        "m",
    )
    options = AgentSolver.Config(service="s", agent=str(tmp_path), run_timeout=run_timeout)
    agent = AgentSolver(around, options)
    await agent.open()

    result = await agent.solve(SeedResult("Do it."), Slow())
    await agent.close()

    assert result.scoring_details["error_category"] == "solve_timeout"
    assert result.scoring_details.get("cut_by_timeout") is cut
