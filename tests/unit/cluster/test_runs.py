"""The store of runs: what is written is read again, and what is damaged hurts nothing else."""

import json
import os
import threading
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_nel.cluster.processes import mark_of
from pytest_nel.cluster.runs import RunEntry, RunStore, default_folder, here
from pytest_nel.core.errors import ConfigError, UnknownName

MINE = mark_of(os.getpid()) or ""


def entry(run_id: str = "20260102T030405Z-ab12", **changes: Any) -> RunEntry:
    """A run of this process."""
    made = RunEntry(
        run_id=run_id,
        pid=os.getpid(),
        mark=MINE,
        host=here(),
        directory=f"/results/{run_id}",
        target="my.nel.yaml",
        command=("my.nel.yaml", "--repeats=2"),
        cwd="/home/me",
        started=1_767_000_000.0,
    )
    return replace(made, **changes)


@pytest.fixture
def store(tmp_path: Path) -> RunStore:
    return RunStore(tmp_path / "nel" / "runs")


_text = st.text(max_size=30)


@given(run_id=st.text(min_size=1, max_size=80), target=_text, code=st.none() | st.integers(0, 255))
def test_an_entry_comes_back_as_it_was_written(
    tmp_path_factory: pytest.TempPathFactory, run_id: str, target: str, code: int | None
) -> None:
    store = RunStore(tmp_path_factory.mktemp("store"))
    made = entry(run_id, target=target, exit_code=code, ended=None if code is None else 2.5)

    store.write(made)

    assert store.list() == ([made], [])


@pytest.mark.parametrize(
    ("changes", "state"),
    [
        ({}, "running"),
        ({"mark": "an-earlier-boot:1"}, "died"),
        ({"pid": 2**22 + 1}, "died"),
        ({"exit_code": 0}, "ended"),
        ({"host": "another"}, "elsewhere"),
        ({"host": "another", "exit_code": 1}, "ended"),
    ],
    ids=["running", "reused number", "gone", "ended", "elsewhere", "ended elsewhere"],
)
def test_the_state_is_read_off_the_process(changes: dict[str, Any], state: str) -> None:
    assert entry(**changes).state == state


def test_the_newest_run_comes_first(store: RunStore) -> None:
    for number in (2, 3, 1):
        store.write(entry(f"run-{number}", started=float(number)))

    assert [one.run_id for one in store.list().entries] == ["run-3", "run-2", "run-1"]


@pytest.mark.parametrize(
    "damage",
    ["", "{", "[1, 2]", "{}", '{"run_id": 5}', "\x00\xff", "[" * 100_000],
    ids=["empty", "torn", "a list", "an empty object", "a number", "no text", "too deep"],
)
def test_a_damaged_file_is_a_note_and_hides_no_other(store: RunStore, damage: str) -> None:
    store.write(entry())
    (store.folder / "damaged.json").write_bytes(damage.encode("latin-1"))

    entries, notes = store.list()

    assert entries == [entry()]
    assert len(notes) == 1
    assert "damaged.json: skipped" in notes[0]


def test_a_file_of_a_later_version_with_more_in_it_can_be_read(store: RunStore) -> None:
    store.write(entry())
    (path,) = store.folder.glob("*.json")
    path.write_text(json.dumps(json.loads(path.read_text()) | {"version": 2, "colour": "red"}))

    assert store.list().entries == [entry()]


def test_runs_that_write_at_once_do_not_disturb_each_other(store: RunStore) -> None:
    def work(number: int) -> None:
        for code in range(20):
            store.write(entry(f"run-{number}", exit_code=code))
            seen.append(store.list().notes)

    seen: list[list[str]] = []
    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert not any(seen)
    assert {one.exit_code for one in store.list().entries} == {19}


def test_the_beginning_of_an_id_is_enough(store: RunStore) -> None:
    store.write(entry("20260102T030405Z-ab12"))
    store.write(entry("20260102T030405Z-ab1"))
    store.write(entry("20260203T030405Z-cd34"))

    assert store.find("202602").run_id == "20260203T030405Z-cd34"
    assert store.find("20260102T030405Z-ab1").run_id == "20260102T030405Z-ab1"
    with pytest.raises(ConfigError, match=r"is one of 2: .*say more of it"):
        store.find("202601")


def test_an_unknown_id_is_answered_with_the_nearest(store: RunStore) -> None:
    store.write(entry("20260102T030405Z-ab12"))

    with pytest.raises(UnknownName, match=r"Did you mean '20260102T030405Z-ab12'\?"):
        store.find("20260102T030405Z-ab21")


def test_a_copy_of_a_run_is_an_entry_of_its_own(store: RunStore, tmp_path: Path) -> None:
    store.write(entry(directory=str(tmp_path / "a")))
    store.write(entry(directory=str(tmp_path / "b"), exit_code=0))

    found = store.in_directory(tmp_path / "b")

    assert len(store.list().entries) == 2
    assert found is not None
    assert found.exit_code == 0


def test_removing_takes_the_log_of_the_store_and_no_other(store: RunStore, tmp_path: Path) -> None:
    mine, other = store.new_log("a"), tmp_path / "other.log"
    mine.write_text("x")
    other.write_text("x")
    first, second = entry("a", log=str(mine)), entry("b", log=str(other))
    store.write(first)
    store.write(second)

    store.remove(first)
    store.remove(second)

    assert store.list().entries == []
    assert (mine.exists(), other.exists()) == (False, True)


@pytest.mark.parametrize(
    ("variables", "folder"),
    [
        ({"XDG_DATA_HOME": "/data"}, "/data/nel/runs"),
        ({"XDG_DATA_HOME": "relative"}, "/home/me/.local/share/nel/runs"),
        ({}, "/home/me/.local/share/nel/runs"),
    ],
)
def test_the_store_is_where_xdg_says(
    variables: dict[str, str], folder: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", "/home/me")

    assert default_folder(variables.get) == Path(folder)
