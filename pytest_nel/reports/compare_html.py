"""A comparison as one HTML file that needs nothing else: no script, no address."""

import time
from collections.abc import Iterator, Sequence
from html import escape

from pytest_nel.core.text import showable
from pytest_nel.gate.comparison import BenchmarkComparison, RunComparison
from pytest_nel.gate.flips import Flip
from pytest_nel.reports.compare_facts import (
    MEANING,
    difference_text,
    flip_name,
    guidance,
    headline,
    missing_lines,
    one_headline,
    overlap_text,
    p_text,
    score_text,
    test_text,
)

_FLIPS = 500
_LONG = 5000
_STYLE = """
:root { color-scheme: light dark; --line: #8886; --good: #1a7f37; --bad: #cf222e; --open: #9a6700 }
body { font: 15px/1.5 system-ui, sans-serif; max-width: 75rem; margin: 2rem auto; padding: 0 1rem }
table { border-collapse: collapse; margin: .5rem 0 1rem }
th, td { border: 1px solid var(--line); padding: .25rem .6rem; text-align: left }
td.n { text-align: right; font-variant-numeric: tabular-nums }
.PASS, .HELD { color: var(--good) } .BLOCK, .BROKE { color: var(--bad) }
.WARN, .INCONCLUSIVE { color: var(--open) }
details { border: 1px solid var(--line); border-radius: 6px; margin: .4rem 0; padding: .3rem .7rem }
summary { cursor: pointer }
.two { display: grid; grid-template-columns: 1fr 1fr; gap: 1rem }
pre { white-space: pre-wrap; overflow-wrap: anywhere; background: #8881; padding: .5rem;
  border-radius: 4px; margin: .2rem 0; max-height: 24rem; overflow: auto }
"""


def compare_html(report: RunComparison, *, now: float | None = None) -> str:
    """The whole page.

    Args:
        report: What was found.
        now: Unix time of its making; None leaves it out, so that equal reports are equal.
    """
    return "\n".join(_parts(report, now)) + "\n"


def _parts(report: RunComparison, now: float | None) -> Iterator[str]:
    yield '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">'
    yield (
        '<meta http-equiv="Content-Security-Policy" '
        "content=\"default-src 'none'; style-src 'unsafe-inline'\">"
    )
    yield '<meta name="viewport" content="width=device-width, initial-scale=1">'
    yield f"<title>{_text(report.verdict)}: regression report</title>"
    yield f"<style>{_STYLE}</style>\n</head>\n<body>"
    yield f'<h1 class="{report.verdict}">{_text(headline(report))}</h1>'
    if now is not None:
        yield time.strftime("<p>Generated %Y-%m-%d %H:%M UTC</p>", time.gmtime(now))
    yield from _list(_around(report))
    for one in report.benchmarks:
        yield from _benchmark(one)
    yield "<h2>What to look at</h2>"
    yield from _list(list(guidance(report)) or ["Nothing stands out."])
    yield "</body>\n</html>"


def _around(report: RunComparison) -> list[str]:
    sides = (
        ("baseline", report.only_in_baseline),
        ("candidate", report.only_in_candidate),
    )
    only = [f"only in the {side}: {', '.join(names)}" for side, names in sides if names]
    return [*only, *report.warnings]


def _benchmark(one: BenchmarkComparison) -> Iterator[str]:
    found = one.measured
    before, after = found.runs
    yield f"<h2>{_text(one.name)}</h2>"
    yield f'<p><strong class="{one.verdict}">{_text(one_headline(one))}</strong><br>'
    yield f"{_text(MEANING[one.verdict])}</p>"
    yield f"<p>{_text(before.run_id)} → {_text(after.run_id)}</p>"
    yield from _list([*one.reasons, *(f"missing, {text}" for text in missing_lines(one))])
    if found.warnings:
        yield "<h3>Warnings</h3>"
        yield from _list(found.warnings)
    yield from _categories(one)
    yield from _numbers(one)
    yield from _flips("Regressed problems", found.flips.regressions)
    yield from _flips("Improved problems", found.flips.improvements)


def _categories(one: BenchmarkComparison) -> Iterator[str]:
    if not one.categories:
        return
    yield "<h3>Categories</h3>"
    yield from _table(
        ("Category", "Baseline", "Candidate", "Δ (pp)", "N", "Lost", "Won", "p (Holm)", "Label"),
        [
            (
                found.name,
                score_text(found.baseline),
                score_text(found.candidate),
                "–" if found.delta is None else f"{100 * found.delta:+.2f}",
                f"{found.n:,}",
                f"{found.regressions:,}",
                f"{found.improvements:,}",
                "–" if found.p_adjusted is None else p_text(found.p_adjusted),
                found.label or "nothing paired",
            )
            for found in one.categories
        ],
    )


def _numbers(one: BenchmarkComparison) -> Iterator[str]:
    counts = one.measured.flips.counts
    yield "<h3>Numbers</h3>"
    yield from _list([f"difference: {difference_text(one)}", test_text(one)])
    yield from _table(
        ("", "Candidate solved", "Candidate not solved"),
        [
            ("Baseline solved", f"{counts.both_correct:,}", f"{counts.baseline_only_correct:,}"),
            ("Baseline not solved", f"{counts.candidate_only_correct:,}", f"{counts.both_wrong:,}"),
        ],
    )
    if one.measured.scores:
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


def _flips(title: str, flips: Sequence[Flip]) -> Iterator[str]:
    if not flips:
        return
    yield f"<h3>{title} ({len(flips):,})</h3>"
    for flip in flips[:_FLIPS]:
        about = f" · {_text(flip.category)}" if flip.category else ""
        before, after = flip.rewards
        title = f"{_text(flip_name(flip))}{about} · {before:g} → {after:g}"
        yield f"<details><summary>{title}</summary>"
        if flip.expected:
            yield f"<p>expected</p><pre>{_text(flip.expected)}</pre>"
        yield '<div class="two">'
        for name, text in zip(("baseline", "candidate"), flip.responses, strict=True):
            yield f"<div><p>{name}</p><pre>{_text(text) or '–'}</pre></div>"
        yield "</div></details>"
    if len(flips) > _FLIPS:
        yield f"<p>… and {len(flips) - _FLIPS:,} more; the JSON report has all of them.</p>"


def _table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    yield f"<table><tr>{''.join(f'<th>{_text(name)}</th>' for name in header)}</tr>"
    for first, *rest in rows:
        cells = "".join(f'<td class="n {_class(cell)}">{_text(cell)}</td>' for cell in rest)
        yield f"<tr><td>{_text(first)}</td>{cells}</tr>"
    yield "</table>"


def _class(cell: str) -> str:
    return cell if cell in ("BROKE", "WARN", "HELD") else ""


def _list(lines: Sequence[str]) -> Iterator[str]:
    if lines:
        yield f"<ul>{''.join(f'<li>{_text(line)}</li>' for line in lines)}</ul>"


def _text(text: str) -> str:
    return escape(showable(text, _LONG))
