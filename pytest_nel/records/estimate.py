"""What attempts will take, judged by those of an earlier run or of a sample."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from pytest_nel.core.money import costs
from pytest_nel.core.types import JsonObject
from pytest_nel.records._result_rows import keyed_rows
from pytest_nel.records.sides import RESULTS, StoredRun


@dataclass(frozen=True, slots=True)
class Each:
    """What one attempt took on average.

    Attributes:
        seen: Attempts that say their tokens.
        prompt_tokens: Of one attempt; None where none says it.
        completion_tokens: As above, reasoning included.
        latency: Seconds of one answer; None where none says it.
        judges: What each judge took on average, prompt and completion tokens, by service.
    """

    seen: int
    prompt_tokens: float | None
    completion_tokens: float | None
    latency: float | None
    judges: Mapping[str, tuple[float, float]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Estimate:
    """What many attempts will take; None where nothing is known.

    Attributes:
        tokens: Prompts and completions together.
        cost: In the currency of the prices.
        seconds: With so many at once as are allowed; a lower bound where answers queue.
    """

    tokens: float | None
    cost: float | None
    seconds: float | None

    def as_json(self) -> JsonObject:
        """For machines, rounded."""
        return {
            "tokens": None if self.tokens is None else round(self.tokens),
            "cost": None if self.cost is None else round(self.cost, 6),
            "seconds": None if self.seconds is None else round(self.seconds, 1),
        }


def each_of(run: StoredRun, benchmark: str) -> Each | None:
    """Averages over the attempts of a benchmark; None where the run has not measured it.

    Raises:
        OSError: Its rows cannot be read.
    """
    bundle = run.bundles.get(benchmark)
    if bundle is None:
        return None
    scores = (bundle.get("benchmark") or {}).get("scores") or {}
    runtime = scores.get("runtime") or {}
    known = runtime.get("steps_with_usage")  # one that failed took none, and is made again
    if not isinstance(known, int):  # of the reference system
        known = int(runtime.get("total_steps") or 0) - int(runtime.get("steps_without_usage") or 0)
    return Each(
        max(0, known),
        _mean(runtime.get("total_prompt_tokens"), known),
        _mean(runtime.get("total_completion_tokens"), known),
        _latency(run, benchmark),
        _judges(runtime.get("judges"), known),
    )


def estimate(
    each: Each,
    attempts: int,
    at_once: int,
    prices: Mapping[str, Any] | None,
    judge_prices: Mapping[str, Mapping[str, Any]],
) -> Estimate:
    """What so many attempts will take, their judges included.

    Args:
        each: What one took.
        attempts: How many there will be.
        at_once: How many of them are under way together.
        prices: Of the model.
        judge_prices: Of each judge that will be asked, by service; empty where it has none.
    """
    if each.prompt_tokens is None or each.completion_tokens is None:
        tokens: float | None = None
        cost: float | None = None
    else:
        answers = (each.prompt_tokens, each.completion_tokens)
        known = [name for name in judge_prices if name in each.judges]
        whole = len(known) == len(judge_prices)
        parts = [(answers, prices), *((each.judges[name], judge_prices[name]) for name in known)]
        tokens = attempts * sum(sum(took) for took, _ in parts) if whole else None
        costs = [_cost(took, price) for took, price in parts]
        paid = [one for one in costs if one is not None]
        cost = attempts * sum(paid) if whole and len(paid) == len(costs) else None
    seconds = None if each.latency is None else math.ceil(attempts / at_once) * each.latency
    return Estimate(tokens, cost, seconds)


def _cost(took: tuple[float, float], prices: Mapping[str, Any] | None) -> float | None:
    if not prices:
        return None
    return sum(costs(*took, prices))


def _judges(sums: object, count: int) -> dict[str, tuple[float, float]]:
    if not isinstance(sums, Mapping) or count <= 0:
        return {}
    return {
        name: (took["prompt_tokens"] / count, took["completion_tokens"] / count)
        for name, took in sums.items()  # what says not all of its tokens says nothing
        if not took.get("replies_without_usage") and not took.get("cached_replies")
    }


def _mean(total: object, count: int) -> float | None:
    return float(total) / count if isinstance(total, int | float) and count > 0 else None


def _latency(run: StoredRun, benchmark: str) -> float | None:
    path = run.paths[benchmark].with_name(RESULTS)
    if not path.is_file():
        return None
    found = [row.get("latency_ms") for _, row in keyed_rows(path)]
    known = [value for value in found if isinstance(value, int | float) and value > 0]
    return math.fsum(known) / len(known) / 1000 if known else None
