"""What a majority is worth."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_nel.stats.agreement import majority_reward

votes = st.lists(st.tuples(st.none() | st.sampled_from("abc"), st.sampled_from([0.0, 1.0])))


@pytest.mark.parametrize(
    ("given_votes", "value"),
    [
        ([("a", 1.0), ("a", 1.0), ("b", 0.0)], 1.0),
        ([("a", 1.0), ("b", 0.0), ("b", 0.0)], 0.0),
        ([("a", 1.0), ("b", 0.0)], 0.5),  # a tie: one of them is drawn
        ([("a", 1.0), ("b", 0.0), ("c", 0.0)], pytest.approx(1 / 3)),
        ([("a", 1.0), (None, 0.0), (None, 0.0)], 1.0),  # no answer is no vote
        ([(None, 0.0), (None, 0.0)], 0.0),
        ([("a", 1.0), ("a", 0.5), ("b", 0.0)], 0.75),
        ([], 0.0),
    ],
)
def test_the_most_common_answer_decides(
    given_votes: list[tuple[str | None, float]], value: float
) -> None:
    assert majority_reward(given_votes) == value


@given(votes)
def test_the_order_of_votes_does_not_matter(cast: list[tuple[str | None, float]]) -> None:
    assert majority_reward(cast) == majority_reward(cast[::-1])


@given(votes)
def test_it_is_the_mean_reward_of_the_answers_that_are_most_common(
    cast: list[tuple[str | None, float]],
) -> None:
    counts = Counter(answer for answer, _ in cast if answer is not None)
    most = [answer for answer, count in counts.items() if count == max(counts.values())]
    means = []
    for answer in most:
        rewards = [reward for other, reward in cast if other == answer]
        means.append(sum(rewards) / len(rewards))

    value = majority_reward(cast)

    assert value == pytest.approx(sum(means) / len(means) if means else 0.0)
