"""Rows that are not those of their bundle never pass."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pytest_nel.core.errors import ConfigError
from pytest_nel.records.sides import stored_run
from tests.support.stored import write_run
from tests.unit.gate.deciding import decided, policy_of, status_of

Row = dict[str, Any]
POLICY = policy_of("max_drop: 0.05")


def rewarded(rows: list[Row]) -> list[Row]:
    """Every reward is full, and the outcome is as it was."""
    return [{**row, "reward": 1.0} for row in rows]


def called_correct(rows: list[Row]) -> list[Row]:
    return [{**row, "reward": 1.0, "outcome": "correct"} for row in rows]


def better_copies(rows: list[Row]) -> list[Row]:
    """The wrong ones once more, and right."""
    return [*rows, *called_correct([row for row in rows if row["reward"] == 0.0])]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (rewarded, "have the mean 1.000000, the bundle says 0.800000"),
        (called_correct, "has 400 correct rows, the bundle counts 320"),
        (better_copies, "80 lines are about attempts that have one already"),
        (lambda rows: [*rows, rows[0]], "1 lines are about attempts that have one already"),
    ],
)
def test_rows_that_were_changed_by_hand_never_pass(
    tmp_path: Path, change: Callable[[list[Row]], list[Row]], said: str
) -> None:
    base = write_run(tmp_path / "base", [1.0] * 320 + [0.0] * 80)
    cand = write_run(tmp_path / "cand", [1.0] * 320 + [0.0] * 80)
    assert decided(POLICY, cand, base).verdict == "GO"
    path = cand / "mmlu" / "results.jsonl"
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    path.write_text("".join(f"{json.dumps(row)}\n" for row in change(rows)))

    report = decided(POLICY, cand, base)

    assert status_of(report) == ("INSUFFICIENT_EVIDENCE", "INCONCLUSIVE")
    assert said in "; ".join(report.rows[0].reasons)


def test_a_bundle_of_ours_without_its_fingerprint_is_refused(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", [1.0] * 20, bundle={"fingerprint": {}})

    with pytest.raises(ConfigError, match="its fingerprint is missing"):
        stored_run(run)


def test_a_run_without_bundles_says_how_to_make_them(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", [1.0] * 20)
    next(run.glob("mmlu/eval-*.json")).unlink()
    (run / "mmlu" / "plan.json").write_text("{}")

    with pytest.raises(ConfigError, match=r"nel eval report --rebuild .*/run makes them"):
        stored_run(run)
