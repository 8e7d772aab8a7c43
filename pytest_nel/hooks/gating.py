"""Gates in the run itself: what is asked is read before it, and decided after it."""

import difflib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from pytest_nel.config.interpolate import getenv
from pytest_nel.core.errors import ConfigError
from pytest_nel.core.registry import unknown
from pytest_nel.gate.check import Check
from pytest_nel.gate.checks import gate_checks
from pytest_nel.gate.comparable import FIELDS, compared
from pytest_nel.gate.equal import refused_to_equal
from pytest_nel.gate.evaluate import Runs, evaluate, refuse_different, refuse_without_baseline
from pytest_nel.gate.evidence import Side
from pytest_nel.gate.feasible import Planned, unmeetable
from pytest_nel.gate.policy import Policy, load_policy
from pytest_nel.gate.threshold import cannot_reach
from pytest_nel.gate.verdict import Exit
from pytest_nel.hooks.options import Options
from pytest_nel.hooks.state import BenchmarkRun, Gating, Run
from pytest_nel.records.gated import gated
from pytest_nel.records.sides import (
    RESULTS,
    StoredRun,
    read_side,
    refuse_itself,
    refuse_run_in,
    stored_run,
)
from pytest_nel.records.whole import whole
from pytest_nel.reports.github import append_summary
from pytest_nel.reports.run_markdown import run_markdown


def gating_of(options: Options, base: Path, directory: Path) -> Gating:
    """Read the policy and find the baseline.

    Args:
        options: Resolved options.
        base: What relative paths are relative to.
        directory: The run's.

    Raises:
        ConfigError: One of them is wrong, one is given without the other, or the baseline is the
            run itself.
    """
    policy, baseline = options.get("policy"), options.get("baseline")
    allowed = options.get("allow-different", [])
    for name in allowed:
        if name not in FIELDS:
            error = unknown("field of a fingerprint", name, sorted(FIELDS))
            raise error
    if policy is None:
        beside = [name for name in ("baseline", "allow-different") if name in options.given]
        if beside:
            flags = " and ".join(f"--nel-{name}" for name in beside)
            msg = f"{flags}: nothing says how far a score may fall: add --nel-policy FILE"
            raise ConfigError(msg)
        return Gating()
    if "shard" in options.given:
        msg = "a shard alone passes no gate: merge the shards, then decide by nel gate"
        raise ConfigError(msg)
    other = None if baseline is None else stored_run(base / baseline)
    if other is not None:
        refuse_run_in(directory, other)
    return Gating(load_policy(policy), other, allowed, _seen(other))


def _seen(baseline: StoredRun | None) -> Mapping[Path, tuple[int, int]]:
    """Size and time of what the baseline is read from."""
    found = {}
    for bundle in baseline.paths.values() if baseline is not None else ():
        for path in (bundle, bundle.parent / RESULTS):
            if path.exists():
                facts = path.stat()
                found[path] = (facts.st_size, facts.st_mtime_ns)
    return found


def names_of_checks(run: Run) -> list[str]:
    """The checks that a run will make, for ``--collect-only``."""
    names = []
    for bench in run.benchmarks.values():
        suite = bench.suite
        names.append(f"{suite}::{bench.plan.id}::health")
        if bench.plan.config.min_score is not None:
            names.append(f"{suite}::{bench.plan.id}::threshold")
    policy = run.gating.policy
    if policy is not None:
        others = [name for name in run.benchmarks if name not in policy.benchmarks]
        names += [f"{policy.name}::{name}" for name in [*policy.benchmarks, *others]]
    return names


def check_before(run: Run) -> None:
    """Refuse what cannot be decided, before anything is asked or started.

    Raises:
        ConfigError: A threshold cannot be met, a name is unknown, or the baseline has measured
            something else.
    """
    benches = list(run.benchmarks.values())
    lines = [
        f"{bench.suite}: {bench.plan.id}: {text}"
        for bench in benches
        if (least := bench.plan.config.min_score) is not None
        and (text := cannot_reach(least, len(bench.plan.problems), bench.plan.config.evidence))
    ]
    lines += _unknown_minimums(run)
    gating = run.gating
    if gating.policy is not None:
        lines += unmeetable(
            gating.policy,
            {bench.plan.id: _planned(run, bench) for bench in benches},
            baseline=gating.baseline is not None,
        )
    if lines:
        raise ConfigError("\n".join(lines))
    check_comparable(run, [bench.plan.as_json() for bench in benches])
    if gating.policy is not None:
        _refuse_hopeless(run, gating.policy)
        _say_missing(run, gating.policy)


