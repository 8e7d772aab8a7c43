"""An agent does not choose to be unscored: whose fault it is that tests say nothing is tried."""

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from pytest_nel.core.errors import GracefulError, NotJudged
from pytest_nel.core.sandbox import Command, ExecResult, Sandbox, SandboxError
from pytest_nel.core.types import AttemptKey, VerifyResult
from pytest_nel.engine.trials import Found, Trials
from tests.support.temp_sandbox import TempSandbox
from tests.unit.engine.sandboxed import CARRIED, Idle, Reads, Writes, attempted, prepared, room_of

pytestmark = pytest.mark.asyncio
WORKS: dict[str, dict[str, Any]] = {"fresh": CARRIED, "where it worked": {}}


class Breakable(Reads):
    """Its tests say nothing where there is a trap; ``solution`` is the author's, as a command."""

    solution: str | None = "echo 42 > answer.txt"

    def __init__(self, **seeded: Any) -> None:
        super().__init__(**seeded)
        self.solved = 0
        self.judged = 0
        self.trouble: Exception | None = None

    async def leave_solution(
        self, sandbox: Sandbox, metadata: Mapping[str, Any], limit: float
    ) -> bool:
        assert metadata["tag"]
        if self.trouble is not None:
            raise self.trouble
        self.solved += 1
        if self.solution is None:
            return False
        await sandbox.exec(self.solution, limit)
        return True

    async def verify(
        self, response: str, expected: str, sandbox: Sandbox | None = None, **metadata: Any
    ) -> VerifyResult:
        self.judged += 1
        assert sandbox is not None
        if (await sandbox.exec("test -e trap")).return_code == 0:
            msg = "the tests did not end"
            raise NotJudged(msg)
        return await super().verify(response, expected, sandbox, **metadata)


@pytest.mark.parametrize("where", WORKS)
async def test_work_that_cannot_be_judged_is_wrong_where_the_solution_can(
    tmp_path: Path, where: str
) -> None:
    room, backend = room_of(concurrency=1)
    environment = Breakable(**WORKS[where])

    record = await attempted(prepared(tmp_path, Writes("touch trap"), environment, room))

    assert (record.scored.outcome, record.scored.reward) == ("wrong", 0.0)
    assert record.scored.failure == "model_error"
    tries = "three" if where == "fresh" else "two"
    said = f"in {tries} tries, and the problem's own solution can: the tests did not end"
    assert str(record.scored.error).endswith(said)
    assert (environment.solved, environment.judged) == (1, 4 if where == "fresh" else 3)
    assert (backend.most, len(backend.running)) == (1, 0)
    assert not list((tmp_path / "artifacts").glob("*probe*"))
    images = ["solving", "fresh", "fresh", "solving", "fresh", "fresh"]
    assert [spec.image for spec in backend.made] == (images if where == "fresh" else images[::3])


@pytest.mark.parametrize("where", WORKS)
@pytest.mark.parametrize(
    "solution",
    ["echo 42 > answer.txt; touch trap", "echo 41 > answer.txt", "touch trap"],
    ids=["not judged", "wrong", "nothing"],
)
async def test_nobody_is_blamed_where_the_solution_is_not_judged_as_right(
    tmp_path: Path, where: str, solution: str
) -> None:
    room, backend = room_of()
    environment = Breakable(**WORKS[where])
    environment.solution = solution

    record = await attempted(prepared(tmp_path, Writes("touch trap"), environment, room))

    assert (record.scored.outcome, record.scored.failure) == ("unscored", "scorer_error")
    assert "the tests did not end [tried twice" in str(record.scored.error)
    assert not backend.running


@pytest.mark.parametrize("error", [SandboxError("gone"), OSError("gone"), ValueError("a bug")])
async def test_nobody_is_blamed_where_the_solution_cannot_be_tried(
    tmp_path: Path, error: Exception
) -> None:
    room, backend = room_of()
    environment = Breakable(**CARRIED)
    environment.trouble = error

    record = await attempted(prepared(tmp_path, Writes("touch trap"), environment, room))

    assert record.scored.outcome == "unscored"
    assert not backend.running


async def test_work_in_whose_sandbox_nothing_can_be_done_any_more_is_wrong(tmp_path: Path) -> None:
    class Piped(TempSandbox):
        async def exec(self, command: Command, *args: Any, **more: Any) -> ExecResult:
            if (self.root / "workspace" / "trap").exists():
                msg = "what ran in the sandbox has put pipes in place of /etc/passwd"
                raise GracefulError(msg)
            return await super().exec(command, *args, **more)

    room, backend = room_of()
    backend.sandbox = Piped

    record = await attempted(prepared(tmp_path, Writes("touch trap"), Breakable(), room))

    assert (record.scored.outcome, record.scored.failure) == ("wrong", "model_error")
    assert "has put pipes" in str(record.scored.error)
    assert not backend.running


