"""The shipped questions are right, balanced and graded as a person would."""

import operator
import re
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

from benchmarks.basics import basics, rows
from pytest_nel import ScorerInput, VerifyResult

ROWS = rows()
ARITHMETIC = [row for row in ROWS if row["category"] == "arithmetic"]
CHOICE = [row for row in ROWS if row["category"] == "multiple choice"]
FACTS = [row for row in ROWS if row["category"] == "fact"]
SIGNS: dict[str, Callable[[int, int], float]] = {
    "plus": operator.add,
    "minus": operator.sub,
    "times": operator.mul,
    "divided by": operator.truediv,
}


def judge(row: dict[str, Any], response: str) -> VerifyResult:
    """Grade a response to that row."""
    result: VerifyResult = basics(
        ScorerInput(response=response, target=row["answer"], metadata=row)
    )
    return result


def named(name: str) -> dict[str, Any]:
    """The row of that id."""
    return next(row for row in ROWS if row["id"] == name)


def test_there_are_24_of_each_and_no_two_alike() -> None:
    assert Counter(row["category"] for row in ROWS) == {
        "arithmetic": 24,
        "multiple choice": 24,
        "fact": 24,
    }
    assert len({row["id"] for row in ROWS}) == 72
    assert len({row["question"] for row in ROWS}) == 72


@pytest.mark.parametrize("row", ARITHMETIC, ids=lambda row: row["id"])
def test_the_arithmetic_is_right(row: dict[str, Any]) -> None:
    left, sign, right = re.fullmatch(
        r"What is (\d+) (plus|minus|times|divided by) (\d+)\?", row["question"]
    ).groups()  # type: ignore[union-attr]  # no match is a failure here

    assert SIGNS[sign](int(left), int(right)) == int(row["answer"])


def test_each_letter_is_right_six_times() -> None:
    assert Counter(row["answer"] for row in CHOICE) == {"A": 6, "B": 6, "C": 6, "D": 6}


@pytest.mark.parametrize("row", CHOICE, ids=lambda row: row["id"])
def test_the_prompt_shows_four_distinct_options(row: dict[str, Any]) -> None:
    shown = re.findall(r"^([A-D])\) (.+)$", row["prompt"], re.MULTILINE)

    assert [letter for letter, _ in shown] == ["A", "B", "C", "D"]
    assert [text for _, text in shown] == row["choices"]
    assert len(set(row["choices"])) == 4


def test_the_letter_names_the_right_option() -> None:
    right = {row["question"]: row["choices"]["ABCD".index(row["answer"])] for row in CHOICE}

    assert right["How many legs does a spider have?"] == "eight"
    assert right["Which of these is an animal?"] == "a horse"
    assert right["Which country has the city of Kyoto?"] == "Japan"


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row["id"])
def test_the_prompt_does_not_give_the_answer_away(row: dict[str, Any]) -> None:
    question = row["question"].lower()

    assert row["category"] == "multiple choice" or not re.search(
        rf"\b{re.escape(row['answer'].lower())}\b", question
    )


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row["id"])
def test_the_gold_answer_is_right(row: dict[str, Any]) -> None:
    result = judge(row, row["answer"])

    assert (result.reward, result.parsed) == (1.0, True)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row["id"])
@pytest.mark.parametrize("blank", ["", " \n\t"])
def test_a_blank_response_is_unparsed(row: dict[str, Any], blank: str) -> None:
    result = judge(row, blank)

    assert (result.reward, result.parsed, result.extracted_answer) == (0.0, False, None)


@pytest.mark.parametrize(
    ("name", "response"),
    [
        ("arithmetic-7", "803"),
        ("arithmetic-7", "415 + 388 = 803"),
        ("arithmetic-7", "415 plus 388 is **803**."),
        ("arithmetic-7", "Answer: 803.0"),
        ("choice-0", "C"),
        ("choice-0", "Answer: C"),
        ("choice-0", "**Answer:** C) a horse"),
        ("choice-0", "A horse is an animal.\n\nThe correct answer is C) a horse."),
        ("fact-7", "The chemical formula of water is H2O."),
        ("fact-7", "H₂O"),
        ("fact-10", "Mount Everest"),
        ("fact-13", "It was developed by Einstein."),
        ("fact-18", "A hexagon has 6 sides."),
        ("fact-20", "The largest animal on Earth is the Blue Whale."),
    ],
)
def test_a_right_answer_in_other_words_is_right(name: str, response: str) -> None:
    result = judge(named(name), response)

    assert (result.reward, result.parsed) == (1.0, True)


@pytest.mark.parametrize(
    ("name", "response"),
    [
        ("arithmetic-7", "80"),
        ("arithmetic-7", "8030"),
        ("arithmetic-7", "The answer is 802."),
        ("choice-0", "Answer: D"),
        ("choice-0", "A) a stone\n\nThe correct answer is D) a cloud."),
        ("fact-5", "The capital of Turkey is Istanbul."),
        ("fact-17", "365 days"),
        ("fact-21", "The freezing point of water is 10 degrees Celsius."),
    ],
)
def test_a_wrong_answer_is_wrong(name: str, response: str) -> None:
    result = judge(named(name), response)

    assert result.reward == 0.0
