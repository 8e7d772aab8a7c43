"""The journal: what was written is read back, what was torn is named, nothing is lost."""

import json
import subprocess
import sys
import tracemalloc
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_nel.core.errors import JournalError
from pytest_nel.core.types import AttemptKey, Outcome
from pytest_nel.records.index import JournalIndex, index_journals
from pytest_nel.records.journal import JournalWriter
from pytest_nel.records.record import Scored, Solved, dumps
from tests.support.disks import small_disk

TEXT = st.text(st.characters(exclude_categories=[]), max_size=40)  # lone surrogates, too
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=8,
)


def solved(idx: int, repeat: int = 0, **facts: Any) -> Solved:
    return Solved(AttemptKey("b", idx, repeat), f"p{idx}", **facts)


def write(folder: Path, name: str, *facts: Solved | tuple[AttemptKey, Scored]) -> Path:
    writer = JournalWriter(folder / f"{name}.jsonl", {"writer": name})
    for fact in facts:
        if isinstance(fact, Solved):
            writer.started(fact.key)
            writer.solved(fact)
        else:
            writer.scored(*fact)
    writer.close()
    return writer.path


def judged(idx: int, reward: float | None = 1.0, repeat: int = 0) -> tuple[AttemptKey, Scored]:
    outcome: Outcome = "unscored" if reward is None else "correct" if reward == 1 else "wrong"
    return AttemptKey("b", idx, repeat), Scored(outcome, reward)


def rows(index: JournalIndex, problems: int = 10) -> list[tuple[int, str, float | None]]:
    order: Iterator[tuple[int, int]] = ((idx, rep) for idx in range(problems) for rep in range(3))
    return [
        (one["problem_idx"], one.get("response", ""), two.get("reward"))
        for one, two in index.rows(order)
    ]


@given(response=TEXT, prompt=TEXT, details=st.dictionaries(TEXT, JSON, max_size=3))
def test_what_is_written_comes_back_as_strict_json(
    tmp_path_factory: pytest.TempPathFactory, response: str, prompt: str, details: dict[str, Any]
) -> None:
    folder = tmp_path_factory.mktemp("journal")
    first = solved(3, response=response, prompt=prompt, metadata=details)
    score = Scored("correct", 1.0, response, details)

    path = write(folder, "main", first, (first.key, score))
    index = index_journals(folder)

    ((one, two),) = index.rows(iter([(3, 0)]))
    assert index.problems == []
    assert one.get("response", "") == as_utf8(response)
    assert two.get("extracted") == as_utf8(response)
    for line in path.read_text(encoding="utf-8").split("\n")[:-1]:
        json.loads(line, parse_constant=pytest.fail)


