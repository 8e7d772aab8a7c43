"""The parts of the page that need no script: what was run, scores, checks."""

from collections.abc import Iterator, Mapping, Sequence

from pytest_nel.reports import _words
from pytest_nel.reports._chart import Scale, axis, scale, whisker
from pytest_nel.reports._markup import Markup, tag
from pytest_nel.reports.table import CheckRow, Metric, Row, Table, Usage, against, difference

_BETTER = {"passed": "good", "failed": "bad", "open": "open"}
_NUMBERS = {
    "tier": ("tier",),
    "metric": ("metric",),
    "baseline": ("baseline", "baseline_score"),
    "candidate": ("candidate", "candidate_score"),
    "Δ": ("delta",),
    "pairs": ("n_paired",),
    "margin": ("margin_problems",),
}
"""Columns of checks, and the keys that they are found under."""
_USUAL = {"gate", "benchmark", "exit_code", "absolute_breached", "relative_breached"}
"""What the other columns say already."""
_DEFAULTS = {"direction": "higher_is_better", "evidence": "ci"}
_SHORT = 12  # hex digits of a hash that tell two apart


def header(table: Table) -> Iterator[Markup]:
    """Whose numbers these are."""
    facts: list[tuple[str, object]]
    if len(table.runs) == 1:
        row = table.rows[0]
        facts = [
            ("run", row.run_id or row.run),
            ("model", row.model),
            ("time", row.facts.get("timestamp")),
            ("measured by", f"pytest-nel {row.facts.get('sdk_version') or 'of unknown version'}"),
        ]
    else:
        facts = [("runs", f"{len(table.runs)}"), ("models", ", ".join(table.models))]
    if table.baseline is not None:
        facts.append(("baseline", table.baseline))
    items = [tag("div", tag("dt", name), tag("dd", value)) for name, value in facts if value]
    yield tag("dl", *items, class_="facts")
    yield tag("p", *_verdict(table.checks), class_="verdict")


def _verdict(checks: Sequence[CheckRow]) -> Iterator[Markup]:
    for status, word in (("failed", "failed"), ("open", "open"), ("passed", "passed")):
        count = sum(check.status == status for check in checks)
        if count:
            noun = "check" if count == 1 else "checks"
            yield tag("span", f"{count:,} {noun} {word}", class_=f"pill {_BETTER[status]}")


def tiles(table: Table) -> Markup:
    """Sums over all rows, where every row says them."""
    said = [
        ("benchmarks", f"{len({row.benchmark for row in table.rows}):,}"),
        ("attempts scored", _sum([row.counts.scored for row in table.rows])),
        ("without a score", _sum([row.counts.unscored for row in table.rows])),
        ("tokens", _words.tokens(_total(table))),
    ]
    if _total(table).cost is not None:
        said.append(("cost", _words.cost(_total(table))))
    cells = [tag("div", tag("b", value), tag("span", name)) for name, value in said]
    return tag("div", *cells, class_="tiles")


def _total(table: Table) -> Usage:
    """What all rows took; None where a row does not say it, or the currencies differ."""
    used = [row.usage for row in table.rows]
    tokens = [one.tokens for one in used if one.tokens is not None]
    costs = [one.cost for one in used if one.cost is not None]
    known = len(costs) == len(used) and len({one.currency for one in used}) == 1
    return Usage(
        tokens=sum(tokens) if len(tokens) == len(used) else None,
        tokens_partial=any(one.tokens_partial for one in used),
        cost=sum(costs) if known else None,
        currency=used[0].currency if known else "",
        cost_partial=any(one.cost_partial for one in used),
    )


def _sum(numbers: Sequence[int | None]) -> str:
    known = [number for number in numbers if number is not None]
    return f"{sum(known):,}" if len(known) == len(numbers) else _words.UNKNOWN


def scores(table: Table) -> Iterator[Markup]:
    """The plot, the table, further metrics, what must be known."""
    over = scale(
        metric for row in table.rows for metric in (row.headline, against(row, row.headline))
    )
    rows = [_plotted(table, row, over) for row in table.rows]
    legend = None
    if table.baseline is not None:
        words = ("candidate", "baseline, hollow")
        legend = tag("p", *(tag("span", word, class_=word[:4]) for word in words), class_="legend")
    yield tag(
        "div", *rows, tag("div", tag("span"), axis(over), class_="plotted last"), class_="plot"
    )
    if legend is not None:
        yield legend
    yield from notes(table)
    yield scroll(_table(table))
    yield from _further(table)


