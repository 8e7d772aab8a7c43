"""The words of the summary and of the live line."""

from typing import Any

import pytest

from pytest_nel.reports.progress import Flow, Progress, progress_line
from pytest_nel.reports.summary import (
    category_line,
    kept_lines,
    note_lines,
    run_lines,
    shown_record,
    summary_lines,
)


def bundle(name: str = "b", **changes: Any) -> dict[str, Any]:
    facts = {"n_scored": 8, "n_planned": 10, "n_attempted": 10, "n_unscored": 2}
    measured = changes.get("n_attempted", 10)
    extent = {"partial": measured < 10, "evaluated": f"{measured} of 10"}
    facts |= {"n_unparsed": 4, "n_truncated": 0}
    facts |= {key: value for key, value in changes.items() if key in facts}
    scores: dict[str, Any] = {
        "mean_reward": changes.get(
            "metric", {"value": 0.5, "ci_lower": 0.21521, "ci_upper": 0.78479}
        ),
        "runtime": {"elapsed_seconds": 12.34, "total_tokens": 1234, "steps_without_usage": 0}
        | changes.get("runtime", {}),
        "failures": {"categories": changes.get("failures", {})},
    }
    made: dict[str, Any] = {"benchmark": {"name": name, "scores": scores}, **facts, **extent}
    if "categories" in changes:
        made["benchmark"]["categories"] = changes["categories"]
    return made


def cells(made: dict[str, Any]) -> str:
    return " ".join(summary_lines([made])[1].text.split())


def test_a_row_says_what_was_scored_of_what_was_planned() -> None:
    assert cells(bundle()) == "b 8/10 0.500 0.215–0.785 4 (50 %) 0 2 1,234 12.3 s"


def test_without_a_score_there_is_a_dash() -> None:
    made = bundle(metric={"value": None}, n_scored=0, n_unparsed=0)

    assert cells(made).startswith("b 0/10 – – 0 0 2")


@pytest.mark.parametrize(
    ("runtime", "shown"),
    [
        ({"total_tokens": 0, "steps_without_usage": 10}, " unknown "),
        ({"total_tokens": 12, "steps_without_usage": 1}, " 12+ "),
        ({"total_tokens": 0, "steps_without_usage": 0}, " 0 "),
    ],
)
def test_unknown_tokens_are_not_zero(runtime: dict[str, int], shown: str) -> None:
    assert shown in cells(bundle(runtime=runtime))


def test_a_row_with_missing_scores_is_red() -> None:
    lines = summary_lines([bundle(n_unscored=0), bundle(n_unscored=1)])

    assert [dict(line.markup) for line in lines[1:]] == [{}, {"red": True}]


def test_however_many_benchmarks_the_table_is_short() -> None:
    lines = summary_lines([bundle(f"b{number}") for number in range(100)])

    assert len(lines) == 17
    assert "85 more benchmarks" in lines[-1].text


def test_what_is_missing_is_named_with_an_example() -> None:
    example = {"problem_idx": 3, "repeat": 1, "error": "HTTP 500\x1b[31m: down"}
    failures = {"server_error": {"count": 2, "exemplars": [example]}}

    texts = [
        line.text for line in note_lines(bundle(failures=failures, n_attempted=9), ["j: torn"])
    ]

    assert texts == [
        "b: evaluated 9 of 10",
        "b: 2 without a score: server_error ×2",
        "  b[3-r1]: HTTP 500: down",
        "b: journal: j: torn",
    ]


def test_failures_that_have_a_score_are_not_among_the_missing() -> None:
    example = {"problem_idx": 3, "repeat": 1, "error": "I cannot"}
    failures = {
        "format_error": {"count": 4, "n_unscored": 0, "exemplars": [example]},
        "model_error": {"count": 3, "n_unscored": 2, "exemplars": []},
    }

    texts = [line.text for line in note_lines(bundle(failures=failures), [])]

    assert texts == ["b: 2 without a score: model_error ×2"]


UNKNOWN = "1,200 attempts without usage, 2 answers replaced"


def priced(**changes: Any) -> dict[str, Any]:
    known = {"prompt": 1.5, "completion": 10.75, "currency": "USD"}
    return bundle(runtime={"cost": {**known, "n_unknown": 0, "n_made_again": 0, **changes}})


