"""A run's directory: held by one run, gone on with by the same suite, never emptied."""

import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from pytest_nel.core.errors import ConfigError, NelError
from pytest_nel.records import rundir
from pytest_nel.records.claims import changes, claim, set_aside
from pytest_nel.records.journal import JournalWriter
from pytest_nel.records.plans import read_plan
from pytest_nel.records.rundir import RunDirectory, RunFacts, newest_run, next_turn, read_run

ROOT = Path(__file__).parents[3]
FACTS = RunFacts("id", "2026-01-01T00:00:00Z", ["bench_a.py"])
HOLDER = """
import sys
from pathlib import Path
from pytest_nel.records.plans import read_plan
from pytest_nel.records.rundir import RunDirectory, RunFacts
folder = RunDirectory(Path(sys.argv[1]))
folder.take(RunFacts("id", "t", ["bench_a.py"]))
print("held", flush=True)
sys.stdin.read()
"""


def holder(folder: Path) -> "subprocess.Popen[str]":
    process = subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(folder)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=ROOT,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "held\n"
    return process


def test_facts_come_back(tmp_path: Path) -> None:
    facts = RunFacts("id", "t", ["a.nel.yaml", "b.py"], (2, 8))
    folder = RunDirectory(tmp_path / "run")

    folder.take(facts)
    folder.release()

    assert read_run(tmp_path / "run") == facts
    assert read_run(tmp_path) is None


def test_another_run_is_kept_out_until_this_one_ends(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rundir, "PATIENCE", 0.2)
    process = holder(tmp_path)

    with pytest.raises(ConfigError, match="another run is writing there"):
        RunDirectory(tmp_path).take(FACTS)
    process.communicate("")
    RunDirectory(tmp_path).take(FACTS)


def test_a_killed_run_holds_nothing(tmp_path: Path) -> None:
    process = holder(tmp_path)
    process.send_signal(signal.SIGKILL)
    process.communicate()

    RunDirectory(tmp_path).take(FACTS)


def test_processes_of_one_run_hold_it_together(tmp_path: Path) -> None:
    process = holder(tmp_path)

    RunDirectory(tmp_path).join()

    process.communicate("")


def test_what_was_made_for_nothing_is_removed(tmp_path: Path) -> None:
    folder = RunDirectory(tmp_path / "run")
    folder.take(FACTS)

    folder.discard()

    assert not (tmp_path / "run").exists()


def test_what_another_run_has_made_stays(tmp_path: Path) -> None:
    first = RunDirectory(tmp_path / "run")
    first.take(FACTS)
    first.release()

    second = RunDirectory(tmp_path / "run")
    second.take(FACTS)
    second.discard()

    assert read_run(tmp_path / "run") == FACTS


def test_the_youngest_run_of_the_same_files_is_found(tmp_path: Path) -> None:
    for name, stamp, targets, shard in [
        ("a", "2026-01-01T00:00:00Z", ["bench_a.py"], None),
        ("b", "2026-01-03T00:00:00Z", ["bench_b.py"], None),
        ("c", "2026-01-02T00:00:00Z", ["bench_a.py", "x.py"], None),
        ("d", "2026-01-04T00:00:00Z", ["bench_a.py"], (0, 2)),
    ]:
        folder = RunDirectory(tmp_path / name)
        folder.take(RunFacts(name, stamp, targets, shard))
        folder.release()
    (tmp_path / "e").mkdir()
    (tmp_path / "e" / "run.json").write_text("{not json")

    assert newest_run(tmp_path, FACTS) == tmp_path / "c"
    assert newest_run(tmp_path, RunFacts("", "", ["bench_c.py"])) is None
    assert newest_run(tmp_path / "nowhere", FACTS) is None


def test_a_damaged_run_json_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "run.json").write_text('{"run_id": 1}')

    with pytest.raises(ConfigError, match=r"run\.json: cannot be read"):
        read_run(tmp_path)


def test_turns_are_counted_by_journals_and_plans(tmp_path: Path) -> None:
    assert next_turn(tmp_path) == 1
    for name in ("gw0.jsonl", "gw7.4.jsonl", "main.2.jsonl"):
        JournalWriter(tmp_path / "b" / "journal" / name, {}).close()

    assert next_turn(tmp_path) == 5
    claim(tmp_path / "c", plan(9), afresh=True)  # it was killed before it wrote anything else
    assert next_turn(tmp_path) == 10


def plan(turn: int = 1, **fingerprint: Any) -> dict[str, Any]:
    return {
        "benchmark": "b",
        "problems": [0],
        "repeats": 1,
        "turn": turn,
        "config": {},
        "fingerprint": {"rows_hash": "r", "prompts": "p", "answering": {"model": "m"}}
        | fingerprint,
    }


