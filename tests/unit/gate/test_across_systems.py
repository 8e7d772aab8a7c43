"""Solved means the same on both sides, where one is of the reference system."""

from pathlib import Path

import pytest

from tests.support.stored import write_reference_run, write_run
from tests.unit.gate.deciding import decided, policy_of, status_of

PASS_AT_1 = policy_of("metric: pass@1, max_drop: 0.05")


@pytest.mark.parametrize("ours", ["base", "cand"])
@pytest.mark.parametrize(("pass_at", "score"), [(1.0, 0.0), (0.5, 1.0)])
def test_fractional_rewards_are_judged_by_our_rule_on_both_sides(
    tmp_path: Path, ours: str, pass_at: float, score: float
) -> None:
    """Ours counts from ``pass_at`` on, the reference system whatever is above 0."""
    rewards = [0.6] * 400
    solved = pass_at <= 0.6
    outcome = {"outcome": "correct" if solved else "wrong"}
    counts = {"n_correct": 400 * solved, "n_wrong": 400 * (not solved)}
    facts = {"pass_at": pass_at}
    runs = {
        name: write_run(tmp_path / name, rewards, row=outcome, fingerprint=facts, bundle=counts)
        if name == ours
        else write_reference_run(tmp_path / name, rewards)
        for name in ("base", "cand")
    }

    report = decided(PASS_AT_1, runs["cand"], runs["base"])

    [row] = report.rows
    assert (row.baseline, row.candidate) == (score, score)
    assert status_of(report) == ("PASS", "GO")
    theirs = "candidate" if ours == "base" else "baseline"
    said = f"the {theirs} is of the reference system: solved is a reward of {pass_at:g}"
    assert row.notes == [f"{said} on both sides"]


def test_whole_rewards_need_no_rule(tmp_path: Path) -> None:
    base = write_reference_run(tmp_path / "base", [1.0] * 400)
    cand = write_run(tmp_path / "cand", [1.0] * 400)

    [row] = decided(PASS_AT_1, cand, base).rows

    assert (row.baseline, row.candidate, row.notes) == (1.0, 1.0, [])