@pytest.mark.parametrize(
    ("bundles", "shown"),
    [
        ([bundle()], []),
        ([priced(), bundle()], ["cost: 12.25 USD (prompts 1.50, completions 10.75)"]),
        (
            [priced(n_unknown=1_200, n_made_again=2), priced()],
            [f"cost: at least 24.50 USD (prompts 3.00, completions 21.50; {UNKNOWN})"],
        ),
        (
            [priced(currency="EUR", prompt=0.0, completion=0.00012), priced()],
            [
                "cost: 0.00012 EUR (prompts 0.00, completions 0.00012)",
                "cost: 12.25 USD (prompts 1.50, completions 10.75)",
            ],
        ),
    ],
)
def test_what_a_run_cost_is_said_by_currency(
    bundles: list[dict[str, Any]], shown: list[str]
) -> None:
    lines = [line.text for line in run_lines([(made, []) for made in bundles], [])]

    assert [line for line in lines if line.startswith("cost")] == shown


def test_a_run_stopped_early_says_which_answers_it_lacks() -> None:
    lines = note_lines(bundle(n_attempted=3, n_unscored=0) | {"n_overtaken": 1_200}, [])

    assert lines[1].text == (
        "b: stopped early: quick answers are over-represented "
        "(1,200 that took longer have no score)"
    )


def test_a_clean_run_needs_no_notes() -> None:
    assert note_lines(bundle(n_unscored=0), []) == []


@pytest.mark.parametrize(("count", "shown"), [(1, 0), (2, 1), (6, 1), (7, 0)])
def test_a_few_categories_are_shown(count: int, shown: int) -> None:
    found = {f"c{number}": {"mean_reward": 0.5, "n": 4} for number in range(count)}

    assert len(category_line(bundle(categories=found))) == shown


def test_a_record_in_full_says_what_was_expected_and_found() -> None:
    row = {
        "outcome": "wrong",
        "scoring_details": {"method": "answer_line", "rule": "last line"},
        "prompt": "6*7?",
        "expected_answer": "42",
        "extracted_answer": "41",
        "model_response": "x" * 900 + "so 41",
        "finish_reason": "stop",
        "tokens": 9,
    }

    lines = [line.text for line in shown_record(row, "b[0-r0]")]

    assert lines[0] == "b[0-r0]: wrong"
    assert "  extracted: 41  [answer_line last line]" in lines
    assert any(line.startswith("  response:  …xxx") and line.endswith("so 41") for line in lines)
    assert "  finish:    stop, 9 tokens" in lines


def test_the_live_line_counts_missing_scores_apart() -> None:
    part = Progress("b", total=10, began=100.0)
    for outcome, reward in [("correct", 1.0), ("wrong", 0.0), ("unscored", None)]:
        part.add(outcome, reward, 5)

    line = progress_line([part], Flow(in_flight=4, ahead=2, retrying=1, reason="HTTP 429"), 105.0)

    assert line.startswith("b 3/10 · score 0.500 ±")
    assert " · unscored 1 · in flight 4 · ahead 2 · retrying 1 (HTTP 429) · 3 tok/s" in line
    assert line.endswith("ETA 0:05")


def test_before_the_first_score_there_is_a_dash_and_no_estimate() -> None:
    line = progress_line([Progress("b", total=10, began=0.0)], Flow(), 1.0)

    assert "score –" in line
    assert line.endswith("ETA –")


def test_fractional_rewards_have_no_wilson_interval() -> None:
    part = Progress("b", total=2, began=0.0)
    part.add("wrong", 0.25, None)

    assert part.score() == "0.250"


def test_no_benchmarks_make_no_line() -> None:
    assert progress_line([], Flow(), 0.0) == ""


def test_further_scorers_that_failed_have_a_line_each() -> None:
    made = bundle()
    made["benchmark"]["scores"] |= {
        "scorer:flaky": {"value": None, "n": 0, "n_failed": 3, "error": "it\nbroke"},
        "scorer:once": {"value": 1.0, "n": 7, "n_failed": 1, "error": "KeyError: 'x'"},
        "scorer:fine": {"value": 1.0, "n": 8},
    }

    said = [line.text for line in note_lines(made, []) if "scorer" in line.text]

    assert said == [
        "b: scorer flaky failed on 3 answers: it broke",
        "b: scorer once failed on 1 answer: KeyError: 'x'",
    ]


def test_answers_that_cannot_be_judged_again_are_named_by_reason() -> None:
    kept = {"judged": 3, "again": 2, "partial": 6, **{f"partial b[{n}-r0]": 1 for n in range(5)}}

    first, second = (line.text for line in kept_lines({**kept, "lost": 0}))

    assert "3 judged from stored answers, 2 asked again: not all" in first
    assert second.startswith("6 not judged again, since not all of what was judged is written")
    assert "(b[0-r0], b[1-r0], b[2-r0], b[3-r0], b[4-r0], …)" in second
