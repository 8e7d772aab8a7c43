"""What a policy asks and no candidate could give, found before anything is measured."""

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from pytest_nel.gate.metrics import attempts_needed, scorer_of
from pytest_nel.gate.policy import EVERY, Policy, Rule
from pytest_nel.stats.power import problems_to_pass, problems_to_reach

MIN_PAIRED = 10
"""Fewer paired problems decide nothing about a drop."""
_Trouble: TypeAlias = tuple[tuple[str, ...], str]
"""The key below the benchmark, and what is wrong with it."""


@dataclass(frozen=True, slots=True)
class Planned:
    """What is known of a benchmark before it is measured.

    Attributes:
        problems: That are to be attempted.
        total: Of the whole dataset.
        repeats: Attempts per problem.
        scorers: Names of its further scorers.
        priced: Whether its service has prices.
        categories: How many problems each has; None where that is not known.
        ids: Of its problems; None where that is not known.
    """

    problems: int
    total: int
    repeats: int
    scorers: Collection[str] = ()
    priced: bool = False
    categories: Mapping[str, int] | None = None
    ids: Collection[str] | None = None


def needed_for_drop(most: float) -> int | None:
    """Problems at which even equal answers could pass ``max_drop``; None: no number is enough."""
    if most <= 0.0:
        return None
    return MIN_PAIRED if most >= 1.0 else max(MIN_PAIRED, problems_to_pass(most))


def needed_for_relative(most: float) -> int | None:
    """As above for ``max_relative_drop``, where the baseline is perfect, which needs the fewest.

    Equal answers then leave room of ``most`` on each problem, so it is ``n most >= q`` (as in
    :func:`pytest_nel.stats.power.problems_to_pass`).
    """
    return needed_for_drop(most / (1.0 + most))


def needed_for_score(least: float) -> int | None:
    """Problems at which a perfect score could pass ``min_score``; None: no number is enough."""
    return problems_to_reach(least) if least < 1.0 else None


def unmeetable(policy: Policy, plans: Mapping[str, Planned], *, baseline: bool) -> list[str]:
    """One line for each key that cannot be met or decided, with its place in the file.

    Args:
        policy: What is asked.
        plans: What will be measured, by benchmark.
        baseline: Whether there is something to compare with.
    """
    lines = []
    for name, plan in plans.items():
        rule = policy.rule(name)
        if not rule.gates:
            continue
        for key, text in _problems(rule, plan, baseline=baseline):
            own = rule.listed and key[0] in policy.benchmarks[name].model_fields_set
            inherited = not own and key[0] in policy.defaults.model_fields_set
            where = policy.place(*(("defaults",) if inherited else ("benchmarks", name)), *key)
            lines.append(f"{where}: {name}: {'.'.join(key)}: {text}")
    return lines


def _problems(rule: Rule, plan: Planned, *, baseline: bool) -> Iterator[_Trouble]:
    yield from _no_metric(rule, plan)
    if plan.problems < plan.total and rule.limits.subset != "accept":
        text = (
            f"{plan.problems:,} of {plan.total:,} problems are planned (max_problems), which can "
            "pass no gate: measure all, or say `subset: accept`"
        )
        yield ("subset",), text
    yield from _too_few(rule, plan, baseline=baseline)
    yield from _unknown(rule, plan)


def _no_metric(rule: Rule, plan: Planned) -> Iterator[_Trouble]:
    metric = rule.metric
    if (k := attempts_needed(metric)) > plan.repeats:
        yield ("metric",), f"{metric} needs {k} repeats, there are {plan.repeats}"
    scorer = scorer_of(metric)
    if scorer is not None and scorer not in plan.scorers:
        known = ", ".join(sorted(plan.scorers)) or "none"
        yield ("metric",), f"the benchmark has no further scorer {scorer!r}; it has: {known}"
    if rule.limits.max_cost is not None and not plan.priced:
        yield ("max_cost",), "the service has no prices: add `prices` to it"


def _too_few(rule: Rule, plan: Planned, *, baseline: bool) -> Iterator[_Trouble]:
    limits = rule.limits
    relative = limits.max_relative_drop if limits.relative_guard_below is None else None
    whole = {"max_drop": limits.max_drop, "max_relative_drop": relative}
    yield from _short(rule, whole | {"min_score": limits.min_score}, plan.problems, baseline)
    groups = limits.per_category or {}
    for category, n in sorted((plan.categories or {}).items()):
        name = category if category in groups else EVERY
        if name in groups:
            own = {"max_drop": groups[name].max_drop, "min_score": groups[name].min_score}
            for (key,), text in _short(rule, own, n, baseline):
                yield ("per_category", name, key), f"category {category!r}: {text}"


_NEEDED: Mapping[str, tuple[Callable[[float], int | None], str]] = {
    "max_drop": (needed_for_drop, "equal answers"),
    "max_relative_drop": (needed_for_relative, "equal answers"),
    "min_score": (needed_for_score, "a perfect score"),
}


def _short(
    rule: Rule,
    asked: Mapping[str, float | None],
    n: int,
    baseline: bool,  # noqa: FBT001  private, and passed on
) -> Iterator[_Trouble]:
    evident = rule.limits.evidence == "ci"
    for name, limit in asked.items():
        drop = name != "min_score"
        if limit is None or (drop and not baseline):
            continue
        needed, who = _NEEDED[name]
        least: int | None = MIN_PAIRED if drop else 0
        if evident and (not drop or rule.limits.direction == "higher_is_better"):
            least = needed(limit)
        if least is not None and n >= least:
            continue
        how = "no number is enough" if least is None else f"at least {least:,} are needed"
        ways = "loosen it, or say `evidence: point`" if evident else "measure more"
        text = f"{limit:g} cannot be shown with {n:,} problems, even by {who}: {how}; {ways}"
        yield (name,), text


def _unknown(rule: Rule, plan: Planned) -> Iterator[_Trouble]:
    limits = rule.limits
    if EVERY in (limits.per_category or {}) and plan.categories is not None and not plan.categories:
        yield ("per_category", EVERY), "no problem has a category"
    for name in limits.per_category or {}:
        if name != EVERY and plan.categories is not None and name not in plan.categories:
            known = ", ".join(sorted(plan.categories)[:10]) or "none"
            yield ("per_category", name), f"no problem has this category; there are: {known}"
    rates = limits.min_pass_rate
    named = {
        "must_pass": limits.must_pass or [],
        "min_pass_rate": list(rates) if isinstance(rates, dict) else [],
    }
    for key, ids in named.items():
        gone = [one for one in ids if plan.ids is not None and one not in plan.ids]
        if gone:
            yield (key,), f"no problem that is planned has the id {', '.join(gone[:5])}"
