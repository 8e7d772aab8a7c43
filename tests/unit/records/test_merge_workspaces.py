"""Workspaces of merged runs: each answer keeps the one that it is judged by."""

import shutil
from hashlib import sha256
from pathlib import Path

import pytest

from pytest_nel.cli.main import main
from pytest_nel.core.types import AttemptKey, JsonObject
from pytest_nel.engine.artifacts import Artifacts
from pytest_nel.records.index import JournalIndex, index_journals
from pytest_nel.records.merge import merge
from pytest_nel.records.record import Scored, Solved
from tests.unit.records.parts_of_runs import Whole, journal, keep, record

ONE, TWO = (0, 0), (1, 0)


def worked(attempt: tuple[int, int], reward: float | None, left: bytes) -> tuple[Solved, Scored]:
    """A finished attempt whose answer is judged by what was left."""
    solved, scored = record(attempt, reward)
    said: JsonObject = {"file": "x", "bytes": len(left), "sha256": sha256(left).hexdigest()}
    solved.workspace = said
    return solved, scored


def part(folder: Path, *made: tuple[tuple[int, int], float | None, bytes]) -> Path:
    """A run directory with such attempts and their workspaces."""
    Whole(size=2).part(folder, {})
    writer = journal(folder / "b", "gw0")
    (folder / "b" / "artifacts").mkdir()
    for attempt, reward, left in made:
        keep(writer, *worked(attempt, reward, left))
        kept(folder, attempt).write_bytes(left)
    writer.close()
    return folder


def kept(run_dir: Path, attempt: tuple[int, int]) -> Path:
    return run_dir / "b" / "artifacts" / f"{attempt[0]}-r{attempt[1]}.tar"


def said_of(index: JournalIndex, attempt: tuple[int, int]) -> str:
    known = index.known(*attempt)
    assert known is not None
    assert known.answer is not None
    with index.reading() as read:
        workspace = read(known.answer.place)["workspace"]
    return str(workspace["sha256"])


@pytest.mark.asyncio
async def test_every_answer_of_a_merged_run_can_be_judged_again(tmp_path: Path) -> None:
    parts = [part(tmp_path / "x", (ONE, 1.0, b"one")), part(tmp_path / "y", (TWO, 0.0, b"two"))]

    made = merge(parts, tmp_path / "merged")

    index = index_journals(tmp_path / "merged" / "b" / "journal")
    artifacts = Artifacts(tmp_path / "merged" / "b" / "artifacts")
    for attempt in (ONE, TWO):
        mark = said_of(index, attempt)
        assert await artifacts.there(AttemptKey("b", *attempt), {"sha256": mark})
    assert made.lost == []
    assert kept(tmp_path / "x", ONE).read_bytes() == b"one"


def test_of_two_answers_the_one_that_stands_keeps_its_workspace(tmp_path: Path) -> None:
    parts = [part(tmp_path / "x", (ONE, None, b"lost")), part(tmp_path / "y", (ONE, 1.0, b"won"))]

    merge(parts, tmp_path / "merged")

    assert kept(tmp_path / "merged", ONE).read_bytes() == b"won"
    assert len([*(tmp_path / "merged" / "b" / "artifacts").iterdir()]) == 1


def test_equal_workspaces_take_room_once(tmp_path: Path) -> None:
    parts = [part(tmp_path / "x", (ONE, 1.0, b"same")), part(tmp_path / "y", (TWO, 1.0, b"same"))]

    merge(parts, tmp_path / "merged")

    places = [kept(tmp_path / "merged", attempt).stat().st_ino for attempt in (ONE, TWO)]
    assert places[0] == places[1] == kept(tmp_path / "x", ONE).stat().st_ino


def test_a_workspace_that_its_own_part_has_lost_is_taken_from_another(tmp_path: Path) -> None:
    parts = [part(tmp_path / "x", (ONE, 1.0, b"it")), part(tmp_path / "y", (ONE, 1.0, b"it"))]
    kept(parts[0], ONE).write_bytes(b"is")

    made = merge(parts, tmp_path / "merged")

    assert kept(tmp_path / "merged", ONE).read_bytes() == b"it"
    assert made.lost == []


def test_a_workspace_that_nobody_has_any_more_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    part(tmp_path / "x", (ONE, 1.0, b"gone"))
    part(tmp_path / "y", (TWO, 1.0, b"here"))
    kept(tmp_path / "x", ONE).write_bytes(b"changed")

    main(["eval", "merge", str(tmp_path / "x"), str(tmp_path / "y"), "-o", str(tmp_path / "m")])

    assert "the workspace of b[0-r0] is in none of the directories" in capsys.readouterr().out
    assert [path.name for path in (tmp_path / "m" / "b" / "artifacts").iterdir()] == ["1-r0.tar"]


def test_workspaces_that_are_all_gone_with_their_folders_are_named_too(tmp_path: Path) -> None:
    parts = [part(tmp_path / "x", (ONE, 1.0, b"one")), part(tmp_path / "y", (TWO, 0.0, b"two"))]
    for folder in parts:
        shutil.rmtree(folder / "b" / "artifacts")

    made = merge(parts, tmp_path / "merged")

    assert made.lost == [("b", *ONE), ("b", *TWO)]
    assert not (tmp_path / "merged" / "b" / "artifacts").exists()
