"""A comparison as text, Markdown, HTML and JSON."""

import json
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest

from pytest_nel.gate.comparison import RunComparison
from pytest_nel.records.compare import compare_runs
from pytest_nel.reports.compare_html import compare_html
from pytest_nel.reports.compare_json import compare_json
from pytest_nel.reports.compare_markdown import compare_markdown
from pytest_nel.reports.compare_text import compare_lines
from tests.support.stored import write_run

NASTY = "<script>alert(1)</script> | [x](http://e.vil) `a` **b**\n# c\x1b[31m @you"


@pytest.fixture
def report(tmp_path: Path) -> RunComparison:
    """Ten regressions in algebra, two improvements, one attempt without a score."""
    categories = ["algebra"] * 30 + ["logic"] * 70
    baseline = write_run(tmp_path / "bf16", [1] * 10 + [0] * 2 + [1] * 88, categories=categories)
    candidate = write_run(tmp_path / "fp8", [0] * 10 + [1] * 89 + [None], categories=categories)
    return compare_runs(baseline, candidate)


@pytest.fixture
def nasty(tmp_path: Path) -> RunComparison:
    """Everything that others wrote wants to be markup."""
    row = {"model_response": NASTY, "expected_answer": NASTY, "problem_id": ""}
    categories = [NASTY] * 100
    baseline = write_run(
        tmp_path / "a", [1] * 100, row=row, categories=categories, bundle={"run_id": NASTY}
    )
    candidate = write_run(tmp_path / "b", [0] * 100, row=row, categories=categories)
    return compare_runs(baseline, candidate)


def several(directory: Path) -> RunComparison:
    for run, lost in (("a", 0), ("b", 20)):
        write_run(directory / run, [0.0] * lost + [1.0] * (200 - lost), name="broken")
        write_run(directory / run, [1.0] * 200, name="fine")
    write_run(directory / "a", [1.0] * 200, name="gone")
    return compare_runs(directory / "a", directory / "b")


def texts(report: RunComparison, *, compact: bool = False, flips: bool = False) -> list[str]:
    return [line.text for line in compare_lines(report, compact=compact, flips=flips)]


def test_the_first_line_says_it(report: RunComparison) -> None:
    assert texts(report)[0] == (
        "BLOCK — 10 regressions, 2 improvements out of 99 paired samples — significant"
    )


def test_the_text_has_its_sections(report: RunComparison) -> None:
    lines = texts(report)

    assert [line for line in lines if re.fullmatch(r"[A-Z ]{5,}(  mmlu)?", line)] == [
        "REGRESSION REPORT  mmlu",
        "VERDICT",
        "CAPABILITY IMPACT PROFILE",
        "FLIP SUMMARY",
    ]
    assert "  missing       candidate: 1 attempt without a score" in lines
    assert lines[-1] == "=== BLOCK ==="


def test_a_category_has_a_bar_and_a_label(report: RunComparison) -> None:
    (algebra,) = [line for line in texts(report) if "algebra" in line]

    assert re.fullmatch(
        r"  algebra  █{13}░{7}  93\.3% → 66\.7%  -26\.67 pp  BROKE  \(n = 30, p = 0\.0386\)",
        algebra,
    )


def test_without_categories_the_scores_stand_there(tmp_path: Path) -> None:
    runs = [write_run(tmp_path / name, [1.0] * 100) for name in ("a", "b")]

    lines = texts(compare_runs(*runs))

    assert "SCORE DELTAS" in lines
    assert "  mean_reward  1.0000 → 1.0000  +0.0000  intervals: overlap" in lines


def test_compact_is_four_to_eight_lines(report: RunComparison) -> None:
    assert 4 <= len(texts(report, compact=True)) <= 8


def test_flips_are_shown_when_asked_for(report: RunComparison) -> None:
    shown = texts(report, flips=True)

    assert "REGRESSIONS" in shown
    assert "  p0  [algebra]  1 → 0" in shown
    assert "    candidate  answer 0" in shown
    assert "REGRESSIONS" not in texts(report)


def test_a_long_list_of_flips_is_cut_unless_all_is_asked_for(nasty: RunComparison) -> None:
    short = compare_lines(nasty, flips=True)
    whole = compare_lines(nasty, flips=True, verbose=True)

    assert any("… and 50 more" in line.text for line in short)
    assert not any("more: -v" in line.text for line in whole)


