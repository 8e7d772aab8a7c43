"""A pytest plugin that notes when things happened in a measured run, and its peak memory.

``pytest -p tests.perf.probe`` with NEL_PERF_PROBE=FILE writes FILE at the end. It costs a clock
reading per item.
"""

import json
import os
import time
from pathlib import Path

import pytest


class Probe:
    """Remembers the moments; seconds on the monotonic clock."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.items = 0
        self.moments = {"configured": time.monotonic()}

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection(self) -> None:
        """Collection begins."""
        self.moments["collecting"] = time.monotonic()

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """All items are there; before pytest_collection_finish, where solving may begin."""
        self.moments["collected"] = time.monotonic()
        self.items = len(items)

    @pytest.hookimpl(trylast=True)
    def pytest_runtest_logfinish(self) -> None:
        """An item has been reported; the last call stands."""
        self.moments["reported"] = time.monotonic()

    @pytest.hookimpl(trylast=True)
    def pytest_unconfigure(self) -> None:
        """Everything is written: take the peak and write it down."""
        cpu = os.times()
        found = {
            **self.moments,
            "ended": time.monotonic(),
            "items": self.items,
            "cpu": cpu.user + cpu.system,
            "peak_mb": peak_mb(),
        }
        self.path.write_text(json.dumps(found), encoding="utf-8")


def peak_mb() -> float:
    """The most memory this process ever had resident, in MB of 10**6 bytes."""
    for line in Path("/proc/self/status").read_text(encoding="ascii").splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) * 1024 / 1e6
    msg = "no VmHWM in /proc/self/status: the probe runs on Linux only"
    raise OSError(msg)


def pytest_configure(config: pytest.Config) -> None:
    """Watch when the environment says where to write."""
    if path := os.environ.get("NEL_PERF_PROBE"):
        config.pluginmanager.register(Probe(Path(path)), "nel-perf-probe")
