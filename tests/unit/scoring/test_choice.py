import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_nel.core.errors import ConfigError, ScorerError
from pytest_nel.core.types import ScorerInput
from pytest_nel.scoring.choice import mcq_extract, multichoice_regex

WRITTEN = st.sampled_from(
    ["{}", "({})", "[{}]", "**{}**", "${}$", "{}.", "{})", "{}: text", "\\boxed{{{}}}", "`{}`",
     "\\text{{{}}}", "$\\mathbf{{{}}}$", "option {}", "<b>{}</b>", '"{}"']
)  # fmt: skip
MARKER = st.sampled_from(
    ["Answer: ", "ANSWER: ", "**Answer:** ", "**Answer**: ",
     "Final answer: ", "答案：", "Réponse : ", "Answer:\n",
     "The options are hard.\nAnswer: ", "Answer: A or B? Hmm. Answer: "]
)  # fmt: skip


@given(st.integers(0, 25), st.integers(1, 26), WRITTEN, MARKER)
def test_the_way_a_letter_is_written_does_not_change_the_grade(
    index: int, more: int, written: str, marker: str
) -> None:
    letter = chr(ord("A") + index)
    count = min(26, index + more)

    for scorer in (mcq_extract, multichoice_regex):
        result = scorer(ScorerInput(marker + written.format(letter), letter), choices=count)

        assert (result.reward, result.extracted_answer) == (1.0, letter)


@given(st.integers(0, 9), st.integers(0, 9), WRITTEN, MARKER)
def test_another_letter_is_wrong(index: int, other: int, written: str, marker: str) -> None:
    letter, target = chr(ord("A") + index), chr(ord("A") + other)

    result = mcq_extract(ScorerInput(marker + written.format(letter), target), choices=10)

    assert result.parsed
    assert (result.reward == 1.0) == (letter == target)


@pytest.mark.parametrize(
    "response",
    [
        "",
        " \n ",
        "I",
        "Answer: A cell divides",
        "Answer: I don't know",
        "Answer: I'm not sure",
        "Answer: B or C",
        "Answer: B/C",
        "Answer: A|B|C|D",
        "Answer: AB",
        "Answer: C-section",
        "Answer: C++",
        "Answer: E = mc^2",
        "Answer: a good guess",
        "Answer: $LETTER",
        "Answer: [LETTER]",
        "A) x\nB) y\nC) z\nD) w",
        "I cannot answer: I am an AI",
    ],
)
def test_what_is_no_single_option_is_unparsed(response: str) -> None:
    result = mcq_extract(ScorerInput(response, "C"))

    assert not result.parsed
    assert result.extracted_answer is None


def test_the_article_counts_as_a_letter_before_its_options_text() -> None:
    sample = ScorerInput("Answer: A Paris", "A", {"choices": ["Paris", "London"]})

    assert multichoice_regex(sample).reward == 1.0


def test_an_explanation_that_names_another_option_does_not_matter() -> None:
    assert multichoice_regex(ScorerInput("Answer: B, since A is wrong", "B")).reward == 1.0


def test_ten_options_make_i_a_letter_only_where_it_stands_as_one() -> None:
    metadata = {"choices": ["x"] * 10}

    assert mcq_extract(ScorerInput("Answer: I", "I", metadata)).reward == 1.0
    assert not mcq_extract(ScorerInput("Answer: I think it is hard", "I", metadata)).parsed


def test_the_number_of_choices_may_come_from_the_config() -> None:
    sample = ScorerInput("Answer: J", "J", config={"choices": 10})

    assert multichoice_regex(sample).reward == 1.0


def test_a_pattern_of_ones_own_takes_its_last_match() -> None:
    sample = ScorerInput("<<A>> no <<b>>", "B", config={"pattern": "<<(.)>>"})

    result = multichoice_regex(sample)

    assert (result.reward, result.extracted_answer) == (1.0, "B")


def test_a_broken_pattern_is_a_configuration_error() -> None:
    with pytest.raises(ConfigError, match="regular expression"):
        multichoice_regex(ScorerInput("x", "B"), pattern="(")


@pytest.mark.parametrize("target", ["", "BC", "1", None])
def test_a_target_that_is_no_letter_is_an_error(target: object) -> None:
    with pytest.raises(ScorerError, match="must be one letter"):
        mcq_extract(ScorerInput("Answer: B", target))


def test_more_choices_than_letters_are_an_error() -> None:
    with pytest.raises(ScorerError, match="1 to 26"):
        mcq_extract(ScorerInput("Answer: B", "B"), choices=30)


@given(st.text(max_size=300))
def test_any_text_gets_a_verdict(response: str) -> None:
    result = mcq_extract(ScorerInput(response, "A"))

    assert result.parsed == (result.extracted_answer is not None)
