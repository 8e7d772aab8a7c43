"""Partial runs, joined: what several have made is there once, and the better one stands."""

import json
from pathlib import Path
from typing import Any

import pytest

from pytest_nel.core.errors import ConfigError
from pytest_nel.core.types import AttemptKey
from pytest_nel.records.index import index_journals
from pytest_nel.records.merge import merge
from pytest_nel.records.record import Scored, Solved
from pytest_nel.records.rundir import RunDirectory, RunFacts, next_turn, read_run
from tests.unit.records.parts_of_runs import Whole, journal, keep, record

ONE = (0, 0)


def rows(run_dir: Path) -> list[dict[str, Any]]:
    text = (run_dir / "b" / "results.jsonl").read_text()
    return [json.loads(line) for line in text.splitlines()]


def part(folder: Path, *made: tuple[Solved, Scored | None], whole: Whole | None = None) -> Path:
    """A run directory with these attempts."""
    (whole or Whole(size=2)).part(folder, {})
    writer = journal(folder / "b", "gw0")
    for solved, scored in made:
        keep(writer, solved, scored)
    writer.close()
    return folder


def test_runs_of_chosen_problems_make_the_whole(tmp_path: Path) -> None:
    whole = Whole()
    attempts = whole.attempts()
    parts = [whole.part(tmp_path / str(start), only=attempts[start::3]) for start in range(3)]

    made = merge(parts, tmp_path / "merged")

    assert [row["problem_idx"] for row in rows(tmp_path / "merged")] == whole.plan()["problems"]
    assert (made.joint.count, made.duplicates, made.concluded.code) == (None, [], 0)


def test_the_largest_number_of_problems_is_the_plan(tmp_path: Path) -> None:
    few, many = Whole(max_problems=2), Whole(max_problems=5)
    parts = [few.part(tmp_path / "few"), many.part(tmp_path / "many", only=many.attempts()[2:])]

    made = merge(parts, tmp_path / "merged")

    plan = json.loads((tmp_path / "merged" / "b" / "plan.json").read_text())
    assert plan == many.plan()
    assert made.concluded.derived[0].missing == 0


SCORED, WRONG, UNSCORED = record(ONE, 1.0, "x"), record(ONE, 0.0, "y"), record(ONE, None)
UNJUDGED = (record(ONE, 1.0, "z")[0], None)


@pytest.mark.parametrize(
    ("first", "second", "stands"),
    [
        (SCORED, WRONG, 1.0),
        (WRONG, SCORED, 0.0),
        (SCORED, UNSCORED, 1.0),
        (UNSCORED, SCORED, 1.0),
        (SCORED, UNJUDGED, 1.0),
        (UNJUDGED, SCORED, 1.0),
        (UNSCORED, UNSCORED, None),
    ],
)
def test_a_score_stands_before_none_and_the_first_before_the_second(
    tmp_path: Path,
    first: tuple[Solved, Scored],
    second: tuple[Solved, Scored],
    stands: float | None,
) -> None:
    parts = [part(tmp_path / "x", first), part(tmp_path / "y", second)]

    made = merge(parts, tmp_path / "merged")

    assert [row["reward"] for row in rows(tmp_path / "merged")] == [stands]
    assert len(made.duplicates) == 1
    assert made.duplicates[0].differs == (WRONG in (first, second))
    known = index_journals(tmp_path / "merged" / "b" / "journal").known(*ONE)
    assert known is not None
    assert known.again is None


def test_who_stands_before_whom_is_told(tmp_path: Path) -> None:
    parts = [part(tmp_path / "x", UNSCORED), part(tmp_path / "y", SCORED)]

    made = merge(parts, tmp_path / "merged")

    (duplicate,) = made.duplicates
    assert list(duplicate.rewards.items()) == [("y", 1.0), ("x", None)]


def test_an_answer_that_can_be_judged_stands_before_a_failure(tmp_path: Path) -> None:
    parts = [part(tmp_path / "x", UNSCORED), part(tmp_path / "y", UNJUDGED)]

    merge(parts, tmp_path / "merged")

    known = index_journals(tmp_path / "merged" / "b" / "journal").known(*ONE)
    assert known is not None
    assert known.answer is not None
    assert known.answer.whole
    assert known.judgement is None


def test_a_judgement_is_never_joined_to_the_answer_of_another_part(tmp_path: Path) -> None:
    judged = part(tmp_path / "x", SCORED)
    path = judged / "b" / "journal" / "gw0.jsonl"
    text = path.read_bytes()
    path.write_bytes(
        text.replace(b'"response":"x"', b'"response":"?"')
    )  # its checksum is wrong now

    merge([judged, part(tmp_path / "y", UNJUDGED)], tmp_path / "merged")

    assert rows(tmp_path / "merged") == []


