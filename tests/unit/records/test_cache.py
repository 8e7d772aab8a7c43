"""The answer cache: what was kept comes back, the first stays, nothing that fails ends a run."""

import itertools
import json
import os
import sqlite3
import zlib
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pytest_nel.core.errors import ConfigError
from pytest_nel.core.text import storable
from pytest_nel.records.cache import ResponseCache
from pytest_nel.records.record import dumps

FILE_NAME = "answers.sqlite3"
NUMBERS = itertools.count()
TEXT = st.text(st.characters(exclude_categories=[]), max_size=40)  # lone surrogates, too
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=8,
)


class Clock:
    """Stands still until it is set."""

    def __init__(self) -> None:
        self.now = 1_000_000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A directory that is not there yet, of an awkward name."""
    return tmp_path / "answers of José — 答え?mode=ro%20#1"


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def cache(folder: Path, clock: Clock) -> Iterator[ResponseCache]:
    with closing(ResponseCache(folder, limit=100_000, clock=clock, patience=0.05)) as cache:
        yield cache


def big(seed: int, size: int = 10_000) -> dict[str, str]:
    """An answer that does not get smaller by packing: of random letters."""
    return {"response": os.urandom(size // 2).hex() + str(seed)}


def kept(cache: ResponseCache, count: int) -> list[int]:
    return [number for number in range(count) if cache.get(f"k{number}") is not None]


def edit(folder: Path, statement: str, *values: object) -> None:
    """Change the database behind the cache's back."""
    with closing(sqlite3.connect(folder / FILE_NAME)) as db, db:
        db.execute(statement, values)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(answer=st.dictionaries(TEXT, JSON, max_size=4))
def test_what_was_put_comes_back_as_the_journal_would_have_it(
    cache: ResponseCache, answer: dict[str, Any]
) -> None:
    key = f"k{next(NUMBERS)}"  # for each example its own, since the first answer stays

    cache.put(key, answer)

    assert cache.get(key) == json.loads(storable(dumps(answer)))
    assert cache.trouble is None


def test_an_unknown_key_is_a_miss(cache: ResponseCache) -> None:
    assert cache.get("sha256:0") is None


def test_the_first_answer_stays(cache: ResponseCache) -> None:
    cache.put("k", {"response": "first"})

    cache.put("k", {"response": "second"})

    assert cache.get("k") == {"response": "first"}
    assert cache.info().entries == 1


def test_answers_outlive_the_process_that_paid_for_them(folder: Path) -> None:
    with closing(ResponseCache(folder)) as first:
        first.put("k", {"response": "paid"})

    with closing(ResponseCache(folder)) as second:
        assert second.get("k") == {"response": "paid"}


def test_it_may_be_used_from_another_thread(cache: ResponseCache) -> None:
    thread = Thread(target=cache.put, args=("k", {"response": "x"}))

    thread.start()
    thread.join()

    assert cache.get("k") == {"response": "x"}


def test_an_answer_nested_too_deeply_is_cut_where_the_journal_cuts_it(
    cache: ResponseCache,
) -> None:
    answer: dict[str, Any] = {"leaf": float("nan")}
    for _ in range(60):
        answer = {"in": answer}

    cache.put("k", answer)

    assert cache.get("k") == json.loads(dumps(answer))


def test_a_closed_cache_misses_and_may_be_closed_again(cache: ResponseCache) -> None:
    cache.put("k", {"response": "x"})

    cache.close()
    cache.close()
    cache.put("l", {})

    assert cache.get("k") is None
    assert cache.trouble is None


def test_nothing_is_left_beside_the_database_when_it_is_closed(folder: Path) -> None:
    cache = ResponseCache(folder)
    cache.put("k", {})

    cache.close()

    assert [path.name for path in folder.iterdir()] == [FILE_NAME]


# The limit


def test_those_used_longest_ago_go_first(cache: ResponseCache, clock: Clock) -> None:
    for number in range(5):
        clock.now += 100
        cache.put(f"k{number}", {"n": number})
    clock.now += 100
    cache.get("k0")
    size = cache.info().bytes // 5

    cache.prune(limit=2 * size + 10)

    assert kept(cache, 5) == [0, 4]


