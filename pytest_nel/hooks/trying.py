"""A benchmark's scorer is tried while it is collected."""

import contextlib
import os
import threading
from collections.abc import Iterator
from dataclasses import replace

import pytest

from pytest_nel.engine.loop import LoopThread
from pytest_nel.engine.plan import BenchmarkPlan
from pytest_nel.environments.selftest import SKIPPED, selftest
from pytest_nel.hooks.state import Run

_PATIENCE = 2.0
"""Seconds after which it is said what takes so long."""


def tested(run: Run, plan: BenchmarkPlan, loop: LoopThread) -> BenchmarkPlan:
    """The plan, with what became of the scorer's self-test.

    Under ``-n`` one worker makes it for all. What it refuses ends the session; where the session
    would go on nevertheless, each makes it, so that all collect the same.

    Raises:
        ConfigError: The scorer is refused.
    """
    if (another := getattr(plan.environment, "another_size", None)) is not None:
        run.note(another)
    if run.options.get("no-selftest"):
        return replace(plan, selftest=SKIPPED)
    if run.worker is not None and run.worker.shard > 0 and not goes_on(run.config):
        return plan
    name = plan.environment.name or plan.id
    text = f"trying the scorer of {name} on its own gold answers … (not with --nel-no-selftest)"
    with _said_when_slow(run.config, text):
        found = selftest(plan.environment, plan.problems, loop.call)
    if found.warning is not None:
        run.note(found.warning)
    return replace(plan, selftest=found.status)


def goes_on(config: pytest.Config) -> bool:
    """Whether the session goes on where something could not be collected."""
    return bool(config.getoption("continue_on_collection_errors", default=False))


@contextlib.contextmanager
def _said_when_slow(config: pytest.Config, text: str) -> Iterator[None]:
    """Say it while the block still runs, which may be for ever; the terminal knows no threads."""
    out = _terminal(config)
    if out is None:
        yield
        return
    timer = threading.Timer(_PATIENCE, os.write, (out, f"\nnel: {text}\n".encode()))
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        timer.join()
        os.close(out)


def _terminal(config: pytest.Config) -> int | None:
    """Standard error as it is without pytest's capturing; also a worker has the terminal's."""
    capture = config.pluginmanager.getplugin("capturemanager")
    with capture.global_and_fixture_disabled() if capture else contextlib.nullcontext():
        try:
            return os.dup(2)
        except OSError:  # closed
            return None
