"""The page as text: what it holds, without a browser."""

import base64
import gzip
import hashlib
import json
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from pytest_nel.reports._chart import scale, whisker
from pytest_nel.reports._markup import data_block, tag
from pytest_nel.reports.html import HtmlReport
from pytest_nel.reports.samples import Limits
from pytest_nel.reports.table import CheckRow, Counts, Metric, Table, Usage
from tests.browser.runs import Kind, hostile_run, write_run
from tests.unit.reports.made import row, table, text


def page(made: Table, limits: Limits | None = None) -> str:
    return "".join(HtmlReport(limits).pieces(made))


def packed(content: str) -> Any:
    return json.loads(gzip.decompress(base64.b64decode(json.loads(content))))


def data(made: str, name: str) -> str:
    found = re.search(rf'id="{name}">(.*?)</script>', made)
    assert found
    return found[1]


class Parts(HTMLParser):
    """Collects the elements of a page, and their attributes."""

    def __init__(self, content: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.feed(content)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))


def test_the_page_needs_nothing_from_anywhere(tmp_path: Path) -> None:
    made = page(table(write_run(tmp_path / "run", Kind(5))))

    parts = Parts(made).found
    sources = [attrs.get("src") or attrs.get("href") for _, attrs in parts]
    assert {source[0] for source in sources if source} == {"#", "d"}
    assert "data:," in sources
    assert not re.search(r"@import|url\(|https?://(?!www\.w3)", made)
    assert "style" not in {name for _, attrs in parts for name in attrs}


def test_the_policy_names_the_hashes_of_our_script_and_style() -> None:
    made = page(Table([row()]))

    for element in ("script", "style"):
        found = re.search(rf"<{element}>(.*?)</{element}>", made, re.DOTALL)
        assert found
        digest = base64.b64encode(hashlib.sha256(found[1].encode()).digest()).decode()
        assert f"{element}-src &#x27;sha256-{digest}&#x27;" in made
    assert "default-src &#x27;none&#x27;" in made


def test_data_can_end_no_element() -> None:
    content = json.dumps("</script><!-- \u2028 & <script>", ensure_ascii=False)

    made = data_block("x", content)

    assert made.count("<") == 2
    assert not set(made) & set("\u2028\u2029")
    assert json.loads(data(made, "x")) == json.loads(content)


def test_markup_escapes_children_and_attributes() -> None:
    made = tag("p", "<i>", tag("b", "&"), ["x", None], title='"<', hidden=True, id=None)

    assert made == '<p title="&quot;&lt;" hidden>&lt;i&gt;<b>&amp;</b>x</p>'


