"""The answer cache: what was kept comes back, the first stays, nothing that fails ends a run."""

import itertools
import json
import os
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

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
