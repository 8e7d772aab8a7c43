"""Services that are stopped whatever a test does."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pytest_nel.services.command import CommandService
from tests.unit.services.commands import Make, line


@pytest.fixture
def make(tmp_path: Path) -> Iterator[Make]:
    """Make services named ``mine``; all are stopped whatever the test does."""
    made = []

    def build(fault: str = "", **options: Any) -> CommandService:
        given = {"command": line(fault), "protocol": "chat_completions", **options}
        config = CommandService.Config.model_validate(given)
        made.append(CommandService("mine", config, log_dir=tmp_path / "logs"))
        return made[-1]

    yield build
    for service in made:
        service.stop()
