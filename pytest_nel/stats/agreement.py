"""maj@k: what the most common of several answers is worth."""

from collections.abc import Hashable, Iterable


def majority_reward(votes: Iterable[tuple[Hashable | None, float]]) -> float:
    """The reward of the most common answer (self-consistency, Wang et al. 2022).

    Where several answers are equally common, one of them is drawn at random: the value is the
    expectation, their mean. Attempts that give the same answer and differ in reward (the scorer
    saw more than the answer) count by their mean.

    Args:
        votes: (answer, reward) of each attempt; None where no answer was found, which is no vote.

    Returns:
        0 where nobody votes.
    """
    found: dict[Hashable, tuple[int, float]] = {}
    for answer, reward in votes:
        if answer is not None:
            count, total = found.get(answer, (0, 0.0))
            found[answer] = (count + 1, total + reward)
    if not found:
        return 0.0
    most = max(count for count, _ in found.values())
    tied = sorted(total / count for count, total in found.values() if count == most)
    return sum(tied) / len(tied)
