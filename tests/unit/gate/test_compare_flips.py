"""Flips, categories and score deltas of a comparison."""

from typing import Any

import pytest

from pytest_nel.gate.evidence import Row, Side
from tests.support.compared import compare, side


def contingency(**rules: Any) -> dict[str, int]:
    baseline, candidate = rules.pop("sides")
    said: dict[str, int] = compare(baseline, candidate, **rules).as_json()["flip_report"][
        "contingency"
    ]
    return said


def test_solved_is_what_the_record_says() -> None:
    """0.5 counts as solved where the benchmark's pass_at is 0.5, whatever the reward."""
    rows = [[Row(0, 0, 0.5, correct=right, id="p0")] for right in (True, False)]
    baseline, candidate = (Side({"benchmark": {"name": "x"}}, one) for one in rows)

    found = contingency(sides=(baseline, candidate))

    assert found["baseline_only_correct"] == 1


def test_solved_is_a_greater_reward_where_one_is_given() -> None:
    sides = side([0.4, 0.6, 0.5]), side([0.6, 0.4, 0.5])

    found = contingency(sides=sides, correct_above=0.5)

    assert found == {
        "both_correct": 0,
        "baseline_only_correct": 1,
        "candidate_only_correct": 1,
        "both_wrong": 1,
    }


def test_with_repeats_more_than_half_must_be_solved() -> None:
    baseline = side([[1, 1, 1, 0], [1, 1, 0, 0], [1, 1, 1, 1]])
    candidate = side([[1, 1, 0, 0], [1, 0, 0, 0], [1, 1, 1, 0]])

    found = compare(baseline, candidate)

    said = found.as_json()["flip_report"]
    assert said["contingency"]["baseline_only_correct"] == 1
    (flip,) = said["regressions"]
    assert (flip["problem_id"], flip["repeat"]) == ("p0", 2)
    assert (flip["n_repeats"], flip["baseline_n_solved"], flip["candidate_n_solved"]) == (4, 3, 2)
    assert (flip["baseline_reward"], flip["candidate_reward"]) == (0.75, 0.5)
    assert found.measured.chosen.name == "permutation"


def test_only_repeats_that_both_runs_have_a_score_for_are_compared() -> None:
    found = compare(side([[1, 1, None]]), side([[1, None, 0]]))

    said = found.as_json()
    assert said["flip_report"]["contingency"]["both_correct"] == 1
    assert said["n_missing"] == 2
    assert said["difference"]["value"] == 0.0


def test_rates_are_of_what_could_flip() -> None:
    found = compare(side([1, 1, 1, 1, 0]), side([0, 1, 1, 1, 0]))

    summary = found.as_json()["flip_report"]["summary"]
    assert (summary["regression_rate"], summary["improvement_rate"]) == (0.25, 0.0)
    assert (summary["n_stable_correct"], summary["n_stable_wrong"]) == (3, 1)


def test_a_rate_of_nothing_is_null() -> None:
    summary = compare(side([1.0]), side([1.0])).as_json()["flip_report"]["summary"]

    assert summary["improvement_rate"] is None
    assert summary["category_breakdown"] is None


def test_a_category_breaks_by_its_own_test() -> None:
    """The reference system puts the overall p-value on each category."""
    names = ["broken"] * 100 + ["noisy"] * 10 + ["fine"] * 200
    baseline = side([1.0] * 310, categories=names)
    candidate = side(
        [0.0] * 30 + [1.0] * 70 + [0.0] * 1 + [1.0] * 9 + [1.0] * 200, categories=names
    )

    found = compare(baseline, candidate)

    assert found.significant
    assert {one.name: one.label for one in found.categories} == {
        "broken": "BROKE",
        "fine": "HELD",
        "noisy": "WARN",
    }
    said = found.as_json()["category_deltas"]
    assert said["noisy"]["p_value"] == 0.5
    assert said["noisy"]["delta"] == -0.1
    assert said["broken"]["p_value_adjusted"] == pytest.approx(3 * 2**-30, abs=1e-6)
    breakdown = found.as_json()["flip_report"]["summary"]["category_breakdown"]
    assert breakdown["broken"] == {"regressions": 30, "improvements": 0}


