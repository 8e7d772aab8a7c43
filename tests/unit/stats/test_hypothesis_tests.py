import math
import time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_nel.stats.hypothesis_tests import holm, mcnemar, permutation_test, sign_test

counts = st.integers(0, 60)
probabilities = st.lists(st.floats(0, 1), max_size=12)


@pytest.mark.parametrize(
    ("worse", "better", "n", "p", "effect"),
    [  # the interval of each is Tango's (test_paired.py); the Wald one beside it reached beyond 1
        (8, 2, 10, 0.054688, 0.6),
        (15, 2, 20, 0.001175, 0.65),
        (5, 2, 20, 0.226563, 0.15),
        (10, 2, 100, 0.019287, 0.08),
        (30, 10, 1000, 0.001111, 0.02),
        (450, 400, 5000, 0.046383, 0.01),
    ],
)
def test_mcnemars_test_gives_the_known_values(
    worse: int, better: int, n: int, p: float, effect: float
) -> None:
    found = mcnemar(worse, better, n)

    assert found.p_worse == pytest.approx(p, abs=6e-7)
    assert found.effect == pytest.approx(effect)


@given(counts, counts)
def test_mcnemars_test_is_scipys_binomial_test(worse: int, better: int) -> None:
    from scipy.stats import binomtest

    found = mcnemar(worse, better, worse + better + 1)

    if worse + better:
        for p, alternative in (
            (found.p_worse, "greater"),
            (found.p_better, "less"),
            (found.p_two_sided, "two-sided"),
        ):
            expected = binomtest(worse, worse + better, 0.5, alternative).pvalue
            assert p == pytest.approx(expected, rel=1e-9)
    else:
        assert (found.p_worse, found.p_better, found.p_two_sided) == (1, 1, 1)


@pytest.mark.parametrize(("worse", "better", "n"), [(-1, 0, 5), (3, 3, 5)])
def test_impossible_counts_are_refused(worse: int, better: int, n: int) -> None:
    with pytest.raises(ValueError, match="wanted counts of 5 pairs"):
        mcnemar(worse, better, n)


@pytest.mark.parametrize(("worse", "better", "p"), [(15, 3, 0.003769), (10, 10, 0.588099)])
def test_the_sign_test_gives_the_known_values(worse: int, better: int, p: float) -> None:
    baseline = [0.5] * worse + [0.1] * better + [0.3, 0.3]
    candidate = [0.4] * worse + [0.9] * better + [0.3, 0.3]

    found = sign_test(baseline, candidate)

    assert (found.worse, found.better, found.ties) == (worse, better, 2)
    assert found.p_worse == pytest.approx(p, abs=5e-7)


def test_the_permutation_test_gives_the_known_values() -> None:
    found = permutation_test([0.5] * 20 + [0.0] * 5, [0.0] * 20 + [0.1] * 5)

    assert found.mean_drop == pytest.approx(0.38)
    assert found.p_worse == pytest.approx(1 / 10_001)
    assert found.standardized == pytest.approx(1.551344, abs=5e-7)


def test_few_problems_are_as_surprising_as_all_their_sign_flips_say() -> None:
    """0.09679 in the worked example, which drew some of them; seven changed: 128 there are."""
    drops = [0.3, 0.1, -0.2, 0.4, -0.1, 0.2, 0.0, 0.3]
    signs = np.array(np.meshgrid(*[[-1, 1]] * 8)).reshape(8, -1)
    exact = float((np.array(drops) @ signs >= sum(drops) - 1e-12).mean())

    found = permutation_test(drops, [0.0] * 8)

    assert found.p_worse == exact
    assert found.permutations == 128
    assert found.mean_drop == pytest.approx(0.125)
    assert found.standardized == pytest.approx(0.589256, abs=5e-7)


def test_runs_that_agree_are_no_surprise() -> None:
    found = permutation_test([0.5, 0.25], [0.5, 0.25])

    assert (found.p_worse, found.p_better, found.p_two_sided) == (1, 1, 1)
    assert (found.mean_drop, found.standardized) == (0.0, None)
    assert permutation_test([], []).p_worse == 1.0


