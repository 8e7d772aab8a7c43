"""TriviaQA: one of the aliases, in any spelling, and nothing more."""

import pytest

from benchmarks.triviaqa import normal, triviaqa, words_in_common
from pytest_nel import DataError, ScorerInput
from tests.benchmarks.judging import Row, environment, problem, tried

ROW: Row = {
    "question": "Who lives at 221B Baker Street?",
    "question_id": "own_1",
    "question_source": "own",
    "answer": {
        "value": "Sherlock Holmes",
        "aliases": ["Sherlock Holmes", "Mr. Sherlock Holmes", "Holmes, Sherlock", "The Detective"],
        "normalized_aliases": ["sherlock holmes", "mr sherlock holmes", "detective"],
        "matched_wiki_entity_name": "",
        "normalized_value": "sherlock holmes",
        "type": "WikipediaEntity",
    },
}
VERDICTS = [
    ("Sherlock Holmes", "right"),
    ("sherlock holmes.", "right"),
    ("**Sherlock Holmes**", "right"),
    ("Answer: Sherlock Holmes", "right"),
    ("The answer is Sherlock Holmes.", "right"),
    ("\\boxed{\\text{Sherlock Holmes}}", "right"),
    ('"Sherlock Holmes"', "right"),
    ("Mr Sherlock Holmes", "right"),
    ("Holmes, Sherlock", "right"),
    ("A detective", "right"),
    ("SHERLOCK  HOLMES", "right"),
    ("**Answer:** Sherlock Holmes", "right"),
    ("Final answer: Sherlock Holmes", "right"),
    ("I think of Conan Doyle's stories.\n\nAnswer: Sherlock Holmes", "right"),
    ("Answer: Watson\nNo, he only visits.\nAnswer: Sherlock Holmes", "right"),
    ("John Watson", "wrong"),
    ("Holmes", "wrong"),
    ("Sherlock Holmes, John Watson, Irene Adler", "wrong"),
    ("Sherlock Holmes or Hercule Poirot", "wrong"),
    ("It is Sherlock Holmes who lives there.", "wrong"),
    ("Not Sherlock Holmes", "wrong"),
    ("a", "wrong"),
    ("I do not know.", "wrong"),
    ("Answer:", "unparsed"),
    ("Answer: [your answer]", "unparsed"),
    ("", "unparsed"),
    ("  \n", "unparsed"),
]


@pytest.mark.parametrize(("response", "verdict"), VERDICTS)
def test_a_response_gets_the_verdict_of_the_official_metric(response: str, verdict: str) -> None:
    assert problem(triviaqa, ROW).verdict(response) == verdict


def test_the_solver_sees_no_alias() -> None:
    seed = problem(triviaqa, ROW).seed

    assert set(seed.metadata) == {"source", "benchmark", "question_id", "question", "problem_idx"}
    assert "Holmes" not in seed.prompt + str(seed.metadata)
    assert tried(triviaqa, [ROW]).status == "passed"


def test_the_second_figure_is_the_words_in_common_with_the_nearest_alias() -> None:
    made = problem(triviaqa, ROW)
    target = made.seed.expected_answer

    half = words_in_common(ScorerInput(response="Mycroft Holmes", target=target))
    third = words_in_common(ScorerInput(response="detective", target=target))

    assert (half.reward, third.reward) == (0.5, 1.0)


@pytest.mark.parametrize(
    ("one", "other", "equal"),
    [
        ("Jean-Luc Picard", "jean luc picard", True),
        ("The Beatles", "Beatles", True),
        ("1,000", "1000", True),
        ("3.14", "314", False),
        ("-5", "5", False),
        ("1914-1918", "1914 1918", True),
        ("C++", "C", False),
        ("AC/DC", "AC DC", True),
        ("The", "A", False),
        ("Beyoncé", "Beyonce", False),
    ],
)
def test_punctuation_is_nothing_save_where_it_means_something(
    one: str,
    other: str,
    equal: bool,  # noqa: FBT001  # a parameter of the test
) -> None:
    assert (normal(one) == normal(other)) is equal


def test_a_question_that_the_data_have_twice_is_two_problems() -> None:
    made = environment(triviaqa, [ROW, ROW])

    assert (len(made), made.twin(0), made.twin(1)) == (2, "0", "1")
    assert made.problem_id(1) == f"{made.problem_id(0)}-2"


def test_a_row_without_answers_is_refused() -> None:
    blank = {"value": "<unk>", "aliases": [], "normalized_aliases": []}

    with pytest.raises(DataError, match="triviaqa: expected an answer with aliases"):
        environment(triviaqa, [{**ROW, "answer": blank}])
