"""Whether a candidate is worse than a baseline on the same problems, and whether that matters."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from pytest_nel.gate.comparison import BenchmarkComparison, Measured, Missing, Rules, Run, Verdict
from pytest_nel.gate.deltas import category_deltas, labelled, runtime_deltas, score_deltas
from pytest_nel.gate.evidence import Side
from pytest_nel.gate.feasible import needed_for_drop
from pytest_nel.gate.findings import CLOSE, counted, points
from pytest_nel.gate.flips import flips_of
from pytest_nel.gate.pairs import Pairs, pair
from pytest_nel.gate.significance import Case, case_of, choose
from pytest_nel.stats.hypothesis_tests import holm
from pytest_nel.stats.power import required_n


def measure(baseline: Side, candidate: Side, rules: Rules) -> Measured:
    """Pair two runs of a benchmark and test what is paired; nothing is decided."""
    pairs = pair(baseline, candidate)
    flips = flips_of(pairs, baseline, candidate, rules.correct_above)
    values = pairs.measured
    chosen = choose(rules.test, values, plain=flips.plain)
    bounds = None
    if pairs.n_missing and pairs.bounded:
        worst = case_of(chosen.name, pairs.worst, flips.worst)
        bounds = worst, case_of(chosen.name, pairs.best, flips.best)
    sides = baseline, candidate
    return Measured(
        baseline.name,
        (_run(baseline), _run(candidate)),
        len(values),
        (pairs.only_in("baseline"), pairs.only_in("candidate")),
        [str(one.key) for one in pairs.problems if one.measured is None],
        (_missing(pairs, baseline, sides), _missing(pairs, candidate, sides)),
        chosen,
        flips,
        case_of(chosen.name, values, flips.counts),
        bounds,
        category_deltas(pairs, sides, flips, chosen.name),
        score_deltas(*sides),
        runtime_deltas(baseline.bundle, candidate.bundle),
        [*_warnings(baseline, candidate), *([chosen.doubt] if chosen.doubt else [])],
        _biased(baseline, candidate),
        _partial(baseline, candidate),
    )


def judge(found: Sequence[Measured], rules: Rules) -> list[BenchmarkComparison]:
    """Decide each benchmark, by p-values that know how many there are."""
    asked = [one for one in found if one.n_paired]
    adjusted = len(asked) > 1
    levels = {one.name: level for one, level in zip(asked, _adjusted(asked), strict=True)}
    return [
        _judged(one, rules, levels.get(one.name, _Levels(1.0, 1.0, 1.0, 1.0)), adjusted=adjusted)
        for one in found
    ]


class _Levels(NamedTuple):
    """P-values of a benchmark: of being worse as measured, in the worst case, in the best."""

    measured: float
    worst: float
    best: float
    two_sided: float


def _adjusted(found: Sequence[Measured]) -> list[_Levels]:
    """Holm's correction; with all bounds at once, since adjusting is monotone."""
    worst = [one.bounds[0] if one.bounds else one.case for one in found]
    best = [one.bounds[1] if one.bounds else one.case for one in found]
    columns = (
        holm([one.case.result.p_worse for one in found]),
        holm([case.result.p_worse for case in worst]),
        holm([case.result.p_worse for case in best]),
        holm([one.case.result.p_two_sided for one in found]),
    )
    return [_Levels(*row) for row in zip(*columns, strict=True)]


def _judged(
    found: Measured, rules: Rules, levels: _Levels, *, adjusted: bool
) -> BenchmarkComparison:
    verdict, reasons, needed = _decided(found, rules, levels)
    if found.biased and verdict in ("PASS", "BLOCK"):
        verdict, needed = "INCONCLUSIVE", None
        reasons = [f"no fair sample: {found.biased}", *reasons]
    elif found.partial and verdict == "PASS":
        verdict, reasons = "INCONCLUSIVE", [f"not the whole: {found.partial}", *reasons]
    said = BenchmarkComparison(
        found,
        rules,
        verdict,
        reasons,
        levels.measured,
        levels.two_sided,
        adjusted,
        labelled(found.categories, rules.max_drop, rules.alpha),
        needed,
    )
    if said.improved:
        better = f"significantly better (two-sided {_p(levels.two_sided)})"
        said = replace(said, reasons=[*reasons, better])
    return said


