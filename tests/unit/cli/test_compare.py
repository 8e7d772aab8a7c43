"""``nel compare``: exit status, what is printed, what is written."""

import json
import os
import pty
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from pytest_nel.cli.main import main
from tests.support import command
from tests.support.command import Done
from tests.support.stored import write_reference_run, write_run

Runs = Callable[[int, int], tuple[Path, Path]]
Here = Callable[..., Done]


def environment(**variables: str) -> dict[str, str]:
    kept = {name: value for name, value in command.environment().items() if name != "NO_COLOR"}
    return kept | variables


def compare(*words: object, cwd: Path | None = None) -> Done:
    return command.nel("compare", *words, cwd=cwd, env=environment())


@pytest.fixture
def runs(tmp_path: Path) -> Callable[[int, int], tuple[Path, Path]]:
    """A baseline that solves all of ``n`` problems and a candidate that loses some."""

    def made(lost: int, n: int) -> tuple[Path, Path]:
        baseline = write_run(tmp_path / "bf16", [1.0] * n)
        return baseline, write_run(tmp_path / "fp8", [0.0] * lost + [1.0] * (n - lost))

    return made


@pytest.fixture
def here(capsys: pytest.CaptureFixture[str]) -> Here:
    """The command in this process, which is quicker."""

    def run(*words: object) -> Done:
        arguments = ["compare", *map(str, words)]
        try:
            status = main(arguments)
        except SystemExit as ended:
            status = int(ended.code or 0)
        said = capsys.readouterr()
        return Done(arguments, status, said.out, said.err)

    return run


@pytest.mark.parametrize(
    ("lost", "n", "verdict", "status"),
    [
        (0, 200, "PASS", 0),
        (20, 200, "BLOCK", 1),
        (20, 1000, "WARN", 2),
        (2, 40, "INCONCLUSIVE", 2),
    ],
)
def test_the_exit_status_says_the_verdict(
    runs: Runs, lost: int, n: int, verdict: str, status: int
) -> None:
    done = compare(*runs(lost, n))

    assert done.stdout.startswith(f"{verdict} — ")
    assert (done.returncode, done.stderr) == (status, "")


def test_the_verdict_is_only_said_where_it_is_not_to_be_the_status(runs: Runs, here: Here) -> None:
    done = here(*runs(20, 200), "--no-strict")

    assert done.stdout.startswith("BLOCK — ")
    assert done.returncode == 0


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--max-drop", "7"], "max_drop must be in [0, 1]"),
        (["--max-drop", "x"], "invalid float value"),
        (["--test", "t"], "invalid choice"),
        (["--no-such-option"], "unrecognized arguments: --no-such-option"),
        (["third"], "unrecognized arguments: third"),
        (["--", "x"], "takes nothing after --"),
        (["--allow-different", "weather"], "invalid choice"),
        (["-o", "/nowhere/x.json"], "/nowhere"),
        (["-o", "x.json", "--report", "x.json"], "name two files"),
    ],
)
def test_a_mistake_is_4_since_2_is_a_verdict(
    runs: Runs, here: Here, words: list[str], said: str
) -> None:
    done = here(*runs(0, 10), *words)

    assert done.returncode == 4
    assert said in done.stderr
    assert done.stdout == ""


def test_a_run_that_is_not_there_is_a_mistake(tmp_path: Path) -> None:
    run = write_run(tmp_path / "a", [1.0])

    done = compare(run, tmp_path / "nowhere")

    assert done.returncode == 4
    assert done.stderr == f"nel compare: no such directory: {tmp_path / 'nowhere'}\n"


def test_runs_that_differ_are_a_mistake_until_that_is_allowed(tmp_path: Path, here: Here) -> None:
    baseline = write_run(tmp_path / "a", [1.0] * 100)
    candidate = write_run(tmp_path / "b", [1.0] * 100, fingerprint={"scorer": "other"})

    refused = here(baseline, candidate)
    allowed = here(baseline, candidate, "--allow-different", "scorer")

    assert refused.returncode == 4
    assert "--allow-different scorer" in refused.stderr
    assert allowed.returncode == 0
    assert "differ, as allowed, in: scorer" in allowed.stdout