def test_all_samples_are_in_it_in_their_order(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", Kind(300, repeats=2, unscored=0.1))

    made = page(table(run))

    lines = (run / "word_problems" / "results.jsonl").read_text().splitlines()
    rows = [json.loads(line) for line in lines]
    index = packed(data(made, "nel-index"))
    entries = [entry for n in range(3) for entry in packed(data(made, f"nel-block-{n}"))]
    assert index["problem"] == [one["problem_idx"] for one in rows]
    assert index["outcome"] == [one["outcome"] for one in rows]
    assert index["reward"] == [one["reward"] for one in rows]
    assert [entry["r"] for entry in entries] == [one["model_response"] for one in rows]
    assert entries[1]["p"] == 0  # as the first repeat
    assert "nel-block-3" not in made


def test_too_many_samples_are_said_to_be_too_many(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", Kind(100, skill=0.8))

    made = page(table(run), Limits(rows=50))

    (one,) = json.loads(data(made, "nel-meta"))["sets"]
    assert (one["total"], one["shown"]) == (100, 50)
    assert one["failed_shown"] == one["failed"]
    assert f"the page holds 50 of 100 attempts: {one['failed']} of the {one['failed']} that" in made


def test_a_baseline_brings_the_attempts_that_changed(tmp_path: Path) -> None:
    before = write_run(tmp_path / "before", Kind(80, skill=0.8, seed=1))
    after = write_run(tmp_path / "after", Kind(80, skill=0.6, seed=2))

    made = page(table(after, baseline=before))

    index, meta = packed(data(made, "nel-index")), json.loads(data(made, "nel-meta"))
    said = meta["sets"][0]["paired"]
    assert said["pairs"] == 80
    assert said["regression"] > 0
    assert len(index["flips"]) == said["regression"] + said["improvement"]
    for ours, theirs, kind in index["flips"]:
        assert index["id"][ours] == index["id"][theirs]
        right = [index["outcome"][at] == "correct" for at in (ours, theirs)]
        assert right == ([False, True] if kind == "regression" else [True, False])


def test_problems_missing_on_a_side_are_in_the_page(tmp_path: Path) -> None:
    before = write_run(tmp_path / "before", Kind(80))
    after = write_run(tmp_path / "after", Kind(70))

    made = page(table(after, baseline=before))

    counts = re.search(r'id="flips".*?</tbody>', made)
    assert counts
    assert re.findall(r'<td class="n">(\d+)</td>', counts[0])[-2:] == ["0", "10"]


def test_attempts_missing_on_a_side_are_in_the_page(tmp_path: Path) -> None:
    before = write_run(tmp_path / "before", Kind(8, repeats=3))
    after = write_run(tmp_path / "after", Kind(8, repeats=2))

    made = page(table(after, baseline=before))

    counts = re.search(r'id="flips".*?</tbody>', made)
    assert counts
    assert '<th class="n" scope="col">attempts on one side only</th>' in counts[0]
    assert re.findall(r'<td class="n">(\d+)</td>', counts[0])[-3:] == ["8", "0", "0"]


def test_what_all_took_is_a_lower_bound_where_a_part_is() -> None:
    known = Usage(1_000, cost=0.5, currency="EUR")
    part = Usage(234, tokens_partial=True, cost=0.25, currency="EUR", cost_partial=True)

    whole, least, unlike = (
        page(Table([row("b", usage=known), row("c", usage=other)]))
        for other in (known, part, Usage(1, cost=1.0, currency="USD"))
    )

    assert "<b>1.0000 EUR</b>" in whole
    assert "<b>1,234+</b>" in least
    assert "<b>≥ 0.7500 EUR</b>" in least
    assert "<span>cost</span>" not in unlike


def test_a_plot_shows_an_interval_that_begins_at_zero() -> None:
    metric = Metric("m", 0.0, 0.0, 0.25)

    made = whisker(metric, scale([metric]))

    assert '<line x1="0.000%" x2="25.000%"' in made
    assert 'aria-label="0.0000 [0.0000, 0.2500]"' in made


@pytest.mark.parametrize("bounds", [(-3.0, 12.0), (0.0, 87.5), (0.2, 1.0001)])
def test_a_scale_holds_scores_of_any_size(bounds: tuple[float, float]) -> None:
    low, high = bounds

    over = scale([Metric("m", low, low, high)])

    assert over.low <= low
    assert over.high >= high
    assert 3 <= len(over.ticks) <= 8


def test_checks_show_the_numbers_of_the_gate() -> None:
    numbers = {"tier": "critical", "baseline": 0.81, "candidate": 0.74, "delta": -0.07}
    numbers |= {"delta_ci_lower": -0.1, "delta_ci_upper": -0.04, "max_drop": 0.015}
    numbers |= {"delta_ci_method": "tango", "findings": [{"rule": "max_drop"}]}
    check = CheckRow("r", "p.yaml::b", "failed", "worse", numbers)

    made = page(Table([row()], [check, CheckRow("r", "h", "passed", "fine")]))

    for shown in ("critical", "0.81", "0.74", "-0.07", "[-0.1, -0.04]", "tango", "max_drop 0.015"):
        assert shown in made
    assert "1 check failed" in made


def test_outcomes_that_a_bundle_does_not_say_are_no_bar() -> None:
    made = page(Table([row(counts=Counts(attempted=4))]))

    assert 'class="bar"' not in made


def test_a_run_without_records_says_so() -> None:
    assert "No samples" in page(Table([row()]))


def test_planted_markup_is_nowhere_markup(tmp_path: Path) -> None:
    evil = "</script><img src=x onerror=alert(1)><!--<script>alert(2)</script>"

    made = page(table(hostile_run(tmp_path / "run", evil)))

    parts = Parts(made).found
    assert "img" not in {name for name, _ in parts}
    assert "<!--" not in made
    assert [attrs for name, attrs in parts if name == "script" and "type" not in attrs] == [{}]


def test_a_table_of_several_benchmarks_has_one_line_each() -> None:
    made = text("html", Table([row("one"), row("two", run="other")]))

    assert made.count('class="plotted"') == 2
