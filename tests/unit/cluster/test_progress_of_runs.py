"""How far a run has come is counted from its journals, whole or not."""

import json
from pathlib import Path

from pytest_nel.cluster.progress import BenchmarkProgress, ended, progress
from tests.unit.records.parts_of_runs import Whole, record


def test_attempts_are_counted_and_only_scored_ones_are_in_the_score(tmp_path: Path) -> None:
    whole = Whole(size=6, repeats=2)
    rewards = [1.0, 0.0, 0.5, None, 1.0]
    made = {
        one: record(one, reward) for one, reward in zip(whole.attempts(), rewards, strict=False)
    }
    run = whole.part(tmp_path / "run", made)

    assert progress(run) == [BenchmarkProgress("b", 12, 4, 1, 0.625)]


def test_before_the_first_score_there_is_none(tmp_path: Path) -> None:
    run = Whole(size=6).part(tmp_path / "run", {})

    assert progress(run) == [BenchmarkProgress("b", 6, 0, 0, None)]


def test_a_line_that_is_being_written_does_not_count_yet(tmp_path: Path) -> None:
    run = Whole(size=6).part(tmp_path / "run")
    (journal,) = (run / "b" / "journal").glob("*.jsonl")
    journal.write_bytes(journal.read_bytes()[:-5])

    assert progress(run) == [BenchmarkProgress("b", 6, 5, 0, 1.0)]


def test_a_shard_expects_its_own_part(tmp_path: Path) -> None:
    parts = [
        Whole(size=10).part(tmp_path / f"shard_{index}", shard=(index, 3)) for index in range(3)
    ]

    assert sum(one.expected for part in parts for one in progress(part)) == 10


def test_a_directory_without_a_plan_has_no_progress(tmp_path: Path) -> None:
    assert progress(tmp_path) == []


def test_what_was_decided_is_read_and_what_is_damaged_is_nothing(tmp_path: Path) -> None:
    checks = [
        {"id": "a::health", "status": "passed", "reason": "fine"},
        {"id": "a::threshold", "status": "open", "reason": "too few"},
    ]
    content = {"exit_code": 6, "checks": checks, "gate": {"verdict": "INCONCLUSIVE"}}
    (tmp_path / "checks.json").write_text(json.dumps(content))

    assert ended(tmp_path) == (6, "INCONCLUSIVE", ["a::threshold: too few"])
    (tmp_path / "checks.json").write_text('{"exit_code": ')
    assert ended(tmp_path) is None
    assert ended(tmp_path / "nowhere") is None
