"""Runs the plugin once on the generated benchmark and checks that it did the work."""

import json
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from tests.perf.machine import ROOT, Measured, Running
from tests.perf.rows import write_benchmark
from tests.support.endpoint import RunningEndpoint

_ENTRY_POINT = (
    "from importlib.metadata import entry_points as e\n"
    "print(any(p.name == 'nel' for p in e(group='pytest11')))"
)


class CaseFailed(Exception):
    """A measured run did not do what it was measured at; its figure would mean nothing."""


@dataclass(frozen=True, slots=True)
class Load:
    """What a run is asked to do.

    Attributes:
        count: Problems.
        concurrency: Requests in flight, C.
        extra: Further pytest arguments; ``{out}`` is the run's scratch directory.
        probe: Whether the moments are noted inside; off where the whole command is timed.
        limit: Seconds after which the run is killed.
    """

    count: int
    concurrency: int = 64
    extra: Sequence[str] = ()
    probe: bool = True
    limit: float = 600.0


@dataclass(frozen=True, slots=True)
class PluginRun:
    """One run of the plugin: what the process cost, noted and asked of the endpoint."""

    cost: Measured
    moments: Mapping[str, float]
    stats: Mapping[str, Any]

    @property
    def run(self) -> float:
        """Seconds from the first request's arrival until the last item was reported."""
        return float(max(self.moments["reported"], self.stats["last"]) - self.stats["first"])


@cache
def loads_by_itself(python: str) -> bool:
    """Whether the plugin is installed there, so that pytest finds it as ``nel``."""
    command = [python, "-c", _ENTRY_POINT]
    return subprocess.run(command, capture_output=True, check=True).stdout.strip() == b"True"


def plugin_name(python: str) -> str:
    """What ``-p`` takes to load the plugin there."""
    return "nel" if loads_by_itself(python) else "pytest_nel.plugin"


def command_line(python: str, url: str, load: Load, out: Path) -> list[str]:
    """The command a user would type, and the probe."""
    line = [
        python, "-m", "pytest", "-p", plugin_name(python), "bench_perf.py",
        "--nel-model-url", url, "--nel-model-id", "m",
        "--nel-max-concurrent", str(load.concurrency), "--nel-output-dir", str(out / "results"),
        "-q",
    ]  # fmt: skip
    if load.probe:
        line += ["-p", "tests.perf.probe"]
    return line + [argument.format(out=out) for argument in load.extra]


@contextmanager
def started(python: str, endpoint: RunningEndpoint, load: Load) -> Iterator[tuple[Running, Path]]:
    """A run under way in a scratch directory, which lasts as long as the block."""
    with tempfile.TemporaryDirectory(prefix="nelspeed-") as folder:
        out = Path(folder)
        write_benchmark(out, load.count)
        env = {"PYTHONPATH": str(ROOT), "NEL_PERF_PROBE": str(out / "probe.json")}
        endpoint.reset()
        running = Running(
            command_line(python, endpoint.url, load, out), out / "output.log", env, out
        )
        try:
            yield running, out
        finally:
            if running.process.returncode is None:
                running.process.kill()
                running.process.wait()


def run_plugin(python: str, endpoint: RunningEndpoint, load: Load) -> PluginRun:
    """Run to the end.

    Raises:
        CaseFailed: It failed, asked too little or too much, or left results out.
    """
    with started(python, endpoint, load) as (running, out):
        cost = running.wait(load.limit)
        stats = endpoint.stats(slots=load.concurrency)
        check(cost, stats, load, written(out / "results"))
        moments = json.loads((out / "probe.json").read_text()) if load.probe else {}
    return PluginRun(cost, moments, stats)


def written(results: Path) -> int | None:
    """How many attempts are in the results files; None when there is no bundle beside them."""
    if not list(results.rglob("eval-*.json")):
        return None
    lines = 0
    for path in results.rglob("results.jsonl"):
        with path.open("rb") as file:
            lines += sum(1 for _ in file)
    return lines


def check(cost: Measured, stats: Mapping[str, Any], load: Load, records: int | None) -> None:
    """Refuse a run that did not do its work: exit 0, one paid answer and one record a problem."""
    found = {
        "exit": cost.status,
        "answered": stats["ok"],
        "distinct": stats["distinct"],
        "paid twice": stats["paid_twice"],
        "records": records,
    }
    wanted = {
        "exit": 0,
        "answered": load.count,
        "distinct": load.count,
        "paid twice": 0,
        "records": load.count,
    }
    if found != wanted:
        msg = f"expected {wanted}, got {found}; the end of its output:\n{cost.output[-2000:]}"
        raise CaseFailed(msg)
