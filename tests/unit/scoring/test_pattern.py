"""``pattern``: a benchmark's own regular expression."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_nel.core.errors import ConfigError, ScorerError
from pytest_nel.core.types import ScorerInput, VerifyResult
from pytest_nel.scoring.bounded import Pool
from pytest_nel.scoring.catalog import check_config
from pytest_nel.scoring.pattern import Settings, _search, pattern


def judge(response: str, target: object, **config: Any) -> VerifyResult:
    return pattern(ScorerInput(response, target, config=config))


@pytest.mark.parametrize(
    ("config", "response", "target", "extracted"),
    [
        ({"pattern": r"Result: (\w+)"}, "Result: a\nResult: b", "b", "b"),
        ({"pattern": r"Result: (\w+)", "match": "first"}, "Result: a\nResult: b", "a", "a"),
        ({"pattern": r"[A-Z]{3}"}, "so ABC", "ABC", "ABC"),
        ({"pattern": r"(\d+)-(\d+)", "group": 2}, "3-4", "4", "4"),
        ({"pattern": r"(?P<to>\d+)!", "group": "to"}, "4!", "4", "4"),
        ({"pattern": r"(\d+)-(\d+)", "group": 0}, "3-4", "3-4", "3-4"),
        ({"pattern": r"result: (\w+)", "flags": "i"}, "RESULT: x", "x", "x"),
        ({"pattern": r"^x=(.*)$", "flags": "m", "compare": "number"}, "x=1,000\n.", "1000", "1000"),
        ({"pattern": r"is (.*)", "compare": "number"}, "is 1/2", "0.5", "0.5"),
        ({"pattern": r"is (\S+)", "compare": "choice"}, "is **(b)**.", "B", "B"),
    ],
)
def test_what_the_pattern_finds_is_compared(
    config: dict[str, Any], response: str, target: str, extracted: str
) -> None:
    result = judge(response, target, **config)

    assert (result.reward, result.extracted_answer) == (1.0, extracted)
    assert result.scoring_details["rule"] == "pattern"


@pytest.mark.parametrize(
    ("config", "response", "target"),
    [
        ({"pattern": r"is (\w+)"}, "is Paris", "paris"),
        ({"pattern": r"is (\d+)"}, "is 10", "100"),
        ({"pattern": r"is (\S+)", "compare": "choice"}, "is C", "B"),
    ],
)
def test_another_answer_is_wrong(config: dict[str, Any], response: str, target: str) -> None:
    result = judge(response, target, **config)

    assert (result.reward, result.parsed) == (0.0, True)


@pytest.mark.parametrize(
    ("config", "response", "target"),
    [
        ({"pattern": r"is (\w+)"}, "", "x"),
        ({"pattern": r"is (\w+)"}, "Paris", "x"),
        ({"pattern": r"is (\w*)"}, "is ", "x"),
        ({"pattern": r"is (a)?"}, "is b", "x"),
        ({"pattern": r"is (\w+)", "match": "only"}, "is a is b", "x"),
        ({"pattern": r"is (.*)", "compare": "number"}, "is 3 or 4", "3"),
        ({"pattern": r"is (.*)", "compare": "choice"}, "is A or B", "A"),
    ],
)
def test_no_answer_is_unparsed(config: dict[str, Any], response: str, target: str) -> None:
    result = judge(response, target, **config)

    assert (result.reward, result.parsed, result.extracted_answer) == (0.0, False, None)


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ({}, "wants a regular expression"),
        ({"pattern": ""}, "wants a regular expression"),
        ({"pattern": 5}, "pattern: expected text"),
        ({"pattern": "("}, "must be a regular expression"),
        ({"pattern": "a", "flags": "q"}, "expected letters of imsxa"),
        ({"pattern": "a", "match": "second"}, "expected last, first, only"),
        ({"pattern": "a", "compare": "float"}, "expected text, number, choice"),
        ({"pattern": "(a)", "group": 2}, "group 2 is not in the pattern"),
        ({"pattern": "(a)", "group": "b"}, "group 'b' is not in the pattern"),
        ({"pattern": "(a)", "group": True}, "group: expected"),
    ],
)
def test_settings_that_cannot_work_are_refused_when_they_are_loaded(
    config: dict[str, Any], message: str
) -> None:
    with pytest.raises(ConfigError, match=message):
        check_config("pattern", config)


@pytest.mark.parametrize(
    ("target", "compare"), [("", "text"), ("many", "number"), ("AB", "choice"), ("5", "choice")]
)
def test_a_target_of_another_kind_leaves_the_attempt_unscored(target: str, compare: str) -> None:
    with pytest.raises(ScorerError, match="check target_field"):
        judge("is 5", target, pattern="is (.*)", compare=compare)


def test_a_pattern_that_backtracks_for_ever_leaves_the_attempt_unscored() -> None:
    impatient = Pool(1, seconds=1)

    with pytest.raises(ScorerError, match="nested repetition"):
        _search("a" * 60 + "!", Settings("(a+)+$"), lambda task, *given: impatient.ask(task, given))

    impatient.close()


@given(st.text(alphabet=st.characters(codec="utf-8")))
def test_any_text_gets_a_verdict(text: str) -> None:
    assert judge(text, "5", pattern=r"(\d+)").reward in {0.0, 1.0}
