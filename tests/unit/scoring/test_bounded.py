"""Workers: their limits, their end, and that any thread may ask."""

import os
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from pytest_nel.core.errors import ScorerError
from pytest_nel.scoring.bounded import MEMORY_BYTES, OutOfBounds, Pool, TaskFailed, Worker, ask

ENDLESS = ("a" * 60 + "!", "(a+)+$", "", None)  # backtracks 2**60 times
LARGE = ("x" * 300_000, "(?=(.*))", "", None)  # 45 GB of matches


@pytest.fixture
def pool() -> Iterator[Pool]:
    """Two workers whose tasks have one processor second."""
    pool = Pool(2, seconds=1)
    yield pool
    pool.close()


def test_a_task_returns_its_result(pool: Pool) -> None:
    assert pool.ask("pattern:find", ("a1 b2", r"\d", "", None)) == ["1", "2"]


def test_a_task_that_raises_says_what_it_raised(pool: Pool) -> None:
    with pytest.raises(TaskFailed, match=r"ConfigError: pattern: flags"):
        pool.ask("pattern:find", ("a", "a", "q", None))


def test_a_task_that_cannot_be_loaded_is_no_verdict(pool: Pool) -> None:
    with pytest.raises(ScorerError, match="nothing:here cannot be loaded: ModuleNotFoundError"):
        pool.ask("nothing:here", ())


def test_a_task_that_runs_away_is_stopped_and_the_next_one_served(pool: Pool) -> None:
    with pytest.raises(OutOfBounds, match="processor time"):
        pool.ask("pattern:find", ENDLESS)

    assert pool.ask("pattern:find", ("a", "a", "", None)) == ["a"]


def test_a_task_that_fills_the_memory_is_stopped_and_the_next_one_served(pool: Pool) -> None:
    with pytest.raises(OutOfBounds):
        pool.ask("pattern:find", LARGE)

    assert pool.ask("pattern:find", ("a", "a", "", None)) == ["a"]


def test_a_worker_that_reached_a_bound_is_not_asked_again(pool: Pool) -> None:
    with pytest.raises(OutOfBounds):
        pool.ask("pattern:find", LARGE)

    assert pool._idle == []


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_between_tasks_no_limit_on_processor_time_is_left() -> None:
    worker = Worker()

    worker.ask(b'["pattern:find", ["a", "a", "", null], 1]\n')
    limits = Path(f"/proc/{worker.pid}/limits").read_text(encoding="ascii")
    worker.close()

    [cpu] = [line for line in limits.splitlines() if line.startswith("Max cpu time")]
    _, hard = resource.getrlimit(resource.RLIMIT_CPU)
    assert cpu.split()[3] == ("unlimited" if hard == resource.RLIM_INFINITY else str(hard))


def test_a_result_that_is_too_large_to_be_sent_is_out_of_bounds(pool: Pool) -> None:
    with pytest.raises(OutOfBounds, match=r"MemoryError|processor time or memory"):
        pool.ask("pattern:find", ("x" * 200_000, "(?=(.{0,3000}))", "", None))  # 0.6 GB, twice


def test_a_long_request_and_a_long_result_go_through_the_pipes(pool: Pool) -> None:
    text = "ab" * 1_000_000

    assert pool.ask("pattern:find", (text, "(?s).*", "", None))[0] == text


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_a_worker_has_a_limit_on_memory_and_leaves_no_core() -> None:
    worker = Worker()

    worker.ask(b'["pattern:find", ["a", "a", "", null], 1]\n')
    limits = Path(f"/proc/{worker.pid}/limits").read_text(encoding="ascii")
    worker.close()

    found = {line[:25].strip(): line.split()[-3] for line in limits.splitlines()[1:]}
    assert found["Max address space"] == str(MEMORY_BYTES)
    assert found["Max core file size"] == "0"


def test_a_worker_that_somebody_killed_is_replaced(pool: Pool) -> None:
    pool.ask("pattern:find", ("a", "a", "", None))
    os.kill(pool._idle[0].pid, signal.SIGKILL)

    assert pool.ask("pattern:find", ("a", "a", "", None)) == ["a"]


def test_many_threads_may_ask_at_once() -> None:
    with ThreadPoolExecutor(16) as threads:
        found = list(
            threads.map(lambda n: ask("pattern:find", f"n{n}", r"\d+", "", None), range(200))
        )

    assert found == [[str(n)] for n in range(200)]


def test_closing_a_pool_ends_its_workers() -> None:
    pool = Pool(1)
    pool.ask("pattern:find", ("a", "a", "", None))
    pid = pool._idle[0].pid

    pool.close()

    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


def test_a_worker_that_cannot_be_started_is_no_verdict() -> None:
    with pytest.raises(ScorerError, match="cannot be started"):
        Worker("/nowhere/python")


PARENT = """
import sys, time
from pytest_nel.scoring import bounded
bounded.ask("pattern:find", "a", "a", "", None)
print(bounded._pool(bounded.os.getpid())._idle[0].pid, flush=True)
{then}
"""


def parent(then: str) -> tuple[subprocess.Popen[str], int]:
    """A process that has a worker, and the worker's id."""
    process = subprocess.Popen(
        [sys.executable, "-c", PARENT.format(then=then)],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
    )
    assert process.stdout is not None
    with process.stdout:
        return process, int(process.stdout.readline())


def alive(pid: int) -> bool:
    """Whether the process is there and more than an entry nobody has reaped."""
    try:
        return Path(f"/proc/{pid}/stat").read_text(encoding="ascii").split()[2] != "Z"
    except FileNotFoundError:
        return False


def ends(pid: int, within: float) -> bool:
    """Whether the process ends within so many seconds."""
    deadline = time.monotonic() + within
    while alive(pid) and time.monotonic() < deadline:
        time.sleep(0.05)
    return not alive(pid)


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_an_idle_worker_ends_with_its_killed_parent() -> None:
    process, worker = parent("time.sleep(60)")

    process.kill()
    process.wait()

    assert ends(worker, within=10)


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_a_worker_ends_with_its_parent_though_another_process_holds_the_pipe() -> None:
    process, worker = parent("import os; os.fork() or time.sleep(20); time.sleep(20)")

    process.kill()
    process.wait()

    assert ends(worker, within=15)


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_a_busy_worker_ends_soon_after_its_killed_parent() -> None:
    process, worker = parent(
        "bounded.ask('pattern:find', 'a' * 60 + '!', '(a+)+$', '', None)"  # more than a lifetime
    )

    time.sleep(0.5)
    process.kill()
    process.wait()

    assert ends(worker, within=60)


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_a_worker_ends_with_a_parent_that_ends() -> None:
    process, worker = parent("")

    code = process.wait(timeout=30)

    assert (code, ends(worker, within=10)) == (0, True)
