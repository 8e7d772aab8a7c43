"""A policy applied to two runs: a row per benchmark, and the verdict over all of them."""

import math
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, TypeAlias

from pytest_nel.core.errors import ConfigError
from pytest_nel.gate.comparable import Comparison, compared
from pytest_nel.gate.drop import Drop, judge_drop
from pytest_nel.gate.evidence import Side
from pytest_nel.gate.findings import Finding
from pytest_nel.gate.limits import judge_limits
from pytest_nel.gate.metrics import supported
from pytest_nel.gate.pairs import Pairs, pair
from pytest_nel.gate.policy import EVERY, Policy, Rule
from pytest_nel.gate.regression import regression_report
from pytest_nel.gate.report import BenchmarkGate, GateReport, verdict_of
from pytest_nel.gate.score import score_of
from pytest_nel.gate.solved import solved_alike
from pytest_nel.gate.stored import stored_drop
from pytest_nel.stats.hypothesis_tests import holm

Spread: TypeAlias = Callable[[Callable[[str], "Judged"], Sequence[str]], Iterable["Judged"]]
"""Calls a function for each benchmark, as ``map`` does; the function can be pickled if the sides of
the runs can."""
SideOf: TypeAlias = Callable[[str], Side]
"""Reads the side of a benchmark; called once for each, so that only one is in memory."""
_ALPHA = 0.025  # of the one-sided question whether a 95 % interval lies beyond a limit


@dataclass(slots=True)
class Runs:
    """Two runs as a gate reads them.

    Attributes:
        candidate: Bundles by benchmark.
        candidate_side: Reads one of them with its rows.
        baseline: As above; None where none was given.
        baseline_side: As above.
        warnings: What was found wrong while looking for them.
        weight: Bytes of their rows, where that is known.
    """

    candidate: Mapping[str, Mapping[str, Any]]
    candidate_side: SideOf
    baseline: Mapping[str, Mapping[str, Any]] | None = None
    baseline_side: SideOf | None = None
    warnings: Sequence[str] = field(default_factory=list)
    weight: int = 0


def evaluate(
    policy: Policy, runs: Runs, allow_different: Iterable[str] = (), *, spread: Spread = map
) -> GateReport:
    """Apply a policy.

    Args:
        policy: What is asked.
        runs: Of whom.
        allow_different: Fields that may differ though the policy compares them.
        spread: How benchmarks are gone through.

    Raises:
        ConfigError: The runs are not comparable, or the policy needs a baseline and has none.
    """
    refuse_without_baseline(policy, runs)
    allowed = frozenset(allow_different)
    comparisons = _comparisons(policy, runs, allowed)
    names = _benchmarks(policy, runs)
    rows = list(spread(partial(_row, policy, runs, comparisons), names))
    if policy.correction == "holm":
        rows = _corrected(rows)
    gates = [row.gate for row in rows]
    verdict, reasons = verdict_of(policy, gates)
    warnings = [*runs.warnings, *_unlisted(names, runs), *_unchecked(comparisons)]
    differing = {name for one in comparisons.values() for name in one.allowed}
    differing |= {name for row in rows for name in row.allowed}
    return GateReport(policy.name, gates, verdict, reasons, warnings, sorted(differing))


def refuse_without_baseline(policy: Policy, runs: Runs) -> None:
    """Refuse a policy that speaks of a drop where there is nothing to drop from.

    Raises:
        ConfigError: It does.
    """
    if runs.baseline is not None:
        return
    listed = list(policy.rules())
    for rule in listed or [policy.rule(name) for name in runs.candidate]:
        if rule.needs_baseline:
            path = ("benchmarks", rule.benchmark) if rule.listed else ("defaults",)
            msg = f"{policy.place(*path)}: {rule.benchmark}: max_drop needs a baseline: name one"
            raise ConfigError(msg)


@dataclass(frozen=True, slots=True)
class Judged:
    """One benchmark, before what depends on the others.

    Attributes:
        gate: What the policy says of it.
        p_breach: Of no drop beyond a limit, one-sided; 1 where none is breached, None where no
            interval was asked about one.
        allowed: Fields whose rows differ and may.
    """

    gate: BenchmarkGate
    p_breach: float | None = None
    allowed: Sequence[str] = ()


def _comparisons(policy: Policy, runs: Runs, allowed: Collection[str]) -> dict[str, Comparison]:
    if runs.baseline is None:
        return {}
    found = {
        name: compared(runs.baseline[name], bundle, policy.comparable, allowed)
        for name, bundle in runs.candidate.items()
        if name in runs.baseline
    }
    refuse_different({name: one.different for name, one in found.items()})
    return found