def as_utf8(text: str) -> str:
    """Pairs of surrogates become a character, lone ones U+FFFD."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


@pytest.mark.parametrize(
    "value",
    [
        float("nan"),
        {1, 2},
        {"deep": [float("inf"), {"x": frozenset("ab")}]},
        b"bytes",
        object(),
        10**5000,
        {(1, 2): "tuple key"},
        [[[[]]]] * 3,
    ],
    ids=lambda value: str(type(value).__name__),
)
def test_whatever_stands_in_details_the_line_is_strict_json(value: object) -> None:
    line = dumps({"details": {"x": value}})

    assert "\n" not in line
    json.loads(line, parse_constant=pytest.fail)


def test_what_contains_itself_or_is_too_deep_is_cut() -> None:
    loop: list[Any] = []
    loop.append(loop)
    deep: list[Any] = []
    for _ in range(100_000):
        deep = [deep]

    lines = [dumps({"x": loop}), dumps({"x": deep})]

    assert all("…" in line for line in lines)
    assert all(json.loads(line) for line in lines)


def test_a_torn_last_line_is_named_and_costs_nothing_else(tmp_path: Path) -> None:
    path = write(tmp_path, "main", solved(0, response="a"), judged(0), solved(1), judged(1))
    path.write_bytes(path.read_bytes()[:-9])

    index = index_journals(tmp_path)

    assert rows(index) == [(0, "a", 1.0)]
    (problem,) = index.problems
    assert "line 7" in problem
    assert "torn" in problem
    assert str(path) in problem


@given(cut=st.integers(0, 2000))
def test_a_death_at_any_byte_loses_at_most_what_that_line_says(
    tmp_path_factory: pytest.TempPathFactory, cut: int
) -> None:
    folder = tmp_path_factory.mktemp("journal")
    facts = [fact for idx in range(6) for fact in (solved(idx, response="r" * idx), judged(idx))]
    path = write(folder, "main", *facts)
    data = path.read_bytes()
    path.write_bytes(data[: min(cut, len(data))])
    whole = data[: min(cut, len(data))].count(b'"scored","problem_idx"') - (
        b'"scored","problem_idx"' in data[: min(cut, len(data))].rpartition(b"\n")[2]
    )

    index = index_journals(folder)

    assert [row[0] for row in rows(index)] == list(range(whole))
    assert len(index.problems) <= 1


@pytest.mark.parametrize(
    "garbage",
    [
        b"not json",
        b"42",
        b"[]",
        b"{}",
        b'{"_type":"scored"}',
        b'{"_type":"scored","problem_idx":0,"repeat":0}',
        b'{"_type":"scored","problem_idx":0,"repeat":0,"outcome":"correct"}',
        b'{"_type":"scored","problem_idx":0,"repeat":0,"outcome":"correct","reward":NaN}',
        b'{"_type":"scored","problem_idx":0,"repeat":0,"outcome":"correct","reward":7}',
        b'{"_type":"scored","problem_idx":0,"repeat":0,"outcome":"unscored","reward":0}',
        b'{"_type":"scored","problem_idx":0,"repeat":0,"outcome":"great","reward":1}',
        b'{"_type":"later","problem_idx":0,"repeat":0}',
        b'{"_type":"solved","problem_idx":"x","repeat":0}',
        b"\xff\xfe\x00",
        b"[" * 100_000,
    ],
    ids=lambda line: line.decode("latin-1")[:60],
)
def test_a_line_that_means_nothing_is_named_and_costs_nothing_else(
    tmp_path: Path, garbage: bytes
) -> None:
    path = write(tmp_path, "main", solved(0, response="a"), judged(0))
    path.write_bytes(path.read_bytes() + garbage + b"\n")
    write(tmp_path, "other", solved(1, response="b"), judged(1, 0.0))

    index = index_journals(tmp_path)

    assert rows(index) == [(0, "a", 1.0), (1, "b", 0.0)]
    (problem,) = index.problems
    assert "main.jsonl line 5" in problem


def test_a_later_judgement_and_a_later_solution_count(tmp_path: Path) -> None:
    write(
        tmp_path,
        "main",
        *(solved(0, response="first"), judged(0, 0.0), judged(0, 0.5)),
        *(solved(1, response="first"), judged(1, None), solved(1, response="second"), judged(1)),
    )

    assert rows(index_journals(tmp_path)) == [(0, "first", 0.5), (1, "second", 1.0)]


def test_an_unfinished_second_solution_does_not_hide_a_finished_attempt(tmp_path: Path) -> None:
    write(tmp_path, "gw0", solved(0, response="paid for"), judged(0))
    write(tmp_path, "gw1", solved(0, response="and then it died"))

    assert rows(index_journals(tmp_path)) == [(0, "paid for", 1.0)]


def test_a_solution_may_be_judged_by_another_writer(tmp_path: Path) -> None:
    write(tmp_path, "gw0", solved(0, response="a"))
    write(tmp_path, "gw1", judged(0))

    assert rows(index_journals(tmp_path)) == [(0, "a", 1.0)]


def test_a_replacement_comes_after_the_worker_it_replaces(tmp_path: Path) -> None:
    write(tmp_path, "gw2", solved(0, response="old"), judged(0, 0.0))
    write(tmp_path, "gw10", solved(0, response="new"), judged(0))

    index = index_journals(tmp_path)

    assert [path.stem for path in index.paths] == ["gw2", "gw10"]
    assert rows(index) == [(0, "new", 1.0)]


def test_a_judgement_without_its_solution_is_no_row(tmp_path: Path) -> None:
    write(tmp_path, "main", judged(0))

    assert rows(index_journals(tmp_path)) == []


def test_who_writes_on_in_a_torn_file_begins_a_new_line(tmp_path: Path) -> None:
    path = write(tmp_path, "main", solved(0, response="a"), judged(0))
    path.write_bytes(path.read_bytes() + b'{"_type":"sol')

    write(tmp_path, "main", solved(1, response="b"), judged(1))
    index = index_journals(tmp_path)

    assert rows(index) == [(0, "a", 1.0), (1, "b", 1.0)]
    assert [meta["writer"] for meta in index.metas] == ["main", "main"]
    assert len(index.problems) == 1


def test_a_closed_journal_takes_nothing(tmp_path: Path) -> None:
    writer = JournalWriter(tmp_path / "main.jsonl", {})
    writer.close()
    writer.close()

    with pytest.raises(JournalError, match="is closed"):
        writer.started(AttemptKey("b", 0, 0))


@pytest.fixture(name="small_disk")
def made_small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 256 kB."""
    with small_disk(tmp_path / "disk", "256k") as disk:
        yield disk.path


def fill(writer: JournalWriter, kept: list[int]) -> None:
    for idx in range(1000):
        writer.solved(solved(idx, response="x" * 7000))
        writer.scored(*judged(idx))
        kept.append(idx)


