"""``f1``: the measure of DROP, on examples worked by hand."""

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_nel.core.errors import ScorerError
from pytest_nel.core.types import ScorerInput, VerifyResult
from pytest_nel.scoring.overlap import f1, overlap
from pytest_nel.scoring.text import fuzzy_match


def reward(response: str, target: Any = "", **metadata: Any) -> float:
    return f1(ScorerInput(response, target, metadata)).reward


@pytest.mark.parametrize(
    ("response", "target", "expected"),
    [
        ("Paris", "Paris", 1.0),
        ("the Paris.", "paris", 1.0),
        ("Answer: New York", "New York City", 2 * 1 * (2 / 3) / (1 + 2 / 3)),  # P 1, R 2/3
        ("in Paris", "Paris", 2 / 3),  # P 1/2, R 1
        ("London", "Paris", 0.0),
        ("12", "12", 1.0),
        ("12.0", "12", 1.0),
        ("1,200", "1200", 1.0),
        ("$5", "5", 1.0),
        ("50%", "50", 1.0),
        ("-5", "5", 0.0),
        ("−5", "-5", 1.0),
        ("12 yards", "12-yard", 0.5),
        ("13 yards", "12 yards", 0.0),  # the number must match
        ("12 yards", "12 yards", 1.0),
        ("12 metres", "12 yards", 0.5),
        ("yards", "12 yards", 0.0),
        ("December 1941", "7 December 1941", 0.8),
        ("a", "the", 0.0),
        ("The", "the", 1.0),
        ("John's book", "Johns book", 1.0),
        ("3.14", "314", 0.0),
    ],
)
def test_one_span_scores_the_share_of_words_in_common(
    response: str, target: str, expected: float
) -> None:
    assert reward(response, target) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("response", "expected"),
    [
        ("Brown, Smith", 1.0),
        ("Smith and Brown", 1.0),
        ('["Smith", "Brown"]', 1.0),
        ("Smith\nBrown", 0.5),  # without a marker, two lines are one short text: see below
        ("Smith", 0.5),
        ("Smith, Brown, Jones", 2 / 3),
        ("Smith, Jones", 0.5),
        ("Jones", 0.0),
    ],
)
def test_several_spans_are_paired_one_to_one(response: str, expected: float) -> None:
    expected = 1.0 if "\n" in response else expected  # lines part spans

    assert reward(response, ["Smith", "Brown"]) == pytest.approx(expected)


def test_the_best_pairing_counts_not_the_first() -> None:
    # Greedy would pair "red car" with "red" and leave "blue" alone.
    score = overlap(["red car", "red"], ["red", "red car"])

    assert score == (1.0, True)


@pytest.mark.parametrize(
    ("target", "metadata"),
    [
        ("ignored", {"correct_answers": ["Paris", "city of light"]}),
        ("ignored", {"correct_answers": [["Paris"], ["city of light"]]}),
        ([["Paris"], ["city of light"]], {}),
        ('[["Paris"], ["city of light"]]', {}),
    ],
)
def test_the_best_reference_counts(target: Any, metadata: dict[str, Any]) -> None:
    assert reward("The City of Light", target, **metadata) == 1.0
    assert reward("Paris", target, **metadata) == 1.0


def test_a_target_that_was_a_list_arrives_as_json_and_is_one_reference_of_several_spans() -> None:
    assert reward("Smith", '["Smith", "Brown"]') == 0.5


def test_the_answer_behind_the_marker_counts() -> None:
    result = f1(ScorerInput("It may be London.\nAnswer: Paris", "Paris"))

    assert result.reward == 1.0
    assert result.extracted_answer == "Paris"
    assert result.scoring_details == {
        "method": "f1", "rule": "label", "correct": True, "exact_match": True,
    }  # fmt: skip


def test_a_part_of_the_answer_is_not_an_exact_match() -> None:
    details = f1(ScorerInput("New York", "New York City")).scoring_details

    assert (details["correct"], details["exact_match"]) == (False, False)


@pytest.mark.parametrize("response", ["", "  ", "word " * 200 + "x" * 400])
def test_no_answer_is_unparsed(response: str) -> None:
    result = f1(ScorerInput(response, "Paris"))

    assert (result.reward, result.parsed) == (0.0, False)


@pytest.mark.parametrize("scorer", [f1, fuzzy_match])
@pytest.mark.parametrize(
    "response",
    ["Answer:", "**Answer:**", "The answer is", "It is Paris.\nAnswer:", "Answer: $LETTER"],
)
def test_an_announcement_of_nothing_is_unparsed(
    scorer: Callable[[ScorerInput], VerifyResult], response: str
) -> None:
    result = scorer(ScorerInput(response, "Paris"))

    assert (result.reward, result.parsed, result.extracted_answer) == (0.0, False, None)


@pytest.mark.parametrize("target", ["", [], [None], [[]]])
def test_no_reference_leaves_the_attempt_unscored(target: Any) -> None:
    with pytest.raises(ScorerError, match="wants a target"):
        f1(ScorerInput("Paris", target))


SPANS = st.lists(st.text(alphabet="ab1 2-.", min_size=1, max_size=8), min_size=1, max_size=4)


@given(SPANS, SPANS)
def test_overlap_is_between_none_and_all(answer: list[str], reference: list[str]) -> None:
    score = overlap(answer, reference)

    assert 0.0 <= score.f1 <= 1.0
    assert score.exact == (score.f1 == 1.0)


@given(SPANS)
def test_spans_in_any_order_are_the_same_answer(spans: list[str]) -> None:
    assert overlap(spans[::-1], spans) == (1.0, True)


@given(st.text())
def test_any_text_gets_a_verdict(text: str) -> None:
    assert 0.0 <= reward(text, ["Smith", "12 yards"]) <= 1.0
