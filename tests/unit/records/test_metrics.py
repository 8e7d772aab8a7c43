"""Metrics of a benchmark: names, values, what they are counted on."""

import itertools
import math
import random
from collections import Counter
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_nel.stats.intervals import interval_of_sums, wilson
from tests.unit.records.attempts import Pair, attempt, bundle_of, of_rewards, scores_of

METRICS = ("mean_reward", "pass@", "pass^", "avg@", "maj@", "scorer:")


def metrics(scores: dict[str, Any]) -> dict[str, Any]:
    return {name: found for name, found in scores.items() if name.startswith(METRICS)}


@st.composite
def records(draw: st.DrawFn) -> tuple[int, list[Pair]]:
    repeats = draw(st.integers(1, 5))
    pairs = []
    for problem, repeat in itertools.product(range(draw(st.integers(1, 6))), range(repeats)):
        reward = draw(st.sampled_from([0.0, 0.0, 1.0, 1.0, 0.5, None]))
        pairs.append(
            attempt(
                problem,
                repeat,
                reward,
                extracted=None if reward is None else draw(st.sampled_from(["x", "y", "The x."])),
                scorer_rewards={"f1": draw(st.sampled_from([0.0, 0.25, 1.0, None]))},
                details={"rule": draw(st.sampled_from(["line", "box"]))},
                metadata={"category": draw(st.sampled_from(["p", "q"]))},
            )
        )
    return repeats, pairs


@settings(max_examples=80)
@given(records(), st.integers(0, 999))
def test_the_order_of_records_does_not_matter(made: tuple[int, list[Pair]], seed: int) -> None:
    repeats, pairs = made
    shuffled = random.Random(seed).sample(pairs, len(pairs))

    one, two = bundle_of(pairs, repeats), bundle_of(shuffled, repeats)

    assert one == two


@settings(max_examples=80)
@given(records())
def test_all_of_k_is_at_most_pass_at_1_is_at_most_one_of_k(made: tuple[int, list[Pair]]) -> None:
    repeats, pairs = made
    whole = {
        problem
        for problem, of in itertools.groupby(pairs, key=lambda pair: pair[0]["problem_idx"])
        if all(scored["reward"] is not None for _, scored in of)
    }
    there = [pair for pair in pairs if pair[0]["problem_idx"] in whole]

    scores = scores_of(there, repeats)

    for k in {2, 4, repeats} if there and repeats > 1 else ():
        if k <= repeats:
            values = [scores[name]["value"] for name in (f"pass^{k}", "pass@1", f"pass@{k}")]
            assert values == sorted(values)
    if there and repeats > 1:
        assert scores[f"avg@{repeats}"] == scores["mean_reward"]


@settings(max_examples=80)
@given(records())
def test_metrics_at_k_are_of_problems_with_k_scores(made: tuple[int, list[Pair]]) -> None:
    repeats, pairs = made
    scored = Counter(
        solved["problem_idx"] for solved, judged in pairs if judged["reward"] is not None
    )

    scores = scores_of(pairs, repeats)

    for name, metric in metrics(scores).items():
        _, at, k = name.replace("^", "@").partition("@")
        if at:
            enough = sum(n >= int(k) for n in scored.values())
            assert metric["n_problems"] == enough > 0


def test_k_is_the_repeats_and_the_powers_of_two_below() -> None:
    scores = scores_of(of_rewards([1.0, 0.0, 0.0, 1.0, 1.0, 0.0]), 6)

    assert set(metrics(scores)) == {
        *("mean_reward", "avg@6"),  # no maj@6: nobody said what the answers were
        *("pass@1", "pass@2", "pass@4", "pass@6"),
        *("pass^2", "pass^4", "pass^6"),
    }


def test_a_single_repeat_has_no_metric_of_repeats() -> None:
    scores = scores_of(of_rewards([1.0], [0.0]))

    assert set(metrics(scores)) == {"mean_reward", "pass@1"}


