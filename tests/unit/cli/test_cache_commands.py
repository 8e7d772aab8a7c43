"""``nel cache``: what is there, what goes, and one line where there is nothing."""

import json
import os
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from pytest_nel.records.cache import ResponseCache
from tests.support.command import nel

FILE_NAME = "answers.sqlite3"
DAY = 86_400


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A cache with ten answers, one a day, the last one in 1970's second month."""
    folder = tmp_path / "my cache — ü"
    days = iter(range(31, 41))
    with closing(ResponseCache(folder)) as cache:
        for number in range(10):
            cache.put(f"k{number}", {"response": os.urandom(500).hex()})
    with closing(sqlite3.connect(folder / FILE_NAME)) as db, db:
        db.create_function("next_day", 0, lambda: next(days) * DAY)
        db.execute("UPDATE answers SET used = next_day()")
    return folder


def test_info_shows_what_is_there(folder: Path) -> None:
    done = nel("cache", "info", folder)

    assert (done.returncode, done.stderr) == (0, "")
    path, answers, size, used = done.stdout.splitlines()
    assert path == f"path     {folder / FILE_NAME}"
    assert answers == "answers  10"
    assert size.startswith("size     ")
    assert size.endswith(" on disk)")
    assert used == "used     1970-02-01T00:00:00Z to 1970-02-10T00:00:00Z"


def test_info_as_json_has_the_same_in_numbers(folder: Path) -> None:
    done = nel("cache", "info", folder, "--json")

    facts = json.loads(done.stdout)
    assert facts.pop("bytes") < facts.pop("disk_bytes")
    assert facts == {
        "path": str(folder / FILE_NAME),
        "entries": 10,
        "oldest_use": "1970-02-01T00:00:00Z",
        "newest_use": "1970-02-10T00:00:00Z",
    }


def test_info_changes_nothing(folder: Path) -> None:
    before = (folder / FILE_NAME).read_bytes()

    nel("cache", "info", folder)

    assert (folder / FILE_NAME).read_bytes() == before


def test_an_empty_cache_was_never_used(tmp_path: Path) -> None:
    ResponseCache(tmp_path).close()

    done = nel("cache", "info", tmp_path)

    assert "answers  0\n" in done.stdout
    assert "used     never\n" in done.stdout


def test_prune_leaves_what_fits_and_says_what_went(folder: Path) -> None:
    with closing(ResponseCache(folder, limit=None)) as cache:
        size = cache.info().bytes // 10

    done = nel("cache", "prune", folder, "--max-size", 4 * size + 50)

    assert done.stdout.startswith("deleted 6 answers (")
    assert ", 4 are left (" in done.stdout
    with closing(ResponseCache(folder, limit=None)) as cache:
        assert [n for n in range(10) if cache.get(f"k{n}")] == [6, 7, 8, 9]


def test_prune_takes_what_was_not_used(folder: Path) -> None:
    with closing(ResponseCache(folder)) as cache:
        cache.get("k3")

    done = nel("cache", "prune", folder, "--unused-for", "30d")

    assert done.stdout.startswith("deleted 9 answers (")
    with closing(ResponseCache(folder, limit=None)) as cache:
        assert cache.get("k3") is not None


@pytest.mark.parametrize("command", [["info"], ["prune", "--max-size", "1GB"]])
@pytest.mark.parametrize("there", ["nothing", "a folder"])
def test_where_there_is_no_cache_none_is_made(
    tmp_path: Path, command: list[str], there: str
) -> None:
    folder = tmp_path / "none"
    if there == "a folder":
        folder.mkdir()

    done = nel("cache", command[0], folder, *command[1:])

    assert (done.returncode, done.stdout) == (4, "")
    assert done.stderr == (
        f"nel cache {command[0]}: no answer cache in {folder}: there is no {FILE_NAME}\n"
    )
    assert folder.exists() == (there == "a folder")
    assert list(tmp_path.rglob(FILE_NAME)) == []


def test_prune_without_a_limit_is_refused(folder: Path) -> None:
    done = nel("cache", "prune", folder)

    assert done.returncode == 4
    assert done.stderr == (
        "nel cache prune: say what to delete: --max-size 2GB, --unused-for 30d, or both\n"
    )


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--max-size", "2G"], "--max-size: expected a size such as 2GB"),
        (["--unused-for", "30"], "--unused-for: expected a duration such as 30d"),
    ],
)
def test_a_limit_that_cannot_be_read_is_one_line(folder: Path, words: list[str], said: str) -> None:
    done = nel("cache", "prune", folder, *words)

    assert done.returncode == 4
    assert said in done.stderr
    assert done.stderr.count("\n") == 1


def test_a_file_that_is_no_cache_is_one_line(tmp_path: Path) -> None:
    (tmp_path / FILE_NAME).write_bytes(b"garbage " * 1000)

    done = nel("cache", "info", tmp_path)

    assert done.returncode == 4
    assert done.stderr.startswith("nel cache info: no readable answer cache: ")
    assert done.stderr.count("\n") == 1
