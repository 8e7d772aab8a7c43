"""The project's collection of real answers, graded as it says, and real gold answers."""

import itertools
import json
import os
from pathlib import Path
from typing import Any

import pytest

from pytest_nel.core.types import ScorerInput
from pytest_nel.scoring.catalog import get_scorer
from pytest_nel.scoring.latex import compare
from pytest_nel.scoring.reasoning import split_reasoning

SHARED = Path(os.environ.get("NEL_SHARED", Path(__file__).parents[3].parent / "shared"))
BY_KIND = {
    "mcq": "mcq_extract",
    "num": "numeric_match",
    "math": "answer_line",
    "exact": "exact_match",
    "contains": "fuzzy_match",
}


def rows(name: str) -> list[dict[str, Any]]:
    path = SHARED / name
    if not path.exists():
        return []
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def cases() -> list[Any]:
    chosen = []
    for row in rows("cases/scorers.jsonl"):
        scorers = [BY_KIND[row["kind"]]]
        if row["kind"] == "mcq" and not row["policy"]:
            scorers.append("multichoice_regex")
        chosen += [pytest.param(name, row, id=f"{row['id']}-{name}") for name in scorers]
    absent = pytest.mark.skip(reason=f"no shared cases at {SHARED} (set NEL_SHARED)")
    return chosen or [pytest.param("", {}, marks=absent)]


@pytest.mark.parametrize(("scorer", "row"), cases())
def test_a_collected_answer_is_graded_as_agreed(scorer: str, row: dict[str, Any]) -> None:
    answer, _ = split_reasoning(row["response"])
    metadata = {"choices": ["text"] * row["n_choices"]} if row["n_choices"] else {}

    result = get_scorer(scorer)(ScorerInput(answer, row["target"], metadata))

    outcome = "correct" if result.reward == 1 else "wrong" if result.parsed else "unparsed"
    assert (outcome, result.extracted_answer) == (row["outcome"], row["extracted"])


FORMS = ["Answer: ${}$", "Answer: {}", "So it is \\boxed{{{}}}.", "**{}**"]
SAME = {
    ("-2,1", "1,-2"),
    ("10,\\!080", "10080"),
    ("120", "120^\\circ"),
    ("15", "15\\mbox{ cm}^2"),
    ("2 \\sqrt{5}", "2\\sqrt{5}"),
    ("30", "30^\\circ"),
    ("36", "36^\\circ"),
    ("36", "\\$36"),
    ("5", "x=5"),
    ("90", "90^\\circ"),
    ("\\frac14", "\\frac{1}{4}"),
}


@pytest.mark.parametrize("form", FORMS)
def test_every_gold_answer_of_math500_equals_itself(form: str) -> None:
    golds = [row["answer"] for row in rows("data/math500_test.jsonl")]
    if not golds:
        pytest.skip(f"no MATH-500 rows at {SHARED}/data")

    missed = [
        gold
        for gold in golds
        if get_scorer("answer_line")(ScorerInput(form.format(gold), gold)).reward != 1
    ]

    assert missed == []


def test_every_reference_solution_of_math500_is_graded_correct() -> None:
    problems = rows("data/math500_test.jsonl")
    if not problems:
        pytest.skip(f"no MATH-500 rows at {SHARED}/data")

    missed = [
        row["unique_id"]
        for row in problems
        if get_scorer("answer_line")(ScorerInput(row["solution"], row["answer"])).reward != 1
    ]

    assert missed == []


def test_gold_answers_of_math500_equal_each_other_only_where_they_mean_the_same() -> None:
    golds = sorted({row["answer"] for row in rows("data/math500_test.jsonl")})
    if not golds:
        pytest.skip(f"no MATH-500 rows at {SHARED}/data")

    equal = {pair for pair in itertools.combinations(golds, 2) if compare(*pair).equal}

    assert equal == SAME


@pytest.mark.parametrize("scorer", ["numeric_match", "answer_line"])
def test_every_reference_solution_of_gsm8k_is_graded_correct(scorer: str) -> None:
    problems = rows("data/gsm8k_test.jsonl")
    if not problems:
        pytest.skip(f"no GSM8K rows at {SHARED}/data")

    missed = [
        row["answer"]
        for row in problems
        if get_scorer(scorer)(
            ScorerInput(row["answer"], row["answer"].rsplit("####", 1)[1].strip())
        ).reward
        != 1
    ]

    assert missed == []
