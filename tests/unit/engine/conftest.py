from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from pytest_nel.authoring.benchmark import Benchmark
from pytest_nel.core.types import Endpoint
from pytest_nel.engine.run import run_evaluation
from pytest_nel.http.client import ModelClient
from pytest_nel.http.retry import Exponential, Retry
from pytest_nel.solvers.simple import SimpleSolver
from tests.support.endpoint import RunningEndpoint, running_endpoint
from tests.unit.engine.judging import Bench, Judge
from tests.unit.engine.parts import Measured, forty_two, lines
from tests.unit.http.raw_server import RawServer, Step

GRADER = Path(__file__).parents[2] / "support" / "grader.py"


@pytest_asyncio.fixture
async def measure(tmp_path: Path) -> AsyncIterator[Callable[..., Awaitable[Measured]]]:
    """Play steps to the simple solver in a whole run; the run's files come back."""
    servers: list[RawServer] = []

    async def run(
        *steps: Step, benchmark: Benchmark | None = None, attempts: int = 3, **endpoint: Any
    ) -> Measured:
        server = RawServer(list(steps))
        await server.start()
        servers.append(server)
        settings = {"shuffle_seed": None, **endpoint.pop("settings", {})}
        facts = {"name": "s", "url": server.url, "model": "m", "protocol": "chat_completions"}
        client = ModelClient(
            Endpoint(**facts | endpoint),
            retry=Retry(attempts, wait=Exponential(0.01)),
        )
        solver = SimpleSolver(client, SimpleSolver.Config(service="s"))
        folder = tmp_path / f"run{len(servers)}"
        bundle = await run_evaluation(benchmark or forty_two(), solver, folder, **settings)
        name = bundle["benchmark"]["name"]
        files = folder / name
        return Measured(
            bundle,
            lines(files / "results.jsonl"),
            lines(files / "trajectories.jsonl"),
            server,
            files,
        )

    yield run
    for server in servers:
        await server.stop()


@pytest.fixture(scope="module")
def shared_grader() -> Iterator[RunningEndpoint]:
    with running_endpoint(script=str(GRADER)) as endpoint:
        yield endpoint


@pytest.fixture
def grader(shared_grader: RunningEndpoint) -> RunningEndpoint:
    shared_grader.reset()
    return shared_grader


@pytest_asyncio.fixture(params=["plain", "by way of interceptors"])
async def judged(
    tmp_path: Path, grader: RunningEndpoint, request: pytest.FixtureRequest
) -> AsyncIterator[Judge]:
    """Make an attempt whose answer is given, and have metrics judge it."""
    counts = {"interceptors": [{"name": "turn_counter"}]}  # and does nothing else
    bench = Bench(tmp_path, grader.url, {} if request.param == "plain" else {"proxy": counts})
    yield bench.judge
    for parts in bench.opened:
        await parts.close_async()
