import math
import random
import time
from typing import Literal

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from pytest_nel.stats.paired import Difference, p_value, paired_difference

binary = st.sampled_from([0.0, 1.0])
shares = st.floats(0, 1) | st.sampled_from([0.0, 0.25, 0.5, 1.0])
names = st.integers(0, 5)


def difference(
    baseline: list[float], candidate: list[float], clusters: list[int] | None = None
) -> Difference:
    found = paired_difference(baseline, candidate, clusters)
    assert found is not None
    return found


def flips(n: int, worse: int, better: int) -> tuple[list[float], list[float]]:
    baseline = [1.0] * worse + [0.0] * better + [1.0] * (n - worse - better)
    candidate = [0.0] * worse + [1.0] * better + [1.0] * (n - worse - better)
    return baseline, candidate


def quantile(n: int) -> float:
    from scipy.stats import norm, t

    return float(norm.ppf(0.975) if n >= 100 else t.ppf(0.975, n / 2))


def tango(n: int, worse: int, better: int) -> tuple[float, float]:
    """The interval as Tango 1998 writes it down: restricted estimate, and the roots of z = ±q."""
    from scipy.optimize import brentq

    q = quantile(n)

    def z(delta: float) -> float:
        linear = -better - worse + (2 * n - better + worse) * delta
        root = math.sqrt(max(0.0, linear**2 + 8 * n * worse * delta * (1 - delta)))
        variance = n * (2 * (root - linear) / (4 * n) + delta * (1 - delta))
        return (better - worse - n * delta) / math.sqrt(max(variance, 1e-300))

    mean = (better - worse) / n
    low = brentq(lambda d: z(d) - q, -1 + 1e-12, mean) if mean > -1 else -1.0
    high = brentq(lambda d: z(d) + q, mean, 1 - 1e-12) if mean < 1 else 1.0
    return low, high


@pytest.mark.parametrize(
    ("n", "worse", "better"),
    [(200, 10, 6), (1000, 2, 1), (1000, 60, 10), (100, 0, 7), (100, 30, 0), (50, 5, 9), (20, 1, 0)],
)
def test_single_answers_have_tangos_interval(n: int, worse: int, better: int) -> None:
    found = difference(*flips(n, worse, better))

    assert (found.low, found.high) == pytest.approx(tango(n, worse, better), abs=1e-9)
    assert found.method == ("tango" if n >= 100 else "tango_t")
    assert found.value == pytest.approx((better - worse) / n)


@pytest.mark.parametrize(
    ("n", "worse", "better", "low", "high"),
    [  # the gate's worked examples; a t interval, which is too short, gave what is beside
        (200, 10, 6, -0.064023, 0.021243),  # [-0.059439, 0.019439]
        (1000, 2, 1, -0.006362, 0.003805),  # [-0.0044, 0.0024]
        (1000, 60, 10, -0.067429, -0.034744),  # [-0.06613, -0.03387]
    ],
)
def test_worked_examples(n: int, worse: int, better: int, low: float, high: float) -> None:
    found = difference(*flips(n, worse, better))

    assert (found.low, found.high) == pytest.approx((low, high), abs=1e-6)


@pytest.mark.parametrize("n", [100, 1000, 14_000])
def test_runs_that_agree_everywhere_may_still_differ_elsewhere(n: int) -> None:
    q = quantile(n) ** 2

    found = difference(*flips(n, 0, 0))

    assert (found.low, found.high) == pytest.approx((-q / (n + q), q / (n + q)))


def test_equal_differences_have_the_width_that_unseen_ones_would_give() -> None:
    """The gate's first worked example; a t interval of no width made it a PASS."""
    found = difference([0.8] * 50, [0.795] * 50)
    q = quantile(50) ** 2

    assert found.low == pytest.approx(-0.005 - (1 - 0.005) * q / (50 + q))
    assert found.high == pytest.approx(-0.005 + (1 + 0.005) * q / (50 + q))


def test_one_tiny_difference_does_not_make_an_interval_tiny() -> None:
    found = difference([0.5] * 50, [0.5] * 49 + [0.501])

    assert found.low < -0.05
    assert found.high > 0.05


def test_many_differences_of_any_size_have_the_width_of_their_spread() -> None:
    rng = np.random.default_rng(1)
    before, after = rng.random(14_000), rng.random(14_000)
    half = 1.96 * float((after - before).std()) / math.sqrt(14_000)

    found = paired_difference(before, after)

    assert found is not None
    assert found.method == "score"
    assert found.high - found.value == pytest.approx(half, rel=0.01)
    assert found.value - found.low == pytest.approx(half, rel=0.01)


