"""Metrics of a benchmark, each with its interval, its method and what it was counted on.

The problem is the unit of sampling: a metric is a mean over problems, or over clusters of them
where the data names clusters. What is unscored is missing: a problem with fewer than k scored
attempts is in no metric "at k", and ``n_problems`` says how many are.
"""

import math
from array import array
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from itertools import groupby

from pytest_nel.core.types import JsonObject
from pytest_nel.records.columns import (
    EMPTY,
    REFUSED,
    TRUNCATED,
    UNPARSED,
    UNSCORED,
    Columns,
    Scores,
    Table,
)
from pytest_nel.records.tally import Tally
from pytest_nel.stats.intervals import interval_of_sums, wilson
from pytest_nel.stats.pass_at_k import pass_all_k, pass_at_k

_RATES = {
    "unparsed": UNPARSED,
    "truncated": TRUNCATED,
    "empty": EMPTY,
    "refusal": REFUSED,
    "unscored": UNSCORED,
}


def estimate(
    sums: Sequence[tuple[float, int]], *, binary: bool, clusters: Sequence[int] = ()
) -> JsonObject:
    """A mean over problems as a metric.

    Args:
        sums: (sum of rewards, attempts) of each problem.
        binary: Whether every reward is 0 or 1.
        clusters: The cluster of each problem; empty where they are none. As many clusters as
            problems say nothing and are left out.
    """
    grouped = len(set(clusters))
    known = clusters if 0 < grouped < len(sums) else None
    value, interval = interval_of_sums(sums, binary=binary, clusters=known)
    metric: JsonObject = {"value": None if value is None else round(value, 6)}
    if interval is not None:
        metric["ci_lower"] = round(interval.low, 6)
        metric["ci_upper"] = round(interval.high, 6)
        metric["ci_method"] = interval.method
        if not interval.reliable:
            metric["ci_reliable"] = False
    metric["n_problems"] = len(sums)
    if known is not None:
        metric["n_clusters"] = grouped
    return metric


def headline_metrics(columns: Columns, table: Table, repeats: int) -> JsonObject:
    """``mean_reward``, ``pass@k``, and for repeats ``pass^k``, ``avg@k`` and ``maj@k``.

    k is the number of repeats and the powers of two below it. "Correct" is the outcome, so
    pass@k exists for fractional rewards as well. ``avg@k`` and ``maj@k`` are of all repeats.
    """
    binary = all(reward in (0.0, 1.0) for reward in columns.reward if not math.isnan(reward))
    sums = [*zip(table.total, table.scored, strict=True)]
    result = {"mean_reward": estimate(sums, binary=binary, clusters=table.cluster)}
    if not sums:
        return result
    result["pass@1"] = dict(result["mean_reward"])
    if not binary or any(c != t for c, t in zip(table.correct, table.total, strict=True)):
        hits = [*zip(table.correct, table.scored, strict=True)]
        result["pass@1"] = estimate(hits, binary=True, clusters=table.cluster)
    for k in _sizes(repeats):
        result |= _of_groups(table, k)
    return result | (_of_all(table, repeats, binary=binary) if repeats > 1 else {})


def _sizes(repeats: int) -> Iterator[int]:
    k = 2
    while k < repeats:
        yield k
        k *= 2
    if repeats > 1:
        yield repeats


def _of_groups(table: Table, k: int) -> JsonObject:
    there = [place for place, n in enumerate(table.scored) if n >= k]
    if not there:
        return {}
    kinds: Sequence[tuple[str, Callable[[int, int, int], float]]] = (
        (f"pass@{k}", cache(pass_at_k)),
        (f"pass^{k}", cache(pass_all_k)),
    )
    return {
        name: _of_values(table, there, [of(table.scored[p], table.correct[p], k) for p in there])
        for name, of in kinds
    }


def _of_values(table: Table, there: Sequence[int], values: Sequence[float]) -> JsonObject:
    """A metric with one value for each of these problems."""
    binary = all(value in (0.0, 1.0) for value in values)
    clusters = [table.cluster[place] for place in there] if table.cluster else []
    return estimate([(value, 1) for value in values], binary=binary, clusters=clusters)