def name_of(table: Table, row: Row) -> Markup:
    """The benchmark, with its run where there are several."""
    run = tag("span", row.run, class_="run") if len(table.runs) > 1 else None
    return tag("span", tag("bdi", row.benchmark), run, class_="name")


def _plotted(table: Table, row: Row, over: Scale) -> Markup:
    metric = row.headline
    value = tag("b", _words.score(metric.value))
    found = tag("span", _words.interval(metric), class_="ci")
    strip = whisker(metric, over, against(row, metric))
    return tag("div", name_of(table, row), strip, tag("span", value, found), class_="plotted")


def _table(table: Table) -> Markup:
    compared = table.baseline is not None
    head = ["benchmark", "metric", "problems", "score", "95 % interval"]
    head += ["baseline", "Δ"] if compared else []
    head += ["scored", "unparsed", "truncated", "unscored", "tokens", "p50"]
    body = []
    for row in table.rows:
        metric, counts = row.headline, row.counts
        gap = difference(row, metric)
        cells = [
            metric.name,
            _words.count(row.samples) + (f" × {row.repeats}" if (row.repeats or 1) > 1 else ""),
            tag("b", _words.score(metric.value)),
            _interval(metric),
        ]
        if compared:
            other = against(row, metric)
            cells += [_words.score(None if other is None else other.value), _words.signed(gap)]
        cells += [
            _words.scored(row),
            _words.share(counts.unparsed, counts.scored),
            _words.share(counts.truncated, counts.scored),
            _words.share(counts.unscored, counts.attempted),
            _words.tokens(row.usage),
            _words.millis(row.usage.p50),
        ]
        body.append([name_of(table, row), *cells])
    return grid(head, body, text=(1,))


def _interval(metric: Metric) -> Markup:
    said = _words.method(metric)
    method = tag("small", said) if said else None
    return tag("span", _words.interval(metric), method, class_="interval")


def _further(table: Table) -> Iterator[Markup]:
    rows = [(row, metric) for row in table.rows for metric in row.others]
    if not rows:
        return
    compared = table.baseline is not None
    head = ["benchmark", "metric", "score", "95 % interval"]
    head += ["baseline", "Δ"] if compared else []
    body = []
    for row, metric in rows:
        cells: list[object] = [name_of(table, row), metric.name, _counted(metric)]
        cells.append(_interval(metric))
        if compared:
            other = against(row, metric)
            cells.append(_words.score(None if other is None else other.value))
            cells.append(_words.signed(difference(row, metric)))
        body.append(cells)
    noun = "metric" if len(rows) == 1 else "metrics"
    summary = tag("summary", f"{len(rows):,} further {noun}")
    yield tag("details", summary, scroll(grid(head, body, text=(1,))))


def _counted(metric: Metric) -> str:
    known = metric.correct is not None and metric.n is not None
    counted = f" ({metric.correct:,}/{metric.n:,})" if known else ""
    return _words.score(metric.value) + counted


def notes(table: Table) -> Iterator[Markup]:
    """What a reader must know before the numbers."""
    items = [tag("li", note) for note in table.notes]
    for row in table.rows:
        items += [tag("li", tag("b", name_of(table, row)), ": ", note) for note in row.notes]
    if items:
        yield tag("ul", *items, class_="notes")


def checks(table: Table) -> Iterator[Markup]:
    """Every decision, with its numbers where there are some."""
    if not table.checks:
        yield tag("p", "No checks.json: nothing was decided in this run.", class_="quiet")
        return
    several = len(table.runs) > 1
    columns = [
        name
        for name, keys in _NUMBERS.items()
        if any(check.numbers.get(key) is not None for check in table.checks for key in keys)
    ]
    gated = "Δ" in columns
    head = ["status", "check", *(["run"] if several else []), "reason", *columns]
    head += ["95 % interval of Δ"] if gated else []
    body = []
    for check in table.checks:
        cells: list[object] = [_pill(check), check.id, *([check.run] if several else [])]
        cells.append(_reason(check))
        cells += [_said(check.numbers, _NUMBERS[name]) for name in columns]
        body.append([*cells, *([_range(check)] if gated else [])])
    words = {"check", "run", "reason", "tier", "metric"}
    yield scroll(grid(head, body, text=[at for at, name in enumerate(head) if name in words]))


