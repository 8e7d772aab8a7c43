import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from pytest_nel.core.errors import ConfigError, ScorerError
from pytest_nel.core.types import ScorerInput, VerifyResult
from pytest_nel.scoring.latex import compare
from pytest_nel.scoring.line import answer_line
from pytest_nel.scoring.markers import clean, marked


def grade(response: str, target: str) -> VerifyResult:
    return answer_line(ScorerInput(response, target))


@pytest.mark.parametrize(
    ("answer", "target"),
    [
        ("5.4 cents", "5.4 \\text{ cents}"),
        ("864 square inches", "864 \\mbox{ inches}^2"),
        ("C", "\\text{(C)}"),
        ("2x+3", "y = 2x + 3"),
        ("(3, \\pi/2)", "\\left( 3, \\frac{\\pi}{2} \\right)"),
        ("3√13", "3\\sqrt{13}"),
        ("\\frac{-1}{2}", "-\\frac{1}{2}"),
        ("(2, ∞)", "(2,\\infty)"),
        ("52_{8}", "52_8"),
        ("137.5", "137 \\frac{1}{2}"),
        ("1 ± √19", "1 \\pm \\sqrt{19}"),
        ("\\text{East}", "east"),
        ("$32,348", "\\$32,\\!348"),
        ("5 m", "5"),
        ("50 %", "50\\%"),
        ("1 degree", "1^{\\circ}"),
    ],
)
def test_spellings_of_the_same_answer_are_equal(answer: str, target: str) -> None:
    assert compare(answer, target).equal
    assert compare(target, answer).equal


@pytest.mark.parametrize(
    ("answer", "target"),
    [
        ("2k", "2"),
        ("2 pi", "2"),
        ("x=5", "y=5"),
        ("[2,3)", "(2,3)"),
        ("528", "52_8"),
        ("pq", "p - q"),
        ("-5", "5"),
        ("5 million", "5"),
        ("1, 2, 2", "1, 2"),
        ("5 cm", "5 km"),
        ("not Paris", "Paris"),
        ("x^{12}", "x^1 2"),
        ("1.5", "15"),
    ],
)
def test_different_answers_are_different(answer: str, target: str) -> None:
    assert not compare(answer, target).equal
    assert not compare(target, answer).equal


@pytest.mark.parametrize(
    ("response", "target"),
    [
        ("Let me think\n\n18", "18"),
        ("Answer: 18\n\nI hope the answer is clear.", "18"),
        ("\\boxed{5}\n\nWe may check our answer: $17 = 4^2 + 1$, so our answer is correct.", "5"),
        ("Answer: Let's think step by step.\nIt is\nAnswer: 18", "18"),
        ("The answer is 17? No.\nThe answer is 18.", "18"),
        ("Answer: 18. She earns it daily.", "18"),
        ("Answer: 18 (since 9*2 is 18)", "18"),
        ("Answer:\n\n$$\n18\n$$", "18"),
        ("<answer>18</answer>", "18"),
    ],
)
def test_the_announced_answer_is_found(response: str, target: str) -> None:
    assert grade(response, target).reward == 1.0


@pytest.mark.parametrize(
    "response", ["", " \n", "Answer:", "**Answer:** $LETTER", "I say \\boxed{}"]
)
def test_an_announcement_of_nothing_is_unparsed(response: str) -> None:
    result = grade(response, "5")

    assert (result.parsed, result.extracted_answer) == (False, None)


def test_different_units_are_wrong_and_the_hint_says_so() -> None:
    result = grade("Answer: 18 apples", "18 oranges")

    assert result.reward == 0.0
    assert "units differ" in result.scoring_details["hint"]


def test_a_pattern_of_ones_own_takes_its_last_match() -> None:
    result = answer_line(ScorerInput("A=1\nA=2", "2"), pattern="A=(.*)")

    assert (result.reward, result.extracted_answer) == (1.0, "2")


def test_a_pattern_without_match_is_unparsed() -> None:
    assert not answer_line(ScorerInput("Answer: 2", "2", config={"pattern": "A=(.*)"})).parsed


def test_a_broken_pattern_is_a_configuration_error() -> None:
    with pytest.raises(ConfigError, match="regular expression"):
        answer_line(ScorerInput("x", "B"), pattern="(")


def test_a_blank_target_is_an_error() -> None:
    with pytest.raises(ScorerError, match="target"):
        grade("Answer: 5", " ")


@given(st.text(alphabet="ab12 \n\\{}$*().,:#Answer", max_size=120))
def test_any_text_gets_a_verdict(response: str) -> None:
    result = grade(response, "5")

    assert result.parsed == (result.extracted_answer is not None)


@example("*\x1f0")
@given(st.text(max_size=60))
def test_cleaning_twice_is_cleaning_once(text: str) -> None:
    once = clean(text)

    assert clean(once) == once


@given(st.text(alphabet="xyz12+-^{}()\\, ", min_size=1, max_size=40))
def test_every_answer_equals_itself(text: str) -> None:
    assert compare(text, text).equal


def test_markers_come_in_order_of_appearance() -> None:
    rules = [mark.rule for mark in marked("Answer: 1\n#### 2\n\\boxed{3}\nThe answer is 4")]

    assert rules == ["label", "hash", "boxed", "prose"]


@pytest.mark.parametrize(("target", "reward"), [("1000", 1.0), ("1", 0.0)])
def test_a_number_in_brackets_is_a_number_where_one_is_wanted(target: str, reward: float) -> None:
    result = answer_line(ScorerInput("Answer: (1,000)", target))

    assert result.reward == reward
