"""Sentences about a comparison that its text, Markdown and HTML share."""

from collections import Counter
from collections.abc import Iterator, Sequence

from pytest_nel.gate.comparison import BenchmarkComparison, RunComparison, Verdict
from pytest_nel.gate.findings import counted, points
from pytest_nel.gate.flips import Flip

MEANING: dict[Verdict, str] = {
    "PASS": "The candidate has not lost more than allowed, even at the far end of the interval.",
    "WARN": "The candidate is worse, beyond chance, by no more than allowed.",
    "BLOCK": "The candidate is worse, beyond chance, by more than allowed.",
    "INCONCLUSIVE": "The evidence decides nothing: a loss beyond the limit is neither shown nor "
    "ruled out.",
}
WORST_FIRST: Sequence[Verdict] = ("BLOCK", "WARN", "INCONCLUSIVE", "PASS")
_TESTS = {
    "mcnemar": "McNemar's exact test",
    "sign": "the sign test",
    "permutation": "the sign-flip permutation test",
}


def headline(report: RunComparison) -> str:
    """The first line, which says all that fits on one."""
    if len(report.benchmarks) == 1 and not report.lacking:
        return one_headline(report.benchmarks[0])
    found = Counter(one.verdict for one in report.benchmarks)
    parts = [f"{found[verdict]} {verdict}" for verdict in WORST_FIRST if found[verdict]]
    if report.lacking:
        parts.append(f"{len(report.only_in_baseline)} not in the candidate")
    compared = counted(len(report.benchmarks), "benchmark")
    return f"{report.verdict} — {compared} compared: {', '.join(parts)}"


def one_headline(one: BenchmarkComparison) -> str:
    """The first line about one benchmark."""
    counts = one.measured.flips.counts
    lost, won = counts.baseline_only_correct, counts.candidate_only_correct
    chance = "significant" if one.significant else "not significant"
    if one.improved:
        chance = "significantly better"
    return (
        f"{one.verdict} — {counted(lost, 'regression')}, {counted(won, 'improvement')} "
        f"out of {counted(counts.n, 'paired sample')} — {chance}"
    )


def difference_text(one: BenchmarkComparison) -> str:
    """The mean difference with its interval, in percentage points, and how it was made."""
    case = one.measured.case
    found = case.difference
    if found is None:
        return "unknown"
    span = f"[{100 * found.low:+.2f}, {100 * found.high:+.2f}]"
    return f"{points(found.value)}, 95 % CI {span} ({found.method}, n = {found.n:,})"


def test_text(one: BenchmarkComparison) -> str:
    """Which test was done, why, and its three answers."""
    chosen, result = one.measured.chosen, one.measured.case.result
    text = (
        f"{_TESTS[chosen.name]} ({chosen.reason}): worse p = {p_text(result.p_worse)}, "
        f"better p = {p_text(result.p_better)}, either p = {p_text(result.p_two_sided)}"
    )
    if one.adjusted:
        text += (
            f"; after Holm's correction over the benchmarks: worse p = {p_text(one.p_worse)}, "
            f"either p = {p_text(one.p_two_sided)}"
        )
    return text


def missing_lines(one: BenchmarkComparison) -> Iterator[str]:
    """What has no score and no partner, in words; nothing where all is there."""
    found = one.measured
    for side, missing in zip(("baseline", "candidate"), found.missing, strict=True):
        parts = [
            f"{counted(count, 'attempt')} {what}"
            for count, what in (
                (missing.unscored, "without a score"),
                (missing.absent, "without a record"),
            )
            if count
        ]
        if parts:
            yield f"{side}: {' and '.join(parts)}"
    for side, only in zip(("baseline", "candidate"), found.only, strict=True):
        if only:
            yield f"scored only in the {side}: {counted(only, 'problem')}"
    if found.bounds is not None:
        worst, best = found.bounds
        yield (
            f"with all of it counted: {points(0.0 - worst.drop)} in the worst case, "
            f"{points(0.0 - best.drop)} in the best"
        )


def flip_name(flip: Flip) -> str:
    """``p12`` or, with repeats, ``p12 (solved 3 → 1 of 4)``."""
    if flip.repeats == 1:
        return flip.problem_id
    before, after = flip.solved
    return f"{flip.problem_id} (solved {before} → {after} of {flip.repeats})"


def overlap_text(overlap: bool | None) -> str:  # noqa: FBT001 - a fact of three values
    """Whether two intervals meet."""
    return {True: "overlap", False: "apart", None: "unknown"}[overlap]


def p_text(value: float) -> str:
    """Four digits, or the size."""
    return f"{value:.4f}" if value >= 0.0001 else f"{value:.1e}"


def score_text(value: float | None) -> str:
    """A score, or a dash."""
    return "–" if value is None else f"{value:.4f}"


def guidance(report: RunComparison) -> Iterator[str]:
    """What to do next."""
    if any(one.measured.n_missing for one in report.benchmarks):
        yield (
            "Complete the runs: attempts without a score can be made with --nel-resume, and until "
            "then both ends of what they could be must agree."
        )
    if any(one.n_needed is not None for one in report.benchmarks):
        most = max(one.n_needed or 0 for one in report.benchmarks)
        yield (
            f"Measure more: about {most:,} problems would decide, and repeats narrow the interval, "
            "too. A wider --max-drop needs fewer."
        )
    broken = [
        f"{one.name}/{category.name}" if len(report.benchmarks) > 1 else category.name
        for one in report.benchmarks
        for category in one.categories
        if category.label == "BROKE"
    ]
    if broken:
        yield f"Look first at the categories that broke: {', '.join(broken)}."
    if any(one.measured.flips.regressions for one in report.benchmarks):
        yield (
            "Read the answers of regressed problems side by side: cut or empty answers and other "
            "formats point to the serving side, other reasoning to the weights."
        )