def _refuse_hopeless(run: Run, policy: Policy) -> None:
    """By the baseline's own answers, in every process: none may ask before all know.

    Raises:
        ConfigError: Even a candidate that gives them could not pass.
    """
    baseline = run.gating.baseline
    if baseline is None:
        return
    lines = []
    for name in run.benchmarks:
        rule = policy.rule(name)
        if name not in baseline.bundles or not rule.gates:
            continue
        for found in refused_to_equal(rule, baseline.side(name)):
            place = policy.place(*(("benchmarks", name) if rule.listed else ("defaults",)))
            lines.append(
                f"{place}: {name}: {found.rule}: even the baseline's own answers could not pass: "
                f"{found.reason}"
            )
    if lines:
        raise ConfigError("\n".join(lines))


def _unknown_minimums(run: Run) -> Iterator[str]:
    known = {bench.label for bench in run.benchmarks.values()}
    known = known.union(*(bench.plan.names for bench in run.benchmarks.values()))
    for name, _ in run.options.get("min", []):
        if name not in known:
            near = difflib.get_close_matches(name, known, n=1)
            hint = f"Did you mean {near[0]!r}?" if near else f"Known: {', '.join(sorted(known))}"
            yield f"--nel-min {name}: no benchmark is called so. {hint}"


def _planned(run: Run, bench: BenchmarkRun) -> Planned:
    plan = bench.plan
    ids = {plan.environment.problem_id(idx) for idx in plan.problems}
    service = run.services.get(bench.service or "")
    return Planned(
        len(plan.problems),
        plan.facts["dataset_size"] if plan.shard is None else plan.selected,
        plan.repeats,
        scorers=[each.name for each in plan.scorers],
        priced=service is not None and bool(service.options.get("prices")),
        categories=_categories(run, bench),
        ids=ids,
    )


def _categories(run: Run, bench: BenchmarkRun) -> Mapping[str, int] | None:
    """How many problems each has, where the policy asks and that is known before the run."""
    policy, seed = run.gating.policy, getattr(bench.plan.environment, "seed_now", None)
    if policy is None or not policy.rule(bench.plan.id).limits.per_category or seed is None:
        return None
    named = (seed(idx).metadata.get("category") for idx in bench.plan.problems)
    return Counter(str(name) for name in named if name not in (None, ""))


def check_comparable(run: Run, plans: Sequence[Mapping[str, Any]]) -> None:
    """Refuse a baseline that has measured something else, as far as that is known by now.

    Args:
        run: The run.
        plans: The object of each benchmark's plan.json.

    Raises:
        ConfigError: The baseline differs, or there is none and the policy needs one.
    """
    gating = run.gating
    if gating.policy is None:
        return
    if gating.baseline is None:
        refuse_without_baseline(gating.policy, Runs({plan["benchmark"]: {} for plan in plans}, _no))
        return
    different = {}
    for plan in plans:
        stored = gating.baseline.bundles.get(plan["benchmark"])
        if stored is not None:
            pair = (_unsent(stored), _unsent({**plan, "benchmark": {"repeats": plan["repeats"]}}))
            found = compared(*pair, gating.policy.comparable, gating.allowed)
            different[plan["benchmark"]] = found.different
    refuse_different(different, "--nel-allow-different")


def _no(name: str) -> Side:
    raise KeyError(name)


def _unsent(bundle: Mapping[str, Any]) -> Mapping[str, Any]:
    """Without the sampling that requests had: here none was sent yet."""
    facts = {**(bundle.get("fingerprint") or {}), "sampling": None}
    return {**bundle, "fingerprint": facts}


