"""Solvers, environments and runners that a test sets up in one line."""

import asyncio
import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pytest_nel.authoring.benchmark import Benchmark
from pytest_nel.config.schema import BenchmarkConfig, PluginSpec
from pytest_nel.core.protocols import EvalEnvironment
from pytest_nel.core.sandbox import Sandbox
from pytest_nel.core.types import AttemptKey, ScorerInput, SeedResult, SolveResult, VerifyResult
from pytest_nel.engine.attempt import AttemptRunner
from pytest_nel.engine.guard import Guard
from pytest_nel.engine.plan import make_plan
from pytest_nel.environments.builtin import BenchmarkEnvironment
from pytest_nel.records.journal import JournalWriter
from pytest_nel.records.record import StepRecord
from tests.unit.http.raw_server import RawServer

KEY = AttemptKey("sums", 0, 0)


def sums(scorer: Any = None, **changes: Any) -> Benchmark:
    """A benchmark of four sums; the scorer is that of a user."""
    rows = [
        {"id": f"s{i}", "question": f"{i}+{i}", "target": str(2 * i), "category": "ab"[i % 2]}
        for i in range(4)
    ]
    given: dict[str, Any] = {
        "name": "sums",
        "dataset": rows,
        "prompt": "{question}",
        "scorer": scorer,
    }
    return Benchmark(**given | changes)


class Sums(EvalEnvironment):
    """The same written as a class, judged by ``judge(response, expected)``."""

    name = "sums"

    def __init__(self, judge: Callable[[str, str], Any]) -> None:
        self.judge = judge

    def __len__(self) -> int:
        return 4

    async def seed(self, idx: int) -> SeedResult:
        return SeedResult(f"{idx}+{idx}", str(2 * idx), {"category": "ab"[idx % 2]})

    async def verify(
        self, response: str, expected: str, sandbox: Sandbox | None = None, **metadata: Any
    ) -> VerifyResult:
        del sandbox, metadata
        await asyncio.sleep(0)
        judged: VerifyResult = self.judge(response, expected)
        return judged


class Says:
    """A solver that returns or raises what it was given; a list is gone through call by call."""

    def __init__(self, *what: object) -> None:
        self.what = list(what)
        self.calls = 0

    async def solve(self, seed: SeedResult, sandbox: Sandbox) -> SolveResult:
        del seed, sandbox
        said: Any = self.what[min(self.calls, len(self.what) - 1)]
        self.calls += 1
        await asyncio.sleep(0)
        if isinstance(said, BaseException):
            raise said
        return SolveResult(said) if isinstance(said, str) else said


class Doubles:
    """A solver that knows the answers."""

    async def solve(self, seed: SeedResult, sandbox: Sandbox) -> SolveResult:
        del sandbox
        await asyncio.sleep(0)
        return SolveResult(str(2 * int(seed.prompt.partition("+")[0])))


def runner(folder: Path, solver: Any, benchmark: Any = None, **settings: Any) -> AttemptRunner:
    """What the attempts of one benchmark share; waits between tries take no time."""
    made = sums() if benchmark is None else benchmark
    environment = (
        made if isinstance(made, EvalEnvironment) else BenchmarkEnvironment(made, base=folder)
    )
    size = len(environment) if isinstance(environment, BenchmarkEnvironment) else 4
    config = BenchmarkConfig(name="sums", solver=PluginSpec(type="custom"), **settings)
    plan = make_plan(config, environment, size)
    journal = JournalWriter(folder / "sums" / "journal" / "main.jsonl", {"benchmark": "sums"})
    return AttemptRunner(plan, solver, journal, Guard(20), sleep=lambda _: asyncio.sleep(0))


async def attempted(
    folder: Path, solver: Any, benchmark: Any = None, *, key: AttemptKey = KEY, **settings: Any
) -> StepRecord:
    """Make one attempt to its end."""
    made = runner(folder, solver, benchmark, **settings)
    try:
        return made.finish(await made.attempt(key))
    finally:
        made.journal.close()


@dataclass(frozen=True, slots=True)
class Measured:
    """What a run has left behind."""

    bundle: dict[str, Any]
    rows: list[dict[str, Any]]
    steps: list[dict[str, Any]]
    server: RawServer
    folder: Path

    @property
    def row(self) -> dict[str, Any]:
        """The only attempt."""
        (only,) = self.rows
        return only


def last_number(sample: ScorerInput) -> VerifyResult:
    found = re.findall(r"\d+", sample.response)
    if not found:
        return VerifyResult(0.0, parsed=False)
    return VerifyResult(float(found[-1] == sample.target), found[-1])


def forty_two(problems: int = 1, **changes: Any) -> Benchmark:
    rows = [{"id": f"q{i}", "question": f"{i}: 6*7?", "target": "42"} for i in range(problems)]
    given: dict[str, Any] = {
        "name": "ft",
        "dataset": rows,
        "prompt": "{question}",
        "scorer": last_number,
    }
    return Benchmark(**given | changes)


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
