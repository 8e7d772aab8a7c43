"""A relative limit is asked about whatever the baseline is; where it need not be, that is said."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from pytest_nel.gate.drop import judge_drop
from pytest_nel.gate.findings import Finding
from pytest_nel.gate.pairs import pair
from pytest_nel.gate.policy import Thresholds
from tests.unit.gate.deciding import finding_of, gate, side, status_of

OPEN = ("INSUFFICIENT_EVIDENCE", "INCONCLUSIVE")
RELATIVE = "max_relative_drop: 0.1"


def relative(
    base: Sequence[float | None], cand: Sequence[float | None], **limits: object
) -> Finding:
    """What is found of a relative limit of a tenth."""
    pairs = pair(side([[one] for one in base]), side([[one] for one in cand]))
    chosen = Thresholds.model_validate({"max_drop": None, "max_relative_drop": 0.1, **limits})
    [found] = judge_drop(pairs, chosen).findings
    return found


def test_a_baseline_without_any_score_leaves_a_relative_limit_open(tmp_path: Path) -> None:
    limits = f"max_drop: null, {RELATIVE}, min_score: 0.5"

    report = gate(tmp_path, [None] * 500, [1.0] * 500, limits)

    assert status_of(report) == OPEN
    assert finding_of(report, "max_relative_drop").status == "INSUFFICIENT_EVIDENCE"


def test_a_guard_spares_no_baseline_that_may_be_below_it(tmp_path: Path) -> None:
    """100 of 450 are 0.22; with the 400 that are missing it may be 0.12."""
    base = [1.0] * 100 + [0.0] * 350 + [None] * 400
    limits = f"max_drop: 0.9, {RELATIVE}, relative_guard_below: 0.22"

    report = gate(tmp_path, base, [1.0] * 80 + [0.0] * 770, limits)

    found = finding_of(report, "max_relative_drop")
    assert status_of(report) == OPEN
    assert found.reason.endswith(
        "the baseline is 0.1176 to 0.5882, and may not be below relative_guard_below 0.22"
    )


def test_a_guard_spares_a_baseline_that_is_above_it_even_with_gaps() -> None:
    base = [1.0] * 400 + [0.0] * 99 + [None]

    found = relative(base, [0.0] * 500, relative_guard_below=0.5)

    assert (found.status, found.reason) == (
        "PASS",
        "baseline 0.8000 to 0.8020 is not below relative_guard_below 0.5: not asked",
    )


def test_a_baseline_of_zero_with_gaps_may_have_something_to_lose() -> None:
    found = relative([0.0] * 100 + [None] * 400, [0.0] * 500)

    assert found.status == "INSUFFICIENT_EVIDENCE"


def test_of_a_baseline_of_zero_nothing_can_be_lost_and_that_is_said() -> None:
    found = relative([0.0] * 500, [0.0] * 500)

    assert (found.status, found.reason) == (
        "PASS",
        "the baseline is 0, of which nothing can be lost: not asked",
    )


@pytest.mark.parametrize(
    ("after", "direction", "status"),
    [
        (-5.0, "higher_is_better", "BREACH"),
        (-4.2, "higher_is_better", "PASS"),
        (-3.0, "lower_is_better", "BREACH"),
        (-3.8, "lower_is_better", "PASS"),
    ],
)
def test_a_negative_baseline_may_lose_a_share_of_its_size(
    after: float, direction: str, status: str
) -> None:
    found = relative([-4.0] * 500, [after] * 500, direction=direction)

    assert found.status == status


def test_a_limit_that_is_not_asked_is_no_limit_that_holds(tmp_path: Path) -> None:
    """Else a benchmark of which nothing was asked would be GO."""
    limits = f"max_drop: null, {RELATIVE}, relative_guard_below: 0.2"

    report = gate(tmp_path, [1.0] * 500, [0.0] * 500, limits)

    assert status_of(report) == OPEN
    assert report.rows[0].reasons == [
        "baseline 1.0000 is not below relative_guard_below 0.2: not asked",
        "no other limit is set: set max_drop, min_score or another limit",
    ]
