"""``nel eval merge``: what is merged, where it goes, what is said."""

import json
from pathlib import Path

import pytest

from pytest_nel.cli.main import main
from pytest_nel.records.rundir import RunFacts
from tests.unit.records.parts_of_runs import FINGERPRINT, Whole, record


def merge(*words: str | Path) -> int:
    return main(["eval", "merge", *map(str, words)])


def shards(folder: Path, count: int, *, missing: tuple[int, ...] = (), size: int = 30) -> Path:
    for index in range(count):
        if index not in missing:
            Whole(size=size).part(folder / f"shard_{index}", shard=(index, count))
    return folder


def problems(run_dir: Path) -> list[int]:
    text = (run_dir / "b" / "results.jsonl").read_text()
    return [json.loads(line)["problem_idx"] for line in text.splitlines()]


def test_twelve_shards_of_a_folder_are_merged_in_the_order_of_their_numbers(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shards(tmp_path, 12)

    code = merge(tmp_path)

    said = capsys.readouterr().out
    assert code == 0
    assert problems(tmp_path / "merged") == Whole(size=30).plan()["problems"]
    assert said.splitlines()[0].split()[:3] == ["benchmark", "scored", "score"]
    assert said.endswith(f"results: {tmp_path / 'merged'} (12 of 12 shards)\n")


def test_directories_can_be_named_one_by_one(tmp_path: Path) -> None:
    shards(tmp_path, 3)
    parts = [tmp_path / f"shard_{index}" for index in (2, 0, 1)]

    code = merge(*parts, "-o", tmp_path / "deep" / "out")

    assert code == 0
    assert problems(tmp_path / "deep" / "out") == Whole(size=30).plan()["problems"]


def test_missing_shards_are_named_and_are_status_7(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shards(tmp_path, 12, missing=(3, 10))

    code = merge(tmp_path)

    said = capsys.readouterr().out
    assert code == 7
    assert "b: missing: shards 3, 10 of 12" in said
    assert "b: evaluated 25 of 30" in said
    assert len(problems(tmp_path / "merged")) == 25


def test_a_shard_that_was_begun_and_holds_nothing_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shards(tmp_path, 3, missing=(1,))
    (tmp_path / "shard_1").mkdir()
    facts = RunFacts("r", "t", ["b.py"], (1, 3))
    (tmp_path / "shard_1" / "run.json").write_text(facts.as_text())

    code = merge(tmp_path)

    said = capsys.readouterr().out
    assert code == 7
    assert f"{tmp_path / 'shard_1'}: was begun and holds nothing" in said
    assert "b: missing: shard 1 of 3" in said


def test_duplicates_are_counted_and_listed_when_asked(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    whole = Whole(size=3)
    one = whole.part(tmp_path / "x", {(0, 0): record((0, 0), 1.0), (1, 0): record((1, 0), None)})
    two = whole.part(tmp_path / "y", {at: record(at, 0.0) for at in whole.attempts()})

    codes = [merge(one, two, "-o", tmp_path / "m1"), merge(one, two, "-v", "-o", tmp_path / "m2")]

    said = capsys.readouterr().out
    assert codes == [0, 0]
    counted = "2 attempts are in more than one directory, 1 of them with different rewards"
    assert said.count(counted) == 2
    assert said.count("(-v lists them)") == 1
    assert said.count("  b[0-r0]: x (1) stands before y (0)\n") == 1
    assert said.count("  b[1-r0]: y (0) stands before x (no score)\n") == 1


def refused(capsys: pytest.CaptureFixture[str], *words: str | Path) -> str:
    code = merge(*words)
    captured = capsys.readouterr()
    assert (code, captured.out) == (4, "")
    assert captured.err.startswith("nel eval merge: ")
    return captured.err


def test_another_model_is_refused_by_name(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shards(tmp_path, 2, missing=(1,))
    facts = {**FINGERPRINT, "answering": {"model": "other", "sampling.temperature": 0}}
    Whole(size=30, facts=facts).part(tmp_path / "shard_1", shard=(1, 2))

    said = refused(capsys, tmp_path)

    assert 'b: model: "m" in shard_0; "other" in shard_1' in said
    assert not (tmp_path / "merged").exists()


def test_a_second_merge_into_the_same_place_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shards(tmp_path, 2)
    merge(tmp_path)
    capsys.readouterr()

    said = refused(capsys, tmp_path)

    assert f"{tmp_path / 'merged'} is not empty" in said


def test_what_was_merged_is_no_part_of_its_folder(tmp_path: Path) -> None:
    shards(tmp_path, 2)
    merge(tmp_path)

    code = merge(tmp_path, "-o", tmp_path / "again")

    assert code == 0
    assert problems(tmp_path / "again") == problems(tmp_path / "merged")


def test_of_several_directories_it_must_be_said_where_they_go(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shards(tmp_path, 2)

    said = refused(capsys, tmp_path / "shard_0", tmp_path / "shard_1")

    assert "-o OUT" in said


@pytest.mark.parametrize("name", ["nothing", "empty"])
def test_what_holds_no_run_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    (tmp_path / "empty").mkdir()

    said = refused(capsys, tmp_path / name, "-o", tmp_path / "out")

    assert str(tmp_path / name) in said
