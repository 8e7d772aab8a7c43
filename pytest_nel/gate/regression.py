"""What a gate tells beside its verdict: how many problems changed, and whether by chance."""

from collections import Counter
from typing import Any

from pytest_nel.gate.pairs import Pairs, Values
from pytest_nel.stats.hypothesis_tests import mcnemar
from pytest_nel.stats.paired import p_value


def regression_report(pairs: Pairs, *, higher_is_better: bool = True) -> dict[str, Any] | None:
    """Evidence for a reader; it decides nothing, and has no verdict of its own.

    A gate has many benchmarks, so nothing is resampled: McNemar's exact test for single answers
    that are right or wrong, else the score test that the interval of the difference inverts.

    Returns:
        None where nothing is paired.
    """
    values = pairs.measured
    n = len(values)
    if not n:
        return None
    counts = Counter(zip(values.baseline, values.candidate, strict=True))
    lower = sum(count for (before, after), count in counts.items() if after < before)
    higher = sum(count for (before, after), count in counts.items() if after > before)
    binary = all(value in (0.0, 1.0) for two in counts for value in two)
    worse, better = (lower, higher) if higher_is_better else (higher, lower)
    said: dict[str, Any] = {
        "n_paired": n,
        "n_regressions": worse,
        "n_improvements": better,
        "n_unchanged": n - lower - higher,
        **_test(values, worse, better, binary=binary, higher_is_better=higher_is_better),
    }
    if binary:
        said["contingency"] = {
            "both_correct": counts[1.0, 1.0],
            "baseline_only_correct": counts[1.0, 0.0],
            "candidate_only_correct": counts[0.0, 1.0],
            "both_wrong": counts[0.0, 0.0],
        }
    return said


def _test(
    values: Values, worse: int, better: int, *, binary: bool, higher_is_better: bool
) -> dict[str, Any]:
    if binary and values.clusters is None:
        found = mcnemar(worse, better, len(values))
        p_worse, p_better, either = found.p_worse, found.p_better, found.p_two_sided
    else:
        sides = values.baseline, values.candidate, values.clusters
        less = p_value(*sides, null=0.0, alternative="less")
        greater = p_value(*sides, null=0.0, alternative="greater")
        p_worse, p_better = (less, greater) if higher_is_better else (greater, less)
        either = min(1.0, 2.0 * min(less, greater))
    return {
        "test_used": "mcnemar" if binary and values.clusters is None else "score",
        "p_value": round(p_worse, 6),
        "p_value_better": round(p_better, 6),
        "p_value_two_sided": round(either, 6),
    }