def test_the_order_of_problems_changes_no_p_value() -> None:
    rng = np.random.default_rng(1)
    before, after = rng.random(40), rng.random(40)
    mixed = rng.permutation(40)

    first, second = permutation_test(before, after), permutation_test(before[mixed], after[mixed])

    assert (first.p_worse, first.p_two_sided) == (second.p_worse, second.p_two_sided)


@given(
    st.lists(st.tuples(st.floats(0, 1), st.floats(0, 1)), max_size=13),
    st.sampled_from([0.0, 0.5, 1.0]),
)
def test_swapping_runs_that_differ_in_few_problems_swaps_the_p_values(
    changed: list[tuple[float, float]], equal: float
) -> None:
    before = [a for a, _ in changed] + [equal] * 20
    after = [b for _, b in changed] + [equal] * 20

    there, back = permutation_test(before, after), permutation_test(after, before)

    assert (there.p_worse, there.p_better) == (back.p_better, back.p_worse)
    assert there.p_two_sided == back.p_two_sided


@pytest.mark.parametrize(("worse", "better"), [(0, 1), (5, 2), (13, 0), (4, 9)])
def test_few_flips_of_one_size_are_mcnemars(worse: int, better: int) -> None:
    before, after = [1.0] * worse + [0.0] * better, [0.0] * worse + [1.0] * better
    expected = mcnemar(worse, better, worse + better)

    found = permutation_test(before, after)

    assert found.p_worse == pytest.approx(expected.p_worse)
    assert found.p_better == pytest.approx(expected.p_better)
    assert found.p_two_sided == pytest.approx(expected.p_two_sided)


@pytest.mark.parametrize(("changed", "permutations"), [(13, 8192), (14, 10_000)])
def test_sign_flips_are_drawn_where_there_are_more_than_asked_for(
    changed: int, permutations: int
) -> None:
    found = permutation_test([1.0] * changed, [0.0] * changed)

    assert found.permutations == permutations
    assert found.p_worse < 0.001


def test_swapping_the_runs_swaps_worse_and_better() -> None:
    rng = np.random.default_rng(2)
    before, after = rng.random(40), rng.random(40)

    there, back = permutation_test(before, after), permutation_test(after, before)

    assert there.p_worse == pytest.approx(back.p_better, abs=0.02)
    assert there.p_two_sided == pytest.approx(back.p_two_sided, abs=0.02)


def test_a_large_benchmark_is_permuted_within_seconds() -> None:
    rng = np.random.default_rng(3)
    start = time.perf_counter()

    found = permutation_test(rng.random(14_000), rng.random(14_000) - 0.02)

    assert found.p_worse < 0.01
    assert time.perf_counter() - start < 10  # half a second alone on a machine


@pytest.mark.parametrize("test", [sign_test, permutation_test])
def test_what_cannot_be_paired_is_refused(test: object) -> None:
    assert callable(test)
    with pytest.raises(ValueError, match="on both sides"):
        test([1.0], [1.0, 0.0])
    with pytest.raises(ValueError, match="finite"):
        test([1.0], [math.nan])


def test_no_permutations_are_refused() -> None:
    with pytest.raises(ValueError, match="at least one permutation"):
        permutation_test([1.0], [0.0], permutations=0)


def test_holms_values_are_the_published_ones() -> None:
    # as adjusted by p.adjust of R
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])


@given(probabilities)
def test_holm_never_makes_a_p_value_smaller_nor_changes_their_order(values: list[float]) -> None:
    adjusted = holm(values)

    assert all(a >= p for a, p in zip(adjusted, values, strict=True))
    assert all(a <= 1 for a in adjusted)
    order = sorted(range(len(values)), key=values.__getitem__)
    assert [adjusted[i] for i in order] == sorted(adjusted)


@pytest.mark.parametrize("wrong", [-0.1, 1.1, math.nan])
def test_what_is_no_probability_is_refused(wrong: float) -> None:
    with pytest.raises(ValueError, match="p-values lie in"):
        holm([0.5, wrong])
