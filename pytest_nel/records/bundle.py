"""The bundle: a benchmark's records summed up under the reference system's names."""

import math
from collections.abc import Mapping
from typing import Any

from pytest_nel.core.keys import digest
from pytest_nel.core.types import JsonObject
from pytest_nel.records.columns import Table
from pytest_nel.records.groups import breakdowns, categories
from pytest_nel.records.metrics import further_scorers, headline_metrics, rates
from pytest_nel.records.runtime import failures, runtime
from pytest_nel.records.tally import Tally
from pytest_nel.stats.summary import summary


def scores(tally: Tally, table: Table, plan: Mapping[str, Any]) -> JsonObject:
    """``benchmark.scores``: metrics, breakdowns, rates, and what it took."""
    columns = tally.columns
    result = headline_metrics(columns, table, plan["repeats"]) | further_scorers(tally, table)
    result["summary"] = summary(reward for reward in columns.reward if not math.isnan(reward))
    result["rates"] = rates(tally)
    result["runtime"] = runtime(tally, plan.get("prices"), plan.get("judge_prices"))
    result["failures"] = failures(tally)
    if found := breakdowns(columns, table):
        result["breakdowns"] = found
    return result


def bundle(tally: Tally, plan: Mapping[str, Any], run: Mapping[str, Any]) -> JsonObject:
    """The whole ``eval-*.json`` of one benchmark.

    Args:
        tally: Sums over its records.
        plan: The object of its ``plan.json``.
        run: Facts of the run: run_id, timestamp, sdk_version, complete.
    """
    settings, table = plan["config"], tally.columns.table()
    fingerprint = dict(plan["fingerprint"])
    fingerprint["sampling"] = tally.sampling
    fingerprint["models"] = sorted(tally.models)
    result: JsonObject = {
        **run,
        "config_hash": digest(settings),
        "config": settings,
        "fingerprint": fingerprint,
        "selftest": plan.get("selftest", "not made"),
        "benchmark": {
            "name": plan["benchmark"],
            "samples": len(table.problem),
            "repeats": plan["repeats"],
            "scores": scores(tally, table, plan),
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
        **tally.judges.counts(),
        **_extent(tally, plan),
    }
    if found := categories(tally.columns, table):
        result["benchmark"]["categories"] = found
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
