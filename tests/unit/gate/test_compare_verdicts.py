"""PASS, WARN, BLOCK and INCONCLUSIVE: what each rests on, and worked examples with numbers."""

from typing import Any

import pytest

from pytest_nel.core.errors import ConfigError
from pytest_nel.gate.compare import judge, measure
from pytest_nel.gate.comparison import Rules
from pytest_nel.stats.paired import paired_difference
from tests.support.compared import binary, compare, side

# (regressions, improvements, n, one-sided p, effect, verdict at the default limit of 0.05).
# The p-values and effects are the reference system's. Its intervals are not: they are Wald's, and
# leave [-1, 1] in the first row (1.0958); ours are Tango's.
EXAMPLES = [
    (8, 2, 10, 0.054688, 0.6, "INCONCLUSIVE"),
    (15, 2, 20, 0.001175, 0.65, "BLOCK"),
    (5, 2, 20, 0.226563, 0.15, "INCONCLUSIVE"),
    (10, 2, 100, 0.019287, 0.08, "BLOCK"),
    (30, 10, 1000, 0.001111, 0.02, "WARN"),
    (450, 400, 5000, 0.046383, 0.01, "WARN"),
]


@pytest.mark.parametrize(("b", "c", "n", "p", "effect", "verdict"), EXAMPLES)
def test_mcnemar_as_in_the_worked_examples(
    b: int, c: int, n: int, p: float, effect: float, verdict: str
) -> None:
    found = compare(*binary(b, c, n))

    said = found.as_json()
    assert said["test_used"] == "mcnemar"
    assert said["mcnemar"]["p_value"] == pytest.approx(p, abs=1e-6)
    assert said["mcnemar"]["effect_size"] == effect
    assert said["mcnemar"]["n_discordant"] == b + c
    assert said["mcnemar"]["method"] == "exact_binomial"
    assert found.verdict == verdict


@pytest.mark.parametrize(("b", "c", "n"), [row[:3] for row in EXAMPLES])
def test_the_interval_is_of_the_paired_difference_and_stays_in_range(
    b: int, c: int, n: int
) -> None:
    baseline, candidate = binary(b, c, n)

    said = compare(baseline, candidate).as_json()["difference"]

    before, after = ([row.reward or 0.0 for row in one.rows] for one in (baseline, candidate))
    expected = paired_difference(before, after)
    assert expected is not None
    assert (said["low"], said["high"]) == (round(expected.low, 6), round(expected.high, 6))
    assert -1.0 <= said["low"] < said["value"] < said["high"] <= 1.0
    assert said["n"] == n


def test_the_sign_test_as_in_the_worked_examples() -> None:
    worse = compare(*binary(15, 3, 40), test="sign").as_json()
    even = compare(*binary(10, 10, 40), test="sign").as_json()

    assert worse["sign_test"]["p_value"] == 0.003769
    assert (worse["sign_test"]["n_positive"], worse["sign_test"]["n_negative"]) == (15, 3)
    assert worse["sign_test"]["n_ties"] == 22
    assert even["sign_test"]["p_value"] == 0.588099


def test_the_permutation_test_as_in_the_worked_examples() -> None:
    baseline, candidate = side([0.6] * 20 + [0.5] * 5), side([0.1] * 20 + [0.6] * 5)

    said = compare(baseline, candidate).as_json()

    test = said["permutation_test"]
    assert said["test_used"] == "permutation"
    assert (test["observed_mean_diff"], test["p_value"]) == (0.38, 0.0001)
    # Cohen's d is shown; the effect that meets the limit is the drop of the score
    assert test["standardized_effect"] == 1.551344
    assert test["effect_size"] == 0.38


def test_the_permutation_test_of_a_few_fractions() -> None:
    drops = [0.3, 0.1, -0.2, 0.4, -0.1, 0.2, 0.0, 0.3]

    said = compare(side([0.5] * 8), side([0.5 - drop for drop in drops])).as_json()

    # 0.09679 with the reference system's random numbers
    assert said["permutation_test"]["p_value"] == pytest.approx(0.09679, abs=0.01)
    assert said["permutation_test"]["observed_mean_diff"] == 0.125
    assert said["permutation_test"]["standardized_effect"] == 0.589256