def test_an_attempt_that_was_only_begun_is_no_duplicate(tmp_path: Path) -> None:
    begun = part(tmp_path / "x")
    writer = journal(begun / "b", "gw1")
    writer.started(AttemptKey("b", *ONE))
    writer.close()

    made = merge([begun, part(tmp_path / "y", SCORED)], tmp_path / "merged")

    assert made.duplicates == []
    assert list(index_journals(tmp_path / "merged" / "b" / "journal").unfinished()) == []


def test_later_turns_of_a_part_count_after_its_earlier_ones(tmp_path: Path) -> None:
    resumed = part(tmp_path / "x", WRONG)
    later = journal(resumed / "b", "gw0", turn=2)
    keep(later, *SCORED)
    later.close()

    merge([resumed, part(tmp_path / "y")], tmp_path / "merged")

    assert [row["reward"] for row in rows(tmp_path / "merged")] == [1.0]
    assert next_turn(tmp_path / "merged") == 3


def test_torn_and_damaged_lines_are_kept_and_named(tmp_path: Path) -> None:
    torn = part(tmp_path / "x", SCORED, record((1, 0), 1.0))
    path = torn / "b" / "journal" / "gw0.jsonl"
    lines = path.read_bytes().splitlines(keepends=True)
    begun = next(at for at, line in enumerate(lines) if b'"started"' in line)
    lines[begun] = lines[begun].replace(b'"t":', b'"t": ')
    path.write_bytes(b"".join(lines)[:-5])

    made = merge([torn, part(tmp_path / "y", WRONG)], tmp_path / "merged")

    copy = tmp_path / "merged" / "b" / "journal" / "0-gw0.jsonl"
    assert made.concluded.derived[0].problems == [
        f"{copy} line {begun + 1}: damaged (its checksum does not fit)",
        f"{copy} line {len(lines)}: torn last line (its writer died while writing it)",
    ]
    assert made.concluded.derived[0].missing == 1


def test_lines_of_dropped_attempts_go_and_damaged_ones_stay(tmp_path: Path) -> None:
    loser = part(tmp_path / "y", WRONG, record((1, 0), 1.0))
    path = loser / "b" / "journal" / "gw0.jsonl"
    path.write_bytes(path.read_bytes() + b"garbage\n")

    merge([part(tmp_path / "x", SCORED), loser], tmp_path / "merged")

    copy = (tmp_path / "merged" / "b" / "journal" / "1-gw0.jsonl").read_bytes().splitlines()
    kinds = [line[:40] for line in copy]
    assert [b'"problem_idx":0' in line for line in kinds] == [False] * len(kinds)
    assert len(kinds) == 6  # two of meta, three of the other attempt
    assert kinds[-1] == b"garbage"


def test_benchmarks_that_only_some_parts_have_are_all_there(tmp_path: Path) -> None:
    one = Whole(name="b").part(tmp_path / "x")
    two = Whole(name="c").part(tmp_path / "y")

    made = merge([one, two], tmp_path / "merged")

    assert list(made.joint.plans) == ["b", "c"]
    assert made.concluded.code == 0


def test_a_part_that_a_run_writes_to_is_told(tmp_path: Path) -> None:
    live = part(tmp_path / "x", SCORED)
    folder = RunDirectory(live)
    folder.take(RunFacts("r", "t", ()))

    made = merge([live, part(tmp_path / "y", record((1, 0), 1.0))], tmp_path / "merged")

    folder.release()
    assert made.written == ["x"]


def test_the_merged_run_says_what_it_measures(tmp_path: Path) -> None:
    parts = [part(tmp_path / "x", SCORED), part(tmp_path / "y", record((1, 0), 1.0))]
    (parts[1] / "suite.nel.yaml").write_text("services: {}\n")

    merge(parts, tmp_path / "merged")

    facts = read_run(tmp_path / "merged")
    assert facts is not None
    assert (facts.targets, facts.shard) == (["b.py"], None)
    assert facts.timestamp == "2026-01-02T03:04:05Z"
    assert (tmp_path / "merged" / "suite.nel.yaml").read_text() == "services: {}\n"


def test_a_directory_is_not_named_twice(tmp_path: Path) -> None:
    one = part(tmp_path / "x", SCORED)

    with pytest.raises(ConfigError, match="is named twice"):
        merge([one, tmp_path / "." / "x"], tmp_path / "merged")