def test_nothing_is_written_that_was_not_asked_for(runs: Runs, tmp_path: Path) -> None:
    """The reference system leaves regression_report.md in the candidate's directory."""
    baseline, candidate = runs(20, 200)
    place = tmp_path / "here"
    place.mkdir()
    before = sorted(tmp_path.rglob("*"))

    compare(baseline, candidate, "--show-flips", "-v", cwd=place)

    assert sorted(tmp_path.rglob("*")) == before


def test_reports_are_written_where_they_are_asked_for(
    runs: Runs, tmp_path: Path, here: Here
) -> None:
    names = {name: tmp_path / name for name in ("r.json", "r.md", "r.html")}
    two = runs(20, 200)

    here(*two, "-o", names["r.json"], "--report", names["r.md"])
    here(*two, "--report", names["r.html"])

    assert json.loads(names["r.json"].read_text())["verdict"] == "BLOCK"
    assert names["r.md"].read_text().startswith("# Regression Report: BLOCK")
    assert names["r.html"].read_text().startswith("<!doctype html>")


@pytest.mark.parametrize(
    ("name", "start"),
    [("json", "{"), ("markdown", "# Regression"), ("html", "<!doctype"), ("text", "BLOCK — ")],
)
def test_the_format_is_what_is_printed(runs: Runs, name: str, start: str, here: Here) -> None:
    done = here(*runs(20, 200), "--format", name)

    assert done.stdout.startswith(start)
    assert done.returncode == 1


def test_what_json_cannot_say_is_null(tmp_path: Path, here: Here) -> None:
    odd = {"config": {"top_p": float("nan"), "name": "\ud800"}}
    runs = [write_run(tmp_path / name, [1.0] * 200, bundle=odd) for name in ("a", "b")]

    done = here(*runs, "--format", "json", "-o", tmp_path / "r.json")

    assert (done.returncode, done.stderr) == (0, "")
    config = json.loads(done.stdout, parse_constant=pytest.fail)["baseline"]["config"]
    assert config == {"top_p": None, "name": "\N{REPLACEMENT CHARACTER}"}
    assert (tmp_path / "r.json").read_text() == done.stdout


def test_options_reach_the_comparison(runs: Runs, here: Here) -> None:
    words = ("--test", "sign", "-t", "0.2", "--alpha", "0.01", "--correct-above", "0.5")

    done = here(*runs(20, 200), *words, "--format", "json")

    said = json.loads(done.stdout)
    assert (said["test_used"], said["threshold"]) == ("sign", 0.2)
    assert (said["alpha"], said["correct_above"], said["verdict"]) == (0.01, 0.5, "WARN")


def test_compact_and_flips(runs: Runs, here: Here) -> None:
    two = runs(20, 200)

    compact = here(*two, "--compact").stdout.splitlines()
    flips = here(*two, "--show-flips").stdout

    assert 4 <= len(compact) <= 8
    assert "  p19  1 → 0\n" in flips


def test_a_baseline_of_the_reference_system(tmp_path: Path, here: Here) -> None:
    baseline = write_reference_run(tmp_path / "theirs", [1.0] * 200)
    candidate = write_run(tmp_path / "ours", [0.0] * 20 + [1.0] * 180)

    done = here(baseline, candidate)

    assert done.returncode == 1
    assert "20 regressions" in done.stdout


def on_a_terminal(*words: object, **variables: str) -> bytes:
    """What the command writes when a terminal listens."""
    ours, theirs = pty.openpty()
    line = [*command.NEL, "compare", *map(str, words)]
    process = subprocess.Popen(line, stdout=theirs, env=environment(**variables))
    os.close(theirs)
    said = b""
    while True:
        try:
            part = os.read(ours, 65536)
        except OSError:  # Linux says EIO when the other end is closed
            break
        if not part:
            break
        said += part
    os.close(ours)
    process.wait(timeout=60)
    return said


def test_a_terminal_has_colours_unless_they_are_not_wanted(runs: Runs) -> None:
    two = runs(20, 200)

    coloured, plain = on_a_terminal(*two), on_a_terminal(*two, NO_COLOR="1")

    assert coloured.startswith(b"\x1b[31;1mBLOCK")
    assert b"\x1b" not in plain
    assert b"\x1b" not in compare(*two).stdout.encode()
