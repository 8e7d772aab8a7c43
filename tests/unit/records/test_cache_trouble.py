"""The answer cache when the file is damaged, not ours, not writable or locked: no run ends."""

import os
import sqlite3
import zlib
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from pytest_nel.core.errors import ConfigError
from pytest_nel.records.cache import ResponseCache

FILE_NAME = "answers.sqlite3"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A directory that is not there yet."""
    return tmp_path / "answers"


@pytest.fixture
def cache(folder: Path) -> Iterator[ResponseCache]:
    with closing(ResponseCache(folder, patience=0.05)) as cache:
        yield cache


def edit(folder: Path, statement: str, *values: object) -> None:
    """Change the database behind the cache's back."""
    with closing(sqlite3.connect(folder / FILE_NAME)) as db, db:
        db.execute(statement, values)


# What is damaged


@pytest.mark.parametrize(
    "value",
    [
        b"",
        b"garbage",
        "text",
        7,
        zlib.compress(b"no json"),
        zlib.compress(b"[" * 100_000),
        zlib.compress(b"[1]"),
        zlib.compress(b'{"version": 2, "key": "k", "answer": {"response": "from the future"}}'),
        zlib.compress(b'{"version": 1, "key": "j", "answer": {"response": "another\'s"}}'),
        zlib.compress(b'{"version": 1, "key": "k", "answer": "no object"}'),
        zlib.compress(b'{"version": 1, "key": "k", "answer": {}}')[:-1],
    ],
    ids=lambda value: repr(value)[:20],
)
def test_a_value_that_cannot_be_used_is_a_miss_and_is_replaced(
    cache: ResponseCache, folder: Path, value: object
) -> None:
    cache.put("k", {"response": "first"})
    edit(folder, "UPDATE answers SET value = ?", value)

    missed = cache.get("k")
    cache.put("k", {"response": "again"})

    assert missed is None
    assert cache.get("k") == {"response": "again"}
    assert cache.trouble is None


