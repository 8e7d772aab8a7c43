"""A gate's verdict as text: one table, then why."""

from collections.abc import Iterator, Sequence

from pytest_nel.core.text import showable
from pytest_nel.gate.report import BenchmarkGate, GateReport
from pytest_nel.records.gated import Gated
from pytest_nel.reports.summary import Line

_HEADER = ("benchmark", "tier", "status", "baseline", "candidate", "Δ (95 % CI), pp", "margin")
_COLOURS = {"GO": "green", "NO-GO": "red", "INCONCLUSIVE": "yellow"}
_STATUS = {
    "PASS": ("PASS", "green"),
    "BREACH": ("BREACH", "red"),
    "MISSING": ("MISSING", "red"),
    "INSUFFICIENT_EVIDENCE": ("INCONCLUSIVE", "yellow"),
}
_NOT_COMPARED = ": not known on both sides, so not compared: "
"""In warnings, after the benchmark's name: a verdict without it would say too much."""
_REASONS = 3
MAX_ROWS = 15


def gate_lines(report: GateReport, *, most: int = MAX_ROWS, verbose: bool = False) -> list[Line]:
    """The verdict, the table, and the reasons of what did not pass.

    Args:
        report: What was decided.
        most: How many rows the table may have; what did not pass comes first then.
        verbose: Whether reasons of what passed are said, too, and all warnings.
    """
    colour = {_COLOURS[report.verdict]: True, "bold": True}
    lines = [Line(f"{report.verdict}  {_one_line(report.policy)}", colour)]
    lines += [Line(f"  {_one_line(_as_in_table(reason))}") for reason in report.reasons]
    if report.allowed:
        lines.append(Line(f"  allowed to differ: {', '.join(report.allowed)}", {"yellow": True}))
    rows = list(report.rows)
    if len(rows) > most:
        rows = sorted(rows, key=lambda row: row.status == "PASS")[:most]
    cells = [_cells(row) for row in rows]
    if cells:
        widths = [max(len(row[at]) for row in [_HEADER, *cells]) for at in range(len(_HEADER))]
        lines.append(Line(_joined(_HEADER, widths)))
        for row, texts in zip(rows, cells, strict=True):
            lines.append(Line(_joined(texts, widths), {_STATUS[row.status][1]: True}))
    if len(report.rows) > len(rows):
        lines.append(Line(f"… and {len(report.rows) - len(rows)} more"))
    lines += _why(rows, verbose=verbose)
    lines += _warnings(report.warnings, verbose=verbose)
    return lines


def _warnings(warnings: Sequence[str], *, verbose: bool) -> Iterator[Line]:
    """What was not compared always, once for all benchmarks of which it is true."""
    names: dict[str, list[str]] = {}
    others = []
    for text in warnings:
        name, mark, fields = text.partition(_NOT_COMPARED)
        if mark:
            names.setdefault(f"{mark}{fields}", []).append(name)
        elif verbose:
            others.append(text)
    said = [f"{', '.join(same)}{what}" for what, same in names.items()]
    for text in [*others, *said]:
        yield Line(f"warning: {_one_line(text)}", {"yellow": True})


def kept_lines(gate: Gated) -> list[Line]:
    """What a run's gate came to, as its checks.json keeps it, and why what did not pass did not."""
    colour = {_COLOURS[gate.verdict]: True, "bold": True}
    lines = [Line(f"{gate.verdict}  {_one_line(gate.policy)}", colour)]
    lines += [Line(f"  {_one_line(reason)}") for reason in gate.reasons]
    lines += [
        Line(f"  {_one_line(str(check.facts['benchmark']))}: {_one_line(check.reason)}")
        for check in gate.checks
        if check.status != "passed" and "benchmark" in check.facts
    ]
    return lines


def _why(rows: Sequence[BenchmarkGate], *, verbose: bool) -> Iterator[Line]:
    for row in rows:
        if row.status == "PASS" and not verbose:
            continue
        name = _one_line(row.rule.benchmark)
        reasons = [one.reason for one in row.findings] if verbose else row.reasons
        for reason in reasons[: None if verbose else _REASONS]:
            yield Line(f"  {name}: {_one_line(reason)}")
        if len(reasons) > _REASONS and not verbose:
            yield Line(f"  {name}: … and {len(reasons) - _REASONS} more")


def _cells(row: BenchmarkGate) -> tuple[str, ...]:
    margin = row.margin_problems
    return (
        _one_line(row.rule.benchmark),
        row.rule.limits.tier,
        _STATUS[row.status][0],
        _score(row.baseline),
        _score(row.candidate),
        delta_text(row),
        "–" if margin is None else f"{margin:+,d} of {row.n_paired:,}",
    )


def delta_text(row: BenchmarkGate) -> str:
    """``-0.40 [-1.30, +0.50]`` in percentage points."""
    if row.delta is None:
        return "–"
    text = f"{100 * row.delta:+.2f}"
    if row.interval is not None:
        text += f" [{100 * row.interval[0]:+.2f}, {100 * row.interval[1]:+.2f}]"
    return text


def _as_in_table(reason: str) -> str:
    """A reason begins with a status as files name it; here it has the table's word."""
    status, mark, rest = reason.partition(": ")
    return f"{_STATUS[status][0]}: {rest}" if mark and status in _STATUS else reason


def _one_line(text: str) -> str:
    """Names and reasons hold what others wrote."""
    return " ".join(showable(text, 400).splitlines())


def _score(value: float | None) -> str:
    return "–" if value is None else f"{value:.4f}"


def _joined(cells: Sequence[str], widths: Sequence[int]) -> str:
    left = 3
    parts = [
        cell.ljust(width) if at < left else cell.rjust(width)
        for at, (cell, width) in enumerate(zip(cells, widths, strict=True))
    ]
    return "  ".join(parts).rstrip()
