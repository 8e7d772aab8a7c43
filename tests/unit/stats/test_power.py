import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_nel.stats.intervals import interval_of_sums
from pytest_nel.stats.paired import paired_difference
from pytest_nel.stats.power import (
    minimum_detectable_effect,
    minimum_detectable_effect_binary,
    problems_to_pass,
    problems_to_reach,
    required_n,
    required_n_binary,
)


@pytest.mark.parametrize(("discordant", "effect"), [(10, 0.886), (100, 0.280), (1000, 0.0886)])
def test_the_table_of_detectable_effects_is_not_ten_times_too_small(
    discordant: int, effect: float
) -> None:
    """28 % was once promised for ten discordant pairs, where a hundred are needed."""
    assert minimum_detectable_effect(discordant, spread=1.0) == pytest.approx(effect, abs=5e-4)


@given(st.floats(0.001, 0.5), st.floats(0.01, 1.0))
def test_the_required_n_is_the_least_that_detects_the_effect(effect: float, spread: float) -> None:
    n = required_n(effect, spread=spread)

    assert minimum_detectable_effect(n, spread=spread) <= effect * (1 + 1e-9)
    assert n == 2 or minimum_detectable_effect(n - 1, spread=spread) > effect * (1 - 1e-9)


@given(st.floats(0.001, 1.0), st.floats(0.05, 1.0))
def test_the_required_n_of_single_answers_is_the_least_too(
    share: float, discordance: float
) -> None:
    effect = share * discordance

    n = required_n_binary(effect, discordance=discordance)

    found = minimum_detectable_effect_binary(n, discordance=discordance)
    assert found is not None
    assert found <= effect * (1 + 1e-6)


def test_connors_formula_by_hand() -> None:
    # (1.959964 √0.1 + 0.841621 √(0.1 - 0.0025))² / 0.0025 = 312.1
    assert required_n_binary(0.05, discordance=0.1) == 312
    assert required_n_binary(-0.05, discordance=0.1) == 312


def test_too_few_problems_detect_nothing() -> None:
    assert minimum_detectable_effect_binary(20, discordance=0.1) is None
    assert minimum_detectable_effect_binary(20, discordance=0.0) is None


@pytest.mark.parametrize("margin", [0.2, 0.05, 0.015, 0.01, 0.002])
def test_a_limit_on_the_drop_can_be_met_from_that_number_on(margin: float) -> None:
    n = problems_to_pass(margin)

    bounds = []
    for size in (n - 1, n):
        found = paired_difference([1.0] * size, [1.0] * size)
        assert found is not None
        bounds.append(-found.low)
    assert bounds[1] <= margin < bounds[0]


@pytest.mark.parametrize("score", [0.3, 0.5, 0.75, 0.9, 0.99])
def test_a_least_score_can_be_reached_from_that_number_on(score: float) -> None:
    n = problems_to_reach(score)

    lows = []
    for size in (n - 1, n):
        _, interval = interval_of_sums([(1.0, 1)] * size, binary=True)
        lows.append(0.0 if interval is None else interval.low)
    assert lows[0] < score <= lows[1]


def test_known_sizes() -> None:
    assert [problems_to_pass(margin) for margin in (0.015, 0.01)] == [253, 381]
    assert problems_to_reach(0.0) == problems_to_pass(1.0) == 1


@pytest.mark.parametrize("margin", [0.0, -0.1, math.nan])
def test_no_number_of_problems_proves_equality(margin: float) -> None:
    with pytest.raises(ValueError, match="no number of problems"):
        problems_to_pass(margin)
    with pytest.raises(ValueError, match="no number of problems"):
        problems_to_reach(1.0 - margin)


def test_impossible_plans_are_refused() -> None:
    with pytest.raises(ValueError, match="effect other than 0"):
        required_n(0.0, spread=1.0)
    with pytest.raises(ValueError, match="standard deviation"):
        required_n(0.1, spread=-1.0)
    with pytest.raises(ValueError, match="alpha and power"):
        required_n(0.1, spread=1.0, alpha=0.0)
    with pytest.raises(ValueError, match="discordance"):
        required_n_binary(0.2, discordance=0.1)
    with pytest.raises(ValueError, match="discordance in"):
        minimum_detectable_effect_binary(10, discordance=1.5)
    with pytest.raises(ValueError, match="at least one problem"):
        minimum_detectable_effect(0, spread=1.0)
