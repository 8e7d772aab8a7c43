"""``nel eval status``, ``jobs`` and ``logs``: what they say of a run."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from pytest_nel.cluster.runs import RunStore
from tests.unit.cli.kept_runs import known, nel, running
from tests.unit.records.parts_of_runs import Whole, record

pytestmark = pytest.mark.usefixtures("place")


def test_the_status_is_that_of_the_newest_run_and_always_0(
    store: RunStore, place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    known(store, place / "old")
    known(store, place / "new", started=1_767_000_100.0, ended=1_767_000_190.0, exit_code=1)

    status = nel("status")

    said = capsys.readouterr().out
    assert status == 0
    assert f"directory  {place / 'new'}\n" in said
    assert "state      ended with 1 (a check or a test failed)\n" in said
    assert "(took 90 s)\n" in said
    assert said.splitlines()[-1].split() == ["b", "6/6", "0", "1.0000"]


def test_the_status_as_json_has_the_same_facts(
    store: RunStore, place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    whole = Whole()
    made = {one: record(one, None if n else 0.0) for n, one in enumerate(whole.attempts()[:3])}
    whole.part(place / "r", made)
    running(store, place / "r", os.getpid())

    nel("status", "-r", "r", "--json")

    facts = json.loads(capsys.readouterr().out)
    assert (facts["run_id"], facts["state"], facts["pid"]) == ("r", "running", os.getpid())
    assert (facts["started"], facts["exit_code"]) == ("2025-12-29T09:20:00Z", None)
    assert facts["benchmarks"] == [
        {"name": "b", "expected": 6, "scored": 1, "unscored": 2, "score": 0.0}
    ]


def test_a_run_whose_process_is_gone_without_a_word_has_died(
    store: RunStore, place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    known(store, place / "r", pid=os.getpid(), ended=None, exit_code=None)

    nel("status", "-o", place / "r")

    assert "state      died" in capsys.readouterr().out


def test_a_run_that_nel_has_not_started_is_known_by_its_directory(
    place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    Whole().part(place / "here" / "eval_results" / "r")

    status = nel("status")

    assert status == 0
    assert "state      unknown\n" in capsys.readouterr().out


@pytest.mark.parametrize("command", ["status", "logs", "stop", "resume"])
@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("-r", "x"), "unknown run 'x'"),
        (("-o", "nowhere"), "no such directory: nowhere"),
        (("-o", "."), ". holds no run"),
        (("-r", "x", "-o", "."), "give one of them"),
    ],
)
def test_a_run_that_is_not_there_is_status_4_and_one_line(
    command: str, words: tuple[str, ...], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    status = nel(command, *words)

    out, err = capsys.readouterr()
    assert (status, out) == (4, "")
    assert err.startswith(f"nel eval {command}: ")
    assert said in err


def test_jobs_lists_the_newest_first_and_names_what_is_damaged(
    store: RunStore, place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    known(store, place / "first")
    running(store, place / "second", os.getpid(), started=1_767_000_100.0)
    (store.folder / "torn.json").write_text('{"run_id": ')

    status = nel("jobs")

    out, err = capsys.readouterr()
    assert status == 0
    assert [line.split()[:2] for line in out.splitlines()] == [
        ["run", "state"],
        ["second", "running"],
        ["first", "exit"],
    ]
    assert "torn.json: skipped" in err
    nel("jobs", "--json")
    rows = json.loads(capsys.readouterr().out)
    assert [(row["run_id"], row["state"]) for row in rows] == [
        ("second", "running"),
        ("first", "ended"),
    ]


def test_without_runs_jobs_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    assert nel("jobs") == 0
    assert capsys.readouterr().out == "no runs\n"
    assert nel("jobs", "--json") == 0
    assert json.loads(capsys.readouterr().out) == []


def test_the_log_is_shown_whole_or_its_last_lines(
    store: RunStore, place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log = place / "r.log"
    log.write_text("one\ntwo\nthree\n")
    known(store, place / "r", log=str(log))

    nel("logs")
    nel("logs", "-n", "2", "-f")

    assert capsys.readouterr().out == "one\ntwo\nthree\ntwo\nthree\n"


def test_a_run_in_a_terminal_has_no_log(
    store: RunStore, place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    known(store, place / "r")

    assert nel("logs") == 4
    assert "printed to its terminal" in capsys.readouterr().err


def test_following_ends_with_the_run(store: RunStore, place: Path, sleeper: Any) -> None:
    log = place / "r.log"
    log.write_text("begun\n")
    running(store, place / "r", sleeper.pid, log=str(log))
    command = [sys.executable, "-m", "pytest_nel.cli.main", "eval", "logs", "-f"]

    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as follower:
        assert follower.stdout is not None
        first = follower.stdout.readline()
        with log.open("a") as file:
            file.write("going on\n")
        second = follower.stdout.readline()
        sleeper.kill()
        sleeper.wait()
        status = follower.wait(20)

    assert (first, second, status) == ("begun\n", "going on\n", 0)


@pytest.mark.parametrize("words", [("logs", "-f"), ("status", "-w", "0.1")])
def test_ctrl_c_ends_what_follows_a_run_quietly(
    store: RunStore, place: Path, sleeper: Any, words: tuple[str, ...]
) -> None:
    (place / "r.log").write_text("begun\n")
    running(store, place / "r", sleeper.pid, log=str(place / "r.log"))
    command = [sys.executable, "-m", "pytest_nel.cli.main", "eval", *words]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}

    with subprocess.Popen(command, **pipes) as follower:  # type: ignore[call-overload]
        follower.stdout.readline()
        follower.send_signal(signal.SIGINT)
        _, err = follower.communicate(timeout=20)

    assert (follower.returncode, err) == (130, "nel: interrupted\n")
