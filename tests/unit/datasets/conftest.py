"""A hub for the module, and a user for the test."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.fake_hub import FakeHub
from tests.support.hub_desk import Desk


@pytest.fixture(scope="module")
def server() -> Iterator[FakeHub]:
    with FakeHub() as hub:
        yield hub


@pytest.fixture
def desk(server: FakeHub, tmp_path: Path) -> Desk:
    server.datasets.clear()
    server.faults.clear()
    server.seen.clear()
    server.members.clear()
    server.names_only = False
    return Desk(server, tmp_path / "cache")
