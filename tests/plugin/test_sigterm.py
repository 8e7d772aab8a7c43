"""SIGTERM: the walltime of a batch system, ``docker stop``, an aborted CI job."""

import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator

import pytest

from tests.plugin.running import Ended, Nel, sums
from tests.support.endpoint import RunningEndpoint, running_endpoint
from tests.support.processes import heeding_ctrl_c, until

pytestmark = pytest.mark.everywhere

Send = Callable[[int, int], None]
STOPPED = "SIGTERM received, nothing more was asked: resume it with --nel-resume"
COLLECTING = """
import os, pathlib, time
from pytest_nel import benchmark, exact_match, scorer

def rows():
    pathlib.Path(f"collecting-{os.getpid()}").touch()
    time.sleep(1.5)
    return [{"say": str(i), "target": str(i)} for i in range(50)]


@benchmark(name="sums", dataset=rows, prompt="{say}")
@scorer
def late(sample):
    return exact_match(sample)
"""


@pytest.fixture(autouse=True)
def heeded() -> Iterator[None]:
    """Whoever runs the tests may run them in the background."""
    with heeding_ctrl_c():
        yield


@pytest.fixture
def steady(nel: Nel) -> Iterator[RunningEndpoint]:
    """Right answers, 50 ms each."""
    with running_endpoint(mode="echo", latency=0.05) as endpoint:
        nel.url = endpoint.url
        yield endpoint


@pytest.fixture
def slow(nel: Nel) -> Iterator[RunningEndpoint]:
    """Answers every request after a minute."""
    with running_endpoint(latency=60.0) as endpoint:
        nel.url = endpoint.url
        yield endpoint


@pytest.fixture(params=[os.kill, os.killpg], ids=["process", "group"])
def send(request: pytest.FixtureRequest) -> Send:
    """To pytest alone, as ``docker stop`` does, or to all its processes, as Slurm does."""
    kind: Send = request.param
    return kind


def ended(process: "subprocess.Popen[str]", nel: Nel) -> Ended:
    out, _ = process.communicate(timeout=30)
    return Ended(process.returncode, out, "", nel.folder)


def test_sigterm_stops_the_run_which_is_resumed(
    nel: Nel, steady: RunningEndpoint, how: list[str], send: Send
) -> None:
    nel.bench(sums(150))
    line = ["bench_sums.py", "--nel-max-concurrent", "4", *how]
    process = nel.start(*line)
    assert until(lambda: steady.stats()["ok"] >= 20)

    send(process.pid, signal.SIGTERM)
    stopped = ended(process, nel)
    asked = steady.stats()["requests"]
    resumed = nel.run(*line, "--nel-resume")

    assert stopped.code == 7, stopped.out
    assert stopped.out.count(f"stopped: {STOPPED}") == 1
    assert "Traceback" not in stopped.out
    assert "replacing crashed worker" not in stopped.out
    assert 20 <= asked < 150
    assert resumed.code == 0, resumed.text
    stats = steady.stats()
    assert (stats["distinct"], len(resumed.results())) == (150, 150)
    assert stats["requests"] <= 150 + 4  # those in flight at the signal


def test_sigterm_does_not_wait_for_what_is_in_flight(
    nel: Nel, slow: RunningEndpoint, how: list[str], send: Send
) -> None:
    nel.bench(sums(500))
    process = nel.start("bench_sums.py", "--nel-max-concurrent", "64", *how)
    slow.wait_in_flight(64)
    began = time.monotonic()

    send(process.pid, signal.SIGTERM)
    stopped = ended(process, nel)

    assert time.monotonic() - began < 6
    assert stopped.code == 7, stopped.out
    assert f"stopped: {STOPPED}" in stopped.out
    assert stopped.checks()["exit_code"] == 7
    assert slow.stats()["requests"] == 64


def test_sigterm_while_problems_are_loaded_measures_nothing(
    nel: Nel, steady: RunningEndpoint, how: list[str], send: Send
) -> None:
    nel.write("bench_late.py", COLLECTING)
    process = nel.start("bench_late.py", *how)
    assert until(lambda: len([*nel.folder.glob("collecting-*")]) == (2 if how else 1))

    send(process.pid, signal.SIGTERM)
    stopped = ended(process, nel)

    assert stopped.code == 7, stopped.out
    assert STOPPED in stopped.out
    assert "Traceback" not in stopped.out
    assert "crashed" not in stopped.out
    assert steady.stats()["requests"] == 0


