"""LaTeX: a booktabs table to be taken into a paper."""

from collections.abc import Iterator, Sequence

from pytest_nel.reports import _words
from pytest_nel.reports.table import Row, Table, difference

_ESCAPED = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    "[": "{[}",  # at the beginning of a row it would be an argument of the \\ before
    "*": "{*}",
    **{character: f"\\{character}" for character in "{}$&#_%"},
}


class LatexReport:
    """Needs the package booktabs."""

    suffix = "tex"

    def pieces(self, table: Table) -> Iterator[str]:
        """One table: a line per run and benchmark, the runs of a benchmark together."""
        head, align = _columns(table)
        yield f"% {escape(table.title)}; needs \\usepackage{{booktabs}}\n"
        yield f"\\begin{{tabular}}{{{align}}}\n\\toprule\n{_line(head)}\\midrule\n"
        for row in table.rows:
            yield _line(_cells(table, row))
        yield "\\bottomrule\n\\end{tabular}\n"
        notes = [f"{row.run}, {row.benchmark}: {note}" for row in table.rows for note in row.notes]
        for note in [*notes, *table.notes]:
            yield f"% {_words.line(note)}\n"


def _columns(table: Table) -> tuple[Sequence[str], str]:
    head = ["Benchmark", "Samples", "Score", "Metric", "95\\% CI", "Method", "Unscored"]
    align = "lrrlllr"
    if table.baseline is not None:
        head, align = [*head, "Baseline", "Difference"], f"{align}rr"
    if len(table.runs) > 1:
        head, align = [head[0], "Run", "Model", *head[1:]], f"lll{align[1:]}"
    return head, align


def _cells(table: Table, row: Row) -> Sequence[str]:
    metric = row.headline
    cells = [
        *(escape(row.benchmark), _words.count(row.samples), _words.score(metric.value)),
        *(
            escape(metric.name),
            _words.interval(metric),
            escape(_words.method(metric) or _words.UNKNOWN),
        ),
        _words.count(row.counts.unscored),
    ]
    if table.baseline is not None:
        other = None if row.baseline is None else row.baseline.headline.value
        cells += [_words.score(other), _math(_words.signed(difference(row, metric)))]
    if len(table.runs) > 1:
        cells = [cells[0], escape(row.run), escape(row.model), *cells[1:]]
    return [cell.replace(_words.UNKNOWN, "--") for cell in cells]


def _line(cells: Sequence[str]) -> str:
    return " & ".join(cells) + r" \\" + "\n"


def _math(number: str) -> str:
    return number if number == _words.UNKNOWN else f"${number}$"


def escape(text: str) -> str:
    """Text of others as text: nothing in it is a command, a comment or a new line."""
    return "".join(_ESCAPED.get(character, character) for character in _words.line(text))