def test_nothing_scored_has_a_mean_without_a_value() -> None:
    scores = scores_of(of_rewards([None], [None]), 1)

    assert metrics(scores) == {"mean_reward": {"value": None, "n_problems": 0}}


def test_unscored_attempts_are_missing_and_not_wrong() -> None:
    scores = scores_of(of_rewards([1.0, 1.0], [1.0, None]), 2)

    assert scores["mean_reward"]["value"] == scores["pass^2"]["value"] == 1.0
    assert scores["mean_reward"]["n_problems"] == scores["pass@1"]["n_problems"] == 2
    assert scores["pass@2"]["n_problems"] == scores["avg@2"]["n_problems"] == 1


def test_a_fractional_sample_changes_no_metrics_name() -> None:
    """The reference system then reports mean_reward instead of pass@k."""
    binary = of_rewards(*[[1.0, 0.0]] * 19, [0.0, 0.0])
    fractional = of_rewards(*[[1.0, 0.0]] * 19, [0.0, 0.5])

    one, two = scores_of(binary, 2), scores_of(fractional, 2)

    assert set(metrics(one)) == set(metrics(two))
    assert {name: one[name] for name in ("pass@1", "pass@2", "pass^2")} == {
        name: two[name] for name in ("pass@1", "pass@2", "pass^2")
    }
    assert two["mean_reward"]["value"] == pytest.approx(19.5 / 40)


def test_correct_is_the_outcome_and_not_a_reward_above_zero() -> None:
    """The reference system counts any reward above 0 as a pass."""
    pairs = [
        attempt(0, 0, 0.4),
        attempt(1, 0, 0.6, outcome="correct"),  # of a benchmark with pass_at=0.5
        attempt(2, 0, 0.0),
        attempt(3, 0, 1.0),
    ]

    scores = scores_of(pairs)

    assert scores["pass@1"]["value"] == 0.5
    assert scores["pass@1"]["ci_method"].startswith("wilson")
    assert not scores["mean_reward"]["ci_method"].startswith("wilson")
    assert scores["mean_reward"]["value"] == 0.5


# The worked examples of intervals: where the reference's method is a defect, ours is wider.


@pytest.mark.parametrize(
    ("right", "n", "value"),
    [(6, 10, 0.6), (80, 100, 0.8)],  # reference: percentile bootstrap, [0.3, 0.9], [0.72, 0.88]
)
def test_one_binary_attempt_per_problem_has_wilsons_interval(
    right: int, n: int, value: float
) -> None:
    scores = scores_of(of_rewards(*[[1.0]] * right, *[[0.0]] * (n - right)))

    _, expected = interval_of_sums([(1, 1)] * right + [(0, 1)] * (n - right), binary=True)
    assert expected is not None
    found = scores["mean_reward"]
    assert found == scores["pass@1"]
    assert (found["value"], found["n_problems"]) == (value, n)
    assert found["ci_method"].startswith("wilson")
    assert (found["ci_lower"], found["ci_upper"]) == (
        round(expected.low, 6),
        round(expected.high, 6),
    )


def test_four_fractional_rewards_have_a_wider_interval_than_the_percentile_bootstrap() -> None:
    """[0.375, 0.875] there; resampling four values knows nothing of the tails."""
    found = scores_of(of_rewards([0.25], [0.5], [0.75], [1.0]))["mean_reward"]

    assert found["value"] == 0.625
    assert 0.0 <= found["ci_lower"] < 0.375
    assert 0.875 < found["ci_upper"] <= 1.0


def hits(n: int, c: int, repeats: int) -> list[float | None]:
    return [*[1.0] * c, *[0.0] * (n - c), *[None] * (repeats - n)]


