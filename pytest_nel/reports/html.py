"""HTML: one file that needs nothing else, with all samples in it."""

import base64
import hashlib
from collections.abc import Iterator, Sequence
from importlib.resources import files

from pytest_nel.reports import _health, _sections
from pytest_nel.reports._markup import Markup, raw, tag
from pytest_nel.reports._payload import Payload, payload
from pytest_nel.reports.samples import Limits
from pytest_nel.reports.table import Table

_PARTS = ("data.js", "view.js", "list.js", "detail.js", "main.js")
_FAVICON = "data:,"  # or the browser asks for one


class HtmlReport:
    """Nothing is loaded from anywhere, and nothing that a model wrote can run.

    Text of others is escaped here and set as text by the script; besides, the page's content
    security policy lets no script run but ours, known by its hash.
    """

    suffix = "html"

    def __init__(self, limits: Limits | None = None) -> None:
        self._limits = limits or Limits()

    def pieces(self, table: Table) -> Iterator[str]:
        """Head, numbers, index of the samples, script, then the texts of the samples."""
        samples = payload(table, self._limits)
        style, script = _page("page.css"), f"(() => {{\n'use strict';\n{_script()}}})();\n"
        yield "<!doctype html>\n"
        yield '<html lang="en">\n'
        yield _head(table.title, style, script)
        yield "<body>\n"
        yield _top(table)
        yield tag("main", *_main(table, samples))
        yield _foot(table)
        yield from samples.pieces()
        yield f"<script>{script}</script>\n"
        yield from samples.later()
        yield "</body>\n</html>\n"


def _page(name: str) -> str:
    return (files("pytest_nel.reports") / "_page" / name).read_text(encoding="utf-8")


def _script() -> str:
    return "\n".join(_page(name) for name in _PARTS)


def _head(title: str, style: str, script: str) -> Markup:
    policy = (
        f"default-src 'none'; script-src {_source(script)}; style-src {_source(style)}; "
        "img-src data:; base-uri 'none'; form-action 'none'"
    )
    return tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", http_equiv="Content-Security-Policy", content=policy),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", name="color-scheme", content="light dark"),
        tag("meta", name="generator", content="pytest-nel"),
        tag("title", title),
        tag("link", rel="icon", href=_FAVICON),
        tag("style", raw(style)),
    )


def _source(content: str) -> str:
    digest = base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()
    return f"'sha256-{digest}'"


def _top(table: Table) -> Markup:
    theme = tag("button", "◐", type="button", id="theme", title="Light or dark", hidden=True)
    head = tag("div", tag("h1", table.title), theme, class_="title")
    return tag("header", head, *_sections.header(table))


def _ways(sections: Sequence[tuple[str, str]]) -> Markup:
    links = [tag("a", title, href=f"#{name}") for name, title in sections]
    return tag("nav", *links, aria_label="Sections")


def _main(table: Table, samples: Payload) -> Iterator[Markup]:
    yield _sections.tiles(table)
    sections = [
        ("scores", "Scores", _sections.scores(table)),
        ("checks", "Checks", _sections.checks(table)),
        ("flips", "Against the baseline", _health.compared(table, samples.sets)),
        ("health", "Run health", _health.health(table)),
        ("groups", "Categories", _health.groups(table)),
        ("samples", "Samples", _samples(samples)),
        ("fingerprints", "What was measured", _sections.fingerprints(table)),
    ]
    made = [(name, title, list(content)) for name, title, content in sections]
    yield _ways([(name, title) for name, title, content in made if content])
    for name, title, content in made:
        if content:
            yield tag("section", tag("h2", title), *content, id=name)


def _quiet(text: str) -> Markup:
    return tag("p", text, class_="quiet")


def _samples(samples: Payload) -> Iterator[Markup]:
    for one in samples.sets:
        if one["shown"] < one["total"] and not one.get("baseline"):
            yield _quiet(
                f"{one['run']}, {one['benchmark']}: the page holds {one['shown']:,} of "
                f"{one['total']:,} attempts: {one['failed_shown']:,} of the {one['failed']:,} "
                f"that are not correct, and some of the correct ones, spread evenly. All are in "
                f"{one['path']}."
            )
        paired = one.get("paired") or {}
        if paired.get("flips_shown", 0) < paired.get("flips", 0):
            yield _quiet(
                f"{one['run']}, {one['benchmark']}: {paired['flips_shown']:,} of the "
                f"{paired['flips']:,} attempts that changed are here"
            )
        if one["damaged"]:
            yield _quiet(f"{one['path']}: {one['damaged']:,} lines cannot be read")
    if not samples.size:
        yield _quiet("No samples: there is no results.jsonl beside the bundles.")
        return
    yield tag("noscript", _quiet("The samples need JavaScript; nothing else on this page does."))
    yield tag("div", id="browser", hidden=True)


def _foot(table: Table) -> Markup:
    return tag(
        "footer",
        f"Made by pytest-nel {table.version}. This file needs no network and no other file. "
        "Intervals are for 95 % confidence. Attempts without a score are in no score.",
    )
