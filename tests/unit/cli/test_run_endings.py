"""``nel eval stop``, ``resume`` and ``clean``: what they do to a run, and to no other."""

import os
import signal
import time
from pathlib import Path
from typing import Any

import pytest

from pytest_nel.cli._when import age_of
from pytest_nel.cli.eval_resume import output_dir_of
from pytest_nel.cluster.runs import RunStore
from pytest_nel.core.errors import ConfigError
from tests.unit.cli.kept_runs import known, nel, running
from tests.unit.records.parts_of_runs import Whole

pytestmark = pytest.mark.usefixtures("place")


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
    known(store, place / "r", command=("--bench=***.py", "--model-url=***"))

    assert nel("resume") == 4
    said = capsys.readouterr().err
    assert "give it anew: --bench=***.py, --model-url=***; what is no option of this" in said
    assert said.endswith(f"the whole line of nel eval run, with --resume -o {place / 'r'}\n")


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