def _say_missing(run: Run, policy: Policy) -> None:
    absent = [
        _named_otherwise(run, rule.benchmark)
        for rule in policy.rules()
        if rule.required and rule.benchmark not in run.benchmarks
    ]
    if absent:
        run.note(f"{policy.name} requires what is not measured here: {', '.join(absent)}")


def _named_otherwise(run: Run, name: str) -> str:
    """The name, and what a benchmark here is called that it may mean: policies know ids alone."""
    labels = {bench.label: ident for ident, bench in run.benchmarks.items()}
    near = difflib.get_close_matches(name, [*labels, *run.benchmarks], n=1)
    return f"{name} (did you mean {labels.get(near[0], near[0])}?)" if near else name


def decide(run: Run) -> list[Check]:
    """The gate's checks over what the run has come to.

    Raises:
        ConfigError: The baseline has measured something else, or is a copy of this run.
        OSError: Rows cannot be read.
    """
    gating = run.gating
    if gating.policy is None:
        return _standing(run)
    if gating.seen != _seen(gating.baseline):
        msg = "the baseline has changed while this run was under way: decide by nel gate"
        raise ConfigError(msg)
    mine = {one.plan["benchmark"]: one for one in run.derived}
    baseline = gating.baseline
    bundles = {name: one.bundle for name, one in mine.items()}
    if baseline is not None:
        files = {name: one.directory / RESULTS for name, one in mine.items()}
        refuse_itself(baseline, StoredRun(run.directory, files, bundles))
    runs = Runs(
        bundles,
        lambda name: read_side(mine[name].directory, mine[name].bundle),
        None if baseline is None else baseline.bundles,
        None if baseline is None else baseline.side,
        [] if baseline is None else baseline.warnings,
    )
    gating.report = evaluate(gating.policy, runs, gating.allowed)
    return list(gate_checks(gating.report))


def _standing(run: Run) -> list[Check]:
    """What an earlier session's gate has decided: a resumption without one takes nothing back.

    Raises:
        ConfigError: checks.json is damaged.
    """
    if run.mode is None or not run.derived:
        return []
    earlier = run.gating.earlier = gated(run.directory)
    if earlier is None:
        return []
    run.notes += [
        f"{earlier.policy}: {earlier.verdict}: {reason}" for reason in earlier.reasons[:1]
    ]
    return list(earlier.checks)


def unmeasured(run: Run) -> Iterator[Check]:
    """An open check for each ``--nel-min`` whose benchmark the session has not measured."""
    plans = [one.plan for one in run.derived]
    names = {str(plan[key]) for plan in plans for key in ("benchmark", "environment")}
    names |= {str(plan["config"].get("name")) for plan in plans}
    for name, least in run.options.get("min", []):
        if name not in names:
            reason = f"{name} was not measured: nothing says whether it reaches {least:g}"
            yield Check(f"--nel-min::{name}", "open", reason, Exit.INCONCLUSIVE)


def lenient(run: Run) -> None:
    """``--nel-inconclusive=ok``: what stayed open for want of evidence asks for no exit code."""
    if run.options.get("inconclusive", "fail") != "ok":
        return
    accepted = [check for check in run.checks if check.code is Exit.INCONCLUSIVE]
    for check in accepted:
        run.notes.append(f"{check.id} is INCONCLUSIVE, accepted by nel_inconclusive=ok")
    run.checks = [
        replace(check, code=Exit.GO) if check.code is Exit.INCONCLUSIVE else check
        for check in run.checks
    ]


def write_markdown(run: Run) -> None:
    """``--nel-markdown`` and the summary page of a GitHub job: scores, checks and the gate.

    Raises:
        OSError: One of them cannot be written.
    """
    named = run.options.get("markdown")
    if named is None and not getenv("GITHUB_STEP_SUMMARY"):
        return
    text = run_markdown([one.bundle for one in run.derived], run.checks, run.gating.report)
    append_summary(text, getenv)
    if named is not None:
        path = run.config.invocation_params.dir / named
        path.parent.mkdir(parents=True, exist_ok=True)
        with whole(path) as file:
            file.write(text)
