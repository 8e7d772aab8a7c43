"""A gate's verdict as text and as Markdown."""

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_nel.gate.checks import gate_checks
from pytest_nel.gate.evaluate import evaluate
from pytest_nel.gate.findings import Finding, Status
from pytest_nel.gate.policy import parse_policy
from pytest_nel.gate.report import BenchmarkGate, GateReport, verdict_of
from pytest_nel.gate.verdict import Exit
from pytest_nel.records.sides import runs_of
from pytest_nel.reports.gate import gate_lines
from pytest_nel.reports.gate_markdown import gate_markdown
from tests.support.stored import write_reference_run, write_run

POLICY = parse_policy(
    "version: 1\n"
    "benchmarks:\n"
    "  mmlu: {tier: critical, metric: mean_reward, max_drop: 0.01}\n"
    "  gsm8k: {metric: pass@1, max_drop: 0.02}\n"
    "  extra: {tier: advisory, max_drop: 0.01}\n",
    "p.yaml",
)


def row(name: str, *findings: tuple[Status, str]) -> BenchmarkGate:
    return BenchmarkGate(
        POLICY.rule(name),
        [Finding("max_drop", status, reason) for status, reason in findings],
        baseline=0.8124,
        candidate=0.8084,
        delta=-0.004,
        interval=(-0.013, 0.005),
        method="tango",
        n_paired=1319,
        margin_problems=-4 if name == "mmlu" else 9,
    )


def report(*rows: BenchmarkGate) -> GateReport:
    return GateReport("p.yaml", rows, *verdict_of(POLICY, rows))


PASS, BREACH = row("mmlu", ("PASS", "is within")), row("gsm8k", ("BREACH", "exceeds"))


def texts(report: GateReport, *, most: int = 15, verbose: bool = False) -> list[str]:
    return [line.text for line in gate_lines(report, most=most, verbose=verbose)]


def test_the_text_is_verdict_reasons_table_and_what_did_not_pass() -> None:
    assert texts(report(PASS, BREACH)) == [
        "NO-GO  p.yaml",
        "  BREACH: gsm8k [supporting]",
        "benchmark  tier        status  baseline  candidate       Δ (95 % CI), pp       margin",
        "mmlu       critical    PASS      0.8124     0.8084  -0.40 [-1.30, +0.50]  -4 of 1,319",
        "gsm8k      supporting  BREACH    0.8124     0.8084  -0.40 [-1.30, +0.50]  +9 of 1,319",
        "  gsm8k: exceeds",
    ]


def test_verbose_says_every_reason_and_warning() -> None:
    whole = replace(report(PASS), warnings=["'x' is only in the candidate"])

    assert "  mmlu: is within" not in texts(whole)
    assert texts(whole, verbose=True)[-2:] == [
        "  mmlu: is within",
        "warning: 'x' is only in the candidate",
    ]


def test_what_was_not_compared_is_always_said_and_equal_lines_once(tmp_path: Path) -> None:
    reference, ours = tmp_path / "theirs", tmp_path / "ours"
    for name in ("mmlu", "gsm8k", "extra"):
        write_reference_run(reference, [1.0] * 100, name=name)
        write_run(ours, [1.0] * 100, name=name, fingerprint={"extra": name})
    [bundle] = (ours / "extra").glob("eval-*.json")
    content = json.loads(bundle.read_text())
    content["benchmark"]["repeats"] = None
    bundle.write_text(json.dumps(content))

    shown = texts(evaluate(POLICY, runs_of(ours, reference)))

    unknown = (
        "not known on both sides, so not compared: dataset, prompts, scorer, solver, interceptors"
    )
    assert [text for text in shown if text.startswith("warning: ")] == [
        f"warning: extra: {unknown}, repeats",
        f"warning: gsm8k, mmlu: {unknown}",
    ]


def test_of_many_rows_those_that_did_not_pass_come_first() -> None:
    shown = texts(report(*[PASS] * 20, BREACH), most=3)

    assert [text.split()[0] for text in shown[3:6]] == ["gsm8k", "mmlu", "mmlu"]
    assert "… and 18 more" in shown


def test_of_many_reasons_the_first_are_said() -> None:
    shown = texts(report(row("mmlu", *[("BREACH", f"reason {at}") for at in range(9)])))

    assert shown[-4:] == [*(f"  mmlu: reason {at}" for at in range(3)), "  mmlu: … and 6 more"]


def test_what_was_allowed_to_differ_is_said() -> None:
    allowed = replace(report(PASS), allowed=["sampling"])

    assert "  allowed to differ: sampling" in texts(allowed)
    assert "- allowed to differ: sampling" in gate_markdown(allowed)


def test_a_row_without_numbers_has_dashes() -> None:
    missing = BenchmarkGate(POLICY.rule("mmlu"), [Finding("present", "MISSING", "not found")])

    assert texts(report(missing))[3].split() == ["mmlu", "critical", "MISSING", *["–"] * 4]
    assert "| – | – | – | – | 0 |" in gate_markdown(report(missing))


