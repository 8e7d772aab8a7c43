"""A large ``nel gate`` is spread over processes, and nobody notices but by the clock."""

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from pytest_nel.cli._processes import in_processes, processes_for
from pytest_nel.core.errors import ConfigError
from tests.support.command import NEL, environment
from tests.support.stored import write_run


@pytest.mark.parametrize(
    ("weight", "benchmarks", "several"),
    [(10_000_000, 100, False), (2_000_000_000, 1, False), (2_000_000_000, 100, True)],
)
def test_processes_are_for_many_rows_of_several_benchmarks(
    weight: int, benchmarks: int, *, several: bool
) -> None:
    cores = len(os.sched_getaffinity(0))

    found = processes_for(weight, benchmarks)

    assert found == (min(cores, 4) if several else 1)


def shout(name: str) -> str:
    return f"{name.upper()} {os.getpid()}"


def test_processes_give_their_results_in_order() -> None:
    names = [f"b{at}" for at in range(7)]

    found = list(in_processes(2)(shout, names))

    assert [text.split()[0] for text in found] == [name.upper() for name in names]
    assert str(os.getpid()) not in {text.split()[1] for text in found}


def die_elsewhere(name: str) -> str:
    if os.getpid() != int(os.environ["NEL_TEST_PARENT"]):
        os._exit(9)
    return name


def test_where_processes_die_this_one_does_the_work(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NEL_TEST_PARENT", str(os.getpid()))

    assert list(in_processes(2)(die_elsewhere, ["a", "b", "c"])) == ["a", "b", "c"]


def refuse(name: str) -> str:
    raise ConfigError(name)


def test_an_error_of_a_process_is_the_same_error_here() -> None:
    with pytest.raises(ConfigError, match=r"^a$"):
        list(in_processes(2)(refuse, ["a", "b"]))


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Twelve benchmarks with so long answers that several processes pay: 220 MB of rows."""
    folder = tmp_path_factory.mktemp("large")
    for at in range(12):
        answer = {"model_response": "x" * 8000}
        for name in ("base", "cand"):
            write_run(folder / name, [1.0] * 1150, name=f"b{at:02}", row=answer)
    (folder / "p.yaml").write_text("version: 1\ndefaults: {metric: mean_reward, max_drop: 0.05}\n")
    return folder


@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="needs two processors")
def test_a_large_gate_without_a_terminal_says_the_same(large: Path) -> None:
    command = f"{sys.executable} -m pytest_nel.cli.main gate base cand -p p.yaml"

    closed = subprocess.run(
        ["bash", "-c", f"{command} <&-"],
        check=False,
        cwd=large,
        capture_output=True,
        text=True,
        env=environment(),
    )

    assert (closed.returncode, closed.stderr) == (0, "")
    assert closed.stdout.startswith("GO  p.yaml\n  All 12 gated benchmark(s) passed\n")
    assert re.findall(r"^b(\d\d) ", closed.stdout, re.MULTILINE) == [f"{at:02}" for at in range(12)]


@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="needs two processors")
def test_ctrl_c_ends_all_processes_in_one_line(large: Path) -> None:
    running = subprocess.Popen(
        [*NEL, "gate", "base", "cand", "-p", "p.yaml"],
        cwd=large,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment(),
        start_new_session=True,
        # a background shell leaves SIGINT ignored, which children inherit
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),  # noqa: PLW1509
    )
    deadline = time.monotonic() + 60
    while len(group(running.pid)) < 3 and time.monotonic() < deadline:
        time.sleep(0.01)

    os.killpg(running.pid, signal.SIGINT)  # as a terminal does
    out, err = running.communicate(timeout=60)

    assert (running.returncode, out) == (130, "")
    assert err == "nel gate: interrupted, nothing was decided\n"
    deadline = time.monotonic() + 30
    while group(running.pid) and time.monotonic() < deadline:  # one ends when it notices
        time.sleep(0.01)
    assert group(running.pid) == []


def group(leader: int) -> list[int]:
    """The processes of a group, but for those that have ended."""
    found = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            state, _, pgrp = path.read_text().rpartition(")")[2].split()[:3]
        except OSError:
            continue
        if int(pgrp) == leader and state != "Z":
            found.append(int(path.parent.name))
    return found
