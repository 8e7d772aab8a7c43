from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
import pytest_asyncio

from tests.support.endpoint import RunningEndpoint, running_endpoint
from tests.unit.engine.judging import Bench, Judge


@pytest.fixture(scope="module")
def recorded() -> Iterator[RunningEndpoint]:
    """A judge that says what an answer tells it to say: ``recorded_judge.py``."""
    with running_endpoint(script=str(Path(__file__).with_name("recorded_judge.py"))) as endpoint:
        yield endpoint


@pytest_asyncio.fixture
async def judged(tmp_path: Path, recorded: RunningEndpoint) -> AsyncIterator[Judge]:
    """Make an attempt whose answer is given, and have metrics judge it."""
    recorded.reset()
    bench = Bench(tmp_path, recorded.url, {})
    yield bench.judge
    for parts in bench.opened:
        await parts.close_async()
