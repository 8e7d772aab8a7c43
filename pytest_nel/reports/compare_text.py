"""A comparison for the terminal."""

import time
from collections.abc import Iterator, Sequence

from pytest_nel.core.text import showable
from pytest_nel.gate.comparison import BenchmarkComparison, RunComparison, Verdict
from pytest_nel.gate.deltas import CategoryDelta
from pytest_nel.gate.flips import Flip, cut
from pytest_nel.reports.compare_facts import (
    MEANING,
    difference_text,
    flip_name,
    headline,
    missing_lines,
    one_headline,
    overlap_text,
    p_text,
    score_text,
    test_text,
)
from pytest_nel.reports.summary import Line

_COLOURS: dict[Verdict, str] = {
    "PASS": "green",
    "WARN": "yellow",
    "BLOCK": "red",
    "INCONCLUSIVE": "yellow",
}
_LABELS = {"BROKE": "red", "WARN": "yellow", "HELD": "green"}
_CELLS = 20
_FLIPS = 50


def compare_lines(
    report: RunComparison,
    *,
    compact: bool = False,
    flips: bool = False,
    verbose: bool = False,
    now: float | None = None,
) -> list[Line]:
    """The verdict on the first line, then what it rests on.

    Args:
        report: What was found.
        compact: Four to eight lines a benchmark.
        flips: Whether problems that changed are named, with their answers.
        verbose: Whether the test and all reasons are told, and no list is cut.
        now: Unix time of its making; None leaves it out, so that equal reports are equal.
    """
    lines = [Line(headline(report), {_COLOURS[report.verdict]: True, "bold": True})]
    lines += _around(report)
    several = len(report.benchmarks) > 1 or report.lacking
    for one in report.benchmarks:
        if several:
            lines += [Line(""), Line(f"{one.name}: {one_headline(one)}", _coloured(one.verdict))]
        if compact:
            lines += _compact(one)
            if flips:
                lines += _flips(one, verbose=verbose)
        else:
            lines += _full(one, flips=flips, verbose=verbose, now=now)
    if not compact:
        lines += [Line(""), Line(f"=== {report.verdict} ===", _coloured(report.verdict))]
    return [Line(showable(line.text, 2000).replace("\n", " "), line.markup) for line in lines]


def _coloured(verdict: Verdict) -> dict[str, bool]:
    return {_COLOURS[verdict]: True, "bold": True}


def _around(report: RunComparison) -> Iterator[Line]:
    for side, names in (
        ("baseline", report.only_in_baseline),
        ("candidate", report.only_in_candidate),
    ):
        if names:
            yield Line(f"only in the {side}: {', '.join(names)}", {"yellow": True})
    yield from (Line(f"warning: {text}", {"yellow": True}) for text in report.warnings)


def _compact(one: BenchmarkComparison) -> Iterator[Line]:
    yield Line(f"  {one.reasons[0]}")
    yield Line(f"  difference: {difference_text(one)}")
    yield Line(f"  {test_text(one)}")
    missing = "; ".join(missing_lines(one))
    if missing:
        yield Line(f"  missing: {missing}", {"yellow": True})
    warnings = "; ".join(one.measured.warnings)
    if warnings:
        yield Line(f"  warning: {warnings}", {"yellow": True})


def _full(
    one: BenchmarkComparison, *, flips: bool, verbose: bool, now: float | None
) -> Iterator[Line]:
    runs = one.measured.runs
    yield from _title(f"REGRESSION REPORT  {one.name}")
    yield Line(f"  baseline   {runs[0].run_id}")
    yield Line(f"  candidate  {runs[1].run_id}")
    if now is not None:
        yield Line(f"  made       {time.strftime('%Y-%m-%d %H:%M UTC', time.gmtime(now))}")
    if one.measured.warnings:
        yield from _title("WARNINGS")
        yield from (Line(f"  {text}", {"yellow": True}) for text in one.measured.warnings)
    yield from _title("VERDICT")
    yield Line(f"  {one.verdict}: {MEANING[one.verdict]}", _coloured(one.verdict))
    yield from (Line(f"  {reason}") for reason in (one.reasons if verbose else one.reasons[:2]))
    yield from _profile(one.categories) if one.categories else _scores(one)
    yield from _summary(one)
    if flips:
        yield from _flips(one, verbose=verbose)
    if verbose:
        yield from _statistics(one)