SLOW_START = """
services:
  model:
    type: command
    command: "echo up > starting; exec sleep 300; : {port}"
    protocol: chat_completions
    model: m
    startup_timeout: 200
benchmarks:
  - {name: bench_sums.py, solver: {type: simple, service: model}}
"""


@pytest.mark.parametrize("late", [[], ["--nel-resume"]], ids=["early", "late"])
def test_sigterm_ends_a_deployment_that_is_starting(
    nel: Nel, how: list[str], late: list[str]
) -> None:
    nel.bench(sums(4))
    nel.write("my.nel.yaml", SLOW_START)
    nel.url = None
    process = nel.start("my.nel.yaml", *how, *late)
    assert until((nel.folder / "starting").exists)
    began = time.monotonic()

    process.send_signal(signal.SIGTERM)
    stopped = ended(process, nel)

    assert time.monotonic() - began < 12
    assert stopped.code == 7, stopped.out
    assert stopped.out.count(STOPPED) == 1
    assert "Traceback" not in stopped.out
    assert "outcomes.Exit" not in stopped.out


def test_sigterm_to_one_worker_ends_the_run_in_order(nel: Nel, steady: RunningEndpoint) -> None:
    (nel.folder / "conftest.py").write_text(
        "import os, pathlib\n"
        "def pytest_sessionstart(session):\n"
        "    name = os.environ.get('PYTEST_XDIST_WORKER', 'controller')\n"
        "    pathlib.Path(f'{name}.pid').write_text(str(os.getpid()))\n"
    )
    nel.bench(sums(400))
    process = nel.start("bench_sums.py", "--nel-max-concurrent", "4", "-p", "xdist", "-n2")
    assert until(lambda: steady.stats()["ok"] >= 40)

    os.kill(int((nel.folder / "gw1.pid").read_text()), signal.SIGTERM)
    stopped = ended(process, nel)

    assert stopped.code == 7, stopped.out
    assert f"stopped: {STOPPED}" in stopped.out
    assert "crashed" not in stopped.out
    assert steady.stats()["requests"] < 400


@pytest.mark.parametrize("second", [signal.SIGTERM, signal.SIGINT])
def test_a_second_signal_ends_the_run_at_once(nel: Nel, second: int) -> None:
    nel.untested()
    nel.write(
        "bench_stuck.py",
        "import pathlib, time\n"
        "from pytest_nel import benchmark, scorer\n\n\n"
        '@benchmark(name="stuck", dataset=[{"say": "1", "target": "1"}] * 3, prompt="{say}")\n'
        "@scorer\n"
        "def stuck(sample):\n"
        "    pathlib.Path('judging').touch()\n"
        "    end = time.monotonic() + 60\n"
        "    while time.monotonic() < end:\n"
        "        time.sleep(0.05)\n"
        "    return True\n",
    )
    with running_endpoint(mode="echo") as endpoint:
        nel.url = endpoint.url
        process = nel.start("bench_stuck.py")
        assert until((nel.folder / "judging").exists)

        process.send_signal(signal.SIGTERM)
        time.sleep(0.3)
        waiting = process.poll()
        process.send_signal(second)
        code = process.wait(5)
        process.communicate()

    assert waiting is None
    assert code == -second


def test_a_stop_that_was_killed_does_not_stop_the_next_run(
    nel: Nel, steady: RunningEndpoint
) -> None:
    nel.bench(sums(6))
    (nel.folder / "run").mkdir()
    line = ["bench_sums.py", "-p", "xdist", "-n2", "--nel-output-dir", "run"]
    nel.run(*line, "--nel-resume")
    (nel.folder / "run" / ".control.json").write_text('{"stop": true, "live": [], "adopt": {}}')
    steady.reset()
    nel.bench(sums(12))

    again = nel.run(*line, "--nel-resume")

    assert again.code == 0, again.text
    assert "12/12" in again.out
