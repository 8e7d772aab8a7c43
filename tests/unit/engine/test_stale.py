"""What a run that goes on keeps of problems that a server does not give, now or before."""

from pathlib import Path
from typing import Any

import pytest

from pytest_nel.core.errors import InfraError
from pytest_nel.core.protocols import EvalEnvironment
from pytest_nel.core.sandbox import Sandbox
from pytest_nel.core.types import SeedResult, SolveResult, VerifyResult
from pytest_nel.engine.run import run_evaluation

pytestmark = pytest.mark.asyncio


class Remote(EvalEnvironment):
    """Three problems of a server, which does not give all of them."""

    def __init__(self, *down: int, scorer: str = "one") -> None:
        self.name = "remote"
        self._down = down
        self._scorer = scorer

    async def dataset_size(self) -> int:
        return 3

    async def seed(self, idx: int) -> SeedResult:
        if idx in self._down:
            msg = "no answer"
            raise InfraError(msg, retryable=False)
        return SeedResult(f"{idx}?", str(idx))

    async def verify(
        self, response: str, expected: str, sandbox: Sandbox | None = None, **metadata: Any
    ) -> VerifyResult:
        del sandbox, metadata
        return VerifyResult(float(response == expected), response)

    def judging(self) -> dict[str, str]:
        return {"scorer": self._scorer}


class Answers:
    """Right ones; remembers who asked."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    async def solve(self, seed: SeedResult, sandbox: Sandbox) -> SolveResult:
        del sandbox
        self.asked.append(seed.prompt)
        return SolveResult(seed.prompt.removesuffix("?"))


async def measured(directory: Path, environment: Remote) -> tuple[list[str], dict[int, str], str]:
    """Who was asked, what became of each problem, and all that the journals say."""
    solver, outcomes = Answers(), {}

    def keep(record: Any) -> None:
        outcomes[record.solved.key.problem_idx] = record.scored.outcome

    await run_evaluation(environment, solver, directory, on_record=keep, resume=True)
    return sorted(solver.asked), outcomes, journals(directory)


def journals(directory: Path) -> str:
    """All that they say."""
    return "".join(file.read_text("utf-8") for file in directory.rglob("journal/*.jsonl"))


async def test_an_attempt_that_got_no_problem_is_made_and_nothing_is_dropped_for_it(
    tmp_path: Path,
) -> None:
    await measured(tmp_path, Remote(1))

    asked, outcomes, written = await measured(tmp_path, Remote())

    assert asked == ["1?"]
    assert outcomes == {0: "correct", 1: "correct", 2: "correct"}
    assert '"dropped"' not in written


async def test_what_was_judged_stands_when_the_server_does_not_give_the_problem_again(
    tmp_path: Path,
) -> None:
    await measured(tmp_path, Remote())

    _, _, written = await measured(tmp_path, Remote(1))
    asked, outcomes, _ = await measured(tmp_path, Remote())

    assert '"dropped"' not in written
    assert asked == []
    assert outcomes == {0: "correct", 1: "correct", 2: "correct"}


async def test_by_another_scorer_nothing_stands_that_cannot_be_judged_again(
    tmp_path: Path,
) -> None:
    await measured(tmp_path, Remote())

    _, outcomes, written = await measured(tmp_path, Remote(1, scorer="two"))

    assert written.count('"_type":"dropped"') == 3
    assert outcomes[1] == "unscored"