def test_a_flipped_bit_is_a_miss_and_never_another_answer(
    cache: ResponseCache, folder: Path
) -> None:
    answer = {"response": "42 " * 30}
    cache.put("k", answer)
    with closing(sqlite3.connect(folder / FILE_NAME)) as db:
        (value,) = db.execute("SELECT value FROM answers").fetchone()

    for bit in range(8 * len(value)):
        damaged = bytearray(value)
        damaged[bit // 8] ^= 1 << bit % 8
        edit(folder, "UPDATE answers SET value = ?", bytes(damaged))

        assert cache.get("k") in (None, answer)


@pytest.mark.parametrize("content", [b"garbage " * 1000, b"SQLite format 3\x00" + b"\xff" * 99])
def test_a_file_that_is_no_database_is_refused_and_left_alone(folder: Path, content: bytes) -> None:
    folder.mkdir()
    file = folder / FILE_NAME
    file.write_bytes(content)

    with pytest.raises(ConfigError, match="no readable answer cache") as raised:
        ResponseCache(folder)

    assert str(file) in str(raised.value)
    assert file.read_bytes() == content


@pytest.mark.parametrize("left", [1000, 4096, 50_000])
def test_a_file_that_was_cut_is_refused(folder: Path, left: int) -> None:
    with closing(ResponseCache(folder)) as cache:
        for number in range(100):
            cache.put(f"k{number}", {"response": os.urandom(1000).hex()})
    with (folder / FILE_NAME).open("r+b") as file:
        file.truncate(left)

    with pytest.raises(ConfigError, match="no readable answer cache"):
        ResponseCache(folder)


def test_pages_that_were_overwritten_are_misses_and_are_said_once(folder: Path) -> None:
    with closing(ResponseCache(folder)) as cache:
        for number in range(100):
            cache.put(f"k{number}", {"n": number})
    file = folder / FILE_NAME
    with file.open("r+b") as raw:
        raw.seek(3 * 4096)
        raw.write(b"\xa5" * (file.stat().st_size - 3 * 4096))

    with closing(ResponseCache(folder)) as cache:
        answers = [cache.get(f"k{number}") for number in range(100)]
        cache.put("k200", {})

        assert all(answer in (None, {"n": number}) for number, answer in enumerate(answers))
        assert None in answers
        assert cache.trouble is not None
        assert "the answer cache cannot be read" in cache.trouble
        assert str(file) in cache.trouble


# Where it cannot be


def test_a_database_of_something_else_is_refused_and_left_alone(folder: Path) -> None:
    folder.mkdir()
    edit(folder, "CREATE TABLE customers (name TEXT)")

    with pytest.raises(ConfigError, match="a database, but no answer cache"):
        ResponseCache(folder)

    with closing(sqlite3.connect(folder / FILE_NAME)) as db:
        assert db.execute("SELECT name FROM sqlite_master").fetchall() == [("customers",)]


def test_a_cache_of_another_layout_is_refused(folder: Path) -> None:
    ResponseCache(folder).close()
    edit(folder, "PRAGMA user_version = 9")

    with pytest.raises(ConfigError, match="layout 9, and this version of pytest-nel knows 1"):
        ResponseCache(folder)


def test_a_file_in_place_of_the_directory_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").touch()

    for folder in (tmp_path / "file", tmp_path / "file" / "below"):
        with pytest.raises(ConfigError, match="expected a directory to write in, got: "):
            ResponseCache(folder)


def test_a_directory_in_place_of_the_database_is_refused(folder: Path) -> None:
    (folder / FILE_NAME).mkdir(parents=True)

    with pytest.raises(ConfigError, match="cannot be opened and written"):
        ResponseCache(folder)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_directory_that_cannot_be_written_is_refused(folder: Path) -> None:
    folder.mkdir()
    folder.chmod(0o555)

    with pytest.raises(ConfigError, match="cannot be opened and written"):
        ResponseCache(folder)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_database_that_cannot_be_written_is_refused(folder: Path) -> None:
    ResponseCache(folder).close()
    (folder / FILE_NAME).chmod(0o444)

    with pytest.raises(ConfigError, match="cannot be opened and written"):
        ResponseCache(folder)


@pytest.mark.parametrize("there", [None, "empty folder", "empty file"])
def test_who_only_looks_makes_nothing(folder: Path, there: str | None) -> None:
    if there:
        folder.mkdir()
    if there == "empty file":
        (folder / FILE_NAME).touch()
    before = [(path, path.stat().st_size) for path in folder.rglob("*")]

    with pytest.raises(ConfigError, match="no answer cache in"):
        ResponseCache(folder, create=False)

    assert [(path, path.stat().st_size) for path in folder.rglob("*")] == before
    assert folder.exists() == bool(there)


# What others hold


def test_a_lock_held_too_long_drops_an_answer_and_says_so(
    cache: ResponseCache, folder: Path
) -> None:
    cache.put("k0", {"n": 0})
    with closing(sqlite3.connect(folder / FILE_NAME, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")

        cache.put("k1", {"n": 1})

        assert cache.get("k0") == {"n": 0}
    assert cache.get("k1") is None
    assert cache.trouble == f"the answer cache cannot be written: database is locked: {cache.path}"


def test_after_a_lock_that_was_let_go_answers_are_kept_again(
    cache: ResponseCache, folder: Path
) -> None:
    with closing(sqlite3.connect(folder / FILE_NAME, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        cache.put("k1", {"n": 1})

    cache.put("k2", {"n": 2})

    assert cache.get("k2") == {"n": 2}


def test_after_three_failures_in_a_row_nobody_waits_again(
    cache: ResponseCache, folder: Path
) -> None:
    cache.put("k0", {"n": 0})
    with closing(sqlite3.connect(folder / FILE_NAME, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        for number in range(1, 4):
            cache.put(f"k{number}", {"n": number})

    cache.put("k4", {"n": 4})

    assert [cache.get(f"k{number}") for number in range(5)] == [{"n": 0}, None, None, None, None]
    assert cache.trouble is not None
    assert cache.trouble.endswith("; after 3 failures in a row it is let be")


def test_a_cache_that_is_locked_cannot_be_opened(cache: ResponseCache, folder: Path) -> None:
    with closing(sqlite3.connect(folder / FILE_NAME, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")

        with pytest.raises(ConfigError, match=r"locked by another process, for 0\.05 s"):
            ResponseCache(folder, patience=0.05)
        with pytest.raises(ConfigError, match="cannot be written: database is locked"):
            cache.prune(limit=0)