@pytest.mark.parametrize(
    ("problems", "value", "reference"),
    [
        ([(4, 4), (4, 2), (4, 0), (4, 3)], 0.5625, (0.3753816, 0.7496184)),
        ([(3, 1)] * 10, 0.333333, (0.126735, 0.539932)),
        ([(1, 1), (3, 2), (3, 0)], 0.555556, (0.337782, 0.773329)),
    ],
)
def test_repeats_have_the_interval_of_a_sample_of_problems(
    problems: list[tuple[int, int]], value: float, reference: tuple[float, float]
) -> None:
    """The reference's "sample-level" interval knows only the noise within these problems."""
    repeats = max(n for n, _ in problems)
    made = [hits(n, c, repeats) for n, c in problems]

    found = scores_of(of_rewards(*made), repeats)["pass@1"]

    _, expected = interval_of_sums([(c, n) for n, c in problems], binary=True)
    assert expected is not None
    assert found["value"] == value
    assert (found["ci_lower"], found["ci_method"]) == (round(expected.low, 6), expected.method)
    if len({c / n for n, c in problems}) > 1:  # else problems do not differ, and that is all
        assert found["ci_upper"] - found["ci_lower"] > reference[1] - reference[0]


def test_the_headline_of_four_repeats_is_the_share_ever_right() -> None:
    made = [hits(4, c, 4) for c in (4, 2, 0, 3)]

    scores = scores_of(of_rewards(*made), 4)

    assert scores["pass@4"]["value"] == 0.75
    assert scores["pass^4"]["value"] == 0.25
    assert scores["avg@4"]["value"] == scores["mean_reward"]["value"] == 0.5625


def test_clusters_of_problems_widen_the_interval() -> None:
    """Reference: normal, [0.0756554, 0.9243447], of three clusters; ours knows there are three."""
    given_ = zip([1.0, 1.0, 1.0, 0.0, 0.0, 0.0, 1.0, 0.0], "aabbcccc", strict=True)
    pairs = [
        attempt(problem, 0, reward, solved={"seed_metadata": {"cluster": cluster}})
        for problem, (reward, cluster) in enumerate(given_)
    ]

    scores = scores_of(pairs)

    for name in ("mean_reward", "pass@1"):
        assert scores[name]["n_clusters"] == 3
        assert scores[name]["value"] == 0.5
        assert scores[name]["ci_lower"] <= 0.0756554
        assert scores[name]["ci_upper"] >= 0.9243447


@pytest.mark.parametrize(
    "clusters",
    [
        pytest.param(["a", "b", "c"], id="one problem each"),
        pytest.param(["a", "a", None], id="one has none"),
    ],
)
def test_clusters_that_say_nothing_are_left_out(clusters: list[str | None]) -> None:
    pairs = [
        attempt(problem, 0, 1.0, solved={"seed_metadata": {"cluster": cluster}})
        for problem, cluster in enumerate(clusters)
    ]

    assert scores_of(pairs) == scores_of(of_rewards([1.0], [1.0], [1.0])) | {
        "runtime": scores_of(pairs)["runtime"]
    }


def answers(*problems: list[tuple[str | None, float]]) -> list[Pair]:
    return [
        attempt(
            problem,
            repeat,
            reward,
            extracted=answer,
            outcome="correct" if reward else "unparsed" if answer is None else "wrong",
        )
        for problem, given_ in enumerate(problems)
        for repeat, (answer, reward) in enumerate(given_)
    ]


def test_the_majority_compares_answers_in_their_normal_form() -> None:
    pairs = answers([("Paris", 1.0), ("Rome", 0.0), ("the paris.", 1.0), ("Oslo", 0.0)])

    assert scores_of(pairs, 4)["maj@4"]["value"] == 1.0


def test_ties_are_drawn_and_unparsed_answers_do_not_vote() -> None:
    pairs = answers(
        [("a", 1.0), ("b", 0.0)],
        [("a", 1.0), (None, 0.0)],
        [(None, 0.0), (None, 0.0)],
    )

    metric = scores_of(pairs, 2)["maj@2"]

    assert metric["value"] == 0.5
    assert metric["n_problems"] == 3