def test_the_details_name_the_test_that_was_done(report: RunComparison) -> None:
    lines = [line.text for line in compare_lines(report, verbose=True)]

    assert "STATISTICAL DETAILS" in lines
    assert any("McNemar's exact test" in line and "worse p = 0.0193" in line for line in lines)


def test_nothing_that_others_wrote_controls_the_terminal(nasty: RunComparison) -> None:
    lines = texts(nasty, flips=True)

    assert not [line for line in lines if re.search(r"[\x00-\x1f]", line)]


def test_several_benchmarks_are_summed_up_and_the_missing_one_named(tmp_path: Path) -> None:
    lines = texts(several(tmp_path))

    assert lines[0] == "BLOCK — 2 benchmarks compared: 1 BLOCK, 1 PASS, 1 not in the candidate"
    assert "only in the baseline: gone" in lines
    assert any(line.startswith("broken: BLOCK — 20 regressions") for line in lines)


def test_the_markdown_has_its_sections(report: RunComparison) -> None:
    text = compare_markdown(report)

    assert re.findall(r"^#+ (.*)$", text, re.MULTILINE) == [
        "Regression Report: BLOCK",
        "Executive Summary",
        "Capability Impact Profile",
        "Score Deltas",
        "Statistical Analysis",
        "Regressions by Category",
        "Regressed Problems",
        "Improved Problems",
        "Investigation Guidance",
    ]
    assert "| Baseline solved | 87 | 10 |" in text


def test_the_markdown_of_fractions_has_the_permutation_test(tmp_path: Path) -> None:
    """The reference system prints McNemar's numbers: 0 discordant pairs."""
    baseline = write_run(tmp_path / "a", [0.5] * 50)
    candidate = write_run(tmp_path / "b", [0.4] * 50)

    text = compare_markdown(compare_runs(baseline, candidate))

    assert "the sign-flip permutation test" in text
    assert "McNemar" not in text


def test_markdown_is_escaped(nasty: RunComparison) -> None:
    text = compare_markdown(nasty)

    assert "<script>" not in re.sub(r"\\<", "", text)
    assert "](" not in text.replace("\\]", "")
    assert not re.search(r"(?<!\\)`", text)
    assert "@you" not in text
    rows = [line for line in text.splitlines() if line.startswith("|")]
    columns = {len(re.findall(r"(?<!\\)\|", row)) for row in rows if "script" in row}
    assert columns == {4, 6, 8}  # of the runs, the flips, the categories; and of no other table


def test_the_markdown_of_several_benchmarks_begins_with_a_table(tmp_path: Path) -> None:
    text = compare_markdown(several(tmp_path))

    assert "| broken | BLOCK | -10.00 pp, 95 % CI" in text
    assert "- only in the baseline: gone" in text


class Page(HTMLParser):
    """Tags as they are opened, and the text between them."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.data: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += attrs

    def handle_data(self, data: str) -> None:
        self.data.append(data)


def test_the_page_shows_answers_side_by_side(report: RunComparison) -> None:
    page = Page(compare_html(report))

    assert page.tags.count("details") == 12
    assert {"answer 1", "answer 0", "expected"} <= set(page.data)


def test_the_page_needs_nothing_else_and_runs_nothing(nasty: RunComparison) -> None:
    text = compare_html(nasty)
    page = Page(text)

    assert {"script", "img", "link", "iframe", "a"} & set(page.tags) == set()
    assert not [name for name, _ in page.attributes if name in ("src", "href", "onclick")]
    assert "default-src 'none'" in text
    assert any("<script>alert(1)</script>" in data for data in page.data)


def test_the_json_is_strict_and_whole(report: RunComparison) -> None:
    said = json.loads(compare_json(report))

    assert said == json.loads(json.dumps(report.as_json()))
    assert set(said) >= {
        *("report_version", "baseline", "candidate", "score_deltas", "runtime_deltas", "verdict"),
        *("verdict_reasons", "threshold", "warnings", "category_deltas", "flip_report", "mcnemar"),
        *("test_used", "test_reason", "difference", "n_missing", "only_in_baseline", "n_needed"),
        *("only_in_candidate", "allowed_differences"),
    }


def test_equal_reports_are_equal(report: RunComparison) -> None:
    assert compare_markdown(report) == compare_markdown(report)
    assert "Generated 1970-01-01" in compare_html(report, now=1.0)
