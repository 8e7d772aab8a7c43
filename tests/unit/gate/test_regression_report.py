"""The evidence that a gate attaches to its rows."""

from pathlib import Path

import pytest

from pytest_nel.core.errors import ConfigError
from pytest_nel.gate.evaluate import evaluate
from pytest_nel.gate.pairs import pair
from pytest_nel.gate.policy import load_policy
from pytest_nel.gate.regression import regression_report
from pytest_nel.records.sides import runs_of
from pytest_nel.stats.hypothesis_tests import mcnemar
from tests.support.compared import binary, side
from tests.support.stored import write_reference_run


def test_single_answers_have_a_contingency_and_mcnemars_test() -> None:
    found = regression_report(pair(*binary(10, 2, 100, right=60)))

    assert found is not None
    assert found["contingency"] == {
        "both_correct": 60,
        "baseline_only_correct": 10,
        "candidate_only_correct": 2,
        "both_wrong": 28,
    }
    assert found["test_used"] == "mcnemar"
    assert found["p_value"] == round(mcnemar(10, 2, 100).p_worse, 6)
    assert (found["n_regressions"], found["n_improvements"], found["n_unchanged"]) == (10, 2, 88)


def test_fractions_have_the_score_test() -> None:
    found = regression_report(pair(side([0.5] * 40), side([0.2] * 30 + [0.5] * 10)))

    assert found is not None
    assert found["test_used"] == "score"
    assert found["p_value"] < 0.01 < found["p_value_better"]
    assert "contingency" not in found


def test_where_lower_is_better_a_higher_value_is_a_regression() -> None:
    sides = side([0.2] * 30), side([0.4] * 30)

    found = regression_report(pair(*sides), higher_is_better=False)

    assert found is not None
    assert (found["n_regressions"], found["n_improvements"]) == (30, 0)
    assert found["p_value"] < 0.05


def test_problems_of_clusters_are_not_taken_as_independent() -> None:
    clusters = [f"t{at // 10}" for at in range(100)]
    sides = (
        side([1.0] * 100, clusters=clusters),
        side([0.0] * 10 + [1.0] * 90, clusters=clusters),
    )

    found = regression_report(pair(*sides))

    assert found is not None
    assert found["test_used"] == "score"
    assert found["p_value"] > 0.1 > mcnemar(10, 0, 100).p_worse


@pytest.mark.parametrize("rewards", [[], [None, None]])
def test_without_pairs_there_is_none(rewards: list[None]) -> None:
    assert regression_report(pair(side(rewards), side(rewards))) is None


@pytest.fixture
def asked_otherwise(tmp_path: Path) -> tuple[Path, Path]:
    """A baseline and a candidate of the reference system, one question of which differs."""
    baseline = write_reference_run(tmp_path / "a", [1.0] * 100)
    candidate = write_reference_run(tmp_path / "b", [0.0] + [1.0] * 99)
    results = candidate / "mmlu" / "results.jsonl"
    results.write_text(results.read_text().replace('"question 7"', '"another"'))
    return baseline, candidate


def test_a_gate_has_it_in_its_report_and_takes_allowed_prompts(
    tmp_path: Path, asked_otherwise: tuple[Path, Path]
) -> None:
    (tmp_path / "p.yaml").write_text("version: 1\ndefaults: {metric: mean_reward, max_drop: 0.1}\n")
    policy = load_policy(str(tmp_path / "p.yaml"))
    baseline, candidate = asked_otherwise

    with pytest.raises(ConfigError, match="asked otherwise"):
        evaluate(policy, runs_of(candidate, baseline))
    report = evaluate(policy, runs_of(candidate, baseline), ["prompts"])

    said = report.as_json()["benchmarks"][0]["regression_report"]
    assert (said["n_regressions"], said["n_paired"]) == (1, 100)
