"""The suite file in the run's directory: whatever was measured can be run again as a file."""

import sys
from datetime import UTC, datetime
from importlib.metadata import version
from typing import Any

from pytest_nel.config.snapshot import header_lines, write_suite
from pytest_nel.hooks.state import BenchmarkRun, Run

SUITE_FILE = "suite.nel.yaml"


def header(run: Run) -> list[str]:
    """Who wrote the file, when and by which command; secrets masked."""
    command = ["pytest", *(str(arg) for arg in run.config.invocation_params.args)]
    lines = header_lines(version("pytest-nel"), datetime.now(tz=UTC), command)
    return [*lines, f"run: {run.id}", f"python: {sys.version.split()[0]}"]


def write_snapshot(run: Run) -> None:
    """Write suite.nel.yaml unless quick mode or another worker has already."""
    path = run.directory / SUITE_FILE
    if path.exists():
        return
    raw: dict[str, Any] = {
        "services": {
            name: {"type": spec.type, **spec.options} for name, spec in run.services.items()
        },
        "benchmarks": [_entry(bench) for bench in run.benchmarks.values()],
    }
    write_suite(raw, path, header=header(run))


def _entry(bench: BenchmarkRun) -> dict[str, Any]:
    config = bench.plan.config
    entry: dict[str, Any] = config.model_dump(mode="json", exclude_defaults=True)
    entry["solver"] = {"type": config.solver.type, **config.solver.options}
    return entry