def _pill(check: CheckRow) -> Markup:
    return tag("span", check.status, class_=f"pill {_BETTER.get(check.status, 'open')}")


def _reason(check: CheckRow) -> Markup:
    more = _more(check.numbers)
    return tag("div", check.reason, tag("small", more) if more else None, class_="reason")


def _range(check: CheckRow) -> Markup:
    """The interval of a difference, with its method."""
    low, high, method = (
        check.numbers.get(f"delta_ci_{name}") for name in ("lower", "upper", "method")
    )
    said = _words.UNKNOWN if low is None else f"[{_number(low)}, {_number(high)}]"
    return tag("span", said, tag("small", method) if method else None, class_="interval")


def _said(numbers: Mapping[str, object], keys: Sequence[str]) -> str:
    return next((_number(numbers[key]) for key in keys if key in numbers), "")


def _more(numbers: Mapping[str, object]) -> str:
    shown = {key for keys in _NUMBERS.values() for key in keys}
    shown |= {"delta_ci_lower", "delta_ci_upper", "delta_ci_method", *_USUAL}
    shown |= {name for name, usual in _DEFAULTS.items() if numbers.get(name) == usual}
    return " · ".join(
        f"{name} {_number(value)}"
        for name, value in numbers.items()
        if name not in shown and isinstance(value, str | int | float) and value not in ("", 0)
    )


def _number(value: object) -> str:
    if isinstance(value, float):
        return f"{value:.4f}".rstrip("0").rstrip(".") if abs(value) < 1000 else f"{value:,.0f}"
    return _words.UNKNOWN if value is None else _words.line(str(value), 200)


def grid(head: Sequence[str], body: Sequence[Sequence[object]], text: Sequence[int]) -> Markup:
    """A table; the first column and those in ``text`` hold words, the others numbers."""
    words = {0, *text}
    kinds = [None if place in words else "n" for place in range(len(head))]
    top = [
        tag("th", name, class_=kind, scope="col") for name, kind in zip(head, kinds, strict=True)
    ]
    rows = [
        tag("tr", *(tag("td", cell, class_=kind) for cell, kind in zip(row, kinds, strict=True)))
        for row in body
    ]
    return tag("table", tag("thead", tag("tr", *top)), tag("tbody", *rows))


def scroll(content: Markup) -> Markup:
    """Scrolls sideways on its own where it is too wide; reachable by keyboard."""
    return tag("div", content, class_="scroll", tabindex=0)


def fingerprints(table: Table) -> Iterator[Markup]:
    """What would have to be the same in another run for its scores to be comparable."""
    body = []
    for row in table.rows:
        facts = row.facts.get("fingerprint")
        if not isinstance(facts, Mapping):
            continue
        said = (_fact(facts, name) for name in ("dataset", "content_hash", "prompts", "scorer"))
        sampling, versions = facts.get("sampling"), facts.get("versions")
        sampled = "; ".join(_pairs(one) for one in sampled_of(sampling)) or _words.UNKNOWN
        body.append([name_of(table, row), *said, sampled, _pairs(versions) or _words.UNKNOWN])
    if not body:
        return
    head = ["benchmark", "dataset", "content", "prompts", "scorer", "sampling", "versions"]
    made = scroll(grid(head, body, text=range(1, len(head))))
    yield tag("details", tag("summary", "Fingerprints"), made)


def sampled_of(sampling: object) -> list[object]:
    """The settings of the requests; a bundle lists them."""
    return list(sampling) if isinstance(sampling, list) else [sampling]


def _fact(facts: Mapping[str, object], name: str) -> str:
    words = [_hash(word) for word in str(facts.get(name) or _words.UNKNOWN).split()]
    return _words.line(" ".join(words), 120)


def _hash(word: str) -> str:
    return word[7 : 7 + _SHORT] if word.startswith("sha256:") else word


def _pairs(facts: object) -> str:
    if not isinstance(facts, Mapping):
        return ""
    return _words.line(", ".join(f"{name} {value}" for name, value in facts.items()), 300)
