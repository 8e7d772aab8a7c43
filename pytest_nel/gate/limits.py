"""Limits on the candidate alone: its score, single problems, rates, time, tokens and cost."""

import math
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from pytest_nel.gate.evidence import Row, Side
from pytest_nel.gate.findings import Finding, Status, at_least, both_ways, within
from pytest_nel.gate.metrics import Try, in_range, scorer_of, supported, value_of
from pytest_nel.gate.policy import EVERY, Rule
from pytest_nel.stats.intervals import mean_interval, wilson

_LARGEST = 1e100  # a number beyond it has no square
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
    """

    value: float | None
    low: float
    high: float
    method: str
    n_missing: int = 0
    worst: "Score | None" = None
    best: "Score | None" = None
    bounded: bool = True


def judge_limits(rule: Rule, side: Side) -> Iterator[Finding]:
    """One finding for each limit that the rule sets."""
    limits = rule.limits
    if limits.min_score is not None:
        yield min_score("min_score", limits.min_score, score_of(side, rule.metric), limits.evidence)
    yield from _categories(rule, side)
    yield from _problems(rule, side)
    yield from _rates(rule, side.bundle)
    yield from _resources(rule, side.bundle)


def min_score(rule: str, least: float, score: Score, evidence: str) -> Finding:
    """Whether the score reaches ``least``: with its whole interval, or by its value alone."""
    if score.value is None:
        return Finding(rule, "INSUFFICIENT_EVIDENCE", "there is no score")
    if not score.bounded and (evidence == "ci" or score.n_missing):
        reason = f"score {score.value:.4f} has no interval: rewards outside [0, 1]"
        return Finding(rule, "INSUFFICIENT_EVIDENCE", reason)

    def decided(one: Score) -> Status:
        value = one.value or 0.0
        low, high = (one.low, one.high) if evidence == "ci" else (value, value)
        return at_least(low, high, least)

    if score.worst is not None and score.best is not None:
        status = both_ways(decided(score.worst), decided(score.best))
    else:
        status = decided(score)
    return Finding(
        rule, status, _score_reason(status, least, score, evidence), _numbers(score, least)
    )


def _score_reason(status: Status, least: float, score: Score, evidence: str) -> str:
    says = {"PASS": "reaches", "BREACH": "is below"}.get(status, "straddles")
    shown = f"{score.value:.4f}"
    if evidence == "ci":
        shown += f" (95% CI [{score.low:.4f}, {score.high:.4f}])"
    text = f"score {shown} {says} min_score {least:g}"
    if score.worst is None or score.best is None:
        return text
    bounds = f"{score.worst.value:.4f} in the worst case and {score.best.value:.4f} in the best"
    return f"{text}: {score.n_missing:,} attempts have no score, {bounds}"


def _numbers(score: Score, least: float) -> dict[str, Any]:
    numbers: dict[str, Any] = {
        "limit": least,
        "score": round(score.value or 0.0, 6),
        "ci": [round(score.low, 6), round(score.high, 6)],
        "ci_method": score.method,
    }
    if score.worst is not None and score.best is not None:
        numbers |= {
            "n_missing": score.n_missing,
            "score_worst_case": round(score.worst.value or 0.0, 6),
            "score_best_case": round(score.best.value or 0.0, 6),
        }
    return numbers


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
    worst, best = (
        _score(
            [[fill if one is None else one for one in tries] for tries in filled]
            + [[fill] * side.repeats] * unseen,
            [*clusters, *[None] * unseen],
            metric,
        )
        for fill in _BOUNDS
    )
    return replace(score, n_missing=missing, worst=worst, best=best)


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


def _score(problems: Sequence[Sequence[Try]], clusters: Sequence[str | None], metric: str) -> Score:
    value = value_of(metric)
    plain = not metric.startswith("pass@")
    rewards: list[Sequence[float]] = []
    kept: list[str | None] = []
    for tries, cluster in zip(problems, clusters, strict=True):
        found = value(tries) if tries else None
        if found is None:
            continue
        if plain:
            rewards.append([one.reward for one in tries])
        else:
            rewards.append([float(one.correct) for one in tries] if metric == "pass@1" else [found])
        kept.append(cluster)
    if plain and not in_range(reward for one in rewards for reward in one):
        plain_mean = math.fsum(math.fsum(one) / len(one) for one in rewards) / len(rewards)
        return Score(plain_mean, plain_mean, plain_mean, "none", bounded=False)
    mean, interval = mean_interval(rewards, clusters=kept if any(kept) else None)
    if mean is None or interval is None:
        return Score(mean, 0.0, 1.0, "none")
    if not interval.reliable:
        return Score(mean, 0.0, 1.0, interval.method)
    return Score(mean, interval.low, interval.high, interval.method)


def _from_bundle(side: Side, metric: str, category: str | None) -> Score:
    """As stored, but no interval of zero width: nothing is that sure."""
    scores = (side.bundle.get("benchmark") or {}).get("scores") or {}
    said = scores.get(metric)
    said = said if isinstance(said, dict) else {}
    value, low, high = _finite(said, "value"), _finite(said, "ci_lower"), _finite(said, "ci_upper")
    if category is not None or value is None:
        return Score(None, 0.0, 1.0, "none")
    samples = (side.bundle.get("benchmark") or {}).get("samples") or 0
    method = str(said.get("ci_method", "as stored"))
    if low is not None and low == high and 0.0 <= value <= 1.0 and samples:
        interval = wilson(value * samples, samples)
        if interval is not None:
            low, high, method = interval.low, interval.high, interval.method
    score = Score(value, 0.0, 1.0, "none", bounded=0.0 <= value <= 1.0)
    if low is not None and high is not None and low <= value <= high and low < high:
        score = Score(value, low, high, method)
    planned, scored = side.bundle.get("n_planned"), side.bundle.get("n_scored")
    if planned is None or scored is None or scored >= planned:
        return score
    worst, best = Score(0.0, 0.0, 1.0, "none"), Score(1.0, 0.0, 1.0, "none")
    return replace(score, n_missing=planned - scored, worst=worst, best=best)


def _finite(said: Mapping[str, Any], name: str) -> float | None:
    value = said.get(name)
    if type(value) is not float and type(value) is not int:
        return None
    return float(value) if abs(value) < _LARGEST else None


def _categories(rule: Rule, side: Side) -> Iterator[Finding]:
    limits = rule.limits.per_category
    if not limits:
        return
    there = {row.category for row in side.rows if row.category}
    for name in [*limits, *sorted(there - limits.keys())]:
        own = limits.get(name, limits.get(EVERY))
        if name == EVERY or own is None or own.min_score is None:
            continue
        label = f"per_category.{name}.min_score"
        if name not in there:
            yield Finding(label, "INSUFFICIENT_EVIDENCE", f"no problem has the category {name!r}")
            continue
        score = score_of(side, rule.metric, name)
        yield min_score(label, own.min_score, score, rule.limits.evidence)


def _problems(rule: Rule, side: Side) -> Iterator[Finding]:
    limits = rule.limits
    if limits.must_pass:
        wanted = dict.fromkeys(limits.must_pass, 1.0)
        yield _solved("must_pass", side, wanted, everything=None)
    rate = limits.min_pass_rate
    if isinstance(rate, dict):
        yield _solved("min_pass_rate", side, rate, everything=None)
    elif rate is not None:
        yield _solved("min_pass_rate", side, {}, everything=rate)


def _solved(
    rule: str, side: Side, wanted: Mapping[str, float], everything: float | None
) -> Finding:
    """Whether problems are correct in the share of their repeats that is wanted of each."""
    counts = _counts(side)
    rates = dict.fromkeys(counts, everything or 0.0) if everything is not None else wanted
    unknown = [name for name in rates if name not in counts]
    failed, short = [], []
    for name, rate in rates.items():
        if name not in counts:
            continue
        right, missing, of = counts[name]
        status = at_least(right / of, (right + missing) / of, rate)
        if status == "BREACH":
            failed.append(f"{name} ({right} of {of})")
        elif status != "PASS":
            short.append(name)
    if failed:
        return Finding(rule, "BREACH", f"not solved as often as it must be: {_some(failed)}")
    unseen = max(0, (side.planned or 0) - len(counts)) if everything is not None else 0
    said = [f"no attempt at {_some(unknown)}"] if unknown else []
    said += [f"without a score: {_some(short)}"] if short else []
    said += [f"{unseen:,} problems were not attempted"] if unseen else []
    if said or not rates:
        reason = "; ".join(said) or "there is no problem"
        return Finding(rule, "INSUFFICIENT_EVIDENCE", reason)
    return Finding(rule, "PASS", f"{len(rates):,} problems solved as often as they must be")


def _counts(side: Side) -> dict[str, tuple[int, int, int]]:
    """(correct, without a score, of all) of each problem, by id, else by position.

    Where several problems have one id, it stands for all of them.
    """
    by_id = all(row.id for row in side.rows)
    seen: dict[str, dict[tuple[int, int], bool | None]] = defaultdict(dict)
    for row in side.rows:
        if row.repeat < side.repeats:
            solved = None if row.reward is None else row.correct
            key = row.id if by_id else str(row.problem)
            seen[key][row.problem, row.repeat] = solved
    counts = {}
    for key, tries in sorted(seen.items(), key=lambda item: min(item[1])):
        of = len({problem for problem, _ in tries}) * side.repeats
        scored = sum(value is not None for value in tries.values())
        counts[key] = (sum(bool(value) for value in tries.values()), of - scored, of)
    return counts


_RATES = (
    ("max_unparsed", "n_unparsed", "unparsed"),
    ("max_truncated", "n_truncated", "truncated"),
    ("max_empty", "n_empty", "empty"),
)


def _rates(rule: Rule, bundle: Mapping[str, Any]) -> Iterator[Finding]:
    planned, scored = bundle.get("n_planned"), bundle.get("n_scored")
    limit = rule.limits.max_unscored
    if limit is not None:
        attempted = bundle.get("n_attempted", planned)
        ahead = 0 if planned is None or attempted is None else planned - attempted
        count = bundle.get("n_unscored")
        yield _count("max_unscored", limit, count, attempted, ahead, "without a score")
    for key, name, word in _RATES:
        limit = getattr(rule.limits, key)
        if limit is not None:
            unknown = 0 if planned is None or scored is None else planned - scored
            yield _count(key, limit, bundle.get(name), scored, unknown, word)


def _count(
    rule: str, limit: float, count: int | None, of: int | None, unknown: int, word: str
) -> Finding:
    if count is None or not of:
        return Finding(rule, "INSUFFICIENT_EVIDENCE", f"the bundle does not count what is {word}")
    if isinstance(limit, int):
        low, high, shown = float(count), float(count + unknown), f"{limit:,}"
    else:
        low, high, shown = (
            count / (of + unknown),
            (count + unknown) / (of + unknown),
            f"{100 * limit:g} %",
        )
    status = within(low, high, limit)
    reason = f"{count:,} of {of:,} {word} ({100 * count / of:.1f} %), allowed {shown}"
    if unknown and status == "INSUFFICIENT_EVIDENCE":
        reason += f"; {unknown:,} more attempts could be {word}, too"
    return Finding(rule, status, reason, {"limit": limit, "count": count, "of": of})


def _resources(rule: Rule, bundle: Mapping[str, Any]) -> Iterator[Finding]:
    limits = rule.limits
    stats = ((bundle.get("benchmark") or {}).get("scores") or {}).get("runtime") or {}
    planned, scored = bundle.get("n_planned"), bundle.get("n_scored")
    missing = 0 if planned is None or scored is None else planned - scored
    if limits.max_p95_latency is not None:
        millis = (stats.get("latency_percentiles_ms") or {}).get("p95")
        value = None if millis is None else millis / 1000
        yield _most("max_p95_latency", limits.max_p95_latency, value, missing, "p95 latency", "s")
    if limits.max_tokens is not None:
        unknown = stats.get("steps_without_usage", 0) + missing
        tokens = stats.get("total_tokens")
        yield _most("max_tokens", limits.max_tokens, tokens, unknown, "tokens", "", grows=True)
    if limits.max_cost is not None:
        cost = stats.get("cost") or {}
        unknown = (cost.get("n_unknown") or 0) + missing
        unit = str(cost.get("currency", ""))
        yield _most(
            "max_cost", limits.max_cost, cost.get("total"), unknown, "cost", unit, grows=True
        )


def _most(  # noqa: PLR0913  one line of a table each
    rule: str,
    limit: float,
    value: float | None,
    unknown: int,
    what: str,
    unit: str,
    *,
    grows: bool = False,
) -> Finding:
    """At most ``limit``; the unknown may make it larger, or smaller unless it grows."""
    if value is None:
        return Finding(rule, "INSUFFICIENT_EVIDENCE", f"the bundle does not say the {what}")
    over = value > limit
    shown = f"{what} {value:,.6g} {unit}".strip() + f", allowed {limit:,.6g}"
    numbers = {"limit": limit, "value": value}
    if unknown and not (over and grows):
        reason = f"{shown}; {unknown:,} attempts are not in it"
        return Finding(rule, "INSUFFICIENT_EVIDENCE", reason, numbers)
    return Finding(rule, "BREACH" if over else "PASS", shown, numbers)


def _some(names: Sequence[str], most: int = 5) -> str:
    more = f" and {len(names) - most:,} more" if len(names) > most else ""
    return ", ".join(map(str, names[:most])) + more
