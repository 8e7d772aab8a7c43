"""Rows of files."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pytest_nel.core.errors import DataError
from pytest_nel.core.keys import digest
from pytest_nel.datasets.load import Dataset, load_rows


def load(folder: Path, name: str, content: bytes | str, **options: Any) -> Dataset:
    data = content.encode() if isinstance(content, str) else content
    (folder / name).write_bytes(data)
    return load_rows(name, base=folder, **options)


def refusal(folder: Path, name: str, content: bytes | str, **options: Any) -> str:
    with pytest.raises(DataError) as caught:
        load(folder, name, content, **options)
    return str(caught.value)


def test_a_byte_order_mark_is_no_part_of_the_first_field(tmp_path: Path) -> None:
    for name, text in (("a.jsonl", '{"q": 1}'), ("a.csv", "q\n1"), ("a.json", '[{"q": 1}]')):
        dataset = load(tmp_path, name, b"\xef\xbb\xbf" + text.encode())

        assert list(dataset.rows[0]) == ["q"]


def test_line_ends_blank_lines_and_a_missing_last_one_change_nothing(tmp_path: Path) -> None:
    unix = load(tmp_path, "a.jsonl", '{"q": "x"}\n{"q": "y"}\n')
    windows = load(tmp_path, "b.jsonl", '\r\n{"q": "x"}\r\n\r\n  \r\n{"q": "y"}')

    assert windows.rows == unix.rows == [{"q": "x"}, {"q": "y"}]
    assert windows.content_hash == unix.content_hash
    assert (windows.where(0), windows.where(1)) == ("b.jsonl line 2", "b.jsonl line 5")


def test_separators_inside_a_json_string_end_no_line(tmp_path: Path) -> None:
    dataset = load(
        tmp_path, "a.jsonl", '{"q": "a\u2028b\u0085c\u000bd"}'.replace("\u000b", "\\u000b")
    )

    assert dataset.rows == [{"q": "a\u2028b\u0085c\u000bd"}]


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ('{"q": 1}\n{"q": \n', "a.jsonl line 2: not a JSON object"),
        ("[1]\n", "a.jsonl line 1: expected an object with fields, got list"),
        ("5\n", "a.jsonl line 1: expected an object"),
        ('\n{"answer": NaN}\n', "a.jsonl line 2: field 'answer': nan is no value"),
        ('{"a": {"b": [1, Infinity]}}\n', "a.jsonl line 1: field 'a.b[1]': inf is no value"),
        ('{"a": 1e999}\n', "a.jsonl line 1: field 'a': inf is no value"),
        ('{"id": 1}\n{"id": 2}\n{"id": 1}\n', "1 in a.jsonl line 1 and a.jsonl line 3"),
        ('{"id": 1}\n{"id": "1"}\n', "'1' in a.jsonl line 1 and a.jsonl line 2"),
        ("", "there are no rows in it"),
        ("\n\n", "there are no rows in it"),
        (b'{"q": "\xe9"}\n', "a.jsonl line 1: not UTF-8"),
        (b'{"q": 1}\n{"q": "\xff"}\n', "a.jsonl line 2: not UTF-8"),
        ('{"q": ' + "9" * 5000 + "}", "a.jsonl line 1: not a JSON object: a number has too many"),
        ("[" * 100_000, "a.jsonl line 1: not a JSON object: nested too deeply"),
    ],
)
def test_a_bad_line_is_named(content: bytes | str, words: str, tmp_path: Path) -> None:
    assert words in refusal(tmp_path, "a.jsonl", content)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.jsonl", '{"q": {"q": 1}}\n\n{"q": 1, "a": {"b": 1, "b": 1}}\n'),
        ("a.json", '[{"b": 1},\n [[]],\n {"a": 1,\n "b": {"b": 1, "b": 2}}\n]'),
    ],
)
def test_a_key_that_stands_twice_in_an_object_is_named_with_its_line(
    name: str, content: str, tmp_path: Path
) -> None:
    said = refusal(tmp_path, name, content)

    assert f"{name} line 3: the key 'b' stands twice in one object: keep one" in said


@pytest.mark.parametrize(("name", "around"), [("a.jsonl", "{}\n{}"), ("a.json", "[{},\n{}]")])
def test_a_key_that_stands_twice_is_named_in_a_large_file_too(
    name: str, around: str, tmp_path: Path
) -> None:
    long = '{"a": "' + "x" * (5 << 20) + '"}'

    said = refusal(tmp_path, name, around.format(long, '{"b": 1, "b": 2}'))

    assert f"{name} line 2: the key 'b' stands twice" in said


def test_ids_need_to_differ_only_where_every_row_has_one(tmp_path: Path) -> None:
    dataset = load(tmp_path, "a.jsonl", '{"id": 1}\n{"id": 1}\n{"q": 1}\n')

    assert len(dataset.rows) == 3


def test_another_field_may_be_the_id(tmp_path: Path) -> None:
    content = '{"id": 1, "key": "a"}\n{"id": 1, "key": "b"}\n'

    assert len(load(tmp_path, "a.jsonl", content, id_field="key").rows) == 2
    assert "field 'no' should name the problem" in refusal(
        tmp_path, "a.jsonl", content, id_field="no"
    )


def test_a_table_is_rows_of_text(tmp_path: Path) -> None:
    content = 'q,a\r\n"two\nlines, and ""quotes""",1\r\n\r\nx,\r\n'

    dataset = load(tmp_path, "a.csv", content)

    assert dataset.rows == [{"q": 'two\nlines, and "quotes"', "a": "1"}, {"q": "x", "a": ""}]
    assert (dataset.where(0), dataset.where(1)) == ("a.csv line 2", "a.csv line 5")


