import math
import statistics

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_nel.stats.pass_at_k import pass_all_k, pass_at_k
from pytest_nel.stats.summary import percentiles, summary

values = st.lists(st.floats(-1e6, 1e6), min_size=2, max_size=50)


@given(values)
def test_a_summary_agrees_with_the_standard_library(data: list[float]) -> None:
    result = summary(iter(data))

    assert result["n"] == len(data)
    assert (result["min"], result["max"]) == (min(data), max(data))
    assert result["mean"] == pytest.approx(statistics.fmean(data), abs=1e-6)
    assert result["median"] == pytest.approx(statistics.median(data), abs=1e-6)
    assert result["std"] == pytest.approx(statistics.stdev(data), rel=1e-6, abs=1e-6)


def test_a_summary_of_nothing_is_zero_and_of_one_has_no_spread() -> None:
    assert summary([]) == {"mean": 0, "std": 0, "min": 0, "max": 0, "median": 0, "n": 0}
    assert summary([0.5])["std"] == 0.0


@given(values, st.floats(0, 100))
def test_percentiles_are_numpys(data: list[float], point: float) -> None:
    result = percentiles(data, (point,))

    assert result[point] == pytest.approx(float(np.percentile(data, point)), rel=1e-9, abs=1e-6)


def test_percentiles_of_nothing_are_none() -> None:
    assert percentiles([]) == {}
    assert list(percentiles([1.0])) == [50, 90, 95, 99]


@pytest.mark.parametrize("bad", [math.nan, math.inf])
def test_what_is_not_finite_is_refused(bad: float) -> None:
    with pytest.raises(ValueError, match="finite"):
        summary([0.5, bad])
    with pytest.raises(ValueError, match="finite"):
        percentiles([0.5, bad])


def test_a_percentile_beyond_100_is_refused() -> None:
    with pytest.raises(ValueError, match="100"):
        percentiles([1.0], (101,))


@pytest.mark.parametrize(
    ("n", "c", "k", "expected"),
    [
        (5, 1, 1, 0.2),
        (5, 1, 5, 1.0),
        (8, 3, 1, 0.375),
        (8, 3, 4, 0.928571),
        (10, 5, 2, 0.777778),
        (4, 2, 2, 0.833333),
        (4, 3, 2, 1.0),
        (5, 0, 3, 0.0),
        (5, 5, 1, 1.0),
    ],
)
def test_pass_at_k_gives_the_known_values(n: int, c: int, k: int, expected: float) -> None:
    assert pass_at_k(n, c, k) == pytest.approx(expected, abs=5e-7)


@pytest.mark.parametrize(("n", "c", "k"), [(3, 1, 4), (3, 4, 1), (3, -1, 1), (3, 1, 0)])
def test_impossible_counts_are_refused(n: int, c: int, k: int) -> None:
    with pytest.raises(ValueError, match="pass@k needs"):
        pass_at_k(n, c, k)


@given(st.integers(1, 30).flatmap(lambda n: st.tuples(st.just(n), st.integers(0, n))))
def test_pass_at_1_is_the_share_correct_and_more_tries_never_hurt(pair: tuple[int, int]) -> None:
    n, c = pair

    estimates = [pass_at_k(n, c, k) for k in range(1, n + 1)]

    assert estimates[0] == pytest.approx(c / n)
    assert estimates == sorted(estimates)


@pytest.mark.parametrize(
    ("n", "c", "k", "expected"),
    [(4, 3, 1, 0.75), (4, 3, 2, 0.5), (4, 3, 4, 0.0), (4, 4, 4, 1.0), (8, 6, 3, 20 / 56)],
)
def test_all_of_k_are_correct_as_often_as_drawn_without_replacement(
    n: int, c: int, k: int, expected: float
) -> None:
    assert pass_all_k(n, c, k) == pytest.approx(expected)


@pytest.mark.parametrize(("n", "c", "k"), [(3, 1, 4), (3, 4, 1), (3, -1, 1), (3, 1, 0)])
def test_impossible_counts_are_refused_for_all_of_k(n: int, c: int, k: int) -> None:
    with pytest.raises(ValueError, match=r"pass\^k needs"):
        pass_all_k(n, c, k)


@given(st.integers(1, 30).flatmap(lambda n: st.tuples(st.just(n), st.integers(0, n))))
def test_all_of_k_is_at_most_one_of_one_is_at_most_one_of_k(pair: tuple[int, int]) -> None:
    n, c = pair

    every = [pass_all_k(n, c, k) for k in range(1, n + 1)]

    assert every[0] == pass_at_k(n, c, 1)
    assert every == sorted(every, reverse=True)
    assert all(low <= c / n + 1e-12 for low in every)
    assert all(pass_at_k(n, c, k) >= c / n - 1e-12 for k in range(1, n + 1))