def test_the_limit_is_held_while_answers_come(cache: ResponseCache, clock: Clock) -> None:
    for number in range(60):
        clock.now += 100
        cache.put(f"k{number}", big(number, 4000))

        assert cache.info().bytes <= 102_000
    left = kept(cache, 60)
    assert left == list(range(left[0], 60))
    assert len(left) * 4000 > 60_000


def test_the_limit_is_held_at_the_end(folder: Path, clock: Clock) -> None:
    with closing(ResponseCache(folder, clock=clock)) as unlimited:
        for number in range(30):
            unlimited.put(f"k{number}", big(number))

    ResponseCache(folder, limit=50_000, clock=clock).close()

    with closing(ResponseCache(folder, limit=None)) as cache:
        assert 0 < cache.info().bytes <= 50_000


def test_what_is_in_use_goes_only_as_far_as_it_must(folder: Path, clock: Clock) -> None:
    with closing(ResponseCache(folder, limit=None, clock=clock)) as cache:
        for number in range(20):
            cache.put(f"k{number}", big(number))
        size = cache.info().bytes // 20

    ResponseCache(folder, limit=19 * size + size // 2, clock=clock).close()

    with closing(ResponseCache(folder, limit=None)) as cache:
        assert cache.info().entries == 19


def test_what_is_not_in_use_makes_room_for_more(folder: Path, clock: Clock) -> None:
    with closing(ResponseCache(folder, limit=None, clock=clock)) as cache:
        for number in range(20):
            cache.put(f"k{number}", big(number))
        size = cache.info().bytes // 20
    clock.now += 3600

    ResponseCache(folder, limit=19 * size + size // 2, clock=clock).close()

    with closing(ResponseCache(folder, limit=None)) as cache:
        assert cache.info().entries == 17


def test_an_answer_larger_than_the_limit_is_not_kept(cache: ResponseCache) -> None:
    cache.put("small", {"response": "x"})

    cache.put("large", big(0, 200_000))

    assert cache.get("large") is None
    assert cache.get("small") == {"response": "x"}


def test_pruning_by_age_takes_what_was_not_used(cache: ResponseCache, clock: Clock) -> None:
    cache.put("k0", {})
    cache.put("k1", {})
    clock.now += 3600
    cache.get("k1")
    cache.put("k2", {})

    pruned = cache.prune(unused_for=1800)

    assert pruned.entries == 1
    assert kept(cache, 3) == [1, 2]


def test_pruning_gives_the_space_back_to_the_disk(folder: Path, clock: Clock) -> None:
    with closing(ResponseCache(folder, clock=clock)) as cache:
        for number in range(700):  # more than one chunk
            cache.put(f"k{number}", big(number, 8000))
        before = cache.info()
        pruned = cache.prune(limit=before.bytes // 10)
        after = cache.info()

    assert pruned == (before.entries - after.entries, before.bytes - after.bytes)
    assert after.entries in (69, 70)
    assert (folder / FILE_NAME).stat().st_size < 1.3 * after.bytes


def test_the_facts_are_those_of_the_answers(cache: ResponseCache, clock: Clock) -> None:
    assert cache.info()._replace(disk_bytes=0) == (cache.path, 0, 0, 0, None, None)

    cache.put("k0", {})
    clock.now += 50
    cache.put("k1", {})
    info = cache.info()

    assert (info.entries, info.oldest_use, info.newest_use) == (2, 1_000_000.0, 1_000_050.0)
    assert 200 < info.bytes < info.disk_bytes


def test_uses_are_written_down_in_batches(cache: ResponseCache, folder: Path, clock: Clock) -> None:
    cache.put("k", {})

    def last_use() -> float:
        with closing(ResponseCache(folder, limit=None, create=False)) as other:
            newest = other.info().newest_use
        assert newest is not None
        return newest - 1_000_000.0

    clock.now += 5
    cache.get("k")
    assert last_use() == 0.0

    clock.now += 6
    cache.get("k")
    assert last_use() == 11.0


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
            cache.put(f"k{number}", big(number, 2000))
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


def test_a_cache_that_is_locked_cannot_be_opened(cache: ResponseCache, folder: Path) -> None:
    with closing(sqlite3.connect(folder / FILE_NAME, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")

        with pytest.raises(ConfigError, match=r"locked by another process, for 0\.05 s"):
            ResponseCache(folder, patience=0.05)
        with pytest.raises(ConfigError, match="cannot be written: database is locked"):
            cache.prune(limit=0)
