"""A comparison as Markdown: for a pull request, or beside the results."""

import time
from collections.abc import Iterator, Sequence

from pytest_nel.core.text import showable
from pytest_nel.gate.comparison import BenchmarkComparison, RunComparison
from pytest_nel.gate.flips import Flip, cut
from pytest_nel.reports.compare_facts import (
    MEANING,
    difference_text,
    flip_name,
    guidance,
    headline,
    missing_lines,
    overlap_text,
    p_text,
    score_text,
    test_text,
)

_FLIPS = 50
_LONG = 400


def compare_markdown(report: RunComparison, *, now: float | None = None) -> str:
    """The whole report.

    Args:
        report: What was found.
        now: Unix time of its making; None leaves it out, so that equal reports are equal.
    """
    return "\n".join(_parts(report, now)) + "\n"


def _parts(report: RunComparison, now: float | None) -> Iterator[str]:
    yield f"# Regression Report: {report.verdict}"
    yield ""
    yield md(headline(report))
    yield ""
    if now is not None:
        yield time.strftime("Generated %Y-%m-%d %H:%M UTC", time.gmtime(now))
        yield ""
    around = list(_around(report))
    if around:
        yield from ("## Warnings", "", *around, "")
    if len(report.benchmarks) > 1 or report.lacking:
        yield from _overview(report)
    for one in report.benchmarks:
        yield from _benchmark(one, "##" if len(report.benchmarks) == 1 else "###")
    yield from ("## Investigation Guidance", "")
    yield from (f"- {md(text)}" for text in list(guidance(report)) or ["Nothing stands out."])


def _around(report: RunComparison) -> Iterator[str]:
    for side, names in (
        ("baseline", report.only_in_baseline),
        ("candidate", report.only_in_candidate),
    ):
        if names:
            yield f"- only in the {side}: {', '.join(md(name) for name in names)}"
    yield from (f"- {md(text)}" for text in report.warnings)


def _overview(report: RunComparison) -> Iterator[str]:
    yield from _table(
        ("Benchmark", "Verdict", "Difference", "p (worse)", "Regressions", "Improvements", "N"),
        [
            (
                one.name,
                one.verdict,
                difference_text(one),
                p_text(one.p_worse),
                f"{one.measured.flips.counts.baseline_only_correct:,}",
                f"{one.measured.flips.counts.candidate_only_correct:,}",
                f"{one.measured.n_paired:,}",
            )
            for one in report.benchmarks
        ],
    )


def _benchmark(one: BenchmarkComparison, mark: str) -> Iterator[str]:
    found = one.measured
    if mark == "###":
        yield from (f"## {md(one.name)}", "")
    before, after = found.runs
    yield from _table(
        ("", "Baseline", "Candidate"),
        [
            ("Run", before.run_id, after.run_id),
            ("Benchmark", one.name, one.name),
            ("Without a score", *(f"{side.unscored + side.absent:,}" for side in found.missing)),
        ],
    )
    if found.warnings:
        yield from (f"{mark} Warnings", "", *(f"- {md(text)}" for text in found.warnings), "")
    yield from (f"{mark} Executive Summary", "")
    yield f"**{one.verdict}**: {md(MEANING[one.verdict])}"
    yield ""
    yield from (f"- {md(reason)}" for reason in one.reasons)
    yield from (f"- missing, {md(text)}" for text in missing_lines(one))
    yield ""
    yield from _profile(one, mark)
    yield from _scores(one, mark)
    yield from _statistics(one, mark)
    yield from _flips("Regressed Problems", found.flips.regressions, mark)
    yield from _flips("Improved Problems", found.flips.improvements, mark)


def _profile(one: BenchmarkComparison, mark: str) -> Iterator[str]:
    if not one.categories:
        return
    yield from (f"{mark} Capability Impact Profile", "")
    yield from _table(
        ("Category", "Baseline", "Candidate", "Δ (pp)", "N", "p (Holm)", "Label"),
        [
            (
                found.name,
                score_text(found.baseline),
                score_text(found.candidate),
                "–" if found.delta is None else f"{100 * found.delta:+.2f}",
                f"{found.n:,}",
                "–" if found.p_adjusted is None else p_text(found.p_adjusted),
                found.label or "nothing paired",
            )
            for found in one.categories
        ],
    )


def _scores(one: BenchmarkComparison, mark: str) -> Iterator[str]:
    if not one.measured.scores:
        return
    yield from (f"{mark} Score Deltas", "")
    yield from _table(
        ("Metric", "Baseline", "Candidate", "Δ", "Intervals"),
        [
            (
                name,
                score_text(found.baseline),
                score_text(found.candidate),
                f"{found.delta:+.4f}",
                overlap_text(found.overlap),
            )
            for name, found in one.measured.scores.items()
        ],
    )


def _statistics(one: BenchmarkComparison, mark: str) -> Iterator[str]:
    counts = one.measured.flips.counts
    yield from (f"{mark} Statistical Analysis", "")
    yield f"- difference: {md(difference_text(one))}"
    yield f"- limit: {100 * one.rules.max_drop:g} pp, alpha {one.rules.alpha:g}"
    yield f"- {md(test_text(one))}"
    yield ""
    yield from _table(
        ("", "Candidate solved", "Candidate not solved"),
        [
            ("Baseline solved", f"{counts.both_correct:,}", f"{counts.baseline_only_correct:,}"),
            ("Baseline not solved", f"{counts.candidate_only_correct:,}", f"{counts.both_wrong:,}"),
        ],
    )
    changed = [found for found in one.categories if found.regressions or found.improvements]
    if changed:
        yield from (f"{mark} Regressions by Category", "")
        yield from _table(
            ("Category", "Regressions", "Improvements"),
            [(found.name, str(found.regressions), str(found.improvements)) for found in changed],
        )


def _flips(title: str, flips: Sequence[Flip], mark: str) -> Iterator[str]:
    if not flips:
        return
    yield from (f"{mark} {title}", "")
    yield from _table(
        ("Problem", "Category", "Expected", "Baseline", "Candidate"),
        [
            (
                flip_name(flip),
                flip.category,
                cut(flip.expected),
                cut(flip.responses[0]),
                cut(flip.responses[1]),
            )
            for flip in flips[:_FLIPS]
        ],
    )
    if len(flips) > _FLIPS:
        yield from (f"… and {len(flips) - _FLIPS:,} more; the JSON report has all of them.", "")


def _table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    yield f"| {' | '.join(header)} |"
    yield f"|{'---|' * len(header)}"
    yield from (f"| {' | '.join(md(cell) for cell in row)} |" for row in rows)
    yield ""


def md(text: str) -> str:
    """What others wrote as plain text: none of it may become a table, a link, HTML or a mention."""
    clean = " ".join(showable(text, _LONG).split())
    escaped = "".join(f"\\{char}" if char in "\\`*_{}[]<>|#~!" else char for char in clean)
    return escaped.replace("@", "@\N{ZERO WIDTH JOINER}").replace("://", ":\N{ZERO WIDTH JOINER}//")
