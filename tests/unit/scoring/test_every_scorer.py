"""What holds for each built-in scorer: the gold answer scores 1, an empty one 0."""

from dataclasses import replace

import pytest

import pytest_nel
from pytest_nel.core.errors import UnknownName
from pytest_nel.core.types import ScorerInput
from pytest_nel.scoring.catalog import SCORERS, check_config, get_scorer

GOLD = {
    "answer_line": ScorerInput("Answer: $\\frac34$", "\\frac{3}{4}"),
    "exact_match": ScorerInput("Paris", "Paris"),
    "f1": ScorerInput("Answer: Smith, Brown", '["Smith", "Brown"]'),
    "fuzzy_match": ScorerInput("Answer: Paris", "Paris"),
    "json_schema": ScorerInput('{"a": 1}', "", config={"schema": {"required": ["a"]}}),
    "math_equal": ScorerInput("\\boxed{1+x}", "x+1"),
    "mcq_extract": ScorerInput("The answer is (B).", "B"),
    "multichoice_regex": ScorerInput("Answer: B", "B"),
    "numeric_match": ScorerInput("#### 18", "18"),
    "pattern": ScorerInput("Result: 18", "18", config={"pattern": r"Result: (\d+)"}),
}


def test_there_is_a_gold_answer_for_each_scorer() -> None:
    assert set(GOLD) == set(SCORERS)


@pytest.mark.parametrize("name", SCORERS)
def test_the_gold_answer_in_its_own_format_scores_one(name: str) -> None:
    result = get_scorer(name)(GOLD[name])

    assert (result.reward, result.parsed) == (1.0, True)
    assert (result.scoring_details["method"], result.scoring_details["correct"]) == (name, True)


@pytest.mark.parametrize("response", ["", " \n\t"])
@pytest.mark.parametrize("name", SCORERS)
def test_an_empty_answer_is_unparsed(name: str, response: str) -> None:
    result = get_scorer(name)(replace(GOLD[name], response=response))

    assert (result.reward, result.parsed, result.extracted_answer) == (0.0, False, None)
    assert (result.scoring_details["method"], result.scoring_details["rule"]) == (name, "none")


@pytest.mark.parametrize("name", SCORERS)
def test_a_refusal_earns_nothing(name: str) -> None:
    result = get_scorer(name)(replace(GOLD[name], response="I am sorry, I will not do that."))

    assert result.reward == 0.0


@pytest.mark.parametrize("name", SCORERS)
def test_a_scorer_is_public_under_its_name(name: str) -> None:
    assert getattr(pytest_nel, name) is SCORERS[name]


@pytest.mark.parametrize("name", SCORERS)
def test_the_settings_of_the_gold_answer_are_accepted(name: str) -> None:
    check_config(name, GOLD[name].config)


def test_an_unknown_scorer_is_refused() -> None:
    with pytest.raises(UnknownName, match="Did you mean 'math_equal'"):
        check_config("math_equals", {})
