import math
import random
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_nel.stats.intervals import (
    Interval,
    mean_interval,
    student_t,
    wilson,
    wilson_clustered,
)

problems = st.lists(
    st.integers(1, 6).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))),
    min_size=1,
    max_size=40,
)
rewards = st.lists(st.floats(0, 1), min_size=1, max_size=40)


def found(interval: Interval | None) -> Interval:
    assert interval is not None
    return interval


@pytest.mark.parametrize(
    ("successes", "n", "low", "high"),
    [  # computed from the formula with z = 1.959963984540054
        (0, 10, 0.0, 0.277533),
        (10, 10, 0.722467, 1.0),
        (5, 10, 0.236593, 0.763407),
        (81, 263, 0.255289, 0.366234),
        (1, 29, 0.006113, 0.171755),
    ],
)
def test_wilson_gives_the_published_bounds(successes: int, n: int, low: float, high: float) -> None:
    interval = found(wilson(successes, n))

    assert interval.low == pytest.approx(low, abs=1.5e-4)
    assert interval.high == pytest.approx(high, abs=1.5e-4)


def test_nothing_measured_has_no_interval() -> None:
    assert wilson(0, 0) is None
    assert wilson_clustered([]) is None
    assert wilson_clustered([(0, 0)]) is None
    assert student_t([]) is None
    assert mean_interval([]) == (None, None)
    assert mean_interval([[], []]) == (None, None)


@pytest.mark.parametrize(("successes", "n"), [(-1, 5), (6, 5), (0, -1)])
def test_impossible_counts_are_refused(successes: int, n: int) -> None:
    with pytest.raises(ValueError, match="successes"):
        wilson(successes, n)


@pytest.mark.parametrize("confidence", [0.0, 1.0, 95])
def test_an_impossible_confidence_is_refused(confidence: float) -> None:
    with pytest.raises(ValueError, match="confidence"):
        wilson(1, 2, confidence)


@given(problems)
def test_a_clustered_interval_holds_the_mean_and_has_a_width(data: list[tuple[int, int]]) -> None:
    interval = found(wilson_clustered(data))
    mean = sum(c / n for c, n in data) / len(data)

    assert 0.0 <= interval.low <= mean + 1e-12
    assert mean - 1e-12 <= interval.high <= 1.0
    assert interval.high - interval.low > 0.0


@given(rewards)
def test_a_t_interval_holds_the_mean_and_has_a_width(values: list[float]) -> None:
    interval = found(student_t(values))
    mean = math.fsum(values) / len(values)

    assert 0.0 <= interval.low <= mean + 1e-12
    assert mean - 1e-12 <= interval.high <= 1.0
    assert interval.low < interval.high or max(values) - min(values) < 1e-12


def test_repeats_that_always_agree_count_as_one_observation_each() -> None:
    agreeing = found(wilson_clustered([(4, 4), (0, 4)] * 20))
    single = found(wilson(20, 40))

    assert agreeing.high - agreeing.low == pytest.approx(single.high - single.low, rel=0.05)


def test_repeats_never_count_for_more_than_the_attempts_made() -> None:
    even = found(wilson_clustered([(2, 4), (2, 4), (1, 4), (3, 4)] * 10))
    all_apart = found(wilson(80, 160))

    assert even.high - even.low >= all_apart.high - all_apart.low - 1e-12


def test_a_t_interval_agrees_with_scipys() -> None:
    from scipy import stats

    values = [0.1, 0.4, 0.35, 0.8, 0.66, 0.5]
    low, high = stats.t.interval(
        0.95, len(values) - 1, loc=sum(values) / len(values), scale=stats.sem(values)
    )

    interval = found(student_t(values))

    assert [interval.low, interval.high] == pytest.approx([low, high])


@pytest.mark.parametrize(
    ("data", "method", "mean"),
    [
        ([[1], [0], [1], [1]], "wilson", 0.75),
        ([[1, 1], [0, 1]], "wilson_clustered", 0.75),
        ([[1, 1, 1], [0]], "wilson_clustered", 0.5),
        ([[0.5], [1.0], [0.0]], "student_t", 0.5),
        ([[0.5], [0.5], [0.5]], "wilson", 0.5),
        ([[0.25]], "wilson", 0.25),
        ({"a": [0.5, 1.0], "b": [0.25]}, "student_t", 0.5),
    ],
)
def test_the_method_follows_the_data(data: list[list[float]], method: str, mean: float) -> None:
    score, interval = mean_interval(data)

    assert score == pytest.approx(mean)
    assert found(interval).method == method


def test_the_live_line_needs_no_scipy() -> None:
    code = (
        "import sys; from pytest_nel.reports.progress import Progress; p = Progress('b', 2, 0.0);"
        "p.add('correct', 1.0, 3); p.add('wrong', 0.0, 3); p.score(); print('scipy' in sys.modules)"
    )

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert done.stdout.strip() == "False"


# Coverage. Wilson's is computed exactly: it oscillates with n and p, and for n = 30, p = 0.05 or
# 0.95 it is 93.9 % (0, 1, 2 or 3 of 30 cover 0.05). The others are simulated with a fixed seed.


@pytest.mark.parametrize("n", [30, 200])
@pytest.mark.parametrize("p", [0.05, 0.5, 0.95])
def test_wilson_covers_the_truth(n: int, p: float) -> None:
    covered = sum(
        math.comb(n, k) * p**k * (1 - p) ** (n - k)
        for k in range(n + 1)
        if found(wilson(k, n)).low <= p <= found(wilson(k, n)).high
    )

    assert covered >= (0.939 if (n, p) in {(30, 0.05), (30, 0.95)} else 0.94)


def beta(rng: random.Random, p: float, spread: float | None) -> float:
    return p if spread is None else rng.betavariate(p * spread, (1 - p) * spread)


@pytest.mark.parametrize("n", [30, 200])
@pytest.mark.parametrize("p", [0.05, 0.5, 0.95])
@pytest.mark.parametrize("spread", [None, 1.0, 8.0])
def test_the_clustered_interval_covers_the_truth(n: int, p: float, spread: float | None) -> None:
    rng = random.Random(20240501)
    rounds = 1500 if n == 30 else 500

    covered = 0
    for _ in range(rounds):
        data = []
        for _ in range(n):
            chance = beta(rng, p, spread)
            data.append((sum(rng.random() < chance for _ in range(4)), 4))
        interval = found(wilson_clustered(data))
        covered += interval.low <= p <= interval.high

    noise = 2 * math.sqrt(0.94 * 0.06 / rounds)
    assert covered / rounds >= 0.94 - noise


@pytest.mark.parametrize(
    ("n", "p", "spread", "least"),
    [
        (30, 0.5, 4.0, 0.94),
        (200, 0.5, 4.0, 0.94),
        (200, 0.05, 4.0, 0.93),
        (200, 0.95, 4.0, 0.93),
        # A mean near the edge of few, very skewed rewards: t assumes symmetry and falls short.
        (30, 0.05, 4.0, 0.87),
        (30, 0.95, 4.0, 0.87),
    ],
)
def test_the_t_interval_covers_the_truth_away_from_the_edges(
    n: int, p: float, spread: float, least: float
) -> None:
    rng = random.Random(20240501)
    rounds = 1500

    covered = 0
    for _ in range(rounds):
        interval = found(student_t([beta(rng, p, spread) for _ in range(n)]))
        covered += interval.low <= p <= interval.high

    noise = 2 * math.sqrt(least * (1 - least) / rounds)
    assert covered / rounds >= least - noise
