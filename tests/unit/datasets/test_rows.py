"""Rows given as values, by functions and from the hub."""

from collections.abc import Iterator
from enum import Enum
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from pytest_nel.core.errors import ConfigError, DataError
from pytest_nel.datasets.hf import HubSource
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

    with pytest.raises(DataError, match=r"broken\(\): KeyError: 'gone'"):
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
    with pytest.raises(ConfigError, match=r"unknown datasets 's3'.*hf, local"):
        load_rows("s3://bucket/x", base=HERE)


COMMIT = "0123456789" * 4


def hub_split(*args: Any, **options: Any) -> Any:
    class Split(list[dict[str, Any]]):
        info = SimpleNamespace(
            download_checksums={f"hf://datasets/{args[0]}@{COMMIT}/main/test.parquet": {}}
        )

    return Split([{"asked": [args[0], options["name"], options["split"]]}, {"asked": []}])


def test_a_split_of_the_hub_is_read_and_pinned_to_its_commit() -> None:
    source = HubSource("hf://openai/gsm8k?config=main&split=train", base=HERE, load=hub_split)

    rows = source.read(1)

    assert list(rows.rows) == [{"asked": ["openai/gsm8k", "main", "train"]}]
    assert rows.revision == COMMIT
    assert rows.where(0) == "openai/gsm8k train[0]"


def test_the_split_is_test_and_the_revision_is_the_one_asked_for() -> None:
    def load(*_: Any, **options: Any) -> list[dict[str, Any]]:
        return [{"got": [options["name"], options["split"], options["revision"]]}]

    rows = HubSource("hf://org/name?revision=v1", base=HERE, load=load).read(None)

    assert list(rows.rows) == [{"got": [None, "test", "v1"]}]
    assert rows.revision == "v1"


@pytest.mark.parametrize(
    "spec",
    [
        "hf://org/name?splt=test",
        "hf://org/name?split=",
        "hf://o/n?split=a&split=b",
        "hf://",
        "hf://a#b",
    ],
)
def test_an_address_that_is_not_understood_is_refused(spec: str) -> None:
    with pytest.raises(DataError, match="expected"):
        HubSource(spec, base=HERE)


def test_what_the_hub_says_is_passed_on_in_a_line() -> None:
    def load(*_: Any, **__: Any) -> Any:
        msg = "Dataset 'org/name' doesn't exist\nmore"
        raise FileNotFoundError(msg)

    with pytest.raises(DataError, match=r"hf://org/name: cannot be loaded: Dataset .* exist$"):
        HubSource("hf://org/name", base=HERE, load=load).read(None)


def test_without_the_extra_the_pip_line_is_given() -> None:
    import importlib.util

    if importlib.util.find_spec("datasets"):
        pytest.skip("the extra hf is installed here")

    with pytest.raises(DataError, match=r"pip install 'pytest-nel\[hf\]'"):
        load_rows("hf://org/name", base=HERE)
