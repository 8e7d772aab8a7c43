"""When a run ends before its time: refusals, dead endpoints, Ctrl-C."""

import os
import signal
import socket
import subprocess
import time
from collections.abc import Iterator

import pytest

from tests.plugin.conftest import ANSWERS
from tests.plugin.running import Ended, Nel, rows, sums
from tests.support.endpoint import RunningEndpoint, running_endpoint

pytestmark = pytest.mark.everywhere


@pytest.fixture
def slow() -> Iterator[RunningEndpoint]:
    """Answers every request after a minute."""
    with running_endpoint(latency=60.0) as endpoint:
        yield endpoint


@pytest.fixture
def unhurried(nel: Nel) -> Iterator[RunningEndpoint]:
    """The endpoint of the other tests, 50 ms a request: what is asked in vain can be bounded."""
    with running_endpoint(script=str(ANSWERS), latency=0.05) as endpoint:
        nel.url = endpoint.url
        yield endpoint


def interrupted(process: "subprocess.Popen[str]", nel: Nel) -> tuple[Ended, float]:
    """Send Ctrl-C as a terminal would, to all; wait for the end and measure it."""
    began = time.monotonic()
    os.killpg(process.pid, signal.SIGINT)
    out, _ = process.communicate(timeout=30)
    return Ended(process.returncode, out, "", nel.folder), time.monotonic() - began


@pytest.mark.parametrize("status", [401, 403, 404])
def test_a_refusal_stops_the_run_at_once(nel: Nel, unhurried: RunningEndpoint, status: int) -> None:
    nel.bench(rows(*[f"!{status} your key is no good {i}" for i in range(200)]))

    ended = nel.run("bench_sums.py", "--nel-max-concurrent", "4")

    assert ended.code == 4, ended.text
    assert unhurried.stats()["requests"] <= 40
    assert len([line for line in ended.out.splitlines() if line.startswith("stopped: ")]) == 1
    assert f"{status}" in ended.out
    assert "your key is no good" in ended.out
    assert "Traceback" not in ended.text
    assert ended.checks()["exit_code"] == 4
    assert ended.bundle()["n_unscored"] >= 1


def test_a_refusal_stops_the_workers_too(nel: Nel, unhurried: RunningEndpoint) -> None:
    nel.bench(rows(*[f"!401 your key is no good {i}" for i in range(200)]))

    ended = nel.run("bench_sums.py", "--nel-max-concurrent", "4", "-p", "xdist", "-n2")

    assert ended.code == 4, ended.text
    assert unhurried.stats()["requests"] <= 60
    assert "your key is no good" in ended.out
    assert ended.checks()["exit_code"] == 4


def test_twenty_attempts_in_a_row_without_a_score_stop_the_run(
    nel: Nel, unhurried: RunningEndpoint
) -> None:
    nel.bench([*sums(30), *rows(*[f"!400 cannot {i}" for i in range(400)])])

    ended = nel.run(
        "bench_sums.py", "--nel-shuffle-seed", "none", "--nel-max-concurrent", "8"
    )  # fmt: skip

    assert ended.code == 7, ended.text
    assert "20 attempts in a row have no score" in ended.out
    bundle = ended.bundle()
    assert bundle["n_scored"] <= 30
    assert 20 <= bundle["n_unscored"] <= 100
    assert bundle["n_attempted"] <= unhurried.stats()["requests"] <= 150
    assert bundle["complete"] is False
    assert ended.checks()["exit_code"] == 7


def test_a_score_in_between_starts_the_count_again(nel: Nel) -> None:
    problems = [*rows(*[f"!400 cannot {i}" for i in range(15)]), *rows("7")] * 3
    nel.bench([{**row, "say": row["say"]} for row in problems])

    ended = nel.run(
        "bench_sums.py", "--nel-shuffle-seed", "none", "--nel-max-concurrent", "1",
        "--nel-window", "1",
    )  # fmt: skip

    assert ended.code == 7, ended.text
    assert ended.bundle()["n_attempted"] == 48
    assert "in a row" not in ended.out


