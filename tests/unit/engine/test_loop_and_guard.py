"""The engine's loop ends when told to; the guard says when to stop asking."""

import asyncio
import threading
import time
from collections.abc import Callable
from typing import TypeAlias

import pytest

from pytest_nel.core.errors import FailureKind
from pytest_nel.engine.guard import Guard
from pytest_nel.engine.loop import LoopThread

Count: TypeAlias = Callable[[Guard, str | None, str | None], None]


def test_closing_cancels_what_runs_and_ends_the_thread() -> None:
    ended: list[str] = []

    async def forever() -> None:
        try:
            await asyncio.sleep(60)
        finally:
            ended.append("cancelled")

    thread = LoopThread("nel-test-closing")
    thread.submit(forever())
    thread.call(asyncio.sleep(0))

    thread.close()

    assert ended == ["cancelled"]
    assert "nel-test-closing" not in {running.name for running in threading.enumerate()}


def test_closing_twice_or_before_the_start_is_fine() -> None:
    thread = LoopThread()

    thread.close()
    thread.call(asyncio.sleep(0))
    thread.close()
    thread.close()

    assert thread.loop is None


def test_work_is_done_on_the_loops_own_thread() -> None:
    async def where() -> str:
        return threading.current_thread().name

    thread = LoopThread("nel-test-where")

    name = thread.call(where())
    thread.close()

    assert name == "nel-test-where"


def test_a_wait_has_its_time_limit() -> None:
    thread = LoopThread()
    began = time.monotonic()

    with pytest.raises(TimeoutError):
        thread.call(asyncio.sleep(60), timeout=0.05)
    waited = time.monotonic() - began
    thread.close()

    assert waited < 5


def test_a_task_that_calls_sys_exit_does_not_end_the_loop() -> None:
    async def leaves() -> None:
        raise SystemExit(3)

    async def asks() -> str:
        task = asyncio.create_task(leaves())
        try:
            await task
        except SystemExit as error:
            return f"told of {error.code}"
        return "not told"

    thread = LoopThread("nel-test-exit")

    said = thread.call(asks(), timeout=5)
    thread.close()

    assert said == "told of 3"
    assert "nel-test-exit" not in {running.name for running in threading.enumerate()}


COUNTS = pytest.mark.parametrize("count", [Guard.solved, Guard.judged], ids=["solve", "judge"])


@COUNTS
def test_so_many_in_a_row_without_a_score_stop_the_run(count: Count) -> None:
    guard = Guard(3)

    for _ in range(2):
        count(guard, FailureKind.SERVER_ERROR, "HTTP 500")
    before = guard.reason
    count(guard, FailureKind.SERVER_ERROR, "HTTP 500: the last")

    assert before is None
    assert guard.reason is not None
    assert not guard.reason.fatal
    assert "3 attempts in a row" in guard.reason.text
    assert "the last" in guard.reason.text


@COUNTS
def test_a_success_in_between_begins_the_row_anew(count: Count) -> None:
    guard = Guard(3)

    for failure in ["infra_error", "infra_error", None] * 5:
        count(guard, failure, "x")

    assert guard.reason is None


def test_answers_do_not_excuse_a_scorer_that_always_fails() -> None:
    guard = Guard(3)

    for _ in range(3):
        guard.solved(None, None)
        guard.judged(FailureKind.SCORER, "the scorer failed")

    assert guard.reason is not None


@COUNTS
def test_one_refusal_stops_at_once_and_is_fatal(count: Count) -> None:
    guard = Guard(20)

    count(guard, FailureKind.AUTH, "HTTP 401: no such key")

    assert guard.reason is not None
    assert guard.reason.fatal
    assert guard.reason.text == "HTTP 401: no such key"


def test_the_first_reason_stands() -> None:
    guard = Guard(1)

    guard.give_up("the disk is full")
    guard.solved(FailureKind.AUTH, "HTTP 401")
    guard.give_up("again")

    assert guard.reason is not None
    assert guard.reason.text == "the disk is full"
