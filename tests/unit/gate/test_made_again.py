"""Attempts made again because they were wrong make a score too high, and that in one direction."""

from pathlib import Path

import pytest

from pytest_nel.gate.threshold import threshold
from pytest_nel.gate.verdict import Exit
from pytest_nel.records.sides import stored_run
from tests.support.stored import write_run
from tests.unit.gate.deciding import decided, policy_of

AGAIN = {"n_made_again": 3}
LOST = [0.0] * 100 + [1.0] * 300


@pytest.mark.parametrize(
    ("again", "limits", "verdict"),
    [
        ("cand", "max_drop: 0.05", "NO-GO"),
        ("cand", "max_drop: null, min_score: 0.9", "NO-GO"),
        ("cand", "max_drop: null, must_pass: [p0]", "NO-GO"),
        ("base", "max_drop: 0.05", "INCONCLUSIVE"),
        ("base", "max_drop: null, max_relative_drop: 0.05", "INCONCLUSIVE"),
        ("base", "max_drop: null, min_score: 0.9", "NO-GO"),
        ("cand", "max_drop: 0.9", "INCONCLUSIVE"),
    ],
)
def test_a_candidate_that_fails_even_so_fails(
    tmp_path: Path, again: str, limits: str, verdict: str
) -> None:
    runs = {
        name: write_run(tmp_path / name, rewards, bundle=AGAIN if name == again else {})
        for name, rewards in (("base", [1.0] * 400), ("cand", LOST))
    }

    assert decided(policy_of(limits), runs["cand"], runs["base"]).verdict == verdict


def test_where_lower_is_better_rewards_that_rose_breach_nothing(tmp_path: Path) -> None:
    base = write_run(tmp_path / "base", [0.0] * 400)
    cand = write_run(tmp_path / "cand", LOST, bundle=AGAIN)

    report = decided(policy_of("max_drop: 0.05, direction: lower_is_better"), cand, base)

    assert report.verdict == "INCONCLUSIVE"


@pytest.mark.parametrize(("least", "code"), [(0.9, Exit.NO_GO), (0.5, Exit.INCONCLUSIVE)])
def test_a_threshold_decides_as_the_gate_does(tmp_path: Path, least: float, code: Exit) -> None:
    cand = write_run(tmp_path / "cand", LOST, bundle=AGAIN)
    side = stored_run(cand).side("mmlu")

    check = threshold("s::mmlu::threshold", side, least, "ci")
    report = decided(policy_of(f"max_drop: null, min_score: {least}"), cand)

    assert check.code == code
    assert report.verdict == {Exit.NO_GO: "NO-GO", Exit.INCONCLUSIVE: "INCONCLUSIVE"}[code]
