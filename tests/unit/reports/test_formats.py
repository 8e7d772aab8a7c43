"""What each format writes, and that names of others are text in all of them."""

import csv
import io
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_nel.reports import REGISTRY
from pytest_nel.reports.latex import escape as latex
from pytest_nel.reports.markdown import escape as markdown
from pytest_nel.reports.table import CheckRow, Counts, Group, Metric, Row, Table, Usage
from tests.unit.reports.made import row, text

ZERO = Metric("mean_reward", 0.0, 0.0, 0.1234, "wilson", n=10)
EVIL = '<u>"a"</u>,|&_%$#{}~^\\\n=1'


def full(name: str = "gsm8k") -> Row:
    return row(
        name,
        headline=ZERO,
        others=[Metric("scorer:f1", 0.25, 0.0, 0.5, "t", n=4, correct=1)],
        counts=Counts(10, 10, 9, 0, 8, 1, 1, 2, 0, 0),
        usage=Usage(1234, latency_ms={"p50": 12.3}, cost=0.5, currency="USD"),
        groups=[Group("category", "algebra", Metric("mean_reward", 0.5, n=4))],
        notes=["partial: evaluated 10 of 20"],
    )


@pytest.mark.parametrize("name", ["markdown", "html"])
def test_groups_show_what_was_not_parsed_where_it_is_known(name: str) -> None:
    known = Group("category", "algebra", Metric("mean_reward", 0.5, n=40), unparsed=7)
    more = Group("category", "sets", Metric("mean_reward", 0.5, n=40))

    made, without = (text(name, Table([row(groups=groups)])) for groups in ([known, more], [more]))

    assert "7 (17.5 %)" in made
    assert made.lower().count("unparsed") == without.lower().count("unparsed") + 1


@pytest.mark.parametrize("name", ["markdown", "html", "latex"])
def test_a_damaged_number_is_short(name: str) -> None:
    odd = Metric("mean_reward", 0.0, 0.0, 3e300)
    usage = Usage(latency_ms={"p50": 1e300}, cost=1e300)

    made = text(name, Table([row(headline=odd, usage=usage)]))

    assert "[0.0000, 3e+300]" in made
    assert "000000000" not in made.split("<script>")[0].split("<style>")[-1]


def lines(made: Table) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text("csv", made))))


def test_csv_begins_with_the_columns_of_the_reference_system() -> None:
    head = text("csv", Table([full()])).splitlines()[0]

    assert head.startswith("benchmark,samples,repeats,metric,score,ci_lower,ci_upper,ci_method,")


def test_csv_has_a_line_for_each_metric_and_zero_is_no_blank() -> None:
    first, second = lines(Table([full()]))

    assert (first["metric"], first["score"], first["ci_lower"]) == ("mean_reward", "0.0", "0.0")
    assert (second["metric"], second["headline"], first["headline"]) == ("scorer:f1", "0", "1")
    assert (first["unscored"], first["cost"], first["empty"]) == ("1", "0.5", "0")


def test_csv_quotes_names_and_lets_no_spreadsheet_calculate() -> None:
    name = '=HYPERLINK("x"),"y"\n'

    (found,) = lines(Table([row(name)]))

    assert found["benchmark"] == f"'{name}"
    assert found["ci_lower"] == ""


def test_csv_has_each_run() -> None:
    made = Table([row(run="x"), row(run="y"), row(run="z", model="other")])

    assert [found["run"] for found in lines(made)] == ["x", "y", "z"]


def test_a_baseline_stands_beside_each_metric() -> None:
    before = row(headline=Metric("mean_reward", 0.25, 0.0, 0.5))
    made = Table([row(headline=Metric("mean_reward", 0.5), baseline=before)], baseline="old")

    (found,) = lines(made)
    page = text("markdown", made)
    latexed = text("latex", made)
    (said,) = json.loads(text("json", made))["rows"]

    assert (found["baseline_score"], found["baseline_ci_lower"]) == ("0.25", "0.0")
    assert found["difference"] == "0.25"
    assert "| 0.2500 | +0.2500 |" in page
    assert "0.2500 & $+0.2500$" in latexed
    assert said["metrics"]["mean_reward"]["difference"] == 0.25