@given(st.lists(st.tuples(shares, shares, shares, names), min_size=1, max_size=25), st.booleans())
def test_a_better_candidate_has_no_lower_bounds(
    rows: list[tuple[float, float, float, int]],
    clustered: bool,  # noqa: FBT001 - drawn
) -> None:
    baseline = [row[0] for row in rows]
    clusters = [row[3] for row in rows] if clustered else None

    worse = difference(baseline, [min(row[1:3]) for row in rows], clusters)
    better = difference(baseline, [max(row[1:3]) for row in rows], clusters)

    assert better.low >= worse.low - 1e-9
    assert better.high >= worse.high - 1e-9


@given(st.integers(1, 300).flatmap(lambda n: st.tuples(st.just(n), st.integers(0, n), st.data())))
def test_one_flip_for_the_better_lowers_no_bound(drawn: tuple[int, int, st.DataObject]) -> None:
    n, worse, data = drawn
    better = data.draw(st.integers(0, n - worse))
    assume(worse > 0)

    before = difference(*flips(n, worse, better))
    after = difference(*flips(n, worse - 1, better))

    assert after.low >= before.low - 1e-9
    assert after.high >= before.high - 1e-9


@given(
    st.lists(st.tuples(shares, shares, names), min_size=1, max_size=25),
    st.booleans(),
    st.floats(-0.99, 0.99),
    st.sampled_from([0.8, 0.95, 0.99]),
)
def test_a_p_value_and_an_interval_say_the_same(
    rows: list[tuple[float, float, int]],
    clustered: bool,  # noqa: FBT001 - drawn
    null: float,
    confidence: float,
) -> None:
    baseline, candidate = [row[0] for row in rows], [row[1] for row in rows]
    clusters = [row[2] for row in rows] if clustered and len({row[2] for row in rows}) > 1 else None
    found = paired_difference(baseline, candidate, clusters, confidence)
    assert found is not None
    assume(min(abs(null - found.low), abs(null - found.high)) > 1e-6)

    greater = p_value(baseline, candidate, clusters, null=null, alternative="greater")
    less = p_value(baseline, candidate, clusters, null=null, alternative="less")

    assert (greater < (1 - confidence) / 2) == (null < found.low)
    assert (less < (1 - confidence) / 2) == (null > found.high)
    assert greater + less == pytest.approx(1.0)


@given(st.lists(st.tuples(shares, shares, names), min_size=2, max_size=25), st.randoms())
def test_the_order_of_problems_is_nothing(
    rows: list[tuple[float, float, int]], luck: random.Random
) -> None:
    mixed = list(rows)
    luck.shuffle(mixed)

    for clustered in (False, True):
        first, second = (
            difference(
                [row[0] for row in data],
                [row[1] for row in data],
                [row[2] for row in data] if clustered else None,
            )
            for data in (rows, mixed)
        )
        assert (first.low, first.high) == pytest.approx((second.low, second.high), abs=1e-12)


@given(st.lists(st.tuples(shares, shares), min_size=1, max_size=25))
def test_swapping_the_runs_turns_the_interval_round(rows: list[tuple[float, float]]) -> None:
    there = difference([a for a, _ in rows], [b for _, b in rows])
    back = difference([b for _, b in rows], [a for a, _ in rows])

    assert (there.low, there.high) == pytest.approx((-back.high, -back.low), abs=1e-9)


def test_rewards_outside_0_to_1_are_taken_in_the_range_that_they_have() -> None:
    found = difference([5.0] * 50, [5.5] * 50)

    assert found.value == pytest.approx(0.5)
    assert 0.4 < found.low < 0.5 <= found.high < 0.6


def test_the_worked_example_of_two_clusters_is_not_decided() -> None:
    """Ten differences around 0.1 in one, ten around -0.05 in the other; t knows too much."""
    changes = [0.1 + 0.01 * (index - 4.5) / 4.5 for index in range(10)]
    changes += [-0.05 + 0.01 * (index - 4.5) / 4.5 for index in range(10)]

    found = difference([0.5] * 20, [0.5 + c for c in changes], [0] * 10 + [1] * 10)

    assert not found.reliable
    assert found.low < -0.116037
    assert found.high > 0.174037


