"""What holds for any two runs: order, extra problems and the names of the sides are nothing."""

import random
from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_nel.gate.evidence import Row, Side
from tests.support.compared import compare, side

rewards = st.sampled_from([0.0, 1.0, 0.5, None])
runs = st.lists(st.tuples(rewards, rewards), min_size=1, max_size=40)


def two(pairs: Sequence[tuple[float | None, float | None]]) -> tuple[Side, Side]:
    return side([one for one, _ in pairs]), side([other for _, other in pairs])


@given(runs, st.randoms(use_true_random=False))
@settings(max_examples=60, deadline=None)
def test_the_order_of_rows_is_nothing(
    pairs: list[tuple[float | None, float | None]], order: random.Random
) -> None:
    baseline, candidate = two(pairs)
    mixed = []
    for one in (baseline, candidate):
        rows = list(one.rows)
        order.shuffle(rows)
        mixed.append(replace(one, rows=rows))

    assert compare(*mixed).as_json() == compare(baseline, candidate).as_json()


@given(runs, st.integers(1, 5))
@settings(max_examples=60, deadline=None)
def test_which_side_has_extra_problems_is_counted_and_changes_no_measured_number(
    pairs: list[tuple[float | None, float | None]], extra: int
) -> None:
    baseline, candidate = two(pairs)
    more = [Row(1000 + at, 0, 1.0, correct=True, id=f"extra{at}") for at in range(extra)]

    here = compare(replace(baseline, rows=[*baseline.rows, *more]), candidate).as_json()
    there = compare(baseline, replace(candidate, rows=[*candidate.rows, *more])).as_json()

    same = ("difference", "flip_report", "test_used")
    assert [here[name] for name in same] == [there[name] for name in same]
    assert here["n_missing"] == there["n_missing"]
    assert here["only_in_baseline"] == there["only_in_baseline"] + extra
    assert there["only_in_candidate"] == here["only_in_candidate"] + extra
    if here["difference"]["value"] is not None:
        assert here["difference"] == compare(baseline, candidate).as_json()["difference"]


@given(runs)
@settings(max_examples=60, deadline=None)
def test_sides_that_change_places_change_regressions_into_improvements(
    pairs: list[tuple[float | None, float | None]],
) -> None:
    baseline, candidate = two(pairs)

    one, other = compare(baseline, candidate), compare(candidate, baseline)

    mine, yours = one.measured.flips.counts, other.measured.flips.counts
    assert mine.baseline_only_correct == yours.candidate_only_correct
    assert mine.candidate_only_correct == yours.baseline_only_correct
    assert (mine.both_correct, mine.both_wrong) == (yours.both_correct, yours.both_wrong)
    mirrored = pytest.approx(other.measured.case.result.p_better, abs=0.03)  # 10,000 flips
    assert one.measured.case.result.p_worse == mirrored
    assert one.measured.case.drop == -other.measured.case.drop


@given(runs, st.integers(0, 39))
@settings(max_examples=60, deadline=None)
def test_an_answer_that_gets_worse_never_makes_a_pass(
    pairs: list[tuple[float | None, float | None]], at: int
) -> None:
    whole = [(before, 0.0 if after is None else after) for before, after in pairs] * 8
    worse = list(whole)
    worse[at % len(worse)] = (worse[at % len(worse)][0], 0.0)

    before, after = (compare(*two(one), test="sign") for one in (whole, worse))

    assert not (after.verdict == "PASS" and before.verdict != "PASS")
    assert not (before.verdict == "BLOCK" and after.verdict in ("PASS", "INCONCLUSIVE", "WARN"))


@given(runs)
@settings(max_examples=60, deadline=None)
def test_whatever_the_missing_attempts_were_the_verdict_stands(
    pairs: list[tuple[float | None, float | None]],
) -> None:
    """A PASS stays none worse than PASS, a BLOCK a BLOCK, for either way of filling them."""
    pairs = pairs * 6

    found = compare(*two(pairs), test="sign")

    if found.verdict in ("PASS", "BLOCK"):
        for left, right in ((0.0, 0.0), (0.0, 1.0), (1.0, 0.0), (1.0, 1.0)):
            filled = [
                (left if one is None else one, right if other is None else other)
                for one, other in pairs
            ]
            assert compare(*two(filled), test="sign").verdict == found.verdict
