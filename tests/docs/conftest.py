"""The endpoint at which the models of the how-to pages answer."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.endpoint import RunningEndpoint, running_endpoint


@pytest.fixture(scope="session")
def endpoint() -> Iterator[RunningEndpoint]:
    """Answers for all models; which one is meant stands in the request."""
    with running_endpoint(script=str(Path(__file__).parent / "answers.py")) as endpoint:
        yield endpoint