def test_the_markdown_has_the_reference_systems_columns_and_more() -> None:
    text = gate_markdown(report(PASS, BREACH))

    assert text.splitlines() == [
        "# Quality Gate Report: NO-GO",
        "",
        "Policy p.yaml",
        "",
        "- BREACH: gsm8k \\[supporting\\]",
        "",
        (
            "| Benchmark | Tier | Status | Metric | Baseline | Candidate "
            "| Δ, 95 % CI (pp) | Margin | N |"
        ),
        "|---|---|---|---|--:|--:|--:|--:|--:|",
        (
            "| mmlu | critical | ✅ PASS | mean\\_reward | 0.8124 | 0.8084 "
            "| -0.40 [-1.30, +0.50] | -4 | 1,319 |"
        ),
        (
            "| gsm8k | supporting | ❌ BREACH | pass@1 | 0.8124 | 0.8084 "
            "| -0.40 [-1.30, +0.50] | +9 | 1,319 |"
        ),
        "",
        "## What did not pass",
        "",
        "- **gsm8k**: exceeds",
        "",
    ]


def test_the_time_is_said_where_it_is_given() -> None:
    assert "Generated 1970-01-01 00:16 UTC, policy p.yaml" in gate_markdown(report(PASS), now=1000)


_NASTY = st.text(
    st.sampled_from("ab|`*_[](){}<>#~\\\n\r\x1b\x00&!:\ud800") | st.characters(), max_size=40
)


@given(name=_NASTY.filter(bool), reason=_NASTY)
def test_what_others_wrote_breaks_neither_table_nor_terminal(name: str, reason: str) -> None:
    rule = replace(POLICY.rule("mmlu"), benchmark=name)
    whole = report(replace(row("mmlu", ("BREACH", reason)), rule=rule))

    markdown, lines = gate_markdown(whole), texts(whole)

    table = [line for line in markdown.split("\n") if line.startswith("|")]
    assert len(table) == 3
    assert table[2].replace("\\\\", "").replace("\\|", "").count("|") == 10
    assert "<" not in markdown.replace("\\<", "")
    assert not any(char in line for line in lines for char in "\x1b\x00\r\n")
    assert "\r" not in markdown


def codes(rows: Sequence[BenchmarkGate]) -> list[tuple[str, str, int]]:
    return [(one.id, one.status, int(one.code)) for one in gate_checks(report(*rows))]


def test_each_row_is_a_check_with_its_exit_code() -> None:
    rows = [PASS, BREACH, row("extra", ("BREACH", "exceeds"))]

    assert codes(rows) == [
        ("p.yaml::mmlu", "passed", Exit.GO),
        ("p.yaml::gsm8k", "failed", Exit.NO_GO),
        ("p.yaml::extra", "open", Exit.GO),  # advisory: shown, does not count
    ]


def test_reasons_and_table_call_an_open_row_by_one_word() -> None:
    said = texts(report(row("mmlu", ("INSUFFICIENT_EVIDENCE", "few"))))

    assert said[1] == "  INCONCLUSIVE: mmlu [critical]"
    assert not [line for line in said if "INSUFFICIENT" in line]


def test_an_open_row_is_an_open_check() -> None:
    assert codes([row("mmlu", ("INSUFFICIENT_EVIDENCE", "few"))]) == [
        ("p.yaml::mmlu", "open", Exit.INCONCLUSIVE)
    ]


def test_where_no_row_decides_one_more_check_says_so() -> None:
    assert codes([]) == [("p.yaml", "open", Exit.INCONCLUSIVE)]


@pytest.mark.parametrize(
    ("rows", "verdict", "reasons"),
    [
        ([PASS], "GO", ["All 1 gated benchmark(s) passed"]),
        (
            [PASS, row("gsm8k", ("INSUFFICIENT_EVIDENCE", "few"))],
            "INCONCLUSIVE",
            [
                "INSUFFICIENT_EVIDENCE: gsm8k [supporting]",
                (
                    "Action: re-run with more items, add repeats, or relax thresholds for these "
                    "benchmarks."
                ),
            ],
        ),
        (
            [row("mmlu", ("MISSING", "not found")), BREACH],
            "NO-GO",
            ["BREACH: gsm8k [supporting]", "MISSING: mmlu [critical]"],
        ),
        (
            [row("extra", ("BREACH", "exceeds"))],
            "GO",
            ["No gated benchmarks evaluated: all are advisory"],
        ),
        ([], "INCONCLUSIVE", ["No benchmarks evaluated"]),
    ],
)
def test_the_verdict_over_rows(
    rows: Sequence[BenchmarkGate], verdict: str, reasons: list[str]
) -> None:
    found = report(*rows)

    assert (found.verdict, found.reasons) == (verdict, reasons)


def test_the_json_has_the_reference_systems_names() -> None:
    [shown] = report(BREACH).as_json()["benchmarks"]

    wanted = {
        "benchmark": "gsm8k",
        "tier": "supporting",
        "status": "BREACH",
        "metric": "pass@1",
        "baseline_score": 0.8124,
        "candidate_score": 0.8084,
        "delta": -0.004,
        "relative_drop_pct": -0.49,
        "delta_ci_lower": -0.013,
        "delta_ci_upper": 0.005,
        "n_paired": 1319,
        "max_drop_threshold": 0.02,
        "max_relative_drop_threshold": None,
        "direction": "higher_is_better",
        "absolute_breached": True,
        "relative_breached": False,
        "reasons": ["exceeds"],
        "margin_problems": 9,
    }
    assert {key: shown[key] for key in wanted} == wanted