@pytest.mark.parametrize(
    ("fingerprint", "why"),
    [
        ({}, []),
        ({"answering": {"model": "n"}}, ["model: 'm' → 'n'"]),
        ({"answering": {"model": "m", "x": 1}}, ["x: None → 1"]),
        ({"answering": {"model": "m", "text": "sha256:ab"}}, ["text"]),
        ({"prompts": "q"}, ["prompt"]),
        ({"prompts": "q", "rows_hash": "s"}, []),  # rows have keys of their own
        ({"scorer": "other"}, []),  # judged again
    ],
)
def test_what_has_changed_is_named(fingerprint: dict[str, Any], why: list[str]) -> None:
    assert changes(plan(), plan(**fingerprint)) == why


def test_records_that_do_not_fit_are_set_aside_whole(tmp_path: Path) -> None:
    claim(tmp_path, plan(), afresh=True)
    JournalWriter(tmp_path / "journal" / "main.jsonl", {}).close()
    (tmp_path / "results.jsonl").write_text("{}\n")

    second = claim(tmp_path, plan(2, prompts="q"), afresh=True)
    JournalWriter(tmp_path / "journal" / "main.2.jsonl", {}).close()
    third = claim(tmp_path, plan(3, prompts="z"), afresh=True)

    assert second.changed == ["prompt"]
    assert second.aside == tmp_path / "earlier-1"
    assert {path.name for path in second.aside.iterdir()} == {
        "journal",
        "plan.json",
        "results.jsonl",
    }
    assert third.aside == tmp_path / "earlier-2"
    assert (third.aside / "journal" / "main.2.jsonl").exists()
    assert [path.name for path in sorted(tmp_path.iterdir())] == [
        "earlier-1",
        "earlier-2",
        "plan.json",
    ]


def test_records_that_fit_again_come_back(tmp_path: Path) -> None:
    claim(tmp_path, plan(), afresh=True)
    JournalWriter(tmp_path / "journal" / "main.jsonl", {"of": "m"}).close()
    claim(tmp_path, plan(2, answering={"model": "n"}), afresh=True)
    JournalWriter(tmp_path / "journal" / "main.2.jsonl", {"of": "n"}).close()
    seen: list[int] = []

    made = claim(tmp_path, plan(3), afresh=True, look_through=lambda old: seen.append(old["turn"]))

    assert made.back == tmp_path / "earlier-1"
    assert made.aside == tmp_path / "earlier-2"
    assert seen == [1]  # the plan they were made under
    assert [path.name for path in (tmp_path / "journal").iterdir()] == ["main.jsonl"]
    assert (made.aside / "journal" / "main.2.jsonl").exists()


def test_a_kill_between_setting_aside_and_bringing_back_loses_no_way_back(tmp_path: Path) -> None:
    claim(tmp_path, plan(), afresh=True)
    JournalWriter(tmp_path / "journal" / "main.jsonl", {}).close()
    set_aside(tmp_path)  # and then it was killed

    made = claim(tmp_path, plan(3), afresh=True)

    assert made.back == tmp_path / "earlier-1"
    assert (tmp_path / "journal" / "main.jsonl").exists()


def test_a_kill_while_records_come_back_has_them_looked_through(tmp_path: Path) -> None:
    JournalWriter(tmp_path / "journal" / "main.jsonl", {}).close()
    seen: list[object] = []

    claim(tmp_path, plan(3), afresh=True, look_through=seen.append)

    assert seen == [{"fingerprint": {}}]


def test_records_that_must_fit_are_left_alone(tmp_path: Path) -> None:
    claim(tmp_path, plan(), afresh=True)

    with pytest.raises(ConfigError, match="model: 'm' → 'n'"):
        claim(tmp_path, plan(2, answering={"model": "n"}), afresh=False)

    assert [path.name for path in tmp_path.iterdir()] == ["plan.json"]


def test_a_second_process_of_a_turn_sets_nothing_aside(tmp_path: Path) -> None:
    claim(tmp_path, plan(), afresh=True)
    changed = plan(2, answering={"model": "n"})

    first, second = (claim(tmp_path, changed, afresh=True) for _ in range(2))

    assert first.changed
    assert not second.changed
    with pytest.raises(NelError, match="loaded different data"):
        claim(tmp_path, changed | {"problems": [1]}, afresh=True)


def test_setting_aside_after_a_kill_in_the_middle_loses_nothing(tmp_path: Path) -> None:
    claim(tmp_path, plan(), afresh=True)
    JournalWriter(tmp_path / "journal" / "main.jsonl", {}).close()
    (tmp_path / "earlier-1").mkdir()
    journal = tmp_path / "journal"
    journal.rename(tmp_path / "earlier-1" / "journal")  # and then it was killed

    aside = set_aside(tmp_path)

    assert aside.name == "earlier-2"
    assert (tmp_path / "earlier-1" / "journal" / "main.jsonl").exists()
    assert (aside / "plan.json").exists()


@pytest.mark.parametrize("first", [True, False])
def test_whoever_has_tried_the_scorer_says_so_for_all(tmp_path: Path, *, first: bool) -> None:
    told = {**plan(), "selftest": "passed"}
    claim(tmp_path, told if first else plan(), afresh=True)

    claim(tmp_path, plan() if first else told, afresh=True)

    assert read_plan(tmp_path)["selftest"] == "passed"
