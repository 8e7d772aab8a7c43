"""The scorers that come with the package are tried on what their targets may be."""

from typing import Any

import pytest

from pytest_nel.core.types import ScorerInput
from pytest_nel.environments.selftest import Found
from pytest_nel.scoring.catalog import get_scorer
from pytest_nel.scoring.schema import json_schema
from tests.unit.environments.test_selftest import refusal, rows, tried
from tests.unit.scoring.test_documented_examples import documented

EXAMPLES = [
    ("f1", ["Brady", "Manning"]),
    ("f1", ["a, b", "c and d"]),
    ("f1", [["Brady", "Manning"], ["x"]]),
    ("f1", '["Smith", "Brown"]'),
    ("f1", "12 yards"),
    ("fuzzy_match", "Paris"),
    ("exact_match", [1, 2, 3]),
    ("exact_match", "The Eiffel Tower."),
    ("math_equal", [1, 2]),
    ("math_equal", "[1,2]"),
    ("math_equal", r"[1, \infty)"),
    ("answer_line", [1, 2]),
    ("answer_line", r"[-2,7]"),
    ("numeric_match", 0.5),
    ("numeric_match", "1,234"),
    ("mcq_extract", "B"),
    ("multichoice_regex", "B"),
]


@pytest.mark.parametrize(("name", "target"), EXAMPLES)
def test_a_scorer_of_ours_passes_with_each_form_of_target_that_it_takes(
    name: str, target: object
) -> None:
    assert tried(get_scorer(name), rows(target)) == Found("passed")


@pytest.mark.parametrize("name", ["f1", "fuzzy_match"])
def test_accepted_answers_beside_the_target_are_tried_by_their_first(name: str) -> None:
    accepted = ["Brady", "Tom Brady"]
    data = [{"question": "q", "target": "see there", "correct_answers": accepted}]

    assert tried(get_scorer(name), data) == Found("passed")


def test_spans_among_the_accepted_answers_are_tried() -> None:
    data = [{"question": "q", "target": "x", "correct_answers": [["Brady", "Manning"], ["x y"]]}]

    assert tried(get_scorer("f1"), data) == Found("passed")


@pytest.mark.parametrize(("scorer", "config", "row"), documented())
def test_each_target_of_the_reference_page_passes_or_cannot_be_tried(
    scorer: str, config: dict[str, Any], row: dict[str, str | None]
) -> None:
    found = tried(get_scorer(scorer), rows(row["target"]), extra=config)

    untried = {
        "json_schema": "not possible: there is no gold answer",
        "pattern": "not possible: only the pattern says what an answer looks like; gold= lets it "
        "be tried",
    }
    assert found.status == untried.get(scorer, "passed")


@pytest.mark.parametrize("target", ["any text", [1, 2], {"age": "five"}])
def test_what_a_schema_takes_cannot_be_made_of_the_target(target: object) -> None:
    def wrapped(sample: ScorerInput) -> object:
        return json_schema(sample)

    schema = {"type": "object", "properties": {"age": {"type": "integer"}}}
    for scorer in (json_schema, wrapped):
        found = tried(scorer, rows(target), extra={"schema": schema})

        said = "not possible: only the schema says what is right; gold= lets it be tried"
        assert found.status == said


def test_a_schema_is_tried_with_what_the_author_says_is_right() -> None:
    schema = {"type": "object", "required": ["age"]}
    given = {"extra": {"schema": schema}}

    assert tried(json_schema, rows("x"), gold='{{"age": 5}}', **given).status == "passed"
    assert "must get 1" in refusal(json_schema, rows("x"), gold="{{}}", **given)


def test_a_schema_that_is_none_is_refused_all_the_same() -> None:
    said = refusal(json_schema, rows({"age": 5}), extra={"schema": {"type": 7}})

    assert "cannot be judged: " in said


def test_a_pattern_that_finds_another_answer_is_refused() -> None:
    said = refusal(get_scorer("pattern"), rows("12"), extra={"pattern": r"\d"})

    assert "the scorer read '2' out of it" in said


def test_a_pattern_that_has_understood_a_row_must_understand_the_others() -> None:
    said = refusal(get_scorer("pattern"), rows("1", "one"), extra={"pattern": r"\d"})

    assert "rows[1]" in said
