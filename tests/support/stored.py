"""Runs on the disk without a run: bundles and rows as ours, and as the reference system's."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

Rewards = Sequence[float | None] | Sequence[Sequence[float | None]]


def write_run(
    directory: Path,
    rewards: Rewards,
    *,
    name: str = "mmlu",
    bundle: Mapping[str, Any] | None = None,
    row: Mapping[str, Any] | None = None,
    categories: Sequence[str] = (),
    clusters: Sequence[str] = (),
    fingerprint: Mapping[str, Any] | None = None,
) -> Path:
    """One benchmark of ours: a reward per problem, or several; None is an attempt without score."""
    tries = [one if isinstance(one, Sequence) else [one] for one in rewards]
    folder = directory / name
    folder.mkdir(parents=True)
    rows = [
        {**_row(at, repeat, reward), "metadata": about, **(row or {})}
        for at, values in enumerate(tries)
        for about in [_about(at, category=categories, cluster=clusters)]
        for repeat, reward in enumerate(values)
    ]
    (folder / "results.jsonl").write_text("".join(json.dumps(one) + "\n" for one in rows))
    whole = {
        "run_id": directory.name,
        "fingerprint": {**FINGERPRINT, **(fingerprint or {})},
        **_facts(name, tries),
        **(bundle or {}),
    }
    (folder / f"eval-20260101T000000Z-{name}.json").write_text(json.dumps(whole))
    return directory


def _row(at: int, repeat: int, reward: float | None) -> dict[str, Any]:
    return {
        "problem_idx": at,
        "repeat": repeat,
        "problem_id": f"p{at}",
        "outcome": _outcome(reward),
        "reward": reward,
        "scorer_rewards": {},
        "prompt": f"question {at}",
        "model_response": f"answer {reward}",
        "expected_answer": "x",
        "scoring_details": {},
    }


def _facts(name: str, tries: Sequence[Sequence[float | None]]) -> dict[str, Any]:
    """What a bundle counts, and its score."""
    flat = [reward for values in tries for reward in values]
    known = [value for values in tries if (value := _mean(values)) is not None]
    repeats = max((len(values) for values in tries), default=1)
    counts = {word: sum(_outcome(reward) == word for reward in flat) for word in _OUTCOMES}
    score = {"value": sum(known) / len(known) if known else None}
    return {
        "benchmark": {
            "name": name,
            "samples": len(known),
            "repeats": repeats,
            "scores": {"mean_reward": score},
        },
        "n_results": len(flat),
        "n_planned": len(tries) * repeats,
        "n_total": len(tries) * repeats,
        "n_attempted": len(flat),
        "n_scored": len(flat) - counts["unscored"],
        "n_truncated": 0,
        "n_empty": 0,
        **{f"n_{word}": count for word, count in counts.items()},
    }


def _about(at: int, **named: Sequence[str]) -> dict[str, str]:
    return {key: names[at] for key, names in named.items() if names}


FINGERPRINT: Mapping[str, Any] = {
    "rows_hash": "sha256:rows",
    "prompts": "sha256:prompts",
    "seeds": "sha256:seeds",
    "scorer": "x.py:score sha256:1",
    "extra": "",
    "pass_at": 1.0,
    "model": "m",
    "answering": {"solver.type": "simple", "model": "m", "sampling.temperature": 0.0},
    "sampling": [{"temperature": 0.0}],
    "versions": {"pytest-nel": "0.1.0"},
}
_OUTCOMES = ("correct", "wrong", "unparsed", "unscored")


def _outcome(reward: float | None) -> str:
    if reward is None:
        return "unscored"
    return "correct" if reward >= 1 else "wrong"


def _mean(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else None


def write_reference_run(
    directory: Path,
    rewards: Sequence[float],
    *,
    name: str = "mmlu",
    details: Mapping[int, Mapping[str, Any]] | None = None,
    scores: Mapping[str, Any] | None = None,
    rows: bool = True,
    config: Mapping[str, Any] | None = None,
) -> Path:
    """One benchmark as the reference system leaves it: reward 0 for whatever went wrong."""
    folder = directory / name
    folder.mkdir(parents=True)
    lines = [
        {
            "problem_idx": at,
            "repeat": 0,
            "reward": reward,
            "prompt": f"question {at}",
            "model_response": "…",
            "extracted_answer": "…",
            "expected_answer": "x",
            "scoring_details": dict((details or {}).get(at, {"method": "byob"})),
            "metadata": {},
        }
        for at, reward in enumerate(rewards)
    ]
    if rows:
        (folder / "results.jsonl").write_text("".join(json.dumps(one) + "\n" for one in lines))
    bundle = {
        "run_id": directory.name,
        "config": dict(config or {"model": "m", "temperature": 0.0}),
        "benchmark": {
            "name": name,
            "samples": len(rewards),
            "repeats": 1,
            "scores": dict(scores or {"pass@1": {"value": sum(rewards) / max(1, len(rewards))}}),
        },
        "n_results": len(rewards),
    }
    (folder / f"eval-20260101T000000Z-{name}.json").write_text(json.dumps(bundle))
    return directory