def refuse_different(
    differences: Mapping[str, Sequence[str]], flag: str = "--allow-different"
) -> None:
    """Refuse runs that have not measured the same.

    Args:
        differences: What differs, by benchmark.
        flag: The option that allows it, for the message.

    Raises:
        ConfigError: Something differs; the message names everything that does.
    """
    lines = [f"  {name}: {line}" for name, found in differences.items() for line in found]
    if lines:
        fields = sorted({line.split(":")[0] for found in differences.values() for line in found})
        ways = " ".join(f"{flag} {name}" for name in fields)
        msg = "\n".join(
            ["the runs are not comparable:", *lines, f"compare them nevertheless with {ways}"]
        )
        raise ConfigError(msg)


def _benchmarks(policy: Policy, runs: Runs) -> list[str]:
    """Those of the policy, then those that both sides have, then those it should have had."""
    others = set(runs.candidate)
    if runs.baseline is not None:
        others &= set(runs.baseline)
        if not policy.benchmarks:  # with no list, the baseline says what there should be
            others = set(runs.baseline)
    return [*policy.benchmarks, *sorted(others - set(policy.benchmarks))]


def _row(
    policy: Policy,
    runs: Runs,
    comparisons: Mapping[str, Comparison],
    name: str,
) -> Judged:
    rule = policy.rule(name)
    here = name in runs.candidate
    there = runs.baseline is None or name in runs.baseline
    if not here or not there:
        return Judged(BenchmarkGate(rule, [_absent(rule, here=here)]))
    candidate = runs.candidate_side(name)
    baseline = runs.baseline_side(name) if runs.baseline_side is not None else None
    differing: Sequence[str] = ()
    if baseline is not None:
        differing = refuse_asked_differently(name, baseline, candidate, comparisons[name])
    return replace(_judged(rule, baseline, candidate), allowed=differing)


def _absent(rule: Rule, *, here: bool) -> Finding:
    side = "baseline" if here else "candidate"
    if rule.required:
        reason = f"Required benchmark '{rule.benchmark}' not found in evaluation results: no {side}"
        return Finding("present", "MISSING", reason)
    reason = f"'{rule.benchmark}' has no {side}"
    return Finding("present", "INSUFFICIENT_EVIDENCE", reason)


def refuse_asked_differently(
    name: str, baseline: Side, candidate: Side, comparison: Comparison
) -> Sequence[str]:
    """Where a bundle has no hash of its questions, the rows themselves say what was asked.

    Returns:
        Fields that differ, and are free to.

    Raises:
        ConfigError: They were asked otherwise, and prompts are not free to differ.
    """
    if "prompts" not in comparison.unknown:
        return []
    one, other = baseline.questions, candidate.questions
    both = one.keys() & other.keys()
    differ = {key[0] for key in both if one[key] != other[key]}
    if not differ:
        return []
    if "prompts" not in comparison.free:
        of = len({problem for problem, _ in both})
        line = f"prompts: {len(differ):,} of {of:,} problems were asked otherwise"
        refuse_different({name: [line]})
    return ["prompts"]


def _judged(rule: Rule, baseline: Side | None, candidate: Side) -> Judged:
    row = _judged_fairly(rule, baseline, candidate)
    if baseline is None or not _flattered(rule, baseline, candidate):
        return row
    p_breach = None if row.p_breach is None else 1.0
    return replace(row, gate=_softened(row.gate, "no fair sample"), p_breach=p_breach)


def _flattered(rule: Rule, baseline: Side, candidate: Side) -> bool:
    """Whether attempts were made again whose rewards, which then rise, make a drop look larger.

    A candidate that falls short even so does fall short.
    """
    higher = rule.limits.direction == "higher_is_better"
    return baseline.biased is not None or (candidate.biased is not None and not higher)


def _judged_fairly(rule: Rule, baseline: Side | None, candidate: Side) -> Judged:
    trouble = [*_whole(rule, baseline, "baseline"), *_whole(rule, candidate, "candidate")]
    notes: list[str] = []
    if baseline is not None:
        baseline, candidate, notes = solved_alike(baseline, candidate, rule.metric)
    own = list(judge_limits(rule, candidate))
    if baseline is None:
        score = score_of(candidate, rule.metric)
        gate = BenchmarkGate(
            rule, [*trouble, *own], candidate=score.value, n_missing=score.n_missing
        )
        return Judged(gate)
    if not (baseline.rows and candidate.rows and supported(rule.metric)):
        return _from_bundles(rule, baseline, candidate, [*trouble, *own])
    pairs = pair(baseline, candidate, rule.metric)
    drop = judge_drop(pairs, rule.limits)
    categories = list(_categories(rule, pairs))
    by_category = [found for one in categories for found in one.findings]
    findings = [*trouble, *drop.findings, *own, *by_category]
    p_values = [one.p_breach for one in (drop, *categories) if one.p_breach is not None]
    gate = replace(_compared(rule, pairs, drop, findings), notes=notes)
    return Judged(gate, min(p_values, default=None))


