"""Rows given as values, by functions and from the hub."""

import sys
from collections.abc import Iterator
from enum import Enum
from pathlib import Path
from typing import Any

import pytest

from pytest_nel.core.errors import ConfigError, DataError
from pytest_nel.datasets.load import load_rows

HERE = Path()


def test_rows_may_be_given_as_they_are() -> None:
    rows = [{"q": "x"}, {"q": "y"}]

    dataset = load_rows(rows, base=HERE, limit=1)

    assert dataset.rows == [{"q": "x"}]
    assert dataset.where(0) == "rows[0]"


def test_the_rows_loaded_share_nothing_with_those_given() -> None:
    rows = [{"choices": {"b": [1, 2], "a": (3,)}, "q": "x"}]

    loaded = load_rows(rows, base=HERE).rows
    loaded[0]["choices"]["b"].reverse()
    loaded[0]["q"] = "changed"

    assert rows == [{"choices": {"b": [1, 2], "a": (3,)}, "q": "x"}]
    assert list(loaded[0]["choices"]) == ["b", "a"]


def test_a_function_is_called_with_the_limit_if_it_takes_it() -> None:
    def some(num_examples: int | None = None) -> list[dict[str, Any]]:
        return [{"q": index} for index in range(num_examples or 3)]

    assert len(load_rows(some, base=HERE, limit=2).rows) == 2
    assert len(load_rows(some, base=HERE).rows) == 3


def test_a_function_may_yield_without_end_when_there_is_a_limit() -> None:
    def endless() -> Iterator[dict[str, Any]]:
        index = 0
        while True:
            yield {"q": index}
            index += 1

    dataset = load_rows(endless, base=HERE, limit=2)

    assert dataset.rows == [{"q": 0}, {"q": 1}]
    assert dataset.where(1).endswith("endless()[1]")


def test_a_function_that_fails_is_a_data_error_with_its_words() -> None:
    def broken() -> list[dict[str, Any]]:
        msg = "gone"
        raise KeyError(msg)

    with pytest.raises(DataError, match=rf"broken\(\): {__file__}:\d+: KeyError: 'gone'"):
        load_rows(broken, base=HERE)


class Kind(Enum):
    ONE = 1


LOOP: dict[str, Any] = {}
LOOP["self"] = LOOP


@pytest.mark.parametrize(
    ("row", "words"),
    [
        ({"a": Kind.ONE}, "field 'a': expected text"),
        ({"a": [object()]}, "field 'a[0]': expected text"),
        ({1: "x"}, "the name of a field must be text"),
        ({"a": {1: "x", "b": 2}}, "the name of a field must be text"),
        ({"a": float("nan")}, "field 'a': nan is no value"),
        (LOOP, "nested too deeply"),
        ("text", "expected an object with fields, got str 'text'"),
        (None, "expected an object with fields"),
    ],
)
def test_a_row_that_json_cannot_hold_is_refused(row: Any, words: str) -> None:
    with pytest.raises(DataError) as caught:
        load_rows([{"q": 1}, row], base=HERE)

    assert str(caught.value).startswith("rows[1]: ")
    assert words in str(caught.value)


def test_no_rows_are_no_dataset() -> None:
    with pytest.raises(DataError, match="no rows"):
        load_rows([], base=HERE)


def test_the_hash_depends_on_content_and_order_not_on_the_order_of_fields() -> None:
    def of(*rows: dict[str, Any]) -> str:
        return load_rows(list(rows), base=HERE).content_hash

    assert of({"a": 1, "b": 2}) == of({"b": 2, "a": 1})
    assert of({"a": 1}, {"a": 2}) != of({"a": 2}, {"a": 1})
    assert of({"a": 1}) != of({"a": "1"})


def test_an_unknown_scheme_lists_the_known_ones() -> None:
    with pytest.raises(ConfigError, match=r"unknown datasets 's3'.*hf, local, web"):
        load_rows("s3://bucket/x", base=HERE)


def test_a_function_that_would_end_the_process_is_an_error_with_its_line() -> None:
    def ends() -> list[dict[str, Any]]:
        sys.exit("no data today")

    with pytest.raises(DataError, match=rf"ends\(\): {__file__}:\d+: SystemExit: no data today"):
        load_rows(ends, base=HERE)
