"""Journal objects of attempts, and what a benchmark's records come to, without any file."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeAlias

from pytest_nel.core.types import JsonObject
from pytest_nel.records.bundle import bundle
from pytest_nel.records.tally import Tally

Pair: TypeAlias = tuple[JsonObject, JsonObject]
RUN = {"run_id": "r", "timestamp": "2026-01-02T03:04:05Z", "complete": True}


def attempt(
    problem: int,
    repeat: int = 0,
    reward: float | None = 1.0,
    *,
    solved: Mapping[str, Any] | None = None,
    **scored: Any,
) -> Pair:
    """The two objects of an attempt; the outcome follows from the reward unless it is given."""
    outcome = "unscored" if reward is None else "correct" if reward >= 1 else "wrong"
    one = {"problem_idx": problem, "repeat": repeat, "response": "a", **(solved or {})}
    two = {"problem_idx": problem, "repeat": repeat, "outcome": outcome, "reward": reward}
    return one, {**two, **scored}


def bundle_of(pairs: Iterable[Pair], repeats: int = 1, **plan: Any) -> JsonObject:
    """The bundle of these records."""
    tally, problems = Tally.of(repeats), set()
    for solved, scored in pairs:
        problems.add(solved["problem_idx"])
        tally.add(solved, scored)
    facts = {"benchmark": "b", "problems": sorted(problems), "repeats": repeats, "config": {}}
    return bundle(tally, {**facts, "fingerprint": {}, **plan}, RUN)


def scores_of(pairs: Iterable[Pair], repeats: int = 1, **plan: Any) -> JsonObject:
    """``benchmark.scores`` of these records."""
    scores: JsonObject = bundle_of(pairs, repeats, **plan)["benchmark"]["scores"]
    return scores


def of_rewards(*problems: Sequence[float | None]) -> list[Pair]:
    """Attempts with these rewards, one sequence for each problem."""
    return [
        attempt(problem, repeat, reward)
        for problem, rewards in enumerate(problems)
        for repeat, reward in enumerate(rewards)
    ]