def test_nobody_listening_is_exit_7_with_everything_recorded(nel: Nel) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    nel.bench(sums(60))
    nel.url = f"http://127.0.0.1:{port}/v1"
    suite = nel.suite("bench_sums.py", more="max_system_retries: 1")
    suite.write_text(suite.read_text().replace("model: m}", "model: m, max_retries: 0}"))

    ended = nel.run("my.nel.yaml", "--nel-max-concurrent", "4", model=False)

    assert ended.code == 7, ended.text
    assert "in a row have no score" in ended.out
    assert ended.bundle()["n_attempted"] >= 20
    assert ended.bundle()["n_scored"] == 0


@pytest.mark.parametrize("how", [[], ["-p", "xdist", "-n2"]], ids=["plain", "n2"])
def test_ctrl_c_ends_within_two_seconds(nel: Nel, slow: RunningEndpoint, how: list[str]) -> None:
    nel.bench(sums(500))
    nel.url = slow.url
    process = nel.start("bench_sums.py", "--nel-max-concurrent", "64", *how)
    slow.wait_in_flight(64)
    time.sleep(0.5)

    ended, seconds = interrupted(process, nel)

    assert ended.code == 2, ended.out
    assert seconds <= (2 if not how else 4), ended.out
    assert "= benchmarks =" in ended.out
    assert "sums: evaluated 0 of 500" in ended.out
    assert ended.checks()["exit_code"] == 2
    assert slow.stats()["requests"] == 64


def test_ctrl_c_keeps_what_was_measured(nel: Nel) -> None:
    nel.bench(sums(400))
    with running_endpoint(mode="echo", latency=0.05) as endpoint:
        nel.url = endpoint.url
        process = nel.start("bench_sums.py", "--nel-max-concurrent", "4")
        deadline = time.monotonic() + 30
        while endpoint.stats()["ok"] < 100 and time.monotonic() < deadline:
            time.sleep(0.02)

        ended, _ = interrupted(process, nel)

    assert ended.code == 2, ended.out
    bundle = ended.bundle()
    assert 90 <= bundle["n_scored"] < 400
    assert bundle["n_unscored"] == 0
    assert bundle["complete"] is False
    assert len(ended.results()) == bundle["n_attempted"]


LOST = '''
import os
import signal

import pytest


@pytest.hookimpl(wrapper=True)
def pytest_runtest_logstart(nodeid):
    """Ctrl-C that comes while an object is thrown away: Python loses what is raised there."""

    class Dying:
        def __del__(self):
            os.kill(os.getpid(), signal.SIGINT)
            sum(range(1000))  # the handler runs here

    if "[3-r0]" in nodeid:
        Dying()
    return (yield)
'''


def test_ctrl_c_is_heard_where_python_loses_it(nel: Nel, endpoint: RunningEndpoint) -> None:
    nel.bench(sums(9))
    nel.write("conftest.py", LOST)

    ended = nel.run("bench_sums.py", "--nel-shuffle-seed", "none", "-p", "no:unraisableexception")

    assert ended.code == 2, ended.text
    assert "interrupted: the same line with --nel-resume goes on" in ended.out
    assert endpoint.stats()["requests"] <= 9


AGAIN = """
import os
import signal


def pytest_sessionstart():
    os.kill(os.getpid(), signal.SIGINT)
    sum(range(1000))


def pytest_keyboard_interrupt():
    os.kill(os.getpid(), signal.SIGINT)
    sum(range(1000))
"""


def test_a_second_ctrl_c_while_the_first_is_answered_ends_without_a_traceback(nel: Nel) -> None:
    nel.bench(sums(2))
    nel.write("conftest.py", AGAIN)

    ended = nel.run("bench_sums.py")

    assert ended.code == 2, ended.text
    assert "interrupted again: what is written counts" in ended.err
    assert "Traceback" not in ended.text
