"""A command is watched, restarted and ended, and leaves nothing behind."""

import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import httpx
import pytest

from pytest_nel.core.types import Endpoint
from tests.support.processes import alive, gone, until
from tests.unit.services.commands import LINUX, Make, ask, line, log, started


@LINUX
def test_a_server_that_dies_is_started_again_at_the_same_port(make: Make, tmp_path: Path) -> None:
    endpoint = make().start()
    first = ask(endpoint, "pid")

    os.kill(first, signal.SIGKILL)

    assert until(lambda: "the server is ready again" in log(tmp_path))
    assert ask(endpoint, "pid") != first
    assert "[pytest-nel] the server ended with status 137; restart 1 of 3" in log(tmp_path)


@LINUX
def test_when_the_restarts_are_used_up_it_says_so(make: Make, tmp_path: Path) -> None:
    service = make("once", max_restarts=2, cwd=str(tmp_path))
    endpoint = service.start()
    before = service.trouble

    os.kill(ask(endpoint, "pid"), signal.SIGKILL)

    assert until(lambda: service.trouble is not None)
    assert before is None
    assert "did not come up again after 2 restarts" in str(service.trouble)
    assert len(started(tmp_path)) == 3
    assert str(service.trouble).removeprefix("services.mine: ") in log(tmp_path)
    with pytest.raises(httpx.ConnectError):
        ask(endpoint, "pid")


@LINUX
def test_no_restart_is_no_restart(make: Make, tmp_path: Path) -> None:
    service = make(max_restarts=0)
    endpoint = service.start()

    os.kill(ask(endpoint, "pid"), signal.SIGKILL)

    assert until(lambda: service.trouble is not None)
    assert "max_restarts is 0" in str(service.trouble)
    assert len(started(tmp_path)) == 1


@LINUX
def test_a_server_that_does_not_answer_any_more_is_started_again(
    make: Make, tmp_path: Path
) -> None:
    service = make("hangs", health_interval=0.1, max_restarts=1)
    endpoint = service.start()
    first = ask(endpoint, "pid")

    assert until(lambda: service.trouble is not None)
    assert "no answer from" in log(tmp_path)
    assert "restart 1 of 1" in log(tmp_path)
    assert len(started(tmp_path)) == 2
    assert started(tmp_path)[0] == first
    assert gone(started(tmp_path))


@LINUX
def test_a_server_that_answers_is_left_alone(make: Make, tmp_path: Path) -> None:
    service = make(health_interval=0.05)
    service.start()

    threading.Event().wait(0.6)

    assert len(started(tmp_path)) == 1
    assert "[pytest-nel]" not in log(tmp_path)


@LINUX
@pytest.mark.parametrize(
    "shell",
    ["exec ", "true; ", pytest.param("trap '' TERM; ", marks=pytest.mark.slow)],
    ids=["exec", "child", "ignores SIGTERM"],
)
def test_stop_leaves_no_descendant(make: Make, tmp_path: Path, shell: str) -> None:
    command = line("family").replace("exec ", shell)
    service = make(command=command)
    service.start()
    family = started(tmp_path) + started(tmp_path, "family")

    service.stop()

    assert len(family) == 3
    assert not any(alive(pid) for pid in family)


@LINUX
def test_what_a_dead_server_leaves_is_ended_before_the_next(make: Make, tmp_path: Path) -> None:
    make("family").start()
    family = started(tmp_path, "family")

    os.kill(started(tmp_path)[0], signal.SIGKILL)

    assert until(lambda: "ready again" in log(tmp_path))
    assert not any(alive(pid) for pid in family)


def test_stop_is_harmless_twice_and_before_start(make: Make, tmp_path: Path) -> None:
    service = make()
    service.stop()

    service.start()
    service.stop()
    service.stop()

    assert len(started(tmp_path)) == 1
    assert service.trouble is None
    assert not any(alive(pid) for pid in started(tmp_path))


@LINUX
def test_stop_during_a_restart_ends_it(make: Make, tmp_path: Path) -> None:
    command = f"if [ -e once ]; then echo started $$; sleep 600; fi; touch once; {line()}"
    service = make(command=command, cwd=str(tmp_path))
    endpoint = service.start()
    os.kill(ask(endpoint, "pid"), signal.SIGKILL)
    assert until(lambda: len(started(tmp_path)) == 2)

    service.stop()

    assert not any(alive(pid) for pid in started(tmp_path))
    assert service.trouble is None


@LINUX
def test_a_server_started_from_a_thread_outlives_the_thread(make: Make) -> None:
    service = make()
    endpoints: list[Endpoint] = []
    thread = threading.Thread(target=lambda: endpoints.append(service.start()))

    thread.start()
    thread.join()

    assert ask(endpoints[0], "pid")


@LINUX
def test_ctrl_c_is_not_for_the_server(make: Make) -> None:
    endpoint = make().start()

    pid = ask(endpoint, "pid")

    assert os.getsid(pid) != os.getsid(0)
    assert os.getpgid(pid) != os.getpgrp()


OWNER = """
import os, sys, time
from pathlib import Path
from pytest_nel.services.command import CommandService
config = CommandService.Config(command=sys.argv[2], protocol="chat_completions")
print(CommandService("mine", config, log_dir=Path(sys.argv[1])).start().url, flush=True)
if os.fork() == 0:  # a copy holds all that we hold
    print(os.getpid(), flush=True)
time.sleep(60)
"""


@LINUX
def test_kill_9_of_the_owner_leaves_nothing(tmp_path: Path) -> None:
    environ = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    with subprocess.Popen(
        [sys.executable, "-c", OWNER, str(tmp_path / "logs"), line("family")],
        stdout=subprocess.PIPE, text=True, env=environ,
    ) as owner:  # fmt: skip
        assert owner.stdout is not None
        owner.stdout.readline()
        copy = int(owner.stdout.readline())
        family = started(tmp_path) + started(tmp_path, "family")
        were = [alive(pid) for pid in family]

        owner.send_signal(signal.SIGKILL)

        ended = gone(family)
        os.kill(copy, signal.SIGKILL)
    assert were == [True] * 3
    assert ended


@LINUX
def test_a_supervisor_that_is_killed_takes_the_server_along(make: Make, tmp_path: Path) -> None:
    service = make(max_restarts=0)
    endpoint = service.start()
    pid = ask(endpoint, "pid")
    stat = Path(f"/proc/{pid}/stat").read_text()

    os.kill(int(stat.rpartition(")")[2].split()[1]), signal.SIGKILL)

    assert gone([pid])
    assert until(lambda: service.trouble is not None)
    assert "ended" in log(tmp_path)
