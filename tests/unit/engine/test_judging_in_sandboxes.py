"""How long whoever judges in a sandbox may take, and in which one it judges."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from pytest_nel.core.sandbox import Sandbox
from pytest_nel.core.types import AttemptKey, ScorerInput, VerifyResult
from pytest_nel.engine.artifacts import Artifacts
from pytest_nel.engine.cycle import Lifecycle
from pytest_nel.engine.lazy_sandbox import Deadline
from tests.unit.engine.parts import Says, runner, sums
from tests.unit.engine.sandboxed import FRESH, Idle, Reads, Writes, attempted, prepared, room_of

pytestmark = pytest.mark.asyncio


class Runs(Reads):
    """Judges by a command of a second, with a limit of its own; may dawdle afterwards."""

    dawdles = False

    async def verify(
        self, response: str, expected: str, sandbox: Sandbox | None = None, **metadata: Any
    ) -> VerifyResult:
        del response, expected, metadata
        assert sandbox is not None
        if self.dawdles:
            await asyncio.sleep(60)
        ran = await sandbox.exec("sleep 1; exit 3", 20)
        return VerifyResult(0.0, str(ran.return_code))


async def test_a_command_of_the_judge_ends_by_its_own_limit(tmp_path: Path) -> None:
    room, _ = room_of()

    record = await attempted(prepared(tmp_path, Idle(), Runs(), room, timeout=0.5))

    assert (record.scored.outcome, record.scored.extracted) == ("wrong", "3")


async def test_a_judge_that_does_something_else_ends_by_the_benchmarks_limit(
    tmp_path: Path,
) -> None:
    room, _ = room_of()
    judge = Runs()
    judge.dawdles = True

    record = await attempted(prepared(tmp_path, Idle(), judge, room, timeout=0.5))

    assert record.scored.outcome == "unscored"
    assert "no judgement within 0.5 s" in str(record.scored.error)


async def test_a_command_begun_after_the_limit_gets_no_more_time() -> None:
    deadline = Deadline()
    async with deadline.judging(0.05) as limit:
        deadline.begins(1)
        within = limit.when()
        await asyncio.sleep(0.1)

        deadline.begins(1000)

        assert within is not None
        assert within > asyncio.get_running_loop().time()
        assert limit.when() == within


async def test_commands_of_a_solver_put_off_no_limit() -> None:
    deadline = Deadline()
    async with deadline.judging(5):
        pass
    deadline.limit = asyncio.timeout(5)
    before = deadline.limit.when()

    deadline.begins(1000)

    assert before is not None
    assert deadline.limit.when() == before


async def test_a_further_scorers_command_ends_by_its_own_limit_too(tmp_path: Path) -> None:
    async def runs(sample: ScorerInput) -> float:
        assert sample.sandbox is not None
        ran = await sample.sandbox.exec("sleep 1", 20)
        return float(ran.return_code == 0)

    async def right(sample: ScorerInput) -> bool:
        await asyncio.sleep(0)
        return bool(sample.response == sample.target)

    made = runner(tmp_path, Says("2"), sums(right, scorers={"runs": runs}), timeout=0.5)
    made.cycle = Lifecycle(room_of()[0], Artifacts(tmp_path / "artifacts"), needed=True)

    record = await attempted(made, AttemptKey("sums", 1, 0))

    assert record.scored.scorer_rewards == {"runs": 1.0}


async def test_where_nothing_is_carried_over_stateful_too_judges_in_a_fresh_sandbox(
    tmp_path: Path,
) -> None:
    room, backend = room_of(stateful=True)

    record = await attempted(prepared(tmp_path, Writes(), Reads(**FRESH), room))

    assert (record.scored.reward, record.scored.details["image"]) == (0.0, "fresh")
    assert [spec.image for spec in backend.made] == ["solving", "fresh"]