def test_categories_are_corrected_for_their_number() -> None:
    """One category in twenty is significant by chance."""
    names = [f"c{at % 20:02}" for at in range(400)]
    lost = {at for at in range(400) if names[at] == "c00"} - {0, 20, 40}
    baseline, candidate = (
        side([1.0] * 400, categories=names),
        side([0.0 if at in sorted(lost)[:5] else 1.0 for at in range(400)], categories=names),
    )

    found = {one.name: one for one in compare(baseline, candidate).categories}

    assert found["c00"].p == pytest.approx(0.03125)
    assert found["c00"].p_adjusted == pytest.approx(0.625)
    assert found["c00"].label == "WARN"


def test_a_category_of_one_side_alone_is_not_0() -> None:
    baseline = side([1.0, 1.0, 0.0], categories=["both", "gone", "gone"])
    candidate = side([1.0], categories=["both"])

    said = compare(baseline, candidate).as_json()["category_deltas"]["gone"]

    assert (said["baseline"], said["candidate"], said["delta"]) == (0.5, None, None)
    assert (said["label"], said["n_missing"]) == (None, 2)


def test_a_category_that_one_side_names_is_enough() -> None:
    found = compare(side([1.0]), side([1.0], categories=["algebra"]))

    assert [one.name for one in found.categories] == ["algebra"]


def test_scores_whose_bounds_are_not_known_neither_overlap_nor_not() -> None:
    scores = {"maj@4": {"value": 0.8, "ci_lower": 0.7, "ci_upper": 0.9}}
    bare = {"maj@4": {"value": 0.6}}
    bundles = [
        {"benchmark": {"name": "x", "repeats": 1, "scores": said}} for said in (scores, bare)
    ]

    found = compare(*(side([1.0, 0.0], bundle=bundle) for bundle in bundles))

    said = found.as_json()["score_deltas"]
    assert said["maj@4"] == {
        "baseline": 0.8,
        "candidate": 0.6,
        "delta": -0.2,
        "relative_pct": -25.0,
        "ci_overlap": None,
    }
    assert said["mean_reward"]["ci_overlap"] is True


@pytest.mark.parametrize(("low", "expected"), [(0.9, True), (0.91, False)])
def test_intervals_that_touch_overlap(low: float, *, expected: bool) -> None:
    bounds = [{"ci_lower": 0.7, "ci_upper": 0.9}, {"ci_lower": low, "ci_upper": 1.0}]
    bundles = [
        {
            "fingerprint": {"pass_at": 1.0},
            "benchmark": {
                "name": "x",
                "scores": {"maj@4": {"value": one["ci_lower"], **one, "ci_method": "score"}},
            },
        }
        for one in bounds
    ]

    found = compare(*(side([1.0], bundle=bundle) for bundle in bundles))

    assert found.measured.scores["maj@4"].overlap is expected


def test_of_a_score_of_0_there_is_no_share() -> None:
    """The reference system says 0 %, as if nothing had changed."""
    found = compare(side([0.0] * 5), side([1.0] * 5))

    assert found.as_json()["score_deltas"]["mean_reward"]["relative_pct"] is None


def test_stored_scores_give_way_to_rows_that_know_what_failed() -> None:
    """A stored 0.5 that counts an outage as wrong is not the score."""
    stored = {"benchmark": {"name": "x", "scores": {"pass@1": {"value": 0.5}}}}

    found = compare(side([1.0, 1.0], bundle=stored), side([1.0, None], bundle=stored))

    assert found.measured.scores["pass@1"].candidate == 1.0


def test_speed_and_tokens_are_compared_where_both_say_them() -> None:
    runs = [{"total_tokens": 100, "steps_per_second": 2.0}, {"total_tokens": 150}]
    bundles = [{"benchmark": {"name": "x", "scores": {"runtime": one}}} for one in runs]

    found = compare(*(side([1.0], bundle=bundle) for bundle in bundles))

    assert found.as_json()["runtime_deltas"] == {
        "total_tokens": {"baseline": 100, "candidate": 150, "delta": 50}
    }


def test_long_answers_are_cut_in_the_report() -> None:
    found = compare(side([1.0]), side([0.0]))
    flip = found.measured.flips.regressions[0]

    said = type(flip)(
        flip.baseline, flip.candidate, (1.0, 0.0), (1, 0), 1, responses=("x" * 80, "y" * 81)
    ).as_json()

    assert said["baseline_response"] == "x" * 80
    assert said["candidate_response"] == "y" * 77 + "..."
    assert "expected_answer" not in said
