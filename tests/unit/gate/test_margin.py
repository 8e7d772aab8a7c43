"""The margin is the number of problems that can be lost, or must be won, and no approximation."""

import random
from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_nel.gate.drop import judge_drop
from pytest_nel.gate.margin import margin_problems
from pytest_nel.gate.pairs import Values, pair
from pytest_nel.gate.policy import Thresholds
from tests.unit.gate.deciding import side

Rewards = Sequence[float | None]


def verdict(base: Rewards, cand: Rewards, **limits: object) -> tuple[str, int | None]:
    """(status, margin) with these limits."""
    pairs = pair(side([[one] for one in base]), side([[one] for one in cand]))
    found = judge_drop(pairs, Thresholds.model_validate(limits))
    [finding] = [one for one in found.findings if one.rule == "max_drop"]
    return finding.status, found.margin


def test_of_a_thousand_equal_answers_three_more_may_be_lost_within_one_point() -> None:
    """Four have an upper bound of 1.02 points, though the bound of none leaves room for six."""
    base = [1.0] * 700 + [0.0] * 300
    lost = [[0.0] * many + base[many:] for many in (3, 4)]

    assert verdict(base, base, max_drop=0.01) == ("PASS", 3)
    assert verdict(base, lost[0], max_drop=0.01) == ("PASS", 0)
    assert verdict(base, lost[1], max_drop=0.01) == ("INSUFFICIENT_EVIDENCE", -1)


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 999),
    n=st.integers(10, 150),
    most=st.sampled_from([0.02, 0.1, 0.3]),
    evidence=st.sampled_from(["ci", "point"]),
    direction=st.sampled_from(["higher_is_better", "lower_is_better"]),
)
def test_what_the_margin_allows_passes_and_one_more_does_not(
    seed: int, n: int, most: float, evidence: str, direction: str
) -> None:
    chance = random.Random(seed)
    share, differing = chance.random(), chance.choice([0.0, 0.1, 0.4])
    base = [float(chance.random() < share) for _ in range(n)]
    cand = [1.0 - x if chance.random() < differing else x for x in base]
    limits = {"max_drop": most, "evidence": evidence, "direction": direction}

    _, margin = verdict(base, cand, **limits)

    good = 1.0 if direction == "higher_is_better" else 0.0
    if margin is None:
        assert verdict(base, [good] * n, **limits)[0] != "PASS"
    elif margin >= 0:
        assert verdict(base, lost(base, cand, margin, good), **limits)[0] == "PASS"
        beyond = lost(base, cand, margin + 1, good)
        assert beyond.count(good) == 0 or verdict(base, beyond, **limits)[0] != "PASS"
    else:
        assert verdict(base, won(base, cand, -margin, good), **limits)[0] == "PASS"
        assert verdict(base, won(base, cand, -margin - 1, good), **limits)[0] != "PASS"


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 999), most=st.sampled_from([0.02, 0.1, 0.3, 0.6]))
def test_the_order_of_problems_is_nothing_for_the_margin(seed: int, most: float) -> None:
    """Nor is it where many are won or lost by the same, from different scores."""
    chance = random.Random(seed)
    pairs = [(chance.randrange(5) / 4, chance.randrange(5) / 4) for _ in range(60)]
    orders = [pairs, chance.sample(pairs, 60)]

    margins = [
        margin_problems(
            Values([one for one, _ in order], [other for _, other in order]),
            most,
            higher_is_better=True,
            ci=True,
        )
        for order in orders
    ]

    assert margins[0] == margins[1]


def lost(base: Sequence[float], cand: Sequence[float], count: int, good: float) -> list[float]:
    order = sorted(range(len(base)), key=lambda at: (cand[at] != good, base[at] != good))
    return [1.0 - good if at in order[:count] else x for at, x in enumerate(cand)]


def won(base: Sequence[float], cand: Sequence[float], count: int, good: float) -> list[float]:
    order = sorted(range(len(base)), key=lambda at: (cand[at] == good, base[at] != good))
    return [good if at in order[:count] else x for at, x in enumerate(cand)]


def test_the_margin_is_that_of_the_worst_case() -> None:
    base = [1.0] * 1000

    _, whole = verdict(base, base, max_drop=0.05)
    _, gaps = verdict(base, [1.0] * 990 + [None] * 10, max_drop=0.05)

    assert whole is not None
    assert gaps == whole - 10


@pytest.mark.parametrize(
    ("base", "cand"), [([5.0] * 50, [5.0] * 50), ([1.0] * 50, [1.0] * 49 + [None])]
)
def test_where_nobody_can_say_there_is_no_margin(base: Rewards, cand: Rewards) -> None:
    """Points beyond 1, and a limit that not even equal answers of so few can show."""
    assert verdict(base, cand, max_drop=0.0)[1] is None


def test_in_clusters_it_depends_on_which_problems_so_there_is_no_margin() -> None:
    values = Values([1.0] * 100, [1.0] * 100, [f"c{at % 20}" for at in range(100)])

    assert margin_problems(values, 0.9, higher_is_better=True, ci=True) is None
