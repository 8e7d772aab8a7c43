"""The score of one run on a metric: from its rows, else as its bundle says."""

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from pytest_nel.gate.evidence import Row, Side
from pytest_nel.gate.metrics import Try, in_range, scorer_of, solves, supported, value_of
from pytest_nel.stats.intervals import interval_of_sums, mean_interval, wilson

_LARGEST = 1e100  # a number beyond it has no square
_ROUNDED = 1e-4  # scores of the reference system have four decimals
_NORMAL = 100  # problems from which Wilson's interval has the normal quantile
_NOISE = 1e-9
_BOUNDS = (Try(0.0, correct=False), Try(1.0, correct=True))


@dataclass(frozen=True, slots=True)
class Score:
    """A score with all that may be said about it.

    Attributes:
        value: Mean over problems with a score; None without any.
        low: Lower bound of its interval, or the value itself.
        high: Upper bound.
        method: Of the interval.
        n_missing: Attempts without a score.
        worst: The same if all that is missing were wrong.
        best: The same if all of it were correct.
        bounded: Whether all rewards lie in [0, 1]; otherwise there is no interval, and no bound on
            what is missing.
        n: Problems with a score.
    """

    value: float | None
    low: float
    high: float
    method: str
    n_missing: int = 0
    worst: "Score | None" = None
    best: "Score | None" = None
    bounded: bool = True
    n: int = 0


def score_of(side: Side, metric: str, category: str | None = None) -> Score:
    """The candidate's own score on a metric, from its rows; without rows, as the bundle says."""
    rows = [row for row in side.rows if category is None or row.category == category]
    if not rows or not supported(metric):
        return _from_bundle(side, metric, category)
    unseen = max(0, (side.planned or 0) - len({row.problem for row in side.rows}))
    known, filled, clusters = _tries(rows, side.repeats, metric)
    missing = sum(one is None for tries in filled for one in tries) + unseen * side.repeats
    score = _score(known, clusters, metric)
    if not missing or not score.bounded:
        return replace(score, n_missing=missing)
    reliable = not unseen or _reliable(clusters)
    worst, best = (
        _score(
            [[fill if one is None else one for one in tries] for tries in filled]
            + [[fill] * side.repeats] * unseen,
            [*clusters, *[None] * unseen],
            metric,
            reliable=reliable,
        )
        for fill in _BOUNDS
    )
    return replace(score, n_missing=missing, worst=worst, best=best)


def _reliable(clusters: Sequence[str | None]) -> bool:
    """Whether these are enough; problems of which nothing is known would make more of them."""
    if not any(clusters):
        return True
    _, interval = mean_interval([[0.0]] * len(clusters), clusters=clusters)
    return interval is None or interval.reliable


def _tries(
    rows: Sequence[Row], repeats: int, metric: str
) -> tuple[list[list[Try]], list[list[Try | None]], list[str | None]]:
    """What is known of each problem, the same with gaps, and its cluster."""
    scorer = scorer_of(metric)
    problems: dict[int, dict[int, Try | None]] = defaultdict(dict)
    cluster_of: dict[int, str] = {}
    for row in rows:
        reward = row.reward if scorer is None else row.others.get(scorer)
        problems[row.problem][row.repeat] = None if reward is None else Try(reward, row.correct)
        cluster_of[row.problem] = row.cluster
    ordered = sorted(problems)
    filled = [[problems[key].get(repeat) for repeat in range(repeats)] for key in ordered]
    known = [[one for one in tries if one is not None] for tries in filled]
    return known, filled, [cluster_of[key] or None for key in ordered]


