"""A gate's verdict as Markdown: for a pull request, and for a run's summary page."""

import time
from collections.abc import Iterator

from pytest_nel.core.text import showable
from pytest_nel.gate.report import BenchmarkGate, GateReport
from pytest_nel.reports.gate import delta_text

_SIGN = {"PASS": "✅", "BREACH": "❌", "MISSING": "❌", "INSUFFICIENT_EVIDENCE": "⚠️"}
_HEADER = (
    *("Benchmark", "Tier", "Status", "Metric", "Baseline", "Candidate"),
    *("Δ, 95 % CI (pp)", "Margin", "N"),
)
_REASON = 300


def gate_markdown(report: GateReport, *, now: float | None = None) -> str:
    """The whole report.

    Args:
        report: What was decided.
        now: Unix time of its making; None leaves it out, so that equal reports are equal.
    """
    return "\n".join(_parts(report, now)) + "\n"


def _parts(report: GateReport, now: float | None) -> Iterator[str]:
    yield f"# Quality Gate Report: {report.verdict}"
    yield ""
    made = (
        time.strftime("Generated %Y-%m-%d %H:%M UTC, policy", time.gmtime(now)) if now else "Policy"
    )
    yield f"{made} {escaped(report.policy)}"
    yield ""
    yield from (f"- {escaped(reason)}" for reason in report.reasons)
    if report.allowed:
        yield f"- allowed to differ: {', '.join(report.allowed)}"
    yield ""
    yield f"| {' | '.join(_HEADER)} |"
    yield "|---|---|---|---|--:|--:|--:|--:|--:|"
    yield from (_row(row) for row in report.rows)
    yield ""
    bad = [row for row in report.rows if row.status != "PASS"]
    if bad:
        yield "## What did not pass"
        yield ""
        for row in bad:
            for reason in row.reasons:
                yield f"- **{escaped(row.rule.benchmark)}**: {escaped(reason)}"
        yield ""
    if report.warnings:
        yield "## Warnings"
        yield ""
        yield from (f"- {escaped(text)}" for text in report.warnings)
        yield ""


def _row(row: BenchmarkGate) -> str:
    margin = row.margin_problems
    cells = (
        escaped(row.rule.benchmark),
        row.rule.limits.tier,
        f"{_SIGN[row.status]} {row.status}",
        escaped(row.rule.metric),
        _score(row.baseline),
        _score(row.candidate),
        delta_text(row),
        "–" if margin is None else f"{margin:+,d}",
        f"{row.n_paired:,}",
    )
    return f"| {' | '.join(cells)} |"


def _score(value: float | None) -> str:
    return "–" if value is None else f"{value:.4f}"


def escaped(text: str) -> str:
    """Names and reasons hold what others wrote: none of it may become a table, a link or HTML."""
    clean = " ".join(showable(text, _REASON).splitlines())
    return "".join(f"\\{char}" if char in "\\`*_{}[]<>|#~" else char for char in clean)