def test_a_full_disk_is_said_in_one_line_and_what_was_written_stays_readable(
    small_disk: Path,
) -> None:
    writer = JournalWriter(small_disk / "main.jsonl", {})
    kept: list[int] = []

    with pytest.raises(JournalError, match=r"No space left on device: .*main\.jsonl") as caught:
        fill(writer, kept)
    index = index_journals(small_disk)
    writer.close()

    assert "\n" not in str(caught.value)
    assert index.problems == []
    assert [row[0] for row in rows(index, 1000)] == kept
    assert len(kept) > 10


def test_a_write_that_fails_midway_leaves_no_torn_line(tmp_path: Path) -> None:
    """A limit on the file's size does what a full disk does, for any user."""
    script = """
import resource, signal, sys
from pathlib import Path
from pytest_nel.core.errors import JournalError
from tests.unit.records.test_journal import JournalWriter, judged, solved
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (50_000, resource.RLIM_INFINITY))
writer = JournalWriter(Path(sys.argv[1]) / "main.jsonl", {})
try:
    for idx in range(100):
        writer.solved(solved(idx, response="x" * 3000))
        writer.scored(*judged(idx))
except JournalError as error:
    print(error)
resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
writer.solved(solved(200, response="there is room again"))
writer.scored(*judged(200))
writer.close()
"""
    root = Path(__file__).parents[3]
    command = [sys.executable, "-c", script, str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=root)
    index = index_journals(tmp_path)

    assert "the journal cannot be written: File too large" in done.stdout
    assert index.problems == []
    assert rows(index, 201)[-1] == (200, "there is room again", 1.0)


def test_an_answer_that_fits_stays_when_the_line_after_it_does_not(tmp_path: Path) -> None:
    script = """
import resource, signal, sys
from pathlib import Path
from pytest_nel.core.errors import JournalError
from tests.unit.records.test_journal import AttemptKey, JournalWriter, solved
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
writer = JournalWriter(Path(sys.argv[1]) / "main.jsonl", {})
writer.solved(solved(0, response="paid for"))
room = writer.path.stat().st_size + len(writer._held) + 10
resource.setrlimit(resource.RLIMIT_FSIZE, (room, resource.RLIM_INFINITY))
try:
    writer.started(AttemptKey("b", 1, 0))
except JournalError as error:
    print(error)
"""
    root = Path(__file__).parents[3]
    command = [sys.executable, "-c", script, str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=root)
    index = index_journals(tmp_path)

    assert "the journal cannot be written: File too large" in done.stdout
    assert index.problems == []
    assert [key for key in ((0, 0), (1, 0)) if key in index] == [(0, 0)]
    known = index.known(0, 0)
    assert known is not None
    assert known.answer is not None


def test_no_judgement_is_written_whose_answer_did_not_fit(tmp_path: Path) -> None:
    script = """
import resource, signal, sys
from pathlib import Path
from pytest_nel.core.errors import JournalError
from tests.unit.records.test_journal import AttemptKey, JournalWriter, judged, solved
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
writer = JournalWriter(Path(sys.argv[1]) / "main.jsonl", {})
writer.solved(solved(0, response="x" * 5000))
room = writer.path.stat().st_size + 2000
resource.setrlimit(resource.RLIMIT_FSIZE, (room, resource.RLIM_INFINITY))
for write in (lambda: writer.started(AttemptKey("b", 1, 0)), lambda: writer.scored(*judged(0))):
    try:
        write()
    except JournalError as error:
        print(error)
writer.close()
"""
    root = Path(__file__).parents[3]
    command = [sys.executable, "-c", script, str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=root)

    lines = (tmp_path / "main.jsonl").read_text().splitlines()
    assert done.stdout.count("the journal cannot be written: File too large") == 2
    assert [json.loads(line)["_type"] for line in lines] == ["meta"]


def test_a_line_of_two_megabytes_is_one_line(tmp_path: Path) -> None:
    text = "é" * 1_000_000

    write(tmp_path, "main", solved(0, response=text), judged(0))
    index = index_journals(tmp_path)

    assert rows(index) == [(0, text, 1.0)]


def test_an_index_of_many_attempts_holds_positions_only(tmp_path: Path) -> None:
    response = "x" * 1000
    with (tmp_path / "main.jsonl").open("w") as file:
        for idx in range(20_000):
            one = f'{{"_type":"solved","problem_idx":{idx},"repeat":0,"response":"{response}"}}\n'
            two = f'{{"_type":"scored","problem_idx":{idx},"repeat":0,"outcome":"correct",'
            file.write(f'{one}{two}"reward":1.0}}\n')

    tracemalloc.start()
    index = index_journals(tmp_path)
    held, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    assert len(index) == 20_000
    assert held / 20_000 < 300  # bytes an attempt; the journal has 1,150
    assert most - held < 1_000_000
