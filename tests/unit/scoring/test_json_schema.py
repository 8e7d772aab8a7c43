"""``json_schema``: which JSON of a response counts, and what is wrong with it."""

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_nel.core.errors import ConfigError, ScorerError
from pytest_nel.core.types import ScorerInput, VerifyResult
from pytest_nel.scoring.bounded import OutOfBounds, Pool
from pytest_nel.scoring.catalog import check_config
from pytest_nel.scoring.embedded import NoJson, embedded
from pytest_nel.scoring.schema import _validated, json_schema

PERSON = {
    "type": "object",
    "properties": {"name": {"type": "string"}, "age": {"type": "integer"}},
    "required": ["age"],
}


def judge(response: str, schema: Any) -> VerifyResult:
    return json_schema(ScorerInput(response, "", config={"schema": schema}))


@pytest.mark.parametrize(
    ("response", "schema", "errors"),
    [
        ('{"age": 5}', PERSON, []),
        ('{"age": "5"}', PERSON, ["$.age: expected integer, got str"]),
        ('{"name": "A"}', PERSON, ["$: missing required field 'age'"]),
        ("[1]", {"type": "array", "minItems": 2}, ["$: expected at least 2 items, got 1"]),
        ("[1,2,3]", {"type": "array", "maxItems": 2}, ["$: expected at most 2 items, got 3"]),
        (
            '"yellow"',
            {"enum": ["red", "green"]},
            ["$: value 'yellow' not in enum ['red', 'green']"],
        ),
        ('{"age": true}', PERSON, ["$.age: expected integer, got bool"]),
        ("true", {"type": "number"}, ["$: expected number, got bool"]),
        ("5.0", {"type": "integer"}, []),
        ("null", {"type": ["string", "integer"]}, ["$: expected string or integer, got NoneType"]),
        (
            '{"a": [{"b": 1}, {"b": "x"}]}',
            {"properties": {"a": {"items": {"properties": {"b": {"type": "integer"}}}}}},
            ["$.a[1].b: expected integer, got str"],
        ),
        ("[]", {"type": "object", "required": ["a"]}, ["$: expected object, got list"]),
        ("{}", {"required": ["a", "b"]}, [
            "$: missing required field 'a'", "$: missing required field 'b'",
        ]),
        ("7", {"maximum": 5}, ["$: 7 is greater than the maximum of 5"]),
        ("7", False, ["$: False schema does not allow 7"]),
        ("7", True, []),
    ],
)  # fmt: skip
def test_the_errors_name_the_place_and_what_is_wrong(
    response: str, schema: Any, errors: list[str]
) -> None:
    result = judge(response, schema)

    assert result.scoring_details["errors"] == errors
    assert (result.reward, result.parsed) == (0.0 if errors else 1.0, True)


@pytest.mark.parametrize(
    ("response", "value"),
    [
        ('[{"a":1}]', [{"a": 1}]),
        ('Here: [{"a": 1}, {"a": 2}] done', [{"a": 1}, {"a": 2}]),
        ('```json\n{"a": 1}\n```', {"a": 1}),
        ('```\n{"a": 1}\n```\nand\n```JSON\n{"a": 2}\n```', {"a": 2}),
        ('```json\n{"a": 1}\n```\nas in\n```python\n{"a": 2}\n```', {"a": 1}),
        ('````json\n{"a": "```"}\n````', {"a": "```"}),
        ('~~~\n{"a": 1}\n~~~', {"a": 1}),
        ('```json\n{"a": 1', None),
        ('```json\n{"a": NaN}\n``` or {"a": 3}', {"a": 3}),
        ('{"a": 1} no, {"a": 2}', {"a": 2}),
        ('{"a": [1, {"b": 2}]}', {"a": [1, {"b": 2}]}),
        ('a set {1, 2} and {"a": 1}', {"a": 1}),
        ('{"a": "}"} x', {"a": "}"}),
        ("5", 5),
        ('"text"', "text"),
        ("NaN", None),
        ("[1, Infinity]", None),
        ("[1e999]", None),
        ("[1,]", None),
        ("{'a': 1}", None),
        ("no JSON", None),
        ("[" * 100_000, None),
        ("9" * 5000, None),
    ],
)
def test_the_last_outermost_value_counts(response: str, value: Any) -> None:
    try:
        found = embedded(response)
    except NoJson:
        found = None

    assert found == value


def test_a_value_of_the_wanted_type_goes_before_a_later_one() -> None:
    assert embedded('{"a": 1}, see [1]', "object") == {"a": 1}
    assert embedded('{"a": 1}, see [1]', "array") == [1]
    assert embedded("see [1]", "object") == [1]


