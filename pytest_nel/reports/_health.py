"""The parts of the page that need no script: how healthy the runs were, and where they differ."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby

from pytest_nel.reports import _words
from pytest_nel.reports._chart import outcomes, scale, whisker
from pytest_nel.reports._markup import Markup, tag
from pytest_nel.reports._sections import grid, name_of, scroll
from pytest_nel.reports._values import count, number
from pytest_nel.reports.table import Group, Metric, Row, Table

_OPEN = 12  # groups that are shown without a click
_PAIRED = (
    *("pairs", "regression", "improvement", "both", "neither", "unscored"),
    *("unmatched", "only_candidate", "only_baseline"),
)

_RATES = (
    *(("unparsed", "unparsed"), ("truncated", "truncated"), ("empty", "empty")),
    *(("refusals", "refusal"), ("unscored", "unscored")),
)
"""Names among the counts and among the rates."""


def health(table: Table) -> Iterator[Markup]:
    """Rates, finish reasons, latency, tokens; then failures with examples."""
    head = ["benchmark", "attempts", "unparsed", "truncated", "empty", "refusals", "unscored"]
    head += ["finish reasons", "p50", "p95", "p99", "prompt", "completion", "reasoning"]
    head += ["retries", "per second", "wall", "cost"]
    body = [[name_of(table, row), outcomes(row.counts), *_measured(row)] for row in table.rows]
    names = ("correct", "wrong", "unparsed", "unscored", "missing")
    words = [
        tag("span", "not made" if name == "missing" else name, class_=f"key o-{name}")
        for name in names
    ]
    yield tag("p", *words, class_="legend")
    yield scroll(grid(head, body, text=(1, 7)))
    for row in table.rows:
        if row.failures:
            yield _failures(table, row)


def _measured(row: Row) -> Iterator[object]:
    counts, usage = row.counts, row.usage
    for name, rate in _RATES:
        of = counts.attempted if name == "unscored" else counts.scored
        yield _share(_words.share(getattr(counts, name), of), row.rates.get(rate))
    facts = usage.facts
    reasons = facts.get("finish_reason_counts")
    yield _reasons(reasons) if isinstance(reasons, Mapping) and reasons else _words.UNKNOWN
    for name in ("p50", "p95", "p99"):
        yield _words.millis(usage.latency_ms.get(name))
    for kind in ("prompt", "completion", "reasoning"):
        yield _words.count(count(facts.get(f"total_{kind}_tokens")))
    yield _words.count(count(facts.get("total_retries")))
    yield _words.speed(number(facts.get("steps_per_second")))
    yield _words.seconds(number(facts.get("elapsed_seconds")))
    yield _words.cost(usage)


def _share(said: str, rate: Metric | None) -> Markup:
    """With the interval of the share, where it is not nothing of nothing."""
    if rate is None or rate.low is None or rate.high is None or not rate.value:
        return tag("span", said)
    bounds = tag("small", _words.percent(rate.low, rate.high))
    return tag("span", said, bounds, class_="interval")


def _reasons(counts: Mapping[str, object]) -> str:
    return ", ".join(f"{name} {_words.line(str(number))}" for name, number in counts.items())


def _failures(table: Table, row: Row) -> Markup:
    items = []
    kinds = [(kind, said) for kind, said in row.failures.items() if isinstance(said, Mapping)]
    kinds.sort(key=lambda pair: not pair[1].get("n_unscored"))  # those that cost a score first
    for kind, said in kinds:
        examples = said.get("exemplars")
        shown = [
            tag("li", _link(table, row, one), " ", tag("code", _words.line(str(one.get("error")))))
            for one in (examples if isinstance(examples, list) else [])
            if isinstance(one, Mapping)
        ]
        head = tag("b", f"{kind} × {said.get('count')}")
        items.append(tag("li", head, tag("ul", *shown) if shown else None))
    summary = tag("summary", "Failures of ", name_of(table, row))
    return tag("details", summary, tag("ul", *items, class_="failures"), open=True)


def _link(table: Table, row: Row, example: Mapping[str, object]) -> Markup:
    """Opens the sample, where the page has it; the script reads the attributes."""
    idx, repeat = example.get("problem_idx"), example.get("repeat")
    return tag(
        "button",
        f"problem {idx}, repeat {repeat}",
        type="button",
        class_="open",
        data_set=list(table.rows).index(row),
        data_problem=idx,
        data_repeat=repeat,
    )


def groups(table: Table) -> Iterator[Markup]:
    """Scores of each benchmark's parts, with their intervals where the bundle has them."""
    over = scale(group.score for row in table.rows for group in row.groups)
    for row in table.rows:
        for field, listed in groupby(row.groups, key=lambda group: group.field):
            parts = list(listed)
            said = any(group.unparsed is not None for group in parts)
            body = [
                [
                    tag("bdi", group.name),
                    whisker(group.score, over, _before(row, group)),
                    tag("b", _words.score(group.score.value)),
                    _words.interval(group.score),
                    _words.count(group.score.n),
                    *([_words.share(group.unparsed, group.score.n)] if said else []),
                ]
                for group in parts
            ]
            head = [field, "", "score", "95 % interval", "n", *(["unparsed"] if said else [])]
            made = grid(head, body, text=(1,))
            summary = tag("summary", name_of(table, row), f" by {field} ({len(parts):,})")
            opened = len(parts) <= _OPEN and len(table.rows) <= 3
            yield tag("details", summary, scroll(made), open=opened, class_="groups")


def _before(row: Row, group: Group) -> Metric | None:
    found = () if row.baseline is None else row.baseline.groups
    same = (other for other in found if (other.field, other.name) == (group.field, group.name))
    return next((other.score for other in same), None)


def compared(table: Table, sets: Sequence[Mapping[str, object]]) -> Iterator[Markup]:
    """How the attempts of both sides pair, and how many came out otherwise."""
    head = ["benchmark", "pairs", "regressions", "improvements", "both correct", "neither"]
    head += ["unscored on a side", "attempts on one side only"]
    head += ["problems only here", "only in the baseline", "paired by"]
    body = []
    for row, one in zip(table.rows, sets, strict=False):
        said = one.get("paired")
        if isinstance(said, Mapping):
            cells = [_words.count(said[name]) for name in _PAIRED]
            body.append([name_of(table, row), *cells, str(said["by"])])
    if table.baseline is not None and not body:
        yield tag("p", "No samples to compare: one side has no results.jsonl.", class_="quiet")
    if body:
        yield scroll(grid(head, body, text=(10,)))
        yield tag(
            "p",
            "An attempt flips when only one side is correct. Scores of both sides stand above; "
            "whether they differ by more than chance is what nel compare and nel gate say.",
            class_="quiet",
        )