def test_one_cluster_says_nothing_about_others() -> None:
    found = difference([1.0, 0.0, 1.0], [1.0, 1.0, 1.0], [7, 7, 7])

    assert (found.low, found.high, found.method) == (-1.0, 1.0, "one_cluster")
    assert not found.reliable
    assert p_value([1, 0], [1, 1], [7, 7], null=-0.5, alternative="greater") == 1.0


def test_changes_that_come_in_clusters_tell_less() -> None:
    rng = np.random.default_rng(3)
    baseline = np.ones(1000)
    together = np.repeat(rng.random(100) > 0.05, 10).astype(float)
    names = np.repeat(np.arange(100), 10).tolist()

    alone = paired_difference(baseline, together)
    clustered = paired_difference(baseline, together, names)

    assert alone is not None
    assert clustered is not None
    assert clustered.high - clustered.low > 2 * (alone.high - alone.low)
    assert clustered.method == "score_clustered"


def test_changes_that_do_not_come_in_clusters_cost_little_where_these_are_many_and_small() -> None:
    rng = np.random.default_rng(4)
    baseline = (rng.random(2000) < 0.7).astype(float)
    candidate = np.where(rng.random(2000) < 0.1, 1 - baseline, baseline)
    names = np.repeat(np.arange(500), 4).tolist()

    alone = paired_difference(baseline, candidate)
    clustered = paired_difference(baseline, candidate, names)

    assert alone is not None
    assert clustered is not None
    assert clustered.high - clustered.low < 1.1 * (alone.high - alone.low)


@pytest.mark.parametrize("alike", [False, True])
def test_a_cluster_that_was_not_seen_may_be_lost_as_a_whole(alike: bool) -> None:  # noqa: FBT001
    """Though answers within clusters have nothing in common: it says nothing about changes."""
    right = np.arange(1200) % 5 != 0
    baseline = (np.sort(right) if alike else right).astype(float)
    q = quantile(120) ** 2

    found = paired_difference(baseline, baseline, np.repeat(np.arange(120), 10).tolist())

    assert found is not None
    assert (found.low, found.high) == pytest.approx((-q / (120 + q), q / (120 + q)))


def test_losses_spread_over_clusters_do_not_rule_out_that_one_is_lost_as_a_whole() -> None:
    """A candidate without any may not be worse off than one that has them."""
    baseline, names = np.ones(1200), np.repeat(np.arange(120), 10).tolist()
    candidate = baseline.copy()
    candidate[::100] = 0.0

    found = paired_difference(baseline, candidate, names)
    unchanged = paired_difference(baseline, baseline, names)

    assert found is not None
    assert unchanged is not None
    assert found.low < unchanged.low < -0.03


def test_no_problems_have_no_difference() -> None:
    assert paired_difference([], []) is None
    assert p_value([], [], null=0.0, alternative="less") == 1.0


@pytest.mark.parametrize(
    ("baseline", "candidate", "clusters", "match"),
    [
        ([1.0], [1.0, 0.0], None, "on both sides, got"),
        ([math.nan], [1.0], None, "finite"),
        ([1.0], [math.inf], None, "finite"),
        ([1.0, 0.0], [1.0, 1.0], ["a"], "one cluster for each of 2"),
    ],
)
def test_what_cannot_be_paired_is_refused(
    baseline: list[float], candidate: list[float], clusters: list[str] | None, match: str
) -> None:
    with pytest.raises(ValueError, match=match):
        paired_difference(baseline, candidate, clusters)


@pytest.mark.parametrize("answers", ["single", "fractional"])
def test_a_large_benchmark_takes_milliseconds(answers: str) -> None:
    rng = np.random.default_rng(5)
    before, after = rng.random(14_000), rng.random(14_000)
    if answers == "single":
        before, after = before.round(), after.round()
    paired_difference(before, after)  # imports

    spent = []
    for _ in range(5):
        start = time.perf_counter()
        paired_difference(before, after)
        spent.append(time.perf_counter() - start)

    assert min(spent) < 0.05  # 1 and 3 ms alone on a machine; tests share theirs


@pytest.mark.parametrize("alternative", ["less", "greater"])
def test_a_difference_of_rounding_alone_is_none(alternative: Literal["less", "greater"]) -> None:
    """Thirds in another order, as three repeats have them: their sums differ in the last bit."""
    baseline = [1 / 3, 1.0, 0.0, 1.0, 2 / 3, 2 / 3]
    candidate = [1.0, 2 / 3, 2 / 3, 1 / 3, 1.0, 0.0]

    p = p_value(baseline, candidate, null=0.0, alternative=alternative)

    assert p == pytest.approx(0.5)
