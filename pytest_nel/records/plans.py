"""plan.json: what was to be attempted, written once a turn and checked whenever it is read."""

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from pytest_nel.core.errors import ConfigError
from pytest_nel.core.types import JsonObject
from pytest_nel.records.record import dumps
from pytest_nel.records.whole import whole

PLAN = "plan.json"
_WAY_OUT = "; move it away: the next run with --nel-resume makes it again"
_KINDS: Mapping[str, type] = {
    "benchmark": str,
    "problems": list,
    "repeats": int,
    "config": dict,
    "fingerprint": dict,
    "suite": str,  # may be missing: a run without pytest has none
}


def write_plan(directory: Path, plan: Mapping[str, Any]) -> None:
    """Write plan.json, whole or not at all."""
    directory.mkdir(parents=True, exist_ok=True)
    with whole(directory / PLAN) as file:
        file.write(dumps(plan))


def read_plan(directory: Path) -> JsonObject:
    """The object of a benchmark's plan.json.

    Raises:
        ConfigError: It cannot be read, or is not what a run has written.
    """
    path = directory / PLAN
    try:
        plan: JsonObject = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        msg = f"{path}: cannot be read: {error}{_WAY_OUT}"
        raise ConfigError(msg) from error
    trouble = _trouble(plan)
    if trouble is not None:
        msg = f"{path}: damaged: {trouble}{_WAY_OUT}"
        raise ConfigError(msg)
    return plan


def _trouble(plan: object) -> str | None:
    if not isinstance(plan, dict):
        return f"expected an object, got {type(plan).__name__}"
    for name, kind in _KINDS.items():
        if not isinstance(plan.get(name, "" if name == "suite" else None), kind):
            return f"{name}: expected {kind.__name__}, got {plan.get(name)!r}"[:200]
    numbers = [*plan["problems"], plan.get("turn", 0), plan["config"].get("max_unscored", 0)]
    if not all(isinstance(number, int) for number in numbers):
        return "problems, turn, max_unscored: expected numbers"
    for name, fits, wanted in _OPTIONAL:
        value = plan.get(name)
        if value is not None and not fits(value):
            return f"{name}: expected {wanted}, got {value!r}"[:200]
    return None


def _are_prices(value: object) -> bool:
    if not isinstance(value, dict) or not isinstance(value.get("currency"), str):
        return False
    return all(isinstance(value.get(name), int | float) for name in ("prompt", "completion"))


def _is_shard(value: object) -> bool:
    if not (isinstance(value, list) and len(value) == 2):
        return False
    index, count = value
    return isinstance(index, int) and isinstance(count, int) and 0 <= index < count


_OPTIONAL: Sequence[tuple[str, Callable[[object], bool], str]] = (
    ("prices", _are_prices, "prompt, completion and currency"),
    ("shard", _is_shard, "[index, count]"),
)


def planned(run_dir: Path) -> list[Path]:
    """The benchmark directories of a run, in name order."""
    return sorted(path.parent for path in run_dir.glob(f"*/{PLAN}"))


def plan_of(directory: Path) -> JsonObject | None:
    """The object of plan.json, None where there is none."""
    return read_plan(directory) if (directory / PLAN).is_file() else None
