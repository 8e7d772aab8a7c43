"""The evidence that a gate attaches to its rows."""

import pytest

from pytest_nel.gate.pairs import pair
from pytest_nel.gate.regression import regression_report
from pytest_nel.stats.hypothesis_tests import mcnemar
from tests.support.compared import binary, side


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
