"""Limits on the candidate alone: single problems, categories, rates, time, tokens and cost."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from pytest_nel.gate.report import GateReport
from tests.support.stored import write_run
from tests.unit.gate.deciding import decided, finding_of, gate, policy_of, status_of


def alone(folder: Path, rewards: Any, limits: str, **more: Any) -> GateReport:
    """The candidate without a baseline."""
    return gate(folder, None, rewards, f"max_drop: null, {limits}", **more)


@pytest.mark.parametrize(
    ("rewards", "least", "status"),
    [
        ([1.0] * 90 + [0.0] * 10, 0.8, "PASS"),
        ([1.0] * 90 + [0.0] * 10, 0.9, "INSUFFICIENT_EVIDENCE"),
        ([1.0] * 50 + [0.0] * 50, 0.9, "BREACH"),
    ],
)
def test_min_score_is_decided_on_the_whole_interval(
    tmp_path: Path, rewards: list[float], least: float, status: str
) -> None:
    report = alone(tmp_path, rewards, f"min_score: {least}")

    found = finding_of(report, "min_score")
    assert found.status == status
    assert found.numbers["score"] == pytest.approx(sum(rewards) / 100)
    assert found.numbers["ci_method"] == "wilson"


@pytest.mark.parametrize(("least", "status"), [(0.9, "PASS"), (0.91, "BREACH")])
def test_or_on_the_score_alone(tmp_path: Path, least: float, status: str) -> None:
    rewards = [1.0] * 9 + [0.0]

    report = alone(tmp_path, rewards, f"min_score: {least}, evidence: point")

    assert finding_of(report, "min_score").status == status


def test_few_clusters_are_no_interval(tmp_path: Path) -> None:
    names = ["one"] * 100 + ["two"] * 100

    report = alone(tmp_path, [1.0] * 200, "min_score: 0.5", clusters=names)

    assert finding_of(report, "min_score").status == "INSUFFICIENT_EVIDENCE"


def test_each_category_has_its_own_limit_or_that_of_all(tmp_path: Path) -> None:
    names = ["law"] * 200 + ["art"] * 200
    rewards = [1.0] * 200 + [0.0] * 100 + [1.0] * 100

    report = alone(
        tmp_path,
        rewards,
        "per_category: {law: {min_score: 0.9}, '*': {min_score: 0.8}}",
        categories=names,
    )

    assert finding_of(report, "per_category.law.min_score").status == "PASS"
    assert finding_of(report, "per_category.art.min_score").status == "BREACH"
    assert report.verdict == "NO-GO"


def test_a_category_that_nobody_has_is_open(tmp_path: Path) -> None:
    report = alone(
        tmp_path, [1.0] * 50, "per_category: {law: {min_score: 0.1}}", categories=["art"] * 50
    )

    assert report.verdict == "INCONCLUSIVE"
    assert report.rows[0].reasons == ["no problem has the category 'law'"]


def test_a_drop_that_hides_in_the_mean_shows_in_its_category(tmp_path: Path) -> None:
    names = ["law"] * 100 + ["art"] * 900
    cand = [0.0] * 30 + [1.0] * 970
    limits = "max_drop: 0.05, per_category: {'*': {max_drop: 0.1}}"

    report = gate(tmp_path, [1.0] * 1000, cand, limits, categories=names)

    assert finding_of(report, "max_drop").status == "PASS"
    assert finding_of(report, "per_category.law.max_drop").status == "BREACH"
    assert finding_of(report, "per_category.art.max_drop").status == "PASS"
    assert report.verdict == "NO-GO"


@pytest.mark.parametrize(
    ("tries", "status"),
    [
        ([1.0, 1.0], "PASS"),
        ([1.0, 0.0], "BREACH"),
        ([1.0, None], "INSUFFICIENT_EVIDENCE"),
        ([0.0, None], "BREACH"),
    ],
)
def test_must_pass_wants_every_repeat(
    tmp_path: Path, tries: list[float | None], status: str
) -> None:
    report = alone(tmp_path, [[0.0, 0.0], tries], "must_pass: [p1]")

    assert finding_of(report, "must_pass").status == status


def test_must_pass_names_what_failed_and_what_is_not_there(tmp_path: Path) -> None:
    failed = alone(tmp_path / "f", [[1.0, 0.0]] * 3, "must_pass: [p0, p2]")
    gone = alone(tmp_path / "g", [1.0], "must_pass: [p0, nothing]")

    assert failed.rows[0].reasons == ["not solved as often as it must be: p0 (1 of 2), p2 (1 of 2)"]
    assert gone.rows[0].reasons == ["no attempt at nothing"]


@pytest.mark.parametrize(
    ("rate", "status"),
    [
        ("0.5", "PASS"),
        ("0.75", "BREACH"),
        ("{p0: 0.5, p1: 1}", "PASS"),
        ("{p0: 1}", "BREACH"),
        ("{zz: 0.1}", "INSUFFICIENT_EVIDENCE"),
    ],
)
def test_a_pass_rate_for_all_or_for_each(tmp_path: Path, rate: str, status: str) -> None:
    report = alone(tmp_path, [[1.0, 0.0], [1.0, 1.0]], f"min_pass_rate: {rate}")

    assert finding_of(report, "min_pass_rate").status == status


def test_a_pass_rate_of_all_needs_all(tmp_path: Path) -> None:
    facts = {"n_planned": 12, "n_total": 12}

    report = alone(tmp_path, [1.0] * 10, "min_pass_rate: 0.5", bundle=facts)

    assert finding_of(report, "min_pass_rate").reason == "2 problems were not attempted"


def test_an_id_that_several_problems_have_stands_for_all_of_them(tmp_path: Path) -> None:
    report = alone(tmp_path, [1.0] * 9 + [0.0], "must_pass: [same]", row={"problem_id": "same"})

    assert report.rows[0].reasons == ["not solved as often as it must be: same (9 of 10)"]


@pytest.mark.parametrize(
    ("limits", "facts", "status"),
    [
        ("max_unscored: 0", {}, "PASS"),
        ("max_unscored: 4", {"n_scored": 95, "n_unscored": 5}, "BREACH"),
        ("max_unscored: 5", {"n_scored": 95, "n_unscored": 5}, "PASS"),
        ("max_unscored: 0.05", {"n_scored": 95, "n_unscored": 5}, "PASS"),
        ("max_unscored: 0.049", {"n_scored": 95, "n_unscored": 5}, "BREACH"),
        # ten were not attempted: they could have no score, either
        ("max_unscored: 9", {"n_planned": 110, "n_total": 110}, "INSUFFICIENT_EVIDENCE"),
        ("max_unscored: 10", {"n_planned": 110, "n_total": 110}, "PASS"),
        ("max_unparsed: 2", {"n_unparsed": 2}, "PASS"),
        ("max_unparsed: 2", {"n_unparsed": 3}, "BREACH"),
        ("max_unparsed: 0.02", {"n_unparsed": 3}, "BREACH"),
        ("max_truncated: 0", {"n_truncated": 0}, "PASS"),
        ("max_truncated: 0", {"n_truncated": 1}, "BREACH"),
        ("max_empty: 1", {"n_empty": 2}, "BREACH"),
        # five have no score: they could be empty, too
        ("max_empty: 6", {"n_empty": 2, "n_scored": 95}, "INSUFFICIENT_EVIDENCE"),
        ("max_empty: 7", {"n_empty": 2, "n_scored": 95}, "PASS"),
        ("max_empty: 1", {"n_empty": 2, "n_scored": 95}, "BREACH"),
        ("max_empty: 0.06", {"n_empty": 2, "n_scored": 95}, "INSUFFICIENT_EVIDENCE"),
        ("max_empty: 0.07", {"n_empty": 2, "n_scored": 95}, "PASS"),
        ("max_empty: 1", {"n_empty": None}, "INSUFFICIENT_EVIDENCE"),
    ],
)
def test_rates(tmp_path: Path, limits: str, facts: Mapping[str, Any], status: str) -> None:
    report = alone(tmp_path, [1.0] * 100, limits, bundle=facts)

    assert finding_of(report, limits.partition(":")[0]).status == status


def runtime(**stats: Any) -> dict[str, Any]:
    scores = {"runtime": stats}
    return {"benchmark": {"name": "mmlu", "samples": 100, "repeats": 1, "scores": scores}}


@pytest.mark.parametrize(
    ("limits", "stats", "status"),
    [
        ("max_p95_latency: 2", {"latency_percentiles_ms": {"p95": 1999.0}}, "PASS"),
        ("max_p95_latency: 2", {"latency_percentiles_ms": {"p95": 2001.0}}, "BREACH"),
        ("max_p95_latency: 2", {}, "INSUFFICIENT_EVIDENCE"),
        ("max_tokens: 100", {"total_tokens": 100, "steps_without_usage": 0}, "PASS"),
        ("max_tokens: 100", {"total_tokens": 101, "steps_without_usage": 0}, "BREACH"),
        (
            "max_tokens: 100",
            {"total_tokens": 50, "steps_without_usage": 1},
            "INSUFFICIENT_EVIDENCE",
        ),
        ("max_tokens: 100", {"total_tokens": 101, "steps_without_usage": 1}, "BREACH"),
        ("max_cost: 3", {"cost": {"total": 2.5, "currency": "USD", "n_unknown": 0}}, "PASS"),
        ("max_cost: 3", {"cost": {"total": 3.5, "currency": "USD", "n_unknown": 0}}, "BREACH"),
        ("max_cost: 3", {"cost": {"total": 2.5, "n_unknown": 2}}, "INSUFFICIENT_EVIDENCE"),
        ("max_cost: 3", {}, "INSUFFICIENT_EVIDENCE"),
    ],
)
def test_resources(tmp_path: Path, limits: str, stats: Mapping[str, Any], status: str) -> None:
    report = alone(tmp_path, [1.0] * 100, limits, bundle=runtime(**stats))

    assert finding_of(report, limits.partition(":")[0]).status == status


def test_latency_with_gaps_is_open_either_way(tmp_path: Path) -> None:
    facts = runtime(latency_percentiles_ms={"p95": 9000.0}) | {"n_scored": 99}

    report = alone(tmp_path, [1.0] * 100, "max_p95_latency: 2", bundle=facts)

    assert finding_of(report, "max_p95_latency").status == "INSUFFICIENT_EVIDENCE"


def test_another_scorer_is_a_metric_of_its_own(tmp_path: Path) -> None:
    base = write_run(tmp_path / "base", [0.0] * 400, row={"scorer_rewards": {"f1": 0.9}})
    cand = write_run(tmp_path / "cand", [0.0] * 400, row={"scorer_rewards": {"f1": 0.2}})

    f1 = decided(policy_of("metric: 'scorer:f1', max_drop: 0.1"), cand, base)
    plain = decided(policy_of("max_drop: 0.1"), cand, base)
    none = decided(policy_of("metric: 'scorer:bleu', max_drop: 0.1"), cand, base)

    assert status_of(f1) == ("BREACH", "NO-GO")
    assert f1.rows[0].delta == pytest.approx(-0.7)
    assert status_of(plain) == ("PASS", "GO")
    assert status_of(none) == ("INSUFFICIENT_EVIDENCE", "INCONCLUSIVE")


def test_pass_at_k_needs_as_many_repeats(tmp_path: Path) -> None:
    tries = [[1.0, 0.0]] * 400

    two = gate(tmp_path / "two", tries, tries, "metric: pass@2, max_drop: 0.05")
    three = gate(tmp_path / "three", tries, tries, "metric: pass@3, max_drop: 0.05")

    assert two.rows[0].candidate == 1.0
    assert two.verdict == "GO"
    assert three.verdict == "INCONCLUSIVE"


def test_repeats_beyond_those_of_the_other_side_do_not_count(tmp_path: Path) -> None:
    base = write_run(tmp_path / "base", [[1.0, 0.0]] * 400)
    cand = write_run(tmp_path / "cand", [1.0] * 400)

    report = decided(policy_of("max_drop: 0.05"), cand, base, allow=["repeats"])

    assert (report.rows[0].baseline, report.rows[0].candidate) == (1.0, 1.0)
    assert report.rows[0].n_missing == 0


def test_all_of_k_is_compared_as_well(tmp_path: Path) -> None:
    baseline, candidate = [[1.0, 1.0]] * 400, [[1.0, 1.0]] * 200 + [[1.0, 0.0]] * 200

    report = gate(tmp_path, baseline, candidate, "metric: pass^2, max_drop: 0.05")

    (row,) = report.rows
    assert (row.baseline, row.candidate, row.status) == (1.0, 0.5, "BREACH")


@pytest.mark.parametrize("limit", ["max_drop: 0.01", "min_score: 0.9"])
def test_a_limit_on_every_category_is_open_where_nothing_has_one(
    tmp_path: Path, limit: str
) -> None:
    report = gate(
        tmp_path, [1.0] * 400, [1.0] * 400, f"max_drop: 0.9, per_category: {{'*': {{{limit}}}}}"
    )

    assert report.verdict == "INCONCLUSIVE"
    assert report.rows[0].reasons == ["no problem has a category"]