def _of_all(table: Table, repeats: int, *, binary: bool) -> JsonObject:
    there = [place for place, n in enumerate(table.scored) if n >= repeats]
    if not there:
        return {}
    clusters = [table.cluster[place] for place in there] if table.cluster else []
    sums = [(table.total[place], table.scored[place]) for place in there]
    result = {f"avg@{repeats}": estimate(sums, binary=binary, clusters=clusters)}
    if table.majority:
        values = [table.majority[place] for place in there]
        result[f"maj@{repeats}"] = _of_values(table, there, values)
    return result


def further_scorers(tally: Tally, table: Table) -> JsonObject:
    """``scorer:<name>``: the mean of each further scorer's rewards, fractions kept.

    ``n`` attempts have a reward of it and ``n_missing`` have none; ``correct`` and ``total`` are
    there where every reward is 0 or 1. Where it failed, ``n_failed`` says on how many answers, and
    ``error`` what it said first.
    """
    result = {}
    for name, scores in sorted(tally.columns.scorers.items()):
        metric = result[f"scorer:{name}"] = _further(scores, table, tally.attempted)
        if failed := tally.scorer_failures[name]:
            metric |= {"n_failed": failed, "error": tally.scorer_errors[name]}
        if (judge := tally.judges.metrics.get(f"scorer:{name}")) is not None:
            metric |= judge.as_json()
    return result


def _further(scores: Scores, table: Table, attempted: int) -> JsonObject:
    n = len(scores.reward)
    binary = all(reward in (0.0, 1.0) for reward in scores.reward)
    sums, clusters = [], array("i")
    rows = sorted(range(n), key=scores.problem.__getitem__)
    for problem, found in groupby(rows, key=scores.problem.__getitem__):
        rewards = [scores.reward[row] for row in found]
        sums.append((math.fsum(rewards), len(rewards)))
        if (cluster := table.cluster_of(problem)) is not None:
            clusters.append(cluster)
    known = clusters if len(clusters) == len(sums) else ()
    metric = estimate(sums, binary=binary, clusters=known)
    metric |= {"n": n, "n_missing": attempted - n}
    return metric | ({"correct": int(sum(scores.reward)), "total": n} if binary and n else {})


def rates(tally: Tally) -> JsonObject:
    """Shares of attempts that are unparsed, truncated, … with intervals.

    ``value`` is ``n / of``. ``unscored`` is a share of all attempts, the others are shares of the
    scored ones. Wilson's interval, where repeats make attempts depend on each other the one of
    repeated problems.
    """
    columns = tally.columns
    counts = dict.fromkeys(_RATES, 0)
    for flags, times in _tallied(columns.flags).items():
        for name, bit in _RATES.items():
            counts[name] += times * bool(flags & bit)
    repeated = len(set(columns.problem)) < len(columns)
    result = {}
    for name, bit in _RATES.items():
        of = tally.attempted if name == "unscored" else tally.scored
        result[name] = _rate(counts[name], of)
        if repeated and of:
            result[name] |= _repeated(columns, bit, counts[name] / of)
    return result


def _tallied(flags: "array[int]") -> dict[int, int]:
    packed = flags.tobytes()
    return {value: packed.count(value) for value in set(packed)}


def _rate(n: int, of: int) -> JsonObject:
    interval = wilson(n, of)
    if interval is None:
        return {"value": None, "n": n, "of": of}
    return {
        "value": round(n / of, 6),
        "n": n,
        "of": of,
        "ci_lower": round(interval.low, 6),
        "ci_upper": round(interval.high, 6),
        "ci_method": interval.method,
    }


def _repeated(columns: Columns, bit: int, value: float) -> JsonObject:
    sums = []
    for _, rows in columns.by_problem():
        flags = [columns.flags[row] for row in rows]
        if bit != UNSCORED:
            flags = [each for each in flags if not each & UNSCORED]
        if flags:
            sums.append((sum(bool(each & bit) for each in flags), len(flags)))
    _, interval = interval_of_sums(sums, binary=True)
    if interval is None:
        return {}
    return {  # of unequally many repeats the mean over problems is not quite n / of
        "ci_lower": round(min(interval.low, value), 6),
        "ci_upper": round(max(interval.high, value), 6),
        "ci_method": interval.method,
    }