async def test_without_a_solution_it_counts_that_an_untouched_sandbox_is_judged(
    tmp_path: Path,
) -> None:
    room, _ = room_of()
    environment = Breakable(**CARRIED)
    environment.solution = None

    record = await attempted(prepared(tmp_path, Writes("touch trap"), environment, room))

    assert (record.scored.outcome, record.scored.failure) == ("wrong", "model_error")


async def test_an_agent_that_does_nothing_is_wrong_where_the_tests_need_its_program(
    tmp_path: Path,
) -> None:
    class Runs(Breakable):
        async def verify(
            self, response: str, expected: str, sandbox: Sandbox | None = None, **metadata: Any
        ) -> VerifyResult:
            assert sandbox is not None
            if (await sandbox.exec("test -e answer.txt")).return_code != 0:
                msg = "exit 127"
                raise NotJudged(msg)
            return await super().verify(response, expected, sandbox, **metadata)

    class HasNone(Runs):
        solution = None

    room, _ = room_of()
    (tmp_path / "none").mkdir()

    record = await attempted(prepared(tmp_path, Idle(), Runs(**CARRIED), room))
    unknown = await attempted(prepared(tmp_path / "none", Idle(), HasNone(**CARRIED), room))

    assert (record.scored.outcome, record.scored.reward) == ("wrong", 0.0)
    assert unknown.scored.outcome == "unscored"


async def test_tests_that_say_something_at_the_second_try_are_heard(tmp_path: Path) -> None:
    class Once(Breakable):
        async def verify(
            self, response: str, expected: str, sandbox: Sandbox | None = None, **metadata: Any
        ) -> VerifyResult:
            if self.judged == 0:
                self.judged = 1
                msg = "a hiccup"
                raise NotJudged(msg)
            return await super().verify(response, expected, sandbox, **metadata)

    room, _ = room_of()
    environment = Once(**CARRIED)

    record = await attempted(prepared(tmp_path, Writes(), environment, room))

    assert (record.scored.outcome, environment.solved) == ("correct", 0)


async def test_an_outage_that_passes_makes_no_answer_wrong(tmp_path: Path) -> None:
    class Out(Breakable):
        async def verify(
            self, response: str, expected: str, sandbox: Sandbox | None = None, **metadata: Any
        ) -> VerifyResult:
            if self.solved == 0:  # it is over when the solution is tried
                msg = "the package index does not answer"
                raise NotJudged(msg)
            return await super().verify(response, expected, sandbox, **metadata)

    room, backend = room_of()
    environment = Out(**CARRIED)
    waited: list[float] = []
    made = prepared(tmp_path, Writes(), environment, room)

    async def sleep(seconds: float) -> None:
        waited.append(seconds)
        assert len(backend.running) == 0
        await asyncio.sleep(0)

    made.sleep = sleep

    record = await attempted(made)

    assert (record.scored.outcome, environment.solved) == ("correct", 1)
    assert waited == [5.0, 10.0]


@pytest.mark.parametrize(("solution", "outcome"), [("echo 42 > answer.txt", "wrong"), (None, None)])
async def test_without_a_solution_nobody_is_blamed_for_time_that_was_up(
    tmp_path: Path, solution: str | None, outcome: str | None
) -> None:
    class Hangs(Breakable):
        async def verify(
            self, response: str, expected: str, sandbox: Sandbox | None = None, **metadata: Any
        ) -> VerifyResult:
            try:
                return await super().verify(response, expected, sandbox, **metadata)
            except NotJudged as error:
                raise NotJudged(str(error), timed_out=True) from error

    room, _ = room_of()
    environment = Hangs(**CARRIED)
    environment.solution = solution

    record = await attempted(prepared(tmp_path, Writes("touch trap"), environment, room))

    assert record.scored.outcome == (outcome or "unscored")


async def test_attempts_whose_tests_break_keep_nobody_from_a_slot(tmp_path: Path) -> None:
    room, backend = room_of(concurrency=1)
    environment = Breakable(**CARRIED)
    made = prepared(tmp_path, Writes("touch trap"), environment, room)

    keys = [AttemptKey("sums", problem, repeat) for problem in (0, 1) for repeat in range(3)]
    pending = await asyncio.gather(*(made.attempt(key) for key in keys))
    records = [made.finish(each) for each in pending]
    made.journal.close()

    assert [record.scored.outcome for record in records] == ["wrong"] * 6
    assert (backend.most, len(backend.running)) == (1, 0)


async def test_a_trial_explains_what_failed_before_it_and_nothing_later() -> None:
    now = [0.0]
    said: list[Found | None] = [None, Found.SOLVED, Found.UNSOUND]
    trials = Trials(lambda: now[0])

    async def ask() -> Found | None:
        now[0] += 10.0
        await asyncio.sleep(0)
        return said.pop(0)

    unknown = await trials.found(0, ask, since=0.0)
    together = await asyncio.gather(*(trials.found(0, ask, since=5.0) for _ in range(3)))
    during = await trials.found(0, ask, since=15.0)

    assert unknown is None
    assert together == [Found.SOLVED] * 3  # began at 10
    assert (during, said) == (Found.UNSOUND, [])