@pytest.mark.parametrize("name", ["a.tsv", "a.tab", "a.TSV"])
def test_tabs_separate_too(name: str, tmp_path: Path) -> None:
    assert load(tmp_path, name, "q\ta\nx, y\t1\n").rows == [{"q": "x, y", "a": "1"}]


def test_a_field_may_be_long(tmp_path: Path) -> None:
    import csv

    before = csv.field_size_limit()

    dataset = load(tmp_path, "a.csv", f"q\n{'x' * 200_000}\n")

    assert len(dataset.rows[0]["q"]) == 200_000
    assert csv.field_size_limit() == before


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("q,a\n1,2\n1\n", "a.csv line 3: expected 2 columns as in the header, got 1"),
        ("q,a\n1,2,3\n", "a.csv line 2: expected 2 columns as in the header, got 3"),
        ("q,a,q\n1,2,3\n", "a.csv line 1: column 'q' occurs twice"),
        ('q,a\n1,"2\n', "a.csv line 2: unexpected end of data"),
        ('q,a\n"1"x,2\n', "a.csv line 2:"),
        ("q,a\n", "there are no rows in it"),
        (b"q\n\xe9\n", "a.csv line 2: not UTF-8"),
    ],
)
def test_a_bad_table_is_refused(content: bytes | str, words: str, tmp_path: Path) -> None:
    assert words in refusal(tmp_path, "a.csv", content)


def test_a_json_file_is_a_list_of_objects(tmp_path: Path) -> None:
    dataset = load(tmp_path, "a.json", '[{"q": 1},\n {"q": 2}]')

    assert dataset.where(1) == "a.json[1]"
    assert "expected a list of objects, got dict" in refusal(tmp_path, "a.json", "{}")
    assert "a.json line 2: not JSON" in refusal(tmp_path, "a.json", "[{}\n,,]")


def test_parquet_is_read_with_dates_and_decimals_as_text(tmp_path: Path) -> None:
    from datetime import date
    from decimal import Decimal

    pa = pytest.importorskip("pyarrow")
    import pyarrow.parquet as pq

    rows = [{"q": "x", "day": date(2024, 1, 2), "sum": Decimal("1.50"), "list": [2, 1]}]
    pq.write_table(pa.Table.from_pylist(rows), tmp_path / "a.parquet")

    dataset = load_rows("a.parquet", base=tmp_path)

    assert dataset.rows == [{"q": "x", "day": "2024-01-02", "sum": "1.50", "list": [2, 1]}]
    assert dataset.where(0) == "a.parquet[0]"


def test_a_file_that_is_no_parquet_is_refused(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")

    assert "no readable parquet file" in refusal(tmp_path, "a.parquet", "not parquet")


def test_values_that_are_not_plain_are_refused_with_their_field(tmp_path: Path) -> None:
    pa = pytest.importorskip("pyarrow")
    import pyarrow.parquet as pq

    pq.write_table(pa.Table.from_pylist([{"image": b"\x89PNG"}]), tmp_path / "a.parquet")

    with pytest.raises(DataError, match=r"a\.parquet\[0\]: field 'image': expected text"):
        load_rows("a.parquet", base=tmp_path)


def test_a_limit_takes_the_first_rows(tmp_path: Path) -> None:
    dataset = load(tmp_path, "a.jsonl", '{"q": 1}\n{"q": 2}\n{"q": 3}\n', limit=2)

    assert dataset.rows == [{"q": 1}, {"q": 2}]
    with pytest.raises(DataError, match="at least 1"):
        load_rows("a.jsonl", base=tmp_path, limit=0)


def test_a_file_that_is_not_there_says_where_it_was_looked_for(tmp_path: Path) -> None:
    with pytest.raises(DataError) as caught:
        load_rows("gone.jsonl", base=tmp_path)

    assert str(tmp_path / "gone.jsonl") in str(caught.value)
    assert "relative to the benchmark's file" in str(caught.value)


def test_what_looks_like_a_hub_name_gets_a_hint(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="write hf://openai/gsm8k"):
        load_rows("openai/gsm8k", base=tmp_path)


def test_a_file_of_another_kind_is_refused(tmp_path: Path) -> None:
    assert "expected a file ending in .jsonl, .csv" in refusal(tmp_path, "a.txt", "x")


JSON_VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=5,
)


@given(rows=st.lists(st.dictionaries(st.text(), JSON_VALUES, max_size=3), min_size=1, max_size=4))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
def test_any_json_rows_come_back_and_hash_as_digest_says(
    rows: list[dict[str, Any]], tmp_path: Path
) -> None:
    text = "\n".join(json.dumps(row, ensure_ascii=False) for row in rows)

    dataset = load(tmp_path, "a.jsonl", text.encode(), check_ids=False)

    assert dataset.rows == rows
    assert dataset.content_hash == digest(rows)


@given(content=st.binary(max_size=60))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@pytest.mark.parametrize("name", ["a.jsonl", "a.csv", "a.tsv", "a.json"])
def test_no_bytes_give_anything_but_rows_or_a_data_error(
    name: str, content: bytes, tmp_path: Path
) -> None:
    try:
        dataset = load(tmp_path, name, content)
    except DataError:
        return
    assert dataset.rows
