"""What the tests of the service ``command`` share: what is served, and what it says."""

import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest

from pytest_nel.core.types import Endpoint
from pytest_nel.services.command import CommandService

SERVED = Path(__file__).parents[2] / "support" / "served.py"
LINUX = pytest.mark.skipif(sys.platform != "linux", reason="descendants are found in /proc")
Make = Callable[..., CommandService]


def line(fault: str = "") -> str:
    """The command that serves."""
    return f"exec {sys.executable} {SERVED} {{port}} {fault}"


def ask(endpoint: Endpoint, path: str) -> Any:
    """What the server tells about itself."""
    base = re.sub(r"(:\d+)/.*", r"\1", endpoint.url)
    return httpx.get(f"{base}/{path}", trust_env=False).json()


def log(tmp_path: Path) -> str:
    """The server's log."""
    return (tmp_path / "logs" / "server-mine.log").read_text()


def started(tmp_path: Path, word: str = "started") -> list[int]:
    """Processes that have named themselves in the log."""
    return [int(pid) for pid in re.findall(rf"^{word} (\d+)$", log(tmp_path), re.MULTILINE)]