def _compared(rule: Rule, pairs: Pairs, drop: Drop, findings: Sequence[Finding]) -> BenchmarkGate:
    measured, difference = pairs.measured, drop.difference
    n = len(measured)
    return BenchmarkGate(
        rule,
        findings,
        math.fsum(measured.baseline) / n if n else None,
        math.fsum(measured.candidate) / n if n else None,
        difference.value if difference else None,
        (difference.low, difference.high) if difference else None,
        difference.method if difference else None,
        n,
        pairs.n_missing,
        (pairs.only_in("baseline"), pairs.only_in("candidate")),
        regression=regression_report(
            pairs, higher_is_better=rule.limits.direction == "higher_is_better"
        ),
        margin_problems=drop.margin,
    )


def _from_bundles(
    rule: Rule, baseline: Side, candidate: Side, findings: Sequence[Finding]
) -> Judged:
    reason = "Per-sample results (results.jsonl) missing or empty"
    if not supported(rule.metric):
        reason = f"Metric {rule.metric!r} is not supported for paired gating"
    why = "; ".join(side.trouble for side in (baseline, candidate) if side.trouble)
    one, other = (score_of(side, rule.metric) for side in (baseline, candidate))
    found = stored_drop(rule, one, other, f"{reason}{f' ({why})' if why else ''}")
    delta = None if one.value is None or other.value is None else other.value - one.value
    gate = BenchmarkGate(
        rule,
        [*findings, *found.findings],
        one.value,
        other.value,
        delta,
        found.interval,
        "newcombe" if found.interval else None,
        notes=[reason],
    )
    return Judged(gate, found.p_breach)


def _whole(rule: Rule, side: Side | None, name: str) -> Iterator[Finding]:
    """Whether all problems of the dataset were to be measured, each once."""
    if side is None:
        return
    if why := side.biased:
        yield Finding("complete", "INSUFFICIENT_EVIDENCE", f"the {name} is no fair sample: {why}")
    if why := side.incomplete:
        yield Finding("complete", "INSUFFICIENT_EVIDENCE", f"the {name} is not all of it: {why}")
        return
    planned, total = side.planned, side.total
    if planned is None or total is None or planned >= total or rule.limits.subset == "accept":
        return
    reason = (
        f"the {name} measured {planned:,} of {total:,} problems (max_problems); `subset: accept` "
        "takes problems that both runs measured as a sample of all"
    )
    yield Finding("complete", "INSUFFICIENT_EVIDENCE", reason)


def _categories(rule: Rule, pairs: Pairs) -> Iterator[Drop]:
    limits = rule.limits.per_category
    if not limits:
        return
    there = pairs.by_category()
    every = limits.get(EVERY)
    if not there and every is not None and every.max_drop is not None:
        rule_name = f"per_category.{EVERY}.max_drop"
        yield Drop([Finding(rule_name, "INSUFFICIENT_EVIDENCE", "no problem has a category")], None)
    for name in [*limits, *sorted(there.keys() - limits.keys())]:
        own = limits.get(name, limits.get(EVERY))
        if name == EVERY or own is None or own.max_drop is None:
            continue
        chosen = rule.limits.model_copy(
            update={"max_drop": own.max_drop, "max_relative_drop": None}
        )
        group = there.get(name, replace(pairs, problems=[]))
        found = judge_drop(group, chosen, f"per_category.{name}.")
        named = [replace(one, reason=f"{name}: {one.reason}") for one in found.findings]
        yield replace(found, findings=named)


def _corrected(rows: Sequence[Judged]) -> list[Judged]:
    """Breaches that stand after Holm's correction over the benchmarks that gate.

    What it does not ask about stays as it is: advisory benchmarks, and those decided by the score
    alone.
    """
    asked = {
        at: row.p_breach
        for at, row in enumerate(rows)
        if row.gate.rule.gates and row.p_breach is not None
    }
    adjusted = dict(zip(asked, holm(list(asked.values())), strict=True))
    return [
        replace(row, gate=_softened(row.gate, _HOLM)) if adjusted.get(at, 0.0) >= _ALPHA else row
        for at, row in enumerate(rows)
    ]


_DROPS = ("max_drop", "max_relative_drop")
_HOLM = "does not stand after Holm's correction over the benchmarks"


def _softened(gate: BenchmarkGate, why: str) -> BenchmarkGate:
    """Breaches of limits on a drop become open questions."""

    def soft(one: Finding) -> Finding:
        if one.status != "BREACH" or one.rule.rpartition(".")[2] not in _DROPS:
            return one
        return replace(one, status="INSUFFICIENT_EVIDENCE", reason=f"{one.reason}; {why}")

    return replace(gate, findings=[soft(finding) for finding in gate.findings])


def _unlisted(evaluated: Collection[str], runs: Runs) -> Iterator[str]:
    for side, mine in (("baseline", runs.baseline or {}), ("candidate", runs.candidate)):
        for name in sorted(set(mine) - set(evaluated)):
            yield f"'{name}' is only in the {side} and not in the policy: not evaluated"


def _unchecked(comparisons: Mapping[str, Comparison]) -> Iterator[str]:
    for name, one in comparisons.items():
        if one.unknown:
            yield f"{name}: not known on both sides, so not compared: {', '.join(one.unknown)}"
