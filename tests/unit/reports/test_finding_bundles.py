"""Bundles are found where they are, each gives a row, and none stands for another."""

import json
from pathlib import Path

import pytest

from pytest_nel.cli.main import main
from pytest_nel.core.errors import ConfigError
from pytest_nel.records.conclude import rebuild
from pytest_nel.reports.bundles import find, refuse_two
from tests.unit.records.parts_of_runs import Whole, record
from tests.unit.reports.made import reference, table


def finished(directory: Path, *, right: int = 6, shard: tuple[int, int] | None = None) -> Path:
    whole = Whole()
    attempts = whole.attempts(shard)
    records = {one: record(one, float(nth < right)) for nth, one in enumerate(attempts)}
    whole.part(directory, records, shard=shard)
    rebuild(directory)
    return directory


def scores(*paths: Path) -> list[tuple[str, str, float | None]]:
    return [(row.run, row.benchmark, row.headline.value) for row in table(*paths).rows]


def test_the_same_benchmark_of_two_runs_is_two_rows(tmp_path: Path) -> None:
    """The reference system keeps the last path only."""
    finished(tmp_path / "x", right=6)
    finished(tmp_path / "y", right=3)

    found = scores(tmp_path)

    assert found == [("x", "b", 1.0), ("y", "b", 0.5)]


def test_runs_of_the_same_name_are_told_apart(tmp_path: Path) -> None:
    runs = [finished(tmp_path / model / "run") for model in ("one", "two")]

    found = scores(*runs)

    assert [run for run, _, _ in found] == ["one/run", "two/run"]


def test_of_a_sharded_run_it_is_the_merged_one(tmp_path: Path) -> None:
    """The reference system shows its last shard."""
    for index, right in enumerate((3, 0)):
        finished(tmp_path / f"shard_{index}", right=right, shard=(index, 2))
    main(["eval", "merge", str(tmp_path)])

    found = scores(tmp_path)

    assert found == [("merged", "b", 0.5)]


def test_of_a_merged_run_of_the_reference_system_shards_are_left_out(tmp_path: Path) -> None:
    """Also where the benchmark's name sorts before shard_."""
    reference(tmp_path / "gsm8k", "gsm8k", [1, 0])
    reference(tmp_path / "shard_0" / "gsm8k", "gsm8k", [1])
    reference(tmp_path / "shard_1" / "gsm8k", "gsm8k", [0])

    made = table(tmp_path)

    assert [row.headline.value for row in made.rows] == [0.5]
    assert "shard_* left out" in made.notes[0]


def test_shards_alone_are_no_run(tmp_path: Path) -> None:
    finished(tmp_path / "shard_0", shard=(0, 2))

    with pytest.raises(ConfigError, match="1 shards of a run: join them first"):
        find([tmp_path])


def test_a_shard_that_is_named_says_that_it_is_one(tmp_path: Path) -> None:
    run = finished(tmp_path / "shard_0", shard=(0, 2))

    (row,) = table(run).rows

    assert row.notes[0] == "partial: evaluated 3 of 6 (shard 0 of 2)"


def test_a_bundle_may_be_named_itself_and_twice(tmp_path: Path) -> None:
    run = finished(tmp_path / "run")
    (bundle,) = (run / "b").glob("eval-*.json")

    found = scores(bundle, bundle)

    assert found == [("run", "b", 1.0)]


def test_a_run_that_died_is_named(tmp_path: Path) -> None:
    finished(tmp_path / "x")
    Whole().part(tmp_path / "y")

    made = table(tmp_path)

    assert [row.run for row in made.rows] == ["x"]
    assert made.notes == [
        f"{tmp_path / 'y' / 'b'} has no bundle yet: `nel eval report --rebuild` makes it"
    ]


def test_a_bundle_older_than_its_records_says_so(tmp_path: Path) -> None:
    run = finished(tmp_path / "run")
    plan = run / "b" / "plan.json"
    plan.write_text(json.dumps(json.loads(plan.read_text()) | {"turn": 2}))

    (row,) = table(run).rows

    assert row.notes[-1].startswith("older than its records")


def test_bundles_that_an_earlier_run_left_are_rows_of_their_own(tmp_path: Path) -> None:
    reference(tmp_path / "b", "b", [0], stamp="20260101T000000Z")
    reference(tmp_path / "b", "b", [1], stamp="20260102T000000Z")

    old, new = table(tmp_path).rows

    assert (old.headline.value, new.headline.value) == (0.0, 1.0)
    assert old.run != new.run
    assert (old.results, new.results) == (None, (tmp_path / "b" / "results.jsonl"))


def test_results_that_several_benchmarks_share_are_nobodys(tmp_path: Path) -> None:
    reference(tmp_path, "one", [0])
    reference(tmp_path, "two", [1])

    made = table(tmp_path)

    assert [row.results for row in made.rows] == [None, None]
    assert "shared by several benchmarks" in made.rows[0].notes[-1]


@pytest.mark.parametrize("content", ["{", "[]", "{}", '{"benchmark": {"name": 3}}', "\xff\x00"])
def test_what_is_no_bundle_is_refused(tmp_path: Path, content: str) -> None:
    path = tmp_path / "eval-1-b.json"
    path.write_text(content, encoding="latin-1")

    with pytest.raises(ConfigError, match=r"eval-1-b\.json: this bundle cannot be read"):
        find([tmp_path])


def test_where_there_is_nothing_it_says_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="has no bundle"):
        find([tmp_path])
    with pytest.raises(ConfigError, match="no such file or directory"):
        find([tmp_path / "nothing"])


def test_a_baseline_has_each_benchmark_once(tmp_path: Path) -> None:
    finished(tmp_path / "x")
    finished(tmp_path / "y")
    found, _ = find([tmp_path])

    with pytest.raises(ConfigError, match="the baseline has 'b' twice"):
        refuse_two(found)
