"""A composed suite for reading."""

import json
import re
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from pytest_nel.config._document import Place, read_document
from pytest_nel.config.show import MASK, masked, shown_json, shown_yaml
from pytest_nel.config.tree import composed_of, planted

SECRET = "s3cret"  # noqa: S105  # what must not be shown


def test_each_value_is_followed_by_its_place() -> None:
    composed = composed_of(planted({"a": {"b": 1, "c": []}, "l": [{"x": "y"}, 2]}, Place("s", 3)))

    assert shown_yaml(composed) == (
        "a:  # s:3\n  b: 1  # s:3\n  c: []  # s:3\nl:  # s:3\n  - x: y  # s:3\n  - 2  # s:3\n"
    )


@pytest.mark.parametrize(
    "value",
    [
        {"services": {"m": {"env": {"HF_TOKEN": SECRET}}}},
        {"services": {"m": {"api_key": f"${{KEY:-{SECRET}}}"}}},
        {"services": {"m": {"extra_headers": {"Authorization": f"Bearer {SECRET}"}}}},
        {"services": {"m": {"url": f"https://me:{SECRET}@host/v1"}}},
        {"services": {"m": {"url": f"https://host/v1?api_key={SECRET}&x=1"}}},
        {"benchmarks": [{"params": {"password": [SECRET, {"x": SECRET}]}}]},
    ],
)
def test_what_may_be_a_secret_is_masked(value: Any) -> None:
    composed = composed_of(planted(value, Place("s", 1)))

    for text in (shown_yaml(composed), shown_json(composed)):
        assert SECRET not in text
        assert MASK in text


def test_references_and_what_is_no_secret_stay_readable() -> None:
    value = {
        "services": {"token": {"api_key": "${KEY}", "extra_env": {"HF_TOKEN": "host:HF_TOKEN"}}},
        "max_tokens": 5,
        "url": "https://host/v1?x=1",
        "api_key": None,
    }

    assert masked(value) == value


def test_json_has_the_suite_and_the_place_of_each_value() -> None:
    composed = composed_of(planted({"a.b": [1]}, Place("s", 2)))

    assert json.loads(shown_json(composed)) == {
        "suite": {"a.b": [1]},
        "places": {'"a.b"': "s:2", '"a.b"[0]': "s:2"},
    }


NAMES = st.text(st.characters(codec="utf-8"), max_size=6)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | NAMES,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=3),
    max_leaves=8,
)


@given(st.dictionaries(NAMES, VALUES, max_size=3))
def test_what_is_shown_is_the_suite_without_its_secrets(value: Any) -> None:
    text = shown_yaml(composed_of(planted(value, Place("a file", 1))))

    document = read_document(text)
    assert document.problems == []
    assert document.value == masked(value)
    assert yaml.safe_load("{}") == {}
    assert all(re.search(r"  # a file:1$", line) for line in text.splitlines() if line != "{}")
