"""Limits on the candidate alone: its score, single problems, rates, time, tokens and cost."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pytest_nel.gate.evidence import Side
from pytest_nel.gate.findings import Finding, Status, at_least, both_ways, within
from pytest_nel.gate.policy import EVERY, Rule
from pytest_nel.gate.score import Score, score_of


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


def _categories(rule: Rule, side: Side) -> Iterator[Finding]:
    limits = rule.limits.per_category
    if not limits:
        return
    there = {row.category for row in side.rows if row.category}
    every = limits.get(EVERY)
    if not there and every is not None and every.min_score is not None:
        label = f"per_category.{EVERY}.min_score"
        yield Finding(label, "INSUFFICIENT_EVIDENCE", "no problem has a category")
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