def _score(
    problems: Sequence[Sequence[Try]],
    clusters: Sequence[str | None],
    metric: str,
    *,
    reliable: bool = True,
) -> Score:
    value = value_of(metric)
    rewards: list[Sequence[float]] = []
    kept: list[str | None] = []
    for tries, cluster in zip(problems, clusters, strict=True):
        found = value(tries) if tries else None
        if found is None:
            continue
        if not solves(metric):
            rewards.append([one.reward for one in tries])
        else:
            rewards.append([float(one.correct) for one in tries] if metric == "pass@1" else [found])
        kept.append(cluster)
    n = len(rewards)
    if not solves(metric) and not in_range(reward for one in rewards for reward in one):
        plain_mean = math.fsum(math.fsum(one) / len(one) for one in rewards) / n
        return Score(plain_mean, plain_mean, plain_mean, "none", bounded=False, n=n)
    mean, interval = mean_interval(rewards, clusters=kept if any(kept) else None)
    if mean is None or interval is None:
        return Score(mean, 0.0, 1.0, "none", n=n)
    if not interval.reliable or not reliable:
        return Score(mean, 0.0, 1.0, interval.method, n=n)
    return Score(mean, interval.low, interval.high, interval.method, n=n)


def _from_bundle(side: Side, metric: str, category: str | None) -> Score:
    """As stored, with an interval where one is stored that can be trusted."""
    about = side.bundle.get("benchmark") or {}
    said = (about.get("scores") or {}).get(metric)
    said = said if isinstance(said, dict) else {}
    value = _finite(said, "value")
    if category is not None or value is None:
        return Score(None, 0.0, 1.0, "none")
    n = _count(said.get("n_problems")) or _count(about.get("samples"))
    score = Score(value, 0.0, 1.0, "none", bounded=0.0 <= value <= 1.0, n=n)
    found = _interval(side.bundle, said, value, n)
    if found is not None:
        score = replace(score, low=found[0], high=found[1], method=found[2])
    planned, scored = side.bundle.get("n_planned"), side.bundle.get("n_scored")
    if planned is None or scored is None or scored >= planned:
        return score
    worst, best = Score(0.0, 0.0, 1.0, "none"), Score(1.0, 0.0, 1.0, "none")
    return replace(score, n_missing=planned - scored, worst=worst, best=best)


def _interval(
    bundle: Mapping[str, Any], said: Mapping[str, Any], value: float, n: int
) -> tuple[float, float, str] | None:
    """(low, high, method) of a stored score, or None.

    Ours as stored, since its method is known. The reference system's ``ci_*`` of pass@1 is the
    spread within problems alone, and its percentile bootstrap is too narrow for few or equal
    problems: so of it the bootstrap where there is one, and nothing narrower than Wilson's.
    """
    low, high = _finite(said, "ci_lower"), _finite(said, "ci_upper")
    method = said.get("ci_method")
    ours = bool(bundle.get("fingerprint")) and isinstance(method, str)
    if not ours:
        ends = _finite(said, "bootstrap_ci_lower"), _finite(said, "bootstrap_ci_upper")
        low, high = ends if None not in ends else (low, high)
    if low is None or high is None or not low - _ROUNDED <= value <= high + _ROUNDED:
        return None
    if said.get("ci_reliable") is False:
        return None
    low, high = min(low, value), max(high, value)
    if ours and low < high:
        return low, high, str(method)
    if not 0.0 <= value <= 1.0:
        return (low, high, "as stored") if low < high else None
    least = _wilson(value, n)
    return None if least is None else (min(low, least[0]), max(high, least[1]), "wilson_or_stored")


def _wilson(value: float, n: int) -> tuple[float, float] | None:
    """Wilson's interval as rows would have it, below 100 problems with Student's t.

    Successes need not be whole, since scores are rounded and repeats averaged: the bounds are those
    of the whole numbers around them.
    """
    if not n:
        return None
    if n >= _NORMAL:
        found = wilson(value * n, n)
        return None if found is None else (found.low, found.high)
    ends = []
    for right in (math.floor(value * n + _NOISE), math.ceil(value * n - _NOISE)):
        sums = [(1.0, 1)] * right + [(0.0, 1)] * (n - right)
        _, interval = interval_of_sums(sums, binary=True)
        assert interval is not None
        ends.append(interval)
    return ends[0].low, ends[1].high


def _count(value: object) -> int:
    return value if isinstance(value, int) and value > 0 else 0


def _finite(said: Mapping[str, Any], name: str) -> float | None:
    value = said.get(name)
    if type(value) is not float and type(value) is not int:
        return None
    return float(value) if abs(value) < _LARGEST else None
