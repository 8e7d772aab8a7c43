"""A folder to measure in, and the mock endpoint it measures."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.plugin.running import Nel
from tests.support.endpoint import RunningEndpoint, running_endpoint

ANSWERS = Path(__file__).parent / "answers.py"


@pytest.fixture(scope="session")
def shared_endpoint() -> Iterator[RunningEndpoint]:
    """Repeats what it is asked, at once."""
    with running_endpoint(script=str(ANSWERS)) as endpoint:
        yield endpoint


@pytest.fixture
def endpoint(shared_endpoint: RunningEndpoint) -> RunningEndpoint:
    """The endpoint with its counters at zero."""
    shared_endpoint.reset()
    return shared_endpoint


@pytest.fixture
def nel(tmp_path: Path, shared_endpoint: RunningEndpoint) -> Nel:
    """An empty folder whose pytest.ini keeps pytest from looking further up."""
    (tmp_path / "pytest.ini").write_text("[pytest]\n", encoding="utf-8")
    return Nel(tmp_path, shared_endpoint.url)


@pytest.fixture(params=[[], ["-p", "xdist", "-n2"]], ids=["plain", "n2"])
def how(request: pytest.FixtureRequest) -> list[str]:
    """One process, or two workers; ``-n0`` is one process, and has a test of its own."""
    args: list[str] = request.param
    return args
