"""Limits on the candidate alone: its score, single problems, rates, time, tokens and cost."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pytest_nel.gate.evidence import Row, Side
from pytest_nel.gate.findings import Finding, Status, at_least, both_ways, within
from pytest_nel.gate.metrics import Try, scorer_of, value_of
from pytest_nel.gate.policy import EVERY, Rule
from pytest_nel.stats.intervals import mean_interval

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
    """

    value: float | None
    low: float
    high: float
    method: str
    n_missing: int = 0
    worst: "Score | None" = None
    best: "Score | None" = None


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
    if not rows:
        return _from_bundle(side, metric, category)
    known, filled, clusters, missing = _tries(rows, side.repeats, metric)
    unseen = 0 if category is not None else max(0, (side.planned or 0) - len(filled))
    missing += unseen * side.repeats
    score = _score(known, clusters, metric)
    if not missing:
        return score
    worst, best = (
        _score(
            [[fill if one is None else one for one in tries] for tries in filled]
            + [[fill] * side.repeats] * unseen,
            None if unseen else clusters,
            metric,
        )
        for fill in _BOUNDS
    )
    return Score(score.value, score.low, score.high, score.method, missing, worst, best)


def _tries(
    rows: Sequence[Row], repeats: int, metric: str
) -> tuple[list[list[Try]], list[list[Try | None]], list[str] | None, int]:
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
    clusters = [cluster_of[key] for key in ordered]
    missing = sum(one is None for tries in filled for one in tries)
    return known, filled, clusters if all(clusters) else None, missing


def _score(problems: Sequence[Sequence[Try]], clusters: Sequence[str] | None, metric: str) -> Score:
    value = value_of(metric)
    plain = metric == "mean_reward" or metric.startswith("scorer:")
    rewards: list[Sequence[float]] = []
    kept: list[str] = []
    for at, tries in enumerate(problems):
        found = value(tries) if tries else None
        if found is None:
            continue
        if plain:
            rewards.append([one.reward for one in tries])
        else:
            rewards.append([float(one.correct) for one in tries] if metric == "pass@1" else [found])
        if clusters is not None:
            kept.append(clusters[at])
    mean, interval = mean_interval(rewards, clusters=kept if clusters is not None else None)
    if mean is None:
        return Score(None, 0.0, 1.0, "none")
    if interval is None:
        return Score(mean, 0.0, 1.0, "none")
    return Score(mean, interval.low, interval.high, interval.method)


def _from_bundle(side: Side, metric: str, category: str | None) -> Score:
    scores = (side.bundle.get("benchmark") or {}).get("scores") or {}
    said = scores.get(metric) or {}
    value = said.get("value")
    if category is not None or not isinstance(value, int | float):
        return Score(None, 0.0, 1.0, "none")
    low, high = said.get("ci_lower"), said.get("ci_upper")
    if low is None or high is None:
        return Score(float(value), 0.0, 1.0, "none")
    return Score(float(value), float(low), float(high), str(said.get("ci_method", "as stored")))


def _categories(rule: Rule, side: Side) -> Iterator[Finding]:
    limits = rule.limits.per_category or {}
    there = sorted({row.category for row in side.rows if row.category})
    for name in [*limits, *(name for name in there if name not in limits)]:
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
    rates = dict.fromkeys(counts, everything) if everything is not None else wanted
    unknown = [name for name in rates if name not in counts]
    failed, short = [], []
    for name, rate in rates.items():
        right, missing = counts.get(name, (0, side.repeats))
        status = at_least(right / side.repeats, (right + missing) / side.repeats, rate or 0.0)
        if status == "BREACH":
            failed.append(f"{name} ({right} of {side.repeats})")
        elif status != "PASS":
            short.append(name)
    unseen = max(0, (side.planned or 0) - len(counts)) if everything is not None else 0
    if failed:
        return Finding(rule, "BREACH", f"not solved as often as it must be: {_some(failed)}")
    if unknown or short or unseen:
        said = [f"no attempt at {_some(unknown)}"] if unknown else []
        said += (
            [f"without a score: {_some([s for s in short if s not in unknown])}"]
            if set(short) - set(unknown)
            else []
        )
        said += [f"{unseen:,} problems were not attempted"] if unseen else []
        return Finding(rule, "INSUFFICIENT_EVIDENCE", "; ".join(said))
    if not rates:
        return Finding(rule, "INSUFFICIENT_EVIDENCE", "there is no problem")
    return Finding(rule, "PASS", f"{len(rates):,} problems solved as often as they must be")


def _counts(side: Side) -> dict[str, tuple[int, int]]:
    """(correct, without a score) of each problem, by id, else by position."""
    by_id = all(row.id for row in side.rows)
    seen: dict[str, dict[int, bool | None]] = defaultdict(dict)
    for row in side.rows:
        key = row.id if by_id else str(row.problem)
        seen[key][row.repeat] = None if row.reward is None else row.correct
    return {
        key: (
            sum(bool(value) for value in tries.values()),
            side.repeats - sum(value is not None for value in tries.values()),
        )
        for key, tries in seen.items()
    }


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
