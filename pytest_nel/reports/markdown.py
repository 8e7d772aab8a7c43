"""Markdown: tables for a pull request or a wiki."""

import re
from collections.abc import Iterator, Sequence
from itertools import groupby

from pytest_nel.reports import _words
from pytest_nel.reports.table import Metric, Row, Table, against, difference

_SPECIAL = re.compile(r"[\\`*|<>\[\]&#!~$]|(?<![0-9A-Za-z])_|_(?![0-9A-Za-z])|(?<!\w)@|^[-+=]")
_NUMBERS = ("Samples", "Score", "CI (95%)", "Unparsed", "Truncated", "Unscored", "Tokens", "P50")
_MARKS = {"passed": "✅", "failed": "❌", "open": "⚠️"}


class MarkdownReport:
    """Names are escaped: whatever they hold, they are text."""

    suffix = "md"

    def pieces(self, table: Table) -> Iterator[str]:
        """The scores, what must be known about them, checks, further metrics, groups."""
        yield f"# {_title(table)}\n\n"
        yield from _scores(table)
        yield from _notes(table)
        yield from _checks(table)
        for row in table.rows:
            yield from _groups(table, row)


def _title(table: Table) -> str:
    model = f": {escape(table.models[0])}" if len(table.models) == 1 else ""
    return f"Evaluation Report{model}"


def _scores(table: Table) -> Iterator[str]:
    several, compared = len(table.runs) > 1, table.baseline is not None
    head = ["Benchmark", *(["Run", "Model"] if several else []), "Scorer", "Samples", "Score"]
    head += ["CI (95%)", "Method", *(["Baseline", "Δ"] if compared else [])]
    head += ["Unparsed", "Truncated", "Unscored", "Tokens", "P50"]
    if compared:
        yield f"Baseline: {escape(str(table.baseline))}\n\n"
    yield _line(head) + _rule(head)
    for row in table.rows:
        for metric in row.metrics:
            yield _line(_cells(table, row, metric))
    yield "\n"


def _cells(table: Table, row: Row, metric: Metric) -> Sequence[str]:
    first, usage, counts = metric is row.headline, row.usage, row.counts
    several, compared = len(table.runs) > 1, table.baseline is not None
    other = against(row, metric)
    compare = [_words.score(None if other is None else other.value)]
    compare += [_words.signed(difference(row, metric))]
    last = [
        _words.share(counts.unparsed, counts.scored),
        _words.share(counts.truncated, counts.scored),
        _words.share(counts.unscored, counts.attempted),
        _words.tokens(usage),
        _words.millis(usage.p50),
    ]
    return [
        escape(row.benchmark),
        *([escape(row.run), escape(row.model)] if several else []),
        _scorer(row, metric),
        _words.count(row.samples if first else _samples(metric)),
        _words.score(metric.value),
        _words.interval(metric),
        escape(_words.method(metric)) or _words.UNKNOWN,
        *(compare if compared else []),
        *(last if first else [""] * len(last)),
    ]


def _samples(metric: Metric) -> int | None:
    return metric.n if metric.problems is None else metric.problems


def _scorer(row: Row, metric: Metric) -> str:
    name = escape(metric.name)
    if metric is row.headline:
        extra = any(other.name.startswith("scorer:") for other in row.others)
        return f"{name} (native)" if extra else name
    counted = metric.correct is not None and metric.n is not None
    return f"{name} ({metric.correct}/{metric.n})" if counted else name


def _notes(table: Table) -> Iterator[str]:
    several = len(table.runs) > 1
    lines = [escape(note) for note in table.notes]
    for row in table.rows:
        whose = escape(f"{row.run}, {row.benchmark}" if several else row.benchmark)
        lines += [f"**{whose}**: {escape(note)}" for note in row.notes]
    if lines:
        yield "".join(f"- {line}\n" for line in lines) + "\n"


def _checks(table: Table) -> Iterator[str]:
    if not table.checks:
        return
    several = len(table.runs) > 1
    head = ["Check", *(["Run"] if several else []), "Status", "Reason"]
    yield "## Checks\n\n" + _line(head) + _rule(head)
    for check in table.checks:
        run = [escape(check.run)] if several else []
        status = f"{_MARKS.get(check.status, '')} {escape(check.status)}".strip()
        yield _line([escape(check.id), *run, status, escape(check.reason)])
    yield "\n"


def _groups(table: Table, row: Row) -> Iterator[str]:
    run = f" ({row.run})" if len(table.runs) > 1 else ""
    for field, groups in groupby(row.groups, key=lambda group: group.field):
        parts = list(groups)
        said = any(part.unparsed is not None for part in parts)
        yield f"## {escape(row.benchmark + run)} by {escape(field)}\n\n"
        head = [escape(field.capitalize()), "Score", "CI (95%)", "N"]
        head += ["Unparsed"] if said else []
        yield _line(head) + _rule(head)
        for part in parts:
            score, found = part.score, _words.interval(part.score)
            cells = [escape(part.name), _words.score(score.value), found, _words.count(score.n)]
            yield _line([*cells, *([_words.share(part.unparsed, score.n)] if said else [])])
        yield "\n"


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |\n"


def _rule(head: Sequence[str]) -> str:
    right = {*_NUMBERS, "Baseline", "Δ", "N"}
    return f"|{'|'.join('--:' if name in right else '---' for name in head)}|\n"


def escape(text: str) -> str:
    """Text of others as text: on one line, no markup, no HTML, nobody mentioned."""
    return _SPECIAL.sub(lambda found: _entity(found[0]), _words.line(text))


def _entity(character: str) -> str:
    entities = {"<": "&lt;", ">": "&gt;", "&": "&amp;", "@": "&#64;"}
    return entities.get(character, f"\\{character}")