def test_a_scorer_that_names_no_answers_has_no_majority() -> None:
    pairs = answers([("a", 1.0), ("a", 1.0)])
    pairs[1][1].update(extracted=None, outcome="correct")

    assert "maj@2" not in scores_of(pairs, 2)


def test_further_scorers_keep_fractions() -> None:
    """The reference system makes them 0 or 1."""
    pairs = [
        attempt(0, 0, 1.0, scorer_rewards={"f1": 0.25, "exact": 1.0}),
        attempt(1, 0, 0.0, scorer_rewards={"f1": 0.75, "exact": 0.0}),
        attempt(2, 0, 0.0, scorer_rewards={"f1": None}),
        attempt(3, 0, None),
    ]

    scores = scores_of(pairs)

    f1, exact = scores["scorer:f1"], scores["scorer:exact"]
    assert (f1["value"], f1["n"], f1["n_missing"], f1["n_problems"]) == (0.5, 2, 2, 2)
    assert "correct" not in f1
    assert f1["ci_lower"] <= 0.5 <= f1["ci_upper"]
    assert (exact["value"], exact["correct"], exact["total"]) == (0.5, 1, 2)
    assert exact["ci_method"].startswith("wilson")


def test_a_further_scorers_interval_knows_the_repeats() -> None:
    """Rows are no sample: the reference system resamples them as if they were."""
    pairs = [
        attempt(problem, repeat, 1.0, scorer_rewards={"x": float(problem % 2)})
        for problem in range(20)
        for repeat in range(10)
    ]

    found = scores_of(pairs, 10)["scorer:x"]

    rows = wilson(100, 200)
    assert rows is not None
    assert found["n_problems"] == 20
    assert found["ci_upper"] - found["ci_lower"] > 2 * (rows.high - rows.low)


def test_rates_are_shares_with_intervals() -> None:
    pairs = [
        attempt(0, 0, 0.0, outcome="unparsed", solved={"finish_reason": "length"}),
        attempt(1, 0, 0.0, outcome="unparsed", solved={"response": " ", "has_model": True}),
        attempt(2, 0, 1.0),
        attempt(3, 0, None),
    ]

    rates = scores_of(pairs)["rates"]

    shown = {name: (rate["n"], rate["of"], rate["value"]) for name, rate in rates.items()}
    assert shown == {
        "unparsed": (2, 3, 0.666667),
        "truncated": (1, 3, 0.333333),
        "empty": (1, 3, 0.333333),
        "refusal": (0, 3, 0.0),
        "unscored": (1, 4, 0.25),
    }
    expected = wilson(1, 4)
    assert expected is not None
    assert rates["unscored"]["ci_method"] == "wilson"
    assert rates["unscored"]["ci_upper"] == round(expected.high, 6)


def test_a_rate_of_nothing_has_no_value() -> None:
    rates = scores_of(of_rewards([None]))["rates"]

    assert rates["unparsed"] == {"value": None, "n": 0, "of": 0}


def test_rates_of_repeats_know_that_attempts_agree() -> None:
    pairs = [
        attempt(p, r, 0.0, outcome="unparsed" if p % 2 else "wrong")
        for p in range(20)
        for r in range(10)
    ]

    rate = scores_of(pairs, 10)["rates"]["unparsed"]

    assert (rate["n"], rate["of"], rate["value"]) == (100, 200, 0.5)
    assert rate["ci_upper"] - rate["ci_lower"] > 0.3


@settings(max_examples=60)
@given(records())
def test_every_rate_lies_in_its_interval(made: tuple[int, list[Pair]]) -> None:
    scores = scores_of(made[1], made[0])

    for rate in scores["rates"].values():
        if rate["value"] is not None:
            assert rate["ci_lower"] <= rate["value"] + 1e-6
            assert rate["value"] <= rate["ci_upper"] + 1e-6
    for metric in metrics(scores).values():
        if "ci_lower" in metric:
            assert metric["ci_lower"] <= metric["value"] <= metric["ci_upper"]
            assert math.isfinite(metric["value"])