@pytest.mark.parametrize("response", ["", " \n", "I cannot do that.", "{a: 1}"])
def test_no_json_is_unparsed(response: str) -> None:
    result = judge(response, PERSON)

    assert (result.reward, result.parsed, result.extracted_answer) == (0.0, False, None)


def test_the_reason_is_among_the_errors() -> None:
    errors = judge("none", PERSON).scoring_details["errors"]

    assert errors == ["Could not extract valid JSON from response"]


def test_a_row_may_bring_its_own_schema_as_json_text() -> None:
    sample = ScorerInput("[1]", "", metadata={"schema": '{"type": "array"}'})

    assert json_schema(sample).reward == 1.0


@pytest.mark.parametrize("schema", [None, 5, "{", {"type": "nothing"}, {"minItems": "two"}])
def test_a_schema_that_is_none_leaves_the_attempt_unscored(schema: Any) -> None:
    with pytest.raises(ScorerError, match="schema"):
        judge("{}", schema)


@pytest.mark.parametrize("schema", [{"type": "nothing"}, {"required": "a"}])
def test_a_schema_that_is_none_is_refused_when_it_is_loaded(schema: Any) -> None:
    with pytest.raises(ConfigError, match=r"the schema is not valid: \$"):
        check_config("json_schema", {"schema": schema})


def test_a_reference_within_the_schema_is_followed() -> None:
    schema = {"$defs": {"n": {"type": "integer"}}, "items": {"$ref": "#/$defs/n"}}

    assert judge("[1, 2]", schema).reward == 1.0
    assert judge('["a"]', schema).scoring_details["errors"] == ["$[0]: expected integer, got str"]


def test_nothing_is_fetched_for_a_reference_elsewhere() -> None:
    with pytest.raises(ScorerError, match="Unresolvable"):
        judge("[1]", {"items": {"$ref": "http://127.0.0.1:9/schema.json"}})


def test_format_is_not_asserted() -> None:
    assert judge('"no address"', {"format": "email"}).reward == 1.0


@pytest.fixture
def impatient() -> Iterator[Callable[..., Any]]:
    """Asks workers whose tasks have one processor second."""
    pool = Pool(1, seconds=1)
    yield lambda task, *arguments: pool.ask(task, arguments)
    pool.close()


def test_a_value_that_is_too_much_to_validate_is_told_from_a_schema_that_is(
    impatient: Callable[..., Any],
) -> None:
    with pytest.raises(OutOfBounds):
        _validated(f"{'a' * 60}!", {"pattern": "^(a+)+$"}, impatient)


def test_a_schema_that_breaks_on_any_value_cannot_be_used(impatient: Callable[..., Any]) -> None:
    endless = {"$ref": "#/$defs/a", "$defs": {"a": {"$ref": "#/$defs/a"}}}

    with pytest.raises(ScorerError, match="cannot be used"):
        _validated({"a": 1}, endless, impatient)


@pytest.mark.slow
def test_a_response_that_is_too_much_to_validate_is_wrong_and_undecided() -> None:
    many = json.dumps([{"i": i} for i in range(6000)])

    result = judge(many, {"type": "array", "uniqueItems": True})

    assert (result.reward, result.parsed) == (0.0, True)
    assert result.scoring_details["rule"] == "undecided"
    assert "could not be decided" in result.scoring_details["errors"][0]


def test_json_nested_beyond_measure_is_invalid() -> None:
    result = judge("[" * 200 + "]" * 200, {"$ref": "#/$defs/a", "$defs": {"a": {"items": {"$ref": "#/$defs/a"}}}})  # fmt: skip  # noqa: E501

    assert (result.reward, result.parsed) == (0.0, True)


def test_many_errors_are_cut() -> None:
    errors = judge(str(["a"] * 100).replace("'", '"'), {"items": {"type": "integer"}})

    assert errors.scoring_details["errors"][-1] == "… and 80 more"


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@given(st.text(alphabet=st.sampled_from(list('{}[]",:`~\n \\atrue1-.eNn'))))
def test_any_text_holds_json_or_does_not(text: str) -> None:
    try:
        embedded(text)
    except NoJson:
        return


@given(JSON.filter(lambda value: isinstance(value, dict | list)), st.sampled_from(["{}", "```json\n{}\n```", "So: {}", "{} is it"]))  # fmt: skip  # noqa: E501
def test_a_value_is_found_in_any_setting(value: Any, setting: str) -> None:
    assert embedded(setting.replace("{}", json.dumps(value))) == value