def test_markdown_shows_an_interval_that_begins_at_zero() -> None:
    page = text("markdown", Table([full()]))

    assert page.startswith("# Evaluation Report: m\n")
    assert "| gsm8k | mean_reward (native) | 10 | 0.0000 | [0.0000, 0.1234] | wilson |" in page
    assert "| gsm8k | scorer:f1 (1/4) | 4 | 0.2500 | [0.0000, 0.5000] | t |" in page
    assert "| 1 (11.1 %) | 2 (22.2 %) | 1 (10.0 %) | 1,234 | 12 ms |" in page
    assert "- **gsm8k**: partial: evaluated 10 of 20" in page
    assert "## gsm8k by category" in page


def test_markdown_lists_checks() -> None:
    check = CheckRow("r", "s.yaml::b|c::health", "failed", "a\nb")

    page = text("markdown", Table([row()], [check]))

    assert "| s.yaml::b\\|c::health | ❌ failed | a b |" in page


def test_several_runs_are_named_in_every_line() -> None:
    made = Table([row(run="x", model="one"), row(run="y", model="two")])

    page, latexed = text("markdown", made), text("latex", made)

    assert page.startswith("# Evaluation Report\n")
    assert "| b | x | one | mean_reward |" in page
    assert "b & y & two & 10 & 0.5000" in latexed


def test_latex_escapes_names_and_zero_has_an_interval() -> None:
    page = text("latex", Table([row("mmlu_pro 50%", headline=ZERO)]))

    expected = r"mmlu\_pro 50\% & 10 & 0.0000 & mean\_reward & [0.0000, 0.1234] & wilson & -- \\"
    assert expected in page.splitlines()


def test_json_is_strict_and_unknown_is_null() -> None:
    made = Table([row(headline=Metric("mean_reward", None)), row("c", headline=ZERO)])

    found = json.loads(text("json", made), parse_constant=pytest.fail)

    first, second = (one["metrics"]["mean_reward"] for one in found["rows"])
    assert (first["value"], first["ci_lower"], second["ci_lower"]) == (None, None, 0.0)
    assert found["n_benchmarks"] == 2


@pytest.mark.parametrize("name", list(REGISTRY.rows))
def test_a_report_of_a_bare_row_can_be_written(name: str) -> None:
    made = text(name, Table([row(EVIL, None, model=EVIL, run=EVIL, samples=None)]))

    assert made.endswith("\n")


@pytest.mark.parametrize("name", list(REGISTRY.rows))
def test_the_same_table_gives_the_same_bytes(name: str) -> None:
    made = Table([full()])

    assert text(name, made) == text(name, made)


def test_html_escapes_names() -> None:
    made = text("html", Table([row(EVIL, model=EVIL)]))

    assert "<u>" not in made
    assert "&lt;u&gt;&quot;a&quot;&lt;/u&gt;" in made


@given(st.text())
def test_escaped_latex_has_no_bare_special_character(name: str) -> None:
    made = latex(name)

    bare = made
    for command in ("textbackslash", "textasciitilde", "textasciicircum", "textless"):
        bare = bare.replace(f"\\{command}{{}}", "")
    bare = bare.replace("\\textgreater{}", "").replace("\\textbar{}", "")
    bare = bare.replace("{[}", "").replace("{*}", "")
    for character in "{}$&#_%":
        bare = bare.replace(f"\\{character}", "")
    assert not set(bare) & set("\\{}$&#_%~^<>|[*\n")


def test_a_latex_row_begins_with_nothing_that_the_row_before_would_read() -> None:
    made = text("latex", Table([row("[x]{y}"), row("*z")]))

    assert "\\midrule\n{[}x]\\{y\\} & " in made
    assert "\\\\\n{*}z & " in made


@given(st.text())
def test_escaped_markdown_has_no_html_and_stays_in_its_cell(name: str) -> None:
    made = markdown(name)

    assert not set(made) & set("<>\n")
    assert made.count("|") == made.count("\\|")


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("pass@1", "pass@1"),
        ("@team", "&#64;team"),
        ("mmlu_pro", "mmlu_pro"),
        ("_it_", "\\_it\\_"),
        ("a|b", "a\\|b"),
        ("![x](http://y)", "\\!\\[x\\](http://y)"),
    ],
)
def test_markdown_escapes_what_would_mean_something(name: str, shown: str) -> None:
    assert markdown(name) == shown


def test_an_unknown_format_names_the_known() -> None:
    with pytest.raises(Exception, match=r"unknown reports 'markdwn'\. Did you mean 'markdown'"):
        REGISTRY.load("markdwn")