def test_a_standardized_effect_does_not_block() -> None:
    """0.01 lost on every problem is a large d and a small drop."""
    found = compare(side([0.51, 0.5] * 100), side([0.5, 0.495] * 100))

    assert found.verdict == "WARN"
    assert found.measured.case.drop == pytest.approx(0.0075)


def test_one_improvement_and_no_regression_passes() -> None:
    """The reference system calls it INCONCLUSIVE: its criterion looks at discordant pairs only."""
    found = compare(*binary(0, 1, 200))

    assert found.verdict == "PASS"


def test_no_difference_is_not_minus_0() -> None:
    (reason,) = compare(*binary(0, 0, 100)).reasons

    assert "-0.00" not in reason


def test_equal_answers_pass_when_there_are_enough_and_only_then() -> None:
    few, many = compare(*binary(0, 0, 30)), compare(*binary(0, 0, 100))

    assert (few.verdict, many.verdict) == ("INCONCLUSIVE", "PASS")
    assert few.n_needed is not None
    assert 30 < few.n_needed < 100


@pytest.mark.parametrize(("b", "c", "n"), [(3, 1, 60), (40, 30, 400), (6, 6, 150)])
def test_the_number_of_problems_needed_decides(b: int, c: int, n: int) -> None:
    found = compare(*binary(b, c, n))

    assert found.verdict == "INCONCLUSIVE"
    assert found.n_needed is not None
    assert found.n_needed > n
    assert f"about {found.n_needed:,} problems" in " ".join(found.reasons)


def test_no_drop_at_all_cannot_be_shown() -> None:
    found = compare(*binary(0, 0, 1000), max_drop=0.0)

    assert found.verdict == "INCONCLUSIVE"
    assert found.n_needed is None
    assert "no number of problems" in " ".join(found.reasons)


def test_a_wider_limit_turns_a_block_into_a_warning() -> None:
    verdicts = [compare(*binary(10, 2, 100), max_drop=drop).verdict for drop in (0.05, 0.08, 0.2)]

    assert verdicts == ["BLOCK", "WARN", "WARN"]


def test_a_stricter_alpha_takes_the_significance() -> None:
    found = compare(*binary(10, 2, 100), alpha=0.01)

    assert (found.verdict, found.significant) == ("INCONCLUSIVE", False)


def test_a_better_candidate_is_said_to_be_better() -> None:
    found = compare(*binary(5, 60, 1000))

    assert (found.verdict, found.improved, found.significant) == ("PASS", True, False)
    assert "significantly better" in found.reasons[-1]


def test_better_needs_the_two_sided_test() -> None:
    """5 of 5 is p = 0.031 one-sided and 0.0625 two-sided."""
    found = compare(*binary(0, 5, 1000))

    assert (found.verdict, found.improved) == ("PASS", False)


def test_nothing_paired_decides_nothing() -> None:
    found = compare(side([1.0, None]), side([None, 1.0]))

    assert found.verdict == "INCONCLUSIVE"
    assert "nothing is paired" in found.reasons[0]
    assert found.as_json()["difference"]["value"] is None


def test_no_rows_at_all_decide_nothing() -> None:
    found = compare(side([]), side([]))

    assert found.verdict == "INCONCLUSIVE"


def test_what_has_no_score_is_no_wrong_answer() -> None:
    found = compare(side([1.0] * 300), side([1.0] * 290 + [None] * 10))

    said = found.as_json()
    assert said["flip_report"]["summary"]["n_regressions"] == 0
    assert said["difference"]["value"] == 0.0
    assert (said["n_missing"], said["only_in_baseline"]) == (10, 10)
    assert said["missing"]["candidate"] == {"n_unscored": 10, "n_absent": 0}
    assert said["missing"]["unpaired_problems"] == [f"p{at}" for at in range(290, 300)]


def test_missing_attempts_pass_only_where_the_worst_case_passes() -> None:
    one = compare(side([1.0] * 1000), side([1.0] * 999 + [None]))
    many = compare(side([1.0] * 1000), side([1.0] * 900 + [None] * 100))

    assert (one.verdict, many.verdict) == ("PASS", "INCONCLUSIVE")
    assert one.as_json()["missing"]["worst_case"]["value"] == -0.001
    assert many.as_json()["missing"]["best_case"]["value"] == 0.0


