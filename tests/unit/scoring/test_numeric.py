import time

import pytest

from pytest_nel.core.errors import ScorerError
from pytest_nel.core.types import ScorerInput, VerifyResult
from pytest_nel.scoring.numeric import numeric_match


def grade(response: str, target: object) -> VerifyResult:
    return numeric_match(ScorerInput(response, target))


@pytest.mark.parametrize(
    ("response", "target"),
    [
        ("Answer: $1,234.50$", "1234.5"),
        ("**Final Answer**\n\n$$18$$", "18"),
        ("#### Step 3: compute\nso it is 18", "18"),
        ("Answer: 18, because 9*2 = 18.", "18"),
        ("Answer: 18 (6 groups, each n=3)", "18"),
        ("The answer is that 9 * 2 = 18 dollars", "18"),
        ("Answer: Janet makes $18 every day.", "18"),
        ("উত্তর: ১৮", "18"),
        ("答案是18。", "18"),
        ("Answer: 18万", "180000"),
        ("Answer: $-5", "-5"),
        ("The answer is –5", "-5"),
        ("1.5×10³", "1500"),
        ("10^3", "1000"),
        ("Answer: 1 1/2", "3/2"),
        ("Answer: 10,\\!080", "10080"),
        ("Answer: -0", "0"),
        ("Answer: 60", 60),
        ("Answer: 0.1", 0.1),
        ("5", "some reasoning\n#### 5"),
        ("Answer: 18\nI hope this answer is helpful in 2024.", "18"),
    ],
)
def test_usual_writing_is_understood(response: str, target: object) -> None:
    assert grade(response, target).reward == 1.0


@pytest.mark.parametrize(
    "response",
    [
        "",
        "   \n",
        "Answer: 5²",
        "Answer: 3:45",
        "Answer: 2024-01-05",
        "Answer: 5th",
        "Answer: 12,34",
        "Answer: - 5",
        "Answer: \\frac{\\pi}{2}",
        "2^10",
        "x-5",
        "covid-19",
        "the total is 12 345",
        "\\boxed{18",
        "1/0",
    ],
)
def test_what_is_not_clearly_one_number_is_unparsed(response: str) -> None:
    result = grade(response, "5")

    assert not result.parsed
    assert result.reward == 0.0
    assert result.extracted_answer is None


@pytest.mark.parametrize(
    "response",
    [
        "1e999999999",
        "Answer: 1e99999999999999999999",
        "9" * 100_000,
        "1" * 4301 + "." + "1" * 4301,
        "1,000" * 50_000,
        "1 000 " * 50_000,
        "\\frac{1}{" * 20_000,
        "- " * 50_000 + "5x",
        "Answer: " * 20_000,
        "answer to " * 20_000,
        "\\boxed{" * 30_000,
        "<<" * 100_000,
    ],
)
def test_hostile_responses_are_judged_in_linear_time(response: str) -> None:
    start = time.process_time()

    result = grade(response, "123456")

    assert result.reward == 0.0
    assert time.process_time() - start < 5.0


def test_a_percentage_for_a_share_is_wrong_with_a_hint() -> None:
    result = grade("Answer: 50%", "0.5")

    assert result.reward == 0.0
    assert "factor 100" in result.scoring_details["hint"]


@pytest.mark.parametrize("target", ["", "Paris", None, float("nan"), "3, 4"])
def test_a_target_that_is_no_number_is_an_error_and_not_a_wrong_answer(target: object) -> None:
    with pytest.raises(ScorerError, match="the target must be a number"):
        grade("5", target)


def test_the_details_name_the_scorer_and_the_rule() -> None:
    result = grade("It is 5.\n#### 18", "18")

    assert result.scoring_details["method"] == "numeric_match"
    assert result.scoring_details["rule"] == "hash"
