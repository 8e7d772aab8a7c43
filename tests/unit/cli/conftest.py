"""A place for runs that are over, or seem to run."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from pytest_nel.cluster.runs import RunStore
from tests.support.processes import until


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder, with a store of runs of its own."""
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    return tmp_path


@pytest.fixture
def store(place: Path) -> RunStore:
    """That store."""
    return RunStore(place / "data" / "nel" / "runs")


@pytest.fixture
def sleeper(tmp_path: Path) -> "Iterator[subprocess.Popen[bytes]]":
    """A process that ends with 7 when it is asked to, as a run does."""
    code = (
        "import signal, sys, time; from pathlib import Path\n"
        "signal.signal(signal.SIGTERM, lambda *_: sys.exit(7))\n"
        f"Path({str(tmp_path / 'up')!r}).touch(); time.sleep(60)"
    )
    with subprocess.Popen([sys.executable, "-c", code]) as process:
        assert until((tmp_path / "up").exists)
        yield process
        process.kill()
