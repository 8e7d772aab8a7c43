"""Where no rows are left: which stored intervals are believed, and how far."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from pytest_nel.gate.evidence import Side
from pytest_nel.gate.score import score_of
from pytest_nel.stats.intervals import wilson
from tests.support.stored import write_reference_run, write_run
from tests.unit.gate.deciding import decided, finding_of, policy_of, side, status_of

OPEN = ("INSUFFICIENT_EVIDENCE", "INCONCLUSIVE")


def metric(value: float, half: float, **more: Any) -> dict[str, Any]:
    return {"value": value, "ci_lower": value - half, "ci_upper": value + half, **more}


def stored(value: Mapping[str, Any], samples: int, **facts: Any) -> Side:
    about = {"name": "b", "samples": samples, "repeats": 1, "scores": {"mean_reward": value}}
    return Side({"benchmark": about, **facts})


def test_the_spread_within_problems_is_no_interval_of_the_score(tmp_path: Path) -> None:
    """pass@1 of the reference system: three problems with many repeats have a narrow one."""
    runs = [
        write_reference_run(
            tmp_path / name, [1.0] * 3, rows=False, scores={"pass@1": metric(value, 0.004)}
        )
        for name, value in (("cand", 0.795), ("base", 0.800))
    ]

    report = decided(policy_of("metric: pass@1, max_drop: 0.015"), runs[0], runs[1])

    assert status_of(report) == OPEN
    assert "scores of 3 problems (minimum 10)" in report.rows[0].reasons[0]


def test_of_the_reference_system_the_bootstrap_counts() -> None:
    bounds = {"bootstrap_ci_lower": 0.5, "bootstrap_ci_upper": 0.95}

    score = score_of(stored(metric(0.8, 0.001, **bounds), 1000), "mean_reward")

    assert (score.low, score.high) == (0.5, 0.95)


def test_and_nothing_narrower_than_so_many_problems_can_show() -> None:
    bounds = {"bootstrap_ci_lower": 0.799, "bootstrap_ci_upper": 0.801}

    score = score_of(stored(metric(0.8, 0.0, **bounds), 1000), "mean_reward")

    least = wilson(800, 1000)
    assert least is not None
    assert (score.low, score.high) == pytest.approx((least.low, least.high))


@pytest.mark.parametrize(("right", "n"), [(20, 20), (7, 20), (0, 40), (60, 99), (80, 100)])
def test_a_stored_score_has_the_interval_that_its_rows_would_have(right: int, n: int) -> None:
    rows = score_of(side([[1.0]] * right + [[0.0]] * (n - right)), "mean_reward")

    score = score_of(stored(metric(right / n, 0.0), n), "mean_reward")

    assert (score.low, score.high) == pytest.approx((rows.low, rows.high))


def test_twenty_of_twenty_decide_alike_with_and_without_rows(tmp_path: Path) -> None:
    limits = policy_of("max_drop: null, min_score: 0.82")
    scores = {"mean_reward": metric(1.0, 0.0)}
    runs = [
        write_reference_run(tmp_path / str(rows), [1.0] * 20, rows=rows, scores=scores)
        for rows in (True, False)
    ]

    assert [decided(limits, run).verdict for run in runs] == ["INCONCLUSIVE"] * 2


def test_our_own_interval_is_taken_as_stored_since_its_method_is_known() -> None:
    said = metric(0.8, 0.001, ci_method="score_clustered")

    score = score_of(stored(said, 1000, fingerprint={"pass_at": 1.0}), "mean_reward")

    assert (score.low, score.high, score.method) == (0.799, 0.801, "score_clustered")


def test_but_not_one_of_too_few_clusters() -> None:
    said = metric(0.8, 0.001, ci_method="score_clustered", ci_reliable=False)

    score = score_of(stored(said, 1000, fingerprint={"pass_at": 1.0}), "mean_reward")

    assert score.method == "none"


@pytest.mark.parametrize("few", ["base", "cand"])
def test_fewer_than_ten_stored_problems_on_a_side_decide_nothing(tmp_path: Path, few: str) -> None:
    said = metric(0.8, 0.001, ci_method="score")
    runs = []
    for name in ("cand", "base"):
        n = 9 if name == few else 1000
        facts = {"benchmark": {"name": "mmlu", "samples": n, "repeats": 1}}
        facts["benchmark"]["scores"] = {"mean_reward": said}
        runs.append(write_run(tmp_path / name, [1.0] * n, bundle=facts))
        (runs[-1] / "mmlu" / "results.jsonl").unlink()

    report = decided(policy_of("max_drop: 0.5"), runs[0], runs[1])

    assert status_of(report) == OPEN
    assert "scores of 9 problems (minimum 10)" in finding_of(report, "max_drop").reason


def test_all_of_k_is_its_own_score_and_not_the_mean_reward() -> None:
    score = score_of(side([[1.0, 0.0]] * 100), "pass^2")

    assert score.value == 0.0
