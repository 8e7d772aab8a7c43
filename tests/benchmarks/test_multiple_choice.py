"""MMLU, MMLU-Pro and GPQA: options as the data have them, and the letter a response settles on."""

import re
from collections import Counter
from typing import Any

import pytest

from benchmarks.gpqa import gpqa
from benchmarks.mmlu import mmlu
from benchmarks.mmlu_pro import mmlu_pro
from pytest_nel import Benchmark, DataError
from tests.benchmarks.judging import Row, environment, json_lines, problem, problems, tried

CHOICES = ["the Sun", "the Moon", "Mars", "a cell"]
MMLU: Row = {
    "question": "Which is a star?",
    "subject": "astronomy",
    "choices": CHOICES,
    "answer": 0,
}
PRO: Row = {
    "question_id": 70,
    "question": "Which is a letter beyond D?",
    "options": ["a", "b", "c", "d", "e", "f", "g"],
    "answer": "G",
    "answer_index": 6,
    "cot_content": "A: Let's think step by step. The answer is (G).",
    "category": "business",
    "src": "own",
}
GPQA: Row = {
    "Record ID": "rec1",
    "Question": "Which one is right?\n",
    "Correct Answer": "right one\n",
    "Incorrect Answer 1": "first wrong",
    "Incorrect Answer 2": "second wrong",
    "Incorrect Answer 3": "third wrong",
    "Explanation": "It is the right one.",
    "High-level domain": "Physics",
    "Subdomain": "Optics",
}
# X stands for the right letter, Y for a wrong one.
VERDICTS = [
    ("Answer: X", "right"),
    ("It shines.\n\nAnswer: X", "right"),
    ("**Answer: X**", "right"),
    ("**Answer:** X", "right"),
    ("Answer: $X$", "right"),
    ("Answer: \\boxed{X}", "right"),
    ("$\\boxed{\\text{X}}$", "right"),
    ("Answer: (X)", "right"),
    ("answer: x.", "right"),
    ("### Answer\nX", "right"),
    ("The correct answer is (X).", "right"),
    ("The answer is **X**.", "right"),
    ("X", "right"),
    ("(X)", "right"),
    ("答案：X", "right"),
    ("<answer>X</answer>", "right"),
    ("Answer: Y\nNo, that planet does not shine.\nAnswer: X", "right"),
    ("Y) is out, since it is too cold.\nAnswer: X", "right"),
    ("Answer: Y", "wrong"),
    ("The correct answer is **Y**.", "wrong"),
    ("X looks right at first, and yet.\n\nAnswer: Y", "wrong"),
    ("Answer: X or Y", "unparsed"),
    ("Answer: X, Y", "unparsed"),
    ("Answer: $LETTER", "unparsed"),
    ("Answer: Z", "unparsed"),
    ("Answer: none of these", "unparsed"),
    ("I cannot say.", "unparsed"),
    ("", "unparsed"),
    ("\n", "unparsed"),
]
BENCHMARKS = [(mmlu, MMLU), (mmlu_pro, PRO), (gpqa, GPQA)]


@pytest.mark.parametrize(("response", "verdict"), VERDICTS)
@pytest.mark.parametrize(
    ("benchmark", "row"), BENCHMARKS, ids=lambda value: getattr(value, "name", "")
)
def test_a_response_gets_the_verdict_that_a_person_would_give(
    benchmark: Benchmark, row: Row, response: str, verdict: str
) -> None:
    made = problem(benchmark, row)
    right = made.seed.expected_answer
    other = {"A": "B"}.get(right, "A")
    said = re.sub(r"\bX\b", right, re.sub(r"\bY\b", other, response)).replace(
        "x.", f"{right.lower()}."
    )

    assert made.verdict(said) == verdict


