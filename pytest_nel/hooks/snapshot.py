"""The suite file in the run's directory: whatever was measured can be run again as a file."""

import sys
from collections.abc import Mapping
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

from pytest_nel.config.interpolate import escape
from pytest_nel.config.overrides import masked_override
from pytest_nel.config.quick import anchored
from pytest_nel.config.snapshot import header_lines, write_suite
from pytest_nel.engine.past import Mode
from pytest_nel.hooks.models import overrides_of
from pytest_nel.hooks.state import BenchmarkRun, Run

SUITE_FILE = "suite.nel.yaml"


def header(run: Run) -> list[str]:
    """Who wrote the file, when and by which command; secrets masked."""
    command = ["pytest", *(str(arg) for arg in run.config.invocation_params.args)]
    lines = header_lines(version("pytest-nel"), datetime.now(tz=UTC), command)
    lines += [f"override: {masked_override(one)}" for one in overrides_of(run.config)]
    return [*lines, f"run: {run.id}", f"python: {sys.version.split()[0]}"]


def write_snapshot(run: Run) -> None:
    """Write suite.nel.yaml unless quick mode or another worker has already.

    A run that goes on says what it is now; what it was stands with records that were set aside.

    It says what the suites and the command line said, references unexpanded: a value that comes
    from the environment may be a secret.
    """
    path = run.directory / SUITE_FILE
    first = run.worker is None or run.worker.shard == 0
    goes_on = run.mode is Mode.RESUME and run.quick is None and run.turn > 1 and first
    if path.exists() and not goes_on:
        return
    raw: dict[str, Any] = {
        "services": run.written_services,
        "benchmarks": [_entry(bench) for bench in run.benchmarks.values()],
    }
    write_suite(raw, path, header=header(run))


def _entry(bench: BenchmarkRun) -> dict[str, Any]:
    name = bench.written["name"]
    if anchored(bench.plan.config.name, bench.node.path.parent) != bench.plan.config.name:
        name = f"{escape(str(bench.node.path.parent.absolute()))}/{name}"
    return {**bench.written, "name": name, **_scoring(bench)}


def _scoring(bench: BenchmarkRun) -> dict[str, Any]:
    """``scoring`` with its rubric files where they are, wherever the snapshot is run from."""
    metrics = bench.plan.config.scoring.metrics
    scoring = bench.written.get("scoring")
    if not isinstance(scoring, Mapping) or not isinstance(scoring.get("metrics"), list):
        return {}
    written = [dict(each) for each in scoring["metrics"]]
    for raw, metric in zip(written, metrics, strict=True):
        file = getattr(metric, "rubric_file", None)
        if file is not None and not Path(file).is_absolute():
            folder = escape(str(bench.node.path.parent.absolute()))
            raw["rubric_file"] = f"{folder}/{raw['rubric_file']}"
    return {"scoring": {**scoring, "metrics": written}}
