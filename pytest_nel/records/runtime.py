"""What a benchmark took: times, tokens, money; and what failed."""

from collections.abc import Iterable, Mapping
from typing import Any

from pytest_nel.core.money import costs
from pytest_nel.core.types import JsonObject
from pytest_nel.records.tally import Tally
from pytest_nel.stats.summary import percentiles

_POINTS = (50, 90, 95, 99)


def runtime(
    tally: Tally,
    prices: Mapping[str, Any] | None = None,
    judge_prices: Mapping[str, Any] | None = None,
) -> JsonObject:
    """runtime_stats.json: counts, tokens and times; unknown tokens are counted, not guessed.

    Args:
        tally: Sums over the records.
        prices: Of the plan: money per million prompt and completion tokens.
        judge_prices: The same by service that judges.
    """
    seconds = tally.elapsed
    stats: JsonObject = {
        "total_steps": tally.attempted,
        "total_tokens": tally.tokens,
        "total_prompt_tokens": tally.prompt_tokens,
        "total_completion_tokens": tally.completion_tokens,
        "total_reasoning_tokens": tally.reasoning_tokens,
        "steps_without_usage": tally.tokens_unknown,
        "steps_with_usage": len(tally.tokens_each),
        "elapsed_seconds": round(seconds, 3),
        "latency_percentiles_ms": _percentiles(tally.latencies),
        "token_percentiles": {
            "completion": _percentiles(tally.completion_each),
            "total": _percentiles(tally.tokens_each),
        },
        "tokens_per_second": round(tally.tokens / seconds, 3) if seconds else 0.0,
        "steps_per_second": round(tally.attempted / seconds, 3) if seconds else 0.0,
        "model_errors": tally.model_errors,
        "total_retries": tally.retries,
        "finish_reason_counts": dict(sorted(tally.finish_reasons.items())),
    }
    if prices:
        stats["cost"] = cost(tally, prices)
    if judges := tally.judges.runtime(judge_prices or {}):
        stats["judges"] = judges
    if (sandboxes := tally.sandboxes.as_json(seconds)) is not None:
        stats["sandboxes"] = sandboxes
    if (tools := tally.tools.as_json()) is not None:
        stats["tools"] = tools
    return stats


def _percentiles(values: Iterable[float]) -> JsonObject:
    return {f"p{q:g}": round(v, 2) for q, v in percentiles(values, _POINTS).items()}


def cost(tally: Tally, prices: Mapping[str, Any]) -> JsonObject:
    """What the answers cost that the bundle counts.

    Answers from the cache cost nothing. ``n_unknown`` attempts do not say their tokens and
    ``n_made_again`` took the place of answers that had been paid too: with either, the total is
    a lower bound.
    """
    prompt, completion = costs(tally.paid_prompt, tally.paid_completion, prices)
    return {
        "total": round(prompt + completion, 6),
        "prompt": round(prompt, 6),
        "completion": round(completion, 6),
        "currency": str(prices["currency"]),
        "n_unknown": tally.paid_unknown,
        "n_made_again": tally.made_again,
    }


def failures(tally: Tally) -> JsonObject:
    """failure_analysis.json: the categories with up to three examples each."""
    total = sum(tally.failures.values())
    return {
        "total_steps": tally.attempted,
        "total_failures": total,
        "failure_rate": round(total / tally.attempted, 4) if tally.attempted else 0.0,
        "categories": {
            name: {
                "count": count,
                "n_unscored": tally.unscored_by[name],
                "percentage": round(count / tally.attempted, 4),
                "exemplars": tally.exemplars[name],
            }
            for name, count in sorted(tally.failures.items(), key=lambda pair: (-pair[1], pair[0]))
        },
    }