def test_missing_attempts_block_only_where_the_best_case_blocks() -> None:
    lost = [1.0] * 800 + [0.0] * 200

    sure = compare(side([1.0] * 1000), side([*lost[:-1], None]))
    unsure = compare(side([1.0] * 1000), side([1.0] * 700 + [0.0] * 60 + [None] * 240))
    open_ = compare(side([1.0] * 100), side([1.0] * 60 + [0.0] * 4 + [None] * 36))

    assert (sure.verdict, unsure.verdict, open_.verdict) == ("BLOCK", "BLOCK", "INCONCLUSIVE")


def test_a_significant_loss_in_the_best_case_warns() -> None:
    found = compare(side([1.0] * 1000), side([1.0] * 920 + [0.0] * 30 + [None] * 50))

    assert found.verdict == "WARN"


def test_missing_with_rewards_that_have_no_bounds_decides_nothing() -> None:
    found = compare(side([7.0] * 500), side([7.0] * 499 + [None]))

    assert found.verdict == "INCONCLUSIVE"
    assert "no bounds" in found.reasons[0]


def test_attempts_made_again_for_their_outcome_are_no_fair_sample() -> None:
    baseline = side([1.0] * 1000)
    candidate = side([1.0] * 1000, bundle={"n_made_again": 3})

    found = compare(baseline, candidate)

    assert found.verdict == "INCONCLUSIVE"
    assert "no fair sample" in found.reasons[0]


def test_several_benchmarks_are_judged_by_holms_correction() -> None:
    rules = Rules()
    names = ("a", "b", "c")
    found = []
    for name in names:
        baseline, candidate = binary(10, 2, 100)
        for one in (baseline, candidate):
            dict.__setitem__(one.bundle["benchmark"], "name", name)
        found.append(measure(baseline, candidate, rules))

    judged = judge(found, rules)

    assert [one.p_worse for one in judged] == pytest.approx([3 * 0.019287] * 3, abs=1e-5)
    assert [one.verdict for one in judged] == ["INCONCLUSIVE"] * 3
    said = judged[0].as_json()["mcnemar"]
    assert (said["p_value"], said["p_value_adjusted"]) == (0.019287, 0.057861)
    assert said["significant"] is False


def test_problems_of_one_cluster_flip_together() -> None:
    """Twelve regressions in one text are one piece of bad luck, not twelve."""
    clusters = [f"text {at // 12}" for at in range(120)]
    baseline = side([1.0] * 120, clusters=clusters)
    candidate = side([0.0] * 12 + [1.0] * 108, clusters=clusters)

    found = compare(baseline, candidate)

    assert (found.verdict, found.significant) == ("INCONCLUSIVE", False)
    said = found.as_json()
    assert said["permutation_test"]["method"] == "sign_flip_of_clusters"
    assert said["permutation_test"]["observed_mean_diff"] == 0.1


def test_mcnemar_on_clusters_is_done_as_asked_and_doubted() -> None:
    clusters = [f"text {at // 12}" for at in range(120)]
    baseline, candidate = (side([1.0] * 120, clusters=clusters) for _ in range(2))

    found = compare(baseline, candidate, test="mcnemar")

    assert found.as_json()["test_used"] == "mcnemar"
    assert any("independent" in text for text in found.measured.warnings)


def test_few_clusters_never_pass() -> None:
    clusters = [f"text {at % 3}" for at in range(3000)]

    found = compare(*(side([1.0] * 3000, clusters=clusters) for _ in range(2)))

    assert found.verdict == "INCONCLUSIVE"
    assert "clusters" in found.reasons[0]


@pytest.mark.parametrize(
    ("rules", "said"),
    [
        ({"max_drop": -0.1}, "max_drop"),
        ({"max_drop": 5.0}, "max_drop"),
        ({"max_drop": float("nan")}, "max_drop"),
        ({"alpha": 0.0}, "alpha"),
        ({"correct_above": float("nan")}, "correct_above"),
        ({"test": "t"}, "no such test: 't'"),
    ],
)
def test_rules_that_make_no_sense_are_refused(rules: dict[str, Any], said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        Rules(**rules)
