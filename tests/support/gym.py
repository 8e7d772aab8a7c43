"""A served benchmark without sockets: the application, and the client that asks it."""

import asyncio
import importlib
import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import httpx

from pytest_nel.authoring.benchmark import Benchmark
from pytest_nel.config.schema import BenchmarkConfig, PluginSpec
from pytest_nel.core.errors import DataError
from pytest_nel.core.protocols import EvalEnvironment
from pytest_nel.core.sandbox import Sandbox
from pytest_nel.core.types import JsonObject, SeedResult, SolveResult
from pytest_nel.engine.judge_plan import with_rubrics
from pytest_nel.engine.loop import LoopThread
from pytest_nel.engine.run import run_evaluation
from pytest_nel.environments._gym_http import GymClient
from pytest_nel.environments.builtin import BenchmarkEnvironment
from pytest_nel.environments.gym import GymEnvironment
from pytest_nel.serve.export import export
from pytest_nel.serve.gym import GymApp
from pytest_nel.serve.ready import planned, serving
from pytest_nel.serve.served import Scorers, Served

URL = "http://served"


def served(environment: EvalEnvironment, **more: Any) -> Served:
    """An environment as a server has it."""
    config = BenchmarkConfig(name=environment.name, solver=PluginSpec(type="custom"))
    loop = LoopThread("nel-test")
    try:
        plan, size = planned(config, environment, loop)
    finally:
        loop.close()
    return Served(plan, size, score=Scorers(more.pop("threads", 1)).score, **more)


class Across(httpx.AsyncBaseTransport):
    """Asks an application that lives on a loop of its own."""

    def __init__(self, app: GymApp, loop: LoopThread) -> None:
        self._inner = httpx.ASGITransport(app=app.asgi, raise_app_exceptions=False)
        self._loop = loop

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Have it answered there."""
        work = self._loop.submit(self._inner.handle_async_request(request))
        return await asyncio.wrap_future(work)


@dataclass(frozen=True)
class Hosted:
    """A benchmark as ``nel serve`` has it, but for the socket."""

    served: Served
    loop: LoopThread

    def asked(self, name: str = "gym://served:1", **params: Any) -> GymEnvironment:
        """The environment of a client."""
        made = GymEnvironment.from_name(name, base=Path.cwd(), limit=None, params=params)
        made.at(URL, GymClient(URL, transport=Across(GymApp(self.served), self.loop)))
        return made


@contextmanager
def hosted(
    environment: EvalEnvironment, services: Mapping[str, Any] | None = None, **entry: Any
) -> Iterator[Hosted]:
    """Serve an environment with the fields of a suite's entry."""
    given = {"name": environment.name, "solver": {"type": "custom"}, **entry}
    config = with_rubrics(BenchmarkConfig.model_validate(given), Path.cwd())
    specs = {name: PluginSpec.model_validate(spec) for name, spec in (services or {}).items()}
    loop = LoopThread("nel-test-server")
    try:
        with serving(config, environment, specs, loop=loop) as made:
            yield Hosted(made, loop)
    finally:
        loop.close()


def exported(app: Served, directory: Path) -> Path:
    """The file of its problems."""
    loop = LoopThread("nel-test")
    try:
        return export(app, directory, loop)
    finally:
        loop.close()


@dataclass(frozen=True)
class Scripted:
    """Answers the n-th repeat of a problem with the n-th form, filled with the gold answer."""

    forms: Sequence[str]

    async def solve(self, seed: SeedResult, sandbox: Sandbox) -> SolveResult:
        del sandbox
        assert seed.attempt is not None
        form = self.forms[seed.attempt.repeat]
        return SolveResult(form.replace("{}", _first(seed.expected_answer)))


def _first(expected: str) -> str:
    """A gold answer, or the first of those that a list holds."""
    try:
        found: Any = json.loads(expected)
    except ValueError:
        return expected
    while isinstance(found, list) and found:
        found = found[0]
    return found if isinstance(found, str) else expected


async def records(
    environment: EvalEnvironment, forms: Sequence[str], directory: Path, **settings: Any
) -> list[JsonObject]:
    """What a run makes of the scripted answers: what is judged, and how."""
    found: list[JsonObject] = []

    def keep(record: Any) -> None:
        solved, scored = record.solved, record.scored
        found.append(
            {
                "problem": solved.key.problem_idx,
                "repeat": solved.key.repeat,
                "prompt": solved.prompt,
                "expected": solved.expected,
                "response": solved.response,
                "outcome": scored.outcome,
                "reward": scored.reward,
                "extracted": scored.extracted,
                "details": dict(scored.details),
                "error": scored.error,
            }
        )

    await run_evaluation(
        environment,
        Scripted(forms),
        directory,
        on_record=keep,
        repeats=len(forms),
        max_concurrent=8,
        max_system_retries=1,
        **settings,
    )
    return found


def rows_for(benchmark: Benchmark, more: Sequence[JsonObject] = ()) -> list[JsonObject]:
    """Rows that it takes, among all that the tests of benchmarks have written down."""
    folder = Path(__file__).parents[1] / "benchmarks"
    candidates = list(more)
    for file in sorted(folder.glob("test_*.py")):
        if file.stem == "test_served":
            continue
        for value in vars(importlib.import_module(f"tests.benchmarks.{file.stem}")).values():
            several = value if isinstance(value, list) else [value]
            candidates += [one for one in several if isinstance(one, dict)]
    found: list[JsonObject] = []
    for row in candidates:
        if len(found) < 6 and _fit(benchmark, [*found, row]):
            found.append(row)
    return found


def _fit(benchmark: Benchmark, rows: list[JsonObject]) -> bool:
    try:
        BenchmarkEnvironment(replace(benchmark, dataset=rows))
    except DataError:
        return False
    return True