def _decided(
    found: Measured, rules: Rules, levels: _Levels
) -> tuple[Verdict, list[str], int | None]:
    if not found.n_paired:
        return "INCONCLUSIVE", ["nothing is paired: no problem has a score in both runs"], None
    verdict, reason = _verdict(found.case, levels.measured, rules)
    if not found.n_missing:
        needed = _needed(found, rules) if verdict == "INCONCLUSIVE" else None
        more = _more(found, rules, needed) if verdict == "INCONCLUSIVE" else []
        return verdict, [reason, *more], needed
    missing = f"without a score: {counted(found.n_missing, 'attempt')}"
    if found.bounds is None:
        why = f"{missing}; rewards outside [0, 1] have no bounds"
        return "INCONCLUSIVE", [why, f"without them: {reason}"], None
    worst, best = (
        _verdict(case, p, rules)[0]
        for case, p in zip(found.bounds, (levels.worst, levels.best), strict=True)
    )
    both = _both_ways(worst, best)
    spans = " and ".join(
        f"{_lost(case.drop)} [{_lost(case.most)}, {_lost(case.least)}] if all of it went "
        f"{how} ({said})"
        for case, how, said in zip(found.bounds, ("badly", "well"), (worst, best), strict=True)
    )
    return both, [f"{missing}; {spans}", f"of the paired ones alone: {reason}"], None


def _both_ways(worst: Verdict, best: Verdict) -> Verdict:
    """What holds whatever is missing."""
    if worst == "PASS":
        return "PASS"
    return best if best in ("BLOCK", "WARN") else "INCONCLUSIVE"


def _verdict(case: Case, p: float, rules: Rules) -> tuple[Verdict, str]:
    """The rule of docs/how-to/compare-two-runs.md, on one set of values."""
    span = f"{_lost(case.drop)}, 95 % CI [{_lost(case.most)}, {_lost(case.least)}]"
    limit = _lost(rules.max_drop)
    if p < rules.alpha and case.drop > rules.max_drop + CLOSE:
        return "BLOCK", f"significantly worse ({_p(p)}) and beyond {limit}: {span}"
    if p < rules.alpha:
        return "WARN", f"significantly worse ({_p(p)}), though not beyond {limit}: {span}"
    if case.difference is not None and not case.difference.reliable:
        return "INCONCLUSIVE", f"too few clusters for an interval that can be trusted: {span}"
    if case.most <= rules.max_drop + CLOSE:
        return "PASS", f"the whole interval lies within {limit}: {span}"
    return "INCONCLUSIVE", f"the interval reaches beyond {limit}, {_p(p)}: {span}"


def _needed(found: Measured, rules: Rules) -> int | None:
    """Problems at which a candidate that is as good as the baseline would probably pass.

    With as many already, those at which the difference from the limit that was seen would show.
    """
    least = needed_for_drop(rules.max_drop)
    difference = found.case.difference
    if least is None or difference is None or not difference.reliable:
        return None
    spread = found.case.spread
    needed = max(least, required_n(rules.max_drop, spread=spread))
    if needed <= found.n_paired:
        distance = abs(rules.max_drop - found.case.drop)
        needed = required_n(distance, spread=spread) if distance > CLOSE else 0
    return needed if needed > found.n_paired else None


def _more(found: Measured, rules: Rules, needed: int | None) -> Iterator[str]:
    if needed is not None:
        yield f"about {needed:,} problems would decide, there are {found.n_paired:,}"
    elif rules.max_drop <= 0.0:
        yield "no number of problems can show a drop of 0 at most: set max_drop"


def _lost(drop: float) -> str:
    return points(0.0 - drop)  # 0 has no sign


def _p(value: float) -> str:
    return f"p = {value:.4f}" if value >= 0.0001 else f"p = {value:.1e}"


def _run(side: Side) -> Run:
    config = side.bundle.get("config")
    return Run(str(side.bundle.get("run_id", "")), config if isinstance(config, Mapping) else {})


def _missing(pairs: Pairs, side: Side, sides: tuple[Side, Side]) -> Missing:
    repeats = min(one.repeats for one in sides)
    rows = [row for row in side.rows if row.repeat < repeats]
    unscored = sum(row.reward is None for row in rows)
    return Missing(unscored, len(pairs.problems) * repeats - len(rows))


def _partial(baseline: Side, candidate: Side) -> str | None:
    """Why a PASS would speak of more than what was read, or None."""
    sides = (("baseline", baseline), ("candidate", candidate))
    shards = [f"the {name} is {side.shard}" for name, side in sides if side.shard]
    said = [f"{name}: {side.trouble}" for name, side in sides if side.trouble]
    if shards:
        said.append(f"{' and '.join(shards)} of a run: join the shards by nel eval merge")
    return "; ".join(said) or None


def _biased(baseline: Side, candidate: Side) -> str | None:
    said = [
        f"in the {name} {side.biased}"
        for name, side in (("baseline", baseline), ("candidate", candidate))
        if side.biased
    ]
    return "; ".join(said) or None


def _warnings(baseline: Side, candidate: Side) -> Iterator[str]:
    for name, side in (("baseline", baseline), ("candidate", candidate)):
        if side.trouble:
            yield f"{name}: {side.trouble}"
        elif not side.rows:
            yield f"{name}: results.jsonl is empty"
        if side.incomplete and side.incomplete != side.trouble:
            yield f"{name}: {side.incomplete}"
        planned, total = side.planned, side.total
        if not side.shard and planned is not None and total is not None and planned < total:
            yield f"{name}: measured {planned:,} of {total:,} problems (max_problems)"
