"""``nel eval status``, ``jobs``, ``logs``, ``stop``, ``resume``, ``clean``: what they do."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pytest_nel.cli._when import age_of
from pytest_nel.cli.eval_resume import output_dir_of
from pytest_nel.cli.main import main
from pytest_nel.cluster.processes import mark_of
from pytest_nel.cluster.runs import RunEntry, RunStore, here
from pytest_nel.core.errors import ConfigError
from tests.support.processes import until
from tests.unit.records.parts_of_runs import Whole, record


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder, with a store of runs of its own."""
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    return tmp_path


@pytest.fixture
def store(place: Path) -> RunStore:
    return RunStore(place / "data" / "nel" / "runs")


def nel(*words: object) -> int:
    try:
        return main(["eval", *map(str, words)])
    except SystemExit as ended:
        return int(ended.code or 0)


def known(store: RunStore, directory: Path, **changes: Any) -> RunEntry:
    """A run with records that has ended with 0, and its entry."""
    if not directory.exists():
        Whole().part(directory)
    made = RunEntry(
        run_id=directory.name,
        pid=2**22 + 1,
        mark="x",
        host=here(),
        directory=str(directory),
        target="b.py",
        command=("--bench=b.py",),
        cwd=str(directory.parent),
        started=1_767_000_000.0,
        ended=1_767_000_060.0,
        exit_code=0,
    )
    made = replace(made, **changes)
    store.write(made)
    return made


@pytest.fixture
def sleeper(tmp_path: Path) -> "Iterator[subprocess.Popen[bytes]]":
    """A process that ends with 7 when it is asked to, as a run does."""
    code = (
        "import signal, sys, time; from pathlib import Path\n"
        "signal.signal(signal.SIGTERM, lambda *_: sys.exit(7))\n"
        f"Path({str(tmp_path / 'up')!r}).touch(); time.sleep(60)"
    )
    with subprocess.Popen([sys.executable, "-c", code]) as process:
        assert until((tmp_path / "up").exists)
        yield process
        process.kill()


def running(store: RunStore, directory: Path, pid: int, **changes: Any) -> RunEntry:
    facts = {"pid": pid, "mark": mark_of(pid), "ended": None, "exit_code": None}
    return known(store, directory, **(facts | changes))


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


def test_stop_ends_the_only_run_and_waits_for_it(
    store: RunStore, place: Path, sleeper: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    running(store, place / "r", sleeper.pid)
    known(store, place / "other", started=1_999_999_999.0)

    status = nel("stop")

    assert status == 0
    assert sleeper.wait(10) == 7
    assert capsys.readouterr().out == (
        f"run r: asked process {sleeper.pid} to end\n"
        "run r has ended (it left no exit status: it died)\n"
    )


def test_stop_never_touches_another_process_with_the_number(
    store: RunStore, place: Path, sleeper: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    running(store, place / "r", sleeper.pid, mark="an-earlier-boot:1")

    status = nel("stop", "-r", "r")

    assert status == 0
    assert "run r is not running" in capsys.readouterr().out
    assert sleeper.poll() is None


def test_stop_says_when_a_run_has_not_ended_in_time(
    store: RunStore, place: Path, sleeper: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    running(store, place / "r", sleeper.pid)
    os.kill(sleeper.pid, signal.SIGSTOP)

    status = nel("stop", "-r", "r", "--wait", "0.2")

    os.kill(sleeper.pid, signal.SIGCONT)
    assert status == 1
    assert "has not ended within 0.2 s" in capsys.readouterr().out


def test_stop_asks_which_of_several_runs_is_meant(
    store: RunStore, place: Path, sleeper: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    running(store, place / "a", sleeper.pid)
    running(store, place / "b", sleeper.pid)

    status = nel("stop")

    assert status == 4
    assert "say which run with -r ID: 2 are running: b, a\n" in capsys.readouterr().err
    assert sleeper.poll() is None


def test_a_run_of_another_machine_is_not_stopped_from_here(
    store: RunStore, place: Path, sleeper: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    running(store, place / "r", sleeper.pid, host="another")

    status = nel("stop", "-r", "r")

    assert status == 4
    assert "started on another: stop it there" in capsys.readouterr().err
    assert sleeper.poll() is None


def test_a_run_that_still_runs_is_not_resumed(
    store: RunStore, place: Path, sleeper: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    running(store, place / "r", sleeper.pid)

    assert nel("resume") == 4
    assert "run r is still running" in capsys.readouterr().err


def test_a_run_with_a_secret_left_out_is_not_resumed_without_it(
    store: RunStore, place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    known(store, place / "r", command=("--bench=b.py", "--model-url=***"))

    assert nel("resume") == 4
    assert "give it anew: --model-url=***" in capsys.readouterr().err


def test_a_shard_is_resumed_where_it_lies(place: Path) -> None:
    own = Whole().part(place / "out" / "shard_1", shard=(1, 3))
    shared = Whole().part(place / "eval_results" / "a", shard=(1, 3))
    whole = Whole().part(place / "w")

    said = [output_dir_of(own, "out"), output_dir_of(shared, None), output_dir_of(whole, None)]

    assert said == [str(place / "out"), None, str(place / "w")]
    Whole().part(place / "eval_results" / "b", shard=(1, 3))
    with pytest.raises(ConfigError, match="is a newer run of the same shard"):
        output_dir_of(shared, None)


def test_clean_forgets_runs_that_are_over_and_keeps_their_results(
    store: RunStore, place: Path, sleeper: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    known(store, place / "old")
    known(store, place / "new", started=time.time() - 3600)
    running(store, place / "live", sleeper.pid)
    known(store, place / "far", host="another", exit_code=None, ended=None)

    codes = [nel("clean", "--older-than", "1d", "--dry-run")]
    before = len(store.list().entries)
    codes.append(nel("clean", "--older-than", "1d", "-y"))

    assert (codes, before) == ([0, 0], 4)
    assert {one.run_id for one in store.list().entries} == {"new", "live", "far"}
    assert (place / "old" / "b" / "plan.json").is_file()
    assert "would remove  old" in capsys.readouterr().out


def test_clean_with_results_deletes_what_a_run_has_made_and_nothing_else(
    store: RunStore, place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("a", "b", "c"):
        known(store, place / name)
    (place / "b" / "notes.txt").write_text("mine")
    (place / "c" / "run.json").write_text(
        (place / "a" / "run.json").read_text().replace('"a"', '"another"')
    )

    status = nel("clean", "--results", "-y")

    out, err = capsys.readouterr()
    assert status == 1
    assert not (place / "a").exists()
    assert [path.name for path in (place / "b").iterdir()] == ["notes.txt"]
    assert "holds other files" in out
    assert (place / "c" / "b" / "plan.json").is_file()
    assert "is not the directory of run c any more" in err
    assert [one.run_id for one in store.list().entries] == ["c"]


def test_clean_removes_nothing_without_a_yes(
    store: RunStore, place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    known(store, place / "r")

    assert nel("clean") == 4
    assert "say -y" in capsys.readouterr().err
    assert len(store.list().entries) == 1


@pytest.mark.parametrize(
    ("text", "seconds"), [("12h", 43_200), ("7d", 604_800), ("2w", 1_209_600), ("1m", 2_592_000)]
)
def test_an_age_is_read(text: str, seconds: int) -> None:
    assert age_of(text) == seconds


@pytest.mark.parametrize("text", ["", "7", "d", "7 days", "-1d", "1.5d", "９d"])
def test_what_is_no_age_is_a_mistake(text: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert nel("clean", f"--older-than={text}") == 4
    assert capsys.readouterr().err
