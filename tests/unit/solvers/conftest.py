"""What tests of tool calls share."""

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.unit.solvers.process_sandbox import ProcessSandbox
from tests.unit.solvers.tool_bench import Bench


@pytest.fixture
def sandbox(tmp_path: Path) -> ProcessSandbox:
    """Commands are processes in a folder of the test's own."""
    return ProcessSandbox(tmp_path)


@pytest.fixture
def bench(sandbox: ProcessSandbox) -> Iterator[Bench]:
    """A scripted model, and that sandbox."""
    with ExitStack() as stack:
        yield Bench(sandbox, stack)