@pytest.mark.parametrize(
    ("benchmark", "row"), BENCHMARKS, ids=lambda value: getattr(value, "name", "")
)
def test_the_solver_sees_all_options_and_nothing_that_says_which(
    benchmark: Benchmark, row: Row
) -> None:
    seed = problem(benchmark, row).seed

    shown = re.findall(r"^([A-J])\) (.+)$", seed.prompt, re.MULTILINE)
    assert [letter for letter, _ in shown] == list("ABCDEFGHIJ"[: len(shown)])
    assert [text for _, text in shown] == seed.metadata["choices"]
    assert {"answer", "answer_index", "cot_content", "Explanation"}.isdisjoint(seed.metadata)
    assert "Correct Answer" not in seed.metadata
    assert tried(benchmark, [row]).status == "passed"


@pytest.mark.parametrize("answer", [4, -1, "0", "A", None, True])
def test_mmlu_takes_only_the_position_of_an_option(answer: object) -> None:
    with pytest.raises(DataError, match="answer that is a number from 0 to 3"):
        environment(mmlu, [{**MMLU, "answer": answer}])


@pytest.mark.parametrize(("position", "letter"), [(0, "A"), (1, "B"), (2, "C"), (3, "D")])
def test_mmlu_counts_options_from_0(position: int, letter: str) -> None:
    seed = problem(mmlu, {**MMLU, "answer": position}).seed

    assert (seed.expected_answer, seed.metadata["category"]) == (letter, "astronomy")
    assert f"{letter}) {CHOICES[position]}" in seed.prompt


def test_mmlu_pro_lists_only_options_that_exist_and_their_letters() -> None:
    row = {**PRO, "options": ["a", "N/A", "c", ""], "answer": "C", "answer_index": 2}

    made = problem(mmlu_pro, row)

    assert "LETTER is one of AB." in made.seed.prompt
    assert made.seed.prompt.endswith("A) a\nB) c")
    assert made.seed.expected_answer == "B"
    assert made.verdict("Answer: C") == "unparsed"


@pytest.mark.parametrize(
    "change",
    [
        {"answer": "F"},
        {"answer_index": 7},
        {"options": ["a"] * 11, "answer": "A", "answer_index": 0},
        {"options": ["a", "N/A"], "answer": "B", "answer_index": 1},
    ],
)
def test_mmlu_pro_refuses_an_answer_that_is_no_option(change: dict[str, Any]) -> None:
    with pytest.raises(DataError, match="mmlu_pro: expected up to ten options"):
        environment(mmlu_pro, [{**PRO, **change}])


def test_gpqa_shuffles_each_question_by_itself_and_knows_the_right_letter() -> None:
    rows = [{**GPQA, "Record ID": f"rec{at}", "Question": f"{at}?"} for at in range(200)]
    found = problems(gpqa, rows)
    again = problems(gpqa, rows[:7])

    letters = Counter(each.seed.expected_answer for each in found)

    assert all(30 <= letters[letter] <= 70 for letter in "ABCD")
    assert all(
        f"{each.seed.expected_answer}) right one\n" in each.seed.prompt + "\n" for each in found
    )
    assert [each.seed.prompt for each in again] == [each.seed.prompt for each in found[:7]]


@pytest.mark.parametrize("wrong", ["right one", "", None])
def test_gpqa_refuses_options_that_cannot_be_told_apart(wrong: str | None) -> None:
    with pytest.raises(DataError, match="gpqa: expected one right and three other options"):
        environment(gpqa, [{**GPQA, "Incorrect Answer 2": wrong}])


def test_every_gold_letter_of_mmlu_is_right_and_the_others_are_wrong() -> None:
    rows = [{**row, "subject": row["type"]} for row in json_lines("mmlu_stem_test.jsonl")]
    found = problems(mmlu, rows)

    verdicts = Counter(
        (letter == each.seed.expected_answer, each.verdict(f"Reasons.\n\nAnswer: {letter}"))
        for each in found
        for letter in "ABCD"
    )

    assert verdicts == {(True, "right"): len(rows), (False, "wrong"): 3 * len(rows)}
    assert tried(mmlu, rows[:200]) == ("passed", None)
