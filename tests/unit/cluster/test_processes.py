"""A process is known by more than its number: one with a reused number is never signalled."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator

import pytest

from pytest_nel.cluster.processes import ends, is_running, mark_of, send
from tests.support.processes import until


@pytest.fixture
def sleeper() -> "Iterator[subprocess.Popen[bytes]]":
    """A process that waits for a signal."""
    with subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"]) as process:
        yield process
        process.kill()


def test_a_process_keeps_its_mark(sleeper: "subprocess.Popen[bytes]") -> None:
    mark = mark_of(sleeper.pid)

    assert mark is not None
    assert mark_of(sleeper.pid) == mark
    assert is_running(sleeper.pid, mark)
    assert mark != mark_of(os.getpid())


def test_a_process_that_nobody_has_waited_for_has_ended() -> None:
    with subprocess.Popen([sys.executable, "-c", ""]) as process:
        zombie = until(lambda: mark_of(process.pid) is None)

    assert zombie


def test_the_process_with_the_mark_gets_the_signal(sleeper: "subprocess.Popen[bytes]") -> None:
    mark = mark_of(sleeper.pid) or ""

    sent = send(sleeper.pid, mark, signal.SIGTERM)

    assert sent
    assert ends(sleeper.pid, mark, 10)
    assert sleeper.wait(10) == -signal.SIGTERM


def test_another_process_with_the_same_number_gets_none(
    sleeper: "subprocess.Popen[bytes]",
) -> None:
    sent = send(sleeper.pid, "an-earlier-boot:1", signal.SIGKILL)

    assert not sent
    assert sleeper.poll() is None


@pytest.mark.parametrize("pid", [0, -1, 2**22 + 1])
def test_no_number_stands_for_a_group_or_for_nobody(pid: int) -> None:
    assert not send(pid, "x", signal.SIGTERM)
    assert not is_running(pid, "x")


def test_the_end_of_a_process_is_waited_for_no_longer_than_asked(
    sleeper: "subprocess.Popen[bytes]",
) -> None:
    assert not ends(sleeper.pid, mark_of(sleeper.pid) or "", 0.05)