def _title(text: str) -> Iterator[Line]:
    yield Line("")
    yield Line(text, {"bold": True})


def _profile(categories: Sequence[CategoryDelta]) -> Iterator[Line]:
    yield from _title("CAPABILITY IMPACT PROFILE")
    width = max(len(one.name) for one in categories)
    for one in categories:
        name = one.name.ljust(width)
        if one.delta is None or one.candidate is None or one.p_adjusted is None:
            before, after = score_text(one.baseline), score_text(one.candidate)
            yield Line(f"  {name}  {before} → {after}  nothing paired", {"yellow": True})
            continue
        bar = _bar(one.candidate, _CELLS)
        yield Line(
            f"  {name}  {bar}  {_percent(one.baseline)} → {_percent(one.candidate)}  "
            f"{100 * one.delta:+6.2f} pp  {one.label}  (n = {one.n:,}, "
            f"p = {p_text(one.p_adjusted)})",
            {_LABELS[str(one.label)]: True},
        )


def _scores(one: BenchmarkComparison) -> Iterator[Line]:
    yield from _title("SCORE DELTAS")
    scores = one.measured.scores
    width = max((len(name) for name in scores), default=0)
    for name, found in scores.items():
        yield Line(
            f"  {name.ljust(width)}  {found.baseline:.4f} → {found.candidate:.4f}  "
            f"{found.delta:+.4f}  intervals: {overlap_text(found.overlap)}"
        )
    if not scores:
        yield Line("  no metric is in both runs")


def _summary(one: BenchmarkComparison) -> Iterator[Line]:
    counts = one.measured.flips.counts
    lost, won = counts.baseline_only_correct, counts.candidate_only_correct
    most = max(lost, won, 1)
    yield from _title("FLIP SUMMARY")
    yield Line(f"  regressions   {lost:>7,}  {_bar(lost / most, _CELLS)}")
    yield Line(f"  improvements  {won:>7,}  {_bar(won / most, _CELLS)}")
    yield Line(f"  unchanged     {counts.both_correct:,} correct, {counts.both_wrong:,} wrong")
    yield Line(f"  difference    {difference_text(one)}")
    yield from (Line(f"  missing       {text}", {"yellow": True}) for text in missing_lines(one))


def _flips(one: BenchmarkComparison, *, verbose: bool) -> Iterator[Line]:
    flips = one.measured.flips
    for title, found in (("REGRESSIONS", flips.regressions), ("IMPROVEMENTS", flips.improvements)):
        if not found:
            continue
        yield from _title(title)
        shown = found if verbose else found[:_FLIPS]
        for flip in shown:
            yield from _flip(flip)
        if len(found) > len(shown):
            rest = len(found) - len(shown)
            yield Line(f"  … and {rest:,} more: -v shows all, -o FILE writes all")


def _flip(flip: Flip) -> Iterator[Line]:
    about = f"  [{flip.category}]" if flip.category else ""
    before, after = flip.rewards
    yield Line(f"  {flip_name(flip)}{about}  {before:g} → {after:g}")
    for name, text in (
        ("expected", flip.expected),
        ("baseline", flip.responses[0]),
        ("candidate", flip.responses[1]),
    ):
        if text:
            yield Line(f"    {name:<10} {cut(text)}")


def _statistics(one: BenchmarkComparison) -> Iterator[Line]:
    found = one.measured
    yield from _title("STATISTICAL DETAILS")
    yield Line(f"  test        {test_text(one)}")
    yield Line(f"  limit       {100 * one.rules.max_drop:g} pp; alpha {one.rules.alpha:g}")
    yield Line(f"  difference  {difference_text(one)}")
    if one.n_needed is not None:
        yield Line(f"  needed      about {one.n_needed:,} problems")
    if one.categories:
        yield from _scores(one)
    for name, said in found.runtime.items():
        yield Line(f"  {name}  {said['baseline']:,} → {said['candidate']:,}")


def _percent(value: float | None) -> str:
    return "–" if value is None else f"{100 * value:.1f}%"


def _bar(share: float, cells: int) -> str:
    full = round(min(1.0, max(0.0, share)) * cells)
    return "█" * full + "░" * (cells - full)
