"""The bundle: a benchmark's records summed up under the reference system's names."""

from collections.abc import Mapping
from typing import Any

from pytest_nel.core.keys import digest
from pytest_nel.core.types import JsonObject
from pytest_nel.records.tally import Tally
from pytest_nel.stats.intervals import Interval, mean_interval
from pytest_nel.stats.pass_at_k import pass_at_k
from pytest_nel.stats.summary import percentiles, summary


def scores(tally: Tally, repeats: int) -> JsonObject:
    """Headline metrics, each with its interval, its method and what it was counted on."""
    per_problem = list(tally.rewards.values())
    result: JsonObject = {"mean_reward": _metric(*mean_interval(per_problem))}
    result["mean_reward"]["n_problems"] = len(per_problem)
    if all(reward in (0.0, 1.0) for rewards in per_problem for reward in rewards):
        for k in sorted({1, repeats}):
            value = _pass_at(tally, k)
            if value is not None:
                result[f"pass@{k}"] = value
    flat = [reward for rewards in per_problem for reward in rewards]
    result["summary"] = summary(flat)
    result["runtime"] = runtime(tally)
    result["failures"] = failures(tally)
    return result


def _metric(value: float | None, interval: Interval | None) -> JsonObject:
    metric: JsonObject = {"value": None if value is None else round(value, 6)}
    if interval is not None:
        metric["ci_lower"] = round(interval.low, 6)
        metric["ci_upper"] = round(interval.high, 6)
        metric["ci_method"] = interval.method
    return metric


def _pass_at(tally: Tally, k: int) -> JsonObject | None:
    values = [
        [pass_at_k(len(rewards), tally.correct[problem], k)]
        for problem, rewards in tally.rewards.items()
        if len(rewards) >= k
    ]
    if not values:
        return None
    if k == 1:  # the mean of the same rewards: keep the interval that knows the repeats
        per_problem = [rewards for rewards in tally.rewards.values() if rewards]
        return _metric(*mean_interval(per_problem)) | {"n_problems": len(values)}
    return _metric(*mean_interval(values)) | {"n_problems": len(values)}


def runtime(tally: Tally) -> JsonObject:
    """runtime_stats.json: counts, tokens and times; unknown tokens are counted, not guessed."""
    seconds = tally.elapsed
    stats: JsonObject = {
        "total_steps": tally.attempted,
        "total_tokens": tally.tokens,
        "total_prompt_tokens": tally.prompt_tokens,
        "total_completion_tokens": tally.completion_tokens,
        "total_reasoning_tokens": tally.reasoning_tokens,
        "steps_without_usage": tally.tokens_unknown,
        "elapsed_seconds": round(seconds, 3),
        "latency_percentiles_ms": {},
        "tokens_per_second": round(tally.tokens / seconds, 3) if seconds else 0.0,
        "steps_per_second": round(tally.attempted / seconds, 3) if seconds else 0.0,
        "model_errors": tally.model_errors,
        "total_retries": tally.retries,
        "finish_reason_counts": dict(sorted(tally.finish_reasons.items())),
    }
    if tally.latencies:
        found = percentiles(tally.latencies, (50, 90, 95, 99))
        stats["latency_percentiles_ms"] = {f"p{q:g}": round(v, 2) for q, v in found.items()}
    return stats


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
                "percentage": round(count / tally.attempted, 4),
                "exemplars": tally.exemplars[name],
            }
            for name, count in tally.failures.most_common()
        },
    }


def categories(tally: Tally) -> JsonObject:
    """Mean reward and count of each ``metadata.category``."""
    return {
        name: {"mean_reward": round(sum(values) / len(values), 4), "n": len(values)}
        for name, values in sorted(tally.categories.items())
    }


def bundle(tally: Tally, plan: Mapping[str, Any], run: Mapping[str, Any]) -> JsonObject:
    """The whole ``eval-*.json`` of one benchmark.

    Args:
        tally: Sums over its records.
        plan: The object of its ``plan.json``.
        run: Facts of the run: run_id, timestamp, sdk_version, complete.
    """
    settings = plan["config"]
    fingerprint = dict(plan["fingerprint"])
    fingerprint["sampling"] = tally.sampling
    fingerprint["models"] = sorted(tally.models)
    result: JsonObject = {
        **run,
        "config_hash": digest(settings),
        "config": settings,
        "fingerprint": fingerprint,
        "benchmark": {
            "name": plan["benchmark"],
            "samples": len(tally.rewards),
            "repeats": plan["repeats"],
            "scores": scores(tally, plan["repeats"]),
        },
        "n_results": tally.attempted,
        "n_planned": len(plan["problems"]) * plan["repeats"],
        "n_attempted": tally.attempted,
        "n_scored": tally.scored,
        "n_correct": tally.outcomes["correct"],
        "n_wrong": tally.outcomes["wrong"],
        "n_unparsed": tally.outcomes["unparsed"],
        "n_unscored": tally.unscored,
        "n_truncated": tally.truncated,
        "n_empty": tally.empty,
        "n_refusals": tally.refusals,
        "n_cached": tally.cached,
        "n_made_again": tally.made_again,
        **_extent(tally, plan),
    }
    if tally.categories:
        result["benchmark"]["categories"] = categories(tally)
    return result


def _extent(tally: Tally, plan: Mapping[str, Any]) -> JsonObject:
    """How much of the whole dataset was measured, whatever was planned or selected."""
    total = int(plan["fingerprint"].get("dataset_size", len(plan["problems"]))) * plan["repeats"]
    facts: JsonObject = {
        "n_total": total,
        "partial": tally.attempted < total,
        "evaluated": f"{tally.attempted:,} of {total:,}",
    }
    if plan.get("shard"):
        facts["shard"] = plan["shard"]
    return facts


def headline(result: Mapping[str, Any]) -> Mapping[str, Any]:
    """The metric a summary shows: mean_reward, which every bundle has."""
    metric: Mapping[str, Any] = result["benchmark"]["scores"]["mean_reward"]
    return metric
