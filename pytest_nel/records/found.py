"""Runs as they are found on a disk: where they are, and plans that others may have damaged."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pytest_nel.core.errors import ConfigError
from pytest_nel.core.types import JsonObject
from pytest_nel.records.files import PLAN, planned, read_plan
from pytest_nel.records.journal import journal_files, natural
from pytest_nel.records.rundir import RUN, read_run

MERGE = "merge.json"
"""Stands in a directory that was merged from others."""
MERGED = "merged"
"""Where the parts of a run are merged, unless another place is named."""
_KINDS: Mapping[str, type] = {
    "benchmark": str,
    "problems": list,
    "repeats": int,
    "config": dict,
    "fingerprint": dict,
}


def is_run(directory: Path) -> bool:
    """Whether it holds benchmarks that were planned."""
    return not (directory / PLAN).exists() and bool(planned(directory))


def runs_below(directory: Path) -> list[Path]:
    """Run directories one level down, ``shard_10`` after ``shard_9``; what was merged is no part.

    One that was begun and holds nothing yet is there, too.
    """
    found = [
        path
        for path in directory.iterdir()
        if not path.name.startswith(".")
        and path.is_dir()
        and not (path / MERGE).exists()
        and ((path / RUN).is_file() or is_run(path))
    ]
    return sorted(found, key=lambda path: natural(path.name))


def refuse_no_run(directory: Path) -> None:
    """Refuse what is no run directory.

    Raises:
        ConfigError: It is none; the message says what it is.
    """
    if not directory.is_dir():
        msg = f"no such directory: {directory}"
        raise ConfigError(msg)
    if (directory / PLAN).exists():
        msg = f"{directory} is one benchmark of a run: name the run's directory, {directory.parent}"
        raise ConfigError(msg)
    if not is_run(directory):
        msg = f"{directory} holds no run: there is no <benchmark>/{PLAN} in it"
        raise ConfigError(msg)


def load_plan(directory: Path) -> JsonObject:
    """The object of a benchmark's plan.json.

    Raises:
        ConfigError: It cannot be read, or is not what a run has written.
    """
    path = directory / PLAN
    try:
        plan = read_plan(directory)
    except (OSError, ValueError) as error:
        msg = f"{path}: cannot be read: {error}"
        raise ConfigError(msg) from error
    trouble = _trouble(plan)
    if trouble is not None:
        msg = f"{path}: damaged: {trouble}"
        raise ConfigError(msg)
    return plan


def _trouble(plan: object) -> str | None:
    if not isinstance(plan, dict):
        return f"expected an object, got {type(plan).__name__}"
    for name, kind in _KINDS.items():
        if not isinstance(plan.get(name), kind):
            return f"{name}: expected {kind.__name__}, got {plan.get(name)!r}"[:200]
    if not all(isinstance(problem, int) for problem in plan["problems"]):
        return "problems: expected numbers"
    shard = plan.get("shard")
    if shard is not None and not _is_shard(shard):
        return f"shard: expected [index, count], got {shard!r}"[:200]
    return None


def _is_shard(value: object) -> bool:
    if not (isinstance(value, list) and len(value) == 2):
        return False
    index, count = value
    return isinstance(index, int) and isinstance(count, int) and 0 <= index < count


def facts_of(run_dir: Path) -> JsonObject:
    """What bundles say about the run: run_id, timestamp, turns.

    A run of :func:`~pytest_nel.run_evaluation` has no run.json: its journals say it.

    Raises:
        ConfigError: run.json or a plan cannot be understood.
    """
    there = read_run(run_dir)
    facts: JsonObject
    if there is not None:
        facts = {"run_id": there.run_id, "timestamp": there.timestamp}
    else:
        said = _first_meta(run_dir)
        facts = {
            "run_id": said.get("run_id", run_dir.name),
            "timestamp": said.get("timestamp", ""),
        }
    turns = [load_plan(directory).get("turn") for directory in planned(run_dir)]
    known = [turn for turn in turns if isinstance(turn, int)]
    return facts | ({"turns": max(known)} if known else {})


def _first_meta(run_dir: Path) -> Mapping[str, Any]:
    for directory in planned(run_dir):
        for path in journal_files(directory / "journal"):
            with path.open("rb") as file:
                line = file.readline()
            try:
                row = json.loads(line)
            except ValueError:
                continue
            if isinstance(row, dict) and row.get("_type") == "meta":
                return row
    return {}
