"""DROP: the official F1, over the answers of each annotator and all their spans."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.drop import drop, exact
from pytest_nel import DataError, ScorerInput
from pytest_nel.scoring.overlap import f1
from tests.benchmarks.judging import Row, environment, problem, tried

NO_DATE = {"day": "", "month": "", "year": ""}


def answer(number: str = "", spans: tuple[str, ...] = (), date: dict[str, str] = NO_DATE) -> Row:
    return {"number": number, "date": date, "spans": list(spans), "worker_id": "", "hit_id": ""}


def row(*answers: Row, columns: bool = True) -> Row:
    """The first is the question's own answer; the others are validated ones."""
    first, *others = answers
    names = ("number", "date", "spans", "worker_id", "hit_id")
    validated: Any = {name: [each[name] for each in others] for name in names}
    return {
        "section_id": "own_1",
        "query_id": "own-1",
        "passage": "Reno and Mason scored twice each; Vance once.",
        "question": "Who scored twice?",
        "answer": first,
        "validated_answers": validated if columns else others,
    }


NUMBER = row(answer("12"), answer("12"))
SPANS = row(answer(spans=("Reno", "Mason")), answer(spans=("Mason", "Reno")))
EITHER = row(answer(spans=("Reno",)), answer(spans=("Vance",)))
DATE = row(answer(date={"day": "5", "month": "May", "year": "1862"}))
YARDS = row(answer(spans=("12-yard field goal",)))
FIRMS = row(answer(spans=("Smith and Wesson", "Colt, Ltd.")))
VERDICTS = [
    (NUMBER, "12", "right"),
    (NUMBER, "Answer: 12", "right"),
    (NUMBER, "7 + 5 = 12\n\n**Answer:** 12", "right"),
    (NUMBER, "Answer: \\boxed{12}", "right"),
    (NUMBER, "Answer: 12.0", "right"),
    (NUMBER, "Answer: 12 points", "0.667"),
    (NUMBER, "Answer: 13", "wrong"),
    (NUMBER, "Answer: 13 points", "wrong"),
    (NUMBER, "Answer: 120", "wrong"),
    (NUMBER, "Answer: -12", "wrong"),
    (SPANS, "Answer: Reno; Mason", "right"),
    (SPANS, "Answer: Mason and Reno", "right"),
    (SPANS, "Answer: Mason, Reno", "right"),
    (SPANS, 'Answer: ["Reno", "Mason"]', "right"),
    (SPANS, "Answer: Reno", "0.500"),
    (SPANS, "Answer: Reno; Mason; Vance", "0.667"),
    (SPANS, "Answer: Vance", "wrong"),
    (EITHER, "Answer: Reno", "right"),
    (EITHER, "Answer: Vance", "right"),
    (EITHER, "Answer: Reno; Vance", "0.667"),
    (DATE, "Answer: May 5, 1862", "right"),
    (DATE, "Answer: 5 May 1862", "right"),
    (DATE, "Answer: May 6, 1861", "wrong"),
    (YARDS, "The answer is a 12-yard field goal.", "right"),
    (YARDS, "Answer: the 12 yard field goal", "right"),
    (YARDS, "Answer: 15-yard field goal", "wrong"),
    (FIRMS, "Answer: Colt, Ltd.; Smith and Wesson", "right"),
    (row(answer("0")), "Answer: 0", "right"),
    (row(answer("0")), "Answer: none", "wrong"),
    (row(answer("1000")), "Answer: 1,000", "right"),
    (row(answer("1000")), "Answer: 10", "wrong"),
    (NUMBER, "Answer: ANSWER", "unparsed"),
    (NUMBER, "", "unparsed"),
    (NUMBER, "\t", "unparsed"),
]


@pytest.mark.parametrize(("made", "response", "verdict"), VERDICTS)
def test_a_response_gets_the_official_figure(made: Row, response: str, verdict: str) -> None:
    assert problem(drop, made).verdict(response) == verdict


def test_the_solver_sees_passage_and_question_alone() -> None:
    seed = problem(drop, NUMBER).seed

    assert seed.expected_answer == '[["12"]]'
    assert set(seed.metadata) == {
        *("source", "benchmark", "query_id", "passage", "question", "category", "problem_idx"),
    }
    assert seed.prompt.endswith("Question: Who scored twice?")


@pytest.mark.parametrize(
    ("made", "category"),
    [(NUMBER, "number"), (SPANS, "spans"), (EITHER, "span"), (DATE, "date")],
)
def test_the_category_is_the_kind_of_answer(made: Row, category: str) -> None:
    assert problem(drop, made).seed.metadata["category"] == category
    assert tried(drop, [made]).status == "passed"


def test_validated_answers_are_read_as_columns_and_one_by_one() -> None:
    answers = (answer("1"), answer("2"), answer(date={"day": "3", "month": "May", "year": ""}))
    dates = {"day": ["", "3"], "month": ["", "May"], "year": ["", ""]}
    columns = row(*answers)
    columns["validated_answers"]["date"] = dates

    forms = [row(*answers), row(*answers, columns=False), columns]

    wanted = '[["1"], ["2"], ["3 May"]]'
    assert {problem(drop, each).seed.expected_answer for each in forms} == {wanted}


def test_a_question_that_the_data_have_twice_is_two_problems() -> None:
    assert len(environment(drop, [NUMBER, NUMBER])) == 2


def test_rows_with_all_annotators_spans_in_one_list_are_refused() -> None:
    flat = {
        "query_id": "q",
        "passage": "p",
        "question": "q",
        "answers_spans": {"spans": ["A", "B"]},
    }

    with pytest.raises(DataError, match="drop: expected the fields answer and validated_answers"):
        environment(drop, [flat])
    with pytest.raises(DataError, match="has no answer"):
        environment(drop, [row(answer())])


@pytest.mark.parametrize(("response", "reward"), [("Mason; Reno", 1.0), ("Reno", 0.0), ("", 0.0)])
def test_the_exact_match_needs_every_span(response: str, reward: float) -> None:
    target = problem(drop, SPANS).seed.expected_answer

    result = exact(ScorerInput(response=response, target=target))

    assert (result.reward, result.parsed) == (reward, bool(response))


WORDS = st.from_regex(r"[b-z]{2,8}( (and|or) [b-z]{2,8}|, [b-z]{2,8})?", fullmatch=True)


@given(st.lists(WORDS, min_size=2, max_size=5, unique_by=lambda text: frozenset(text.split())))
def test_spans_between_semicolons_are_full_marks_in_any_order(spans: list[str]) -> None:
    said = f"Answer: {'; '.join(reversed(spans))}"

    whole = f1(ScorerInput(response=said, target=[spans]))
    less = f1(ScorerInput(response=f"Answer: {spans[0]}", target=[spans]))

    assert (whole.reward, whole.scoring_details["exact_match"]) == (1.0, True)
    assert less.reward < 1.0
