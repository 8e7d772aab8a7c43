"""The index of journals: whose word counts, and that no changed byte goes unnoticed."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_nel.core.types import AttemptKey, Outcome
from pytest_nel.records.index import index_journals, short
from pytest_nel.records.journal import JournalWriter, journal_name
from pytest_nel.records.record import Scored, Solved

KEY = "0123456789abcdef0123456789abcdef"
OTHER = "f" * 32


def solved(idx: int, response: str, key: str = KEY, **facts: Any) -> Solved:
    return Solved(AttemptKey("b", idx, 0), f"p{idx}", key, response=response, **facts)


def scored(reward: float | None, key: str = KEY) -> Scored:
    outcome: Outcome = "unscored" if reward is None else "correct" if reward == 1 else "wrong"
    return Scored(outcome, reward, score_key=key)


def write(folder: Path, name: str, *facts: Solved | tuple[int, Scored]) -> Path:
    writer = JournalWriter(folder / name, {})
    for fact in facts:
        if isinstance(fact, Solved):
            writer.started(fact.key)
            writer.solved(fact)
        else:
            writer.scored(AttemptKey("b", fact[0], 0), fact[1])
    writer.close()
    return writer.path


def responses(folder: Path) -> list[tuple[str, float | None]]:
    rows = index_journals(folder).rows((idx, 0) for idx in range(10))
    return [(one["response"], two.get("reward")) for one, two in rows]


def test_an_attempt_is_known_by_its_keys(tmp_path: Path) -> None:
    write(tmp_path, "main.jsonl", solved(0, "a"), (0, scored(1.0, OTHER)), solved(1, "b", OTHER))

    index = index_journals(tmp_path)
    first, second = index.known(0, 0), index.known(1, 0)

    assert first is not None
    assert first.answer is not None
    assert (first.answer.key, first.answer.whole) == (short(KEY), True)
    assert (first.score_key, first.outcome, first.again) == (short(OTHER), "correct", None)
    assert second is not None
    assert second.answer is not None
    assert (second.answer.key, second.judgement, second.outcome) == (short(OTHER), None, None)
    assert index.known(2, 0) is None


@pytest.mark.parametrize(
    ("facts", "whole"),
    [
        ({}, True),
        ({"failure": "infra_error", "error": "x"}, False),
        ({"failure": "model_error", "graceful": True}, True),
    ],
)
def test_only_an_answer_can_be_judged_again(
    tmp_path: Path, facts: dict[str, Any], *, whole: bool
) -> None:
    write(tmp_path, "main.jsonl", solved(0, "a", **facts))

    known = index_journals(tmp_path).known(0, 0)

    assert known is not None
    assert known.answer is not None
    assert known.answer.whole is whole


def test_an_answer_that_was_cut_cannot_be_judged_again(tmp_path: Path) -> None:
    write(tmp_path, "main.jsonl", solved(0, "x" * 1_000_001))

    known = index_journals(tmp_path).known(0, 0)

    assert known is not None
    assert known.answer is not None
    assert not known.answer.whole


def test_a_later_turn_counts_after_an_earlier_one_whoever_wrote_it(tmp_path: Path) -> None:
    write(tmp_path, journal_name("main", 1), solved(0, "first"), (0, scored(None)))
    write(tmp_path, journal_name("gw0", 2), solved(0, "second"), (0, scored(0.0)))
    write(tmp_path, journal_name("gw10", 10), solved(0, "last"), (0, scored(1.0)))
    write(tmp_path, journal_name("gw2", 9), solved(0, "before"), (0, scored(0.5)))

    index = index_journals(tmp_path)

    assert [path.name for path in index.paths] == [
        "main.jsonl",
        "gw0.2.jsonl",
        "gw2.9.jsonl",
        "gw10.10.jsonl",
    ]
    assert responses(tmp_path) == [("last", 1.0)]


def test_a_run_may_have_more_files_than_a_process_can_open(tmp_path: Path) -> None:
    for turn in range(1, 80):
        write(tmp_path, journal_name("main", turn), solved(turn % 9, str(turn)), judged(turn % 9))

    found = dict(enumerate(responses(tmp_path)))

    assert found == {idx: (str(max(range(idx, 80, 9))), 1.0) for idx in range(9)}


def test_what_is_dropped_may_be_judged_again_in_the_same_turn(tmp_path: Path) -> None:
    write(tmp_path, "gw1.jsonl", solved(0, "a"), (0, scored(0.0)), solved(1, "b"), (1, scored(0.0)))
    writer = JournalWriter(tmp_path / journal_name("0-dropped", 2), {})
    for idx in (0, 1):
        writer.dropped(AttemptKey("b", idx, 0))
    writer.close()
    dropped = responses(tmp_path)
    write(tmp_path, journal_name("gw0", 2), (0, scored(1.0)))

    assert dropped == []
    assert responses(tmp_path) == [("a", 1.0)]


def test_a_second_try_without_a_score_takes_nothing_from_the_first(tmp_path: Path) -> None:
    failed = solved(0, "", failure="infra_error", because="wrong")
    write(tmp_path, "main.jsonl", solved(0, "a"), (0, scored(0.0)), failed, (0, scored(None)))

    known = index_journals(tmp_path).known(0, 0)

    assert responses(tmp_path) == [("a", 0.0)]
    assert known is not None
    assert known.again is None


def test_an_answer_says_for_which_outcome_it_was_asked_again(tmp_path: Path) -> None:
    again = solved(0, "b", because="wrong")
    write(tmp_path, "main.jsonl", solved(0, "a"), (0, scored(0.0)), again, (0, scored(1.0)))

    known = index_journals(tmp_path).known(0, 0)

    assert known is not None
    assert known.answer is not None
    assert known.answer.because == "wrong"


def test_a_stored_answer_may_be_judged_in_a_later_turn(tmp_path: Path) -> None:
    write(tmp_path, "gw1.jsonl", solved(0, "a"))
    write(tmp_path, "main.2.jsonl", (0, scored(0.0)))
    write(tmp_path, "main.3.jsonl", (0, scored(1.0)))

    assert responses(tmp_path) == [("a", 1.0)]


def test_an_answer_that_nobody_judged_is_kept_beside_the_judged_one(tmp_path: Path) -> None:
    write(tmp_path, "main.jsonl", solved(0, "judged"), (0, scored(0.0)))
    write(tmp_path, "main.2.jsonl", solved(0, "later", OTHER))

    known = index_journals(tmp_path).known(0, 0)

    assert responses(tmp_path) == [("judged", 0.0)]
    assert known is not None
    assert known.again is not None
    assert known.again.key == short(OTHER)


def test_what_was_begun_and_not_finished_is_named_with_its_writer(tmp_path: Path) -> None:
    path = write(tmp_path, "gw0.jsonl", solved(0, "a"), (0, scored(1.0)), solved(1, "b"))
    writer = JournalWriter(tmp_path / "gw1.2.jsonl", {})
    writer.started(AttemptKey("b", 2, 0), alone=True)
    writer.close()

    found = sorted(index_journals(tmp_path).unfinished())

    assert found == [((1, 0), path, False), ((2, 0), writer.path, True)]


@settings(max_examples=300)
@given(at=st.integers(0, 10_000), bit=st.integers(0, 7))
def test_a_changed_bit_is_never_read_as_a_record(
    tmp_path_factory: pytest.TempPathFactory, at: int, bit: int
) -> None:
    folder = tmp_path_factory.mktemp("journal")
    path = write(folder, "main.jsonl", *(f for i in range(4) for f in (solved(i, "a"), judged(i))))
    data = bytearray(path.read_bytes())
    data[at % len(data)] ^= 1 << bit
    path.write_bytes(data)

    index = index_journals(folder)
    rows = list(index.rows((idx, 0) for idx in range(4)))

    first_line = data.index(b"\n") + 1
    assert index.problems or at % len(data) < first_line  # it says who wrote, and no more
    assert all(str(path) in problem and "line " in problem for problem in index.problems)
    assert all((one["response"], two["reward"]) == ("a", 1.0) for one, two in rows)
    assert len(rows) >= 2  # a line break that is gone takes two lines with it


def judged(idx: int) -> tuple[int, Scored]:
    return idx, scored(1.0)


def test_a_line_without_a_checksum_is_read_as_well(tmp_path: Path) -> None:
    path = write(tmp_path, "main.jsonl", solved(0, "a"), (0, scored(1.0)))
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    for row in rows:
        del row["crc"]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))

    known = index_journals(tmp_path).known(0, 0)

    assert responses(tmp_path) == [("a", 1.0)]
    assert known is not None
    assert known.answer is not None
    assert (known.answer.key, known.score_key) == (short(KEY), short(KEY))


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["solved", "scored"]), st.integers(0, 3), st.sampled_from([0.0, 1.0])
        ),
        max_size=30,
    ),
    st.integers(1, 4),
)
def test_however_records_are_spread_over_turns_the_last_judgement_counts(
    tmp_path_factory: pytest.TempPathFactory, events: list[tuple[str, int, float]], turns: int
) -> None:
    folder = tmp_path_factory.mktemp("journal")
    answers: dict[int, str] = {}
    expected: dict[int, tuple[str, float]] = {}
    for turn in range(1, turns + 1):
        share = events[(turn - 1) * len(events) // turns : turn * len(events) // turns]
        facts: list[Solved | tuple[int, Scored]] = []
        for number, (kind, idx, reward) in enumerate(share):
            if kind == "solved":
                answers[idx] = f"{turn}-{number}"
                facts.append(solved(idx, answers[idx]))
            elif idx in answers:
                expected[idx] = (answers[idx], reward)
                facts.append((idx, scored(reward)))
        write(folder, journal_name("main", turn), *facts)

    assert responses(folder) == [expected[idx] for idx in sorted(expected)]


def test_a_judgement_whose_answer_is_damaged_is_not_given_to_another_answer(
    tmp_path: Path,
) -> None:
    path = write(tmp_path, "main.jsonl", solved(0, "right"), (0, scored(1.0)))
    path.write_bytes(path.read_bytes().replace(b"right", b"wrong"))
    write(tmp_path, "main.2.jsonl", solved(0, "another"))  # and then it was killed

    index = index_journals(tmp_path)
    known = index.known(0, 0)

    assert len(index.problems) == 1
    assert responses(tmp_path) == []
    assert known is not None
    assert (known.judgement, known.outcome) == (None, None)
    assert known.answer is not None


def test_an_attempt_that_was_judged_and_begun_again_is_unfinished(tmp_path: Path) -> None:
    write(tmp_path, "gw0.jsonl", solved(0, "a"), (0, scored(1.0)), solved(1, "b"), (1, scored(0.0)))
    writer = JournalWriter(tmp_path / "gw0.2.jsonl", {})
    writer.started(AttemptKey("b", 1, 0))
    writer.close()

    found = list(index_journals(tmp_path).unfinished())

    assert found == [((1, 0), writer.path, False)]
