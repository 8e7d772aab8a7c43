import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from pytest_nel.core.errors import ScorerError, UnknownName
from pytest_nel.core.types import ScorerInput
from pytest_nel.scoring.catalog import get_scorer
from pytest_nel.scoring.text import exact_match, fuzzy_match, normal_text


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ("-5", "5"),
        ("3.14", "314"),
        ("1/2", "12"),
        ("1-2", "12"),
        (".5", "5"),
        ("5²", "52"),
        ("A", "the"),
        ("the", "a"),
        ("vitamin A", "vitamin"),
        ("C++", "C"),
        ("C#", "C"),
        ("x<5", "x>5"),
        ("...", "!"),
        ("café", "cafe"),
    ],
)
def test_texts_that_differ_in_meaning_differ_in_normal_form(left: str, right: str) -> None:
    assert normal_text(left) != normal_text(right)


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ("The Paris.", "paris"),
        ("**Paris**", "paris"),
        ("Cafe\u0301", "café"),
        ("U.S.A.", "USA"),
        ("1,234", "1234"),
        ("−5", "-5"),
        ("½", "1/2"),
        ("+5", "5"),
        ("STRASSE", "straße"),
        ("a  cat\n", "cat"),
    ],
)
def test_texts_that_differ_in_form_only_are_equal(left: str, right: str) -> None:
    assert normal_text(left) == normal_text(right)


@example("—")
@example("— —")
@given(st.text())
def test_a_text_with_content_never_vanishes(text: str) -> None:
    assert bool(normal_text(text)) == bool(text.strip())


@given(st.integers(), st.integers())
def test_different_integers_stay_different(left: int, right: int) -> None:
    assert (normal_text(str(left)) == normal_text(str(right))) == (left == right)


@pytest.mark.parametrize("scorer", [exact_match, fuzzy_match])
@pytest.mark.parametrize("response", ["", " ", "\n\t"])
def test_a_blank_response_is_unparsed(scorer, response: str) -> None:  # type: ignore[no-untyped-def]  # noqa: ANN001
    result = scorer(ScorerInput(response, "Paris"))

    assert (result.reward, result.parsed, result.extracted_answer) == (0.0, False, None)


@pytest.mark.parametrize(
    ("response", "target"),
    [
        ("It is Paris, France.", "Paris"),
        ("答案：東京です", "東京"),
        ("words " * 100 + "\nParis", "Paris"),
        ("London? Answer: the Paris of today", "Paris"),
    ],
)
def test_a_target_in_the_answer_part_is_found(response: str, target: str) -> None:
    assert fuzzy_match(ScorerInput(response, target)).reward == 1.0


@pytest.mark.parametrize(
    ("response", "target"),
    [
        ("15 yards", "5"),
        ("5.5", "5"),
        ("-5", "5"),
        ("Pari", "Paris"),
        ("Paris or Rome. Answer: Rome", "Paris"),
        ("Paris. " + "words " * 100 + "\nRome", "Paris"),
    ],
)
def test_a_target_elsewhere_or_in_part_is_wrong(response: str, target: str) -> None:
    result = fuzzy_match(ScorerInput(response, target))

    assert result.reward == 0.0
    assert result.parsed


def test_any_of_the_correct_answers_will_do() -> None:
    sample = ScorerInput("It is Lutetia", "Paris", {"correct_answers": ["Paris", "Lutetia"]})

    assert fuzzy_match(sample).reward == 1.0


def test_a_long_response_without_marker_and_short_last_line_is_unparsed() -> None:
    assert not fuzzy_match(ScorerInput("Paris " * 200, "Paris")).parsed


@pytest.mark.parametrize("target", ["", None])
def test_no_target_is_an_error(target: object) -> None:
    with pytest.raises(ScorerError, match="target"):
        fuzzy_match(ScorerInput("Paris", target))


def test_an_unknown_scorer_is_answered_with_the_nearest() -> None:
    with pytest.raises(UnknownName, match="Did you mean 'numeric_match'"):
        get_scorer("numeric_mach")
