"""A short runtest protocol for items between siblings, when there are many.

pytest's own protocol costs half a millisecond per item, mostly for capturing, logging and fault
handling around three phases of which two are empty here. Items whose neighbours on both sides
belong to the same file need no set-up and no teardown of their own, so their reports can be
made directly; every reporting hook still sees them. The first and last item of a file, small
runs, and runs with a plugin or option that acts inside the phases take pytest's own way.
"""

import gc
import time
from collections.abc import Generator
from typing import Any

import pytest

from pytest_nel.core.errors import NoAnswer, RunStopped
from pytest_nel.hooks.engine import mine
from pytest_nel.hooks.item import AttemptItem, fetch
from pytest_nel.hooks.outcome import LETTERS_UP_TO, dress
from pytest_nel.hooks.state import run_key

_INSIDE = ("setup", "call", "teardown", "makereport", "protocol")
_KNOWN = (
    "_pytest.",
    "xdist.",
    "pytest_nel.",
    "pytest_asyncio",
    "anyio.",
    "_hypothesis_pytestplugin",
)
_RARELY = (20_000, 20, 50)
_ACTING_MARKS = {"skip", "skipif", "xfail", "usefixtures"}
_ACTING = ("usepdb", "trace", "setupshow", "setuponly", "setupplan")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_finish(session: pytest.Session) -> None:
    """Fix the order of this process's attempts: after selection, before the first call."""
    run = session.config.stash[run_key]
    if run.role == "controller" or session.config.option.collectonly:
        return
    measured = (item for item in session.items if isinstance(item, AttemptItem))
    run.names = list(dict.fromkeys(item.key.benchmark for item in measured))
    own = mine(run, session.items)
    attempts = [item for item in own if isinstance(item, AttemptItem)]
    if run.inherits and run.worker is not None and attempts and own[0] is attempts[0]:
        run.worker.waited = 0
    for position, item in enumerate(attempts):
        item.position = position
    run.order = [item.key for item in attempts]
    run.select(item.nodeid for item in attempts)
    many = len(run.order) > LETTERS_UP_TO
    one_of_each = {item.parent: item for item in attempts}.values()  # a conftest.py holds below it
    run.short_protocol = many and all(_nobody_acts_inside(item) for item in one_of_each)
    if many:
        _calm_collector(session.config)


def _calm_collector(config: pytest.Config) -> None:
    """Look for cyclic garbage less often while measuring; as before when pytest ends.

    Items and reports live to the end, so looking through them again and again finds nothing: it
    costs a tenth of an attempt. What lives now is not looked at any more, not even by the five
    full collections with which pytest ends.
    """
    before = gc.get_threshold()
    gc.freeze()
    gc.set_threshold(*_RARELY)
    config.add_cleanup(lambda: gc.set_threshold(*before))


def _nobody_acts_inside(item: pytest.Item) -> bool:
    if any(item.config.getoption(name, default=False) for name in _ACTING):
        return False
    for phase in _INSIDE:
        caller: Any = getattr(item.ihook, f"pytest_runtest_{phase}")
        for implementation in caller.get_hookimpls():
            module = implementation.function.__module__ or ""
            if not module.startswith(_KNOWN):
                return False
    return True


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(
    item: pytest.Item, nextitem: pytest.Item | None
) -> Generator[None, object, object]:
    """Note whose set-up is in force, and let go of the record when all have seen it."""
    run = item.config.stash[run_key]
    try:
        return (yield)
    finally:
        run.set_up = item.parent if nextitem is not None else None
        if isinstance(item, AttemptItem) and item.record is not None:
            item.record = None


class ShortProtocol:
    """The implementation that takes over between siblings; registered beside the wrapper above."""

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_protocol(
        self, item: pytest.Item, nextitem: pytest.Item | None
    ) -> bool | None:
        """Report the attempt directly, where that is the same as pytest's own way."""
        run = item.config.stash[run_key]
        if not run.short_protocol or not isinstance(item, AttemptItem):
            return None
        if run.engine is None or run.set_up is not item.parent:
            return None
        if nextitem is None or nextitem.parent is not item.parent:
            return None
        if any(mark.name in _ACTING_MARKS for mark in item.iter_markers()):
            return None
        return _report(item)


def _fetched(item: AttemptItem) -> tuple[Any, Any]:
    """Take the record; whatever comes instead is an outcome, as in pytest's own protocol."""
    try:
        fetch(item)
    except (RunStopped, NoAnswer) as stopped:
        return "skipped", (str(item.path), None, f"Skipped: not run: {stopped}")
    except (KeyboardInterrupt, pytest.exit.Exception):
        raise
    except BaseException:  # noqa: BLE001 - as pytest's CallInfo: the item fails, the session goes on
        found: pytest.ExceptionInfo[BaseException] = pytest.ExceptionInfo.from_current()
        if isinstance(found.value, pytest.skip.Exception):
            return "skipped", (str(item.path), None, f"Skipped: {found.value}")
        return "failed", item.repr_failure(found)
    return "passed", None


def _report(item: AttemptItem) -> bool:
    hook, nodeid, location = item.bench.hook, item.nodeid, item.location
    hook.pytest_runtest_logstart(nodeid=nodeid, location=location)
    start = time.time()
    outcome, longrepr = _fetched(item)
    stop = time.time()
    properties = item.user_properties
    for when in ("setup", "call", "teardown"):
        called = when == "call"
        report = pytest.TestReport(
            nodeid,
            location,
            {item.name: 1},
            outcome if called else "passed",
            longrepr if called else None,
            when,
            duration=0.0,
            start=start,
            stop=stop,
            user_properties=list(properties),
        )
        if called and outcome == "passed":
            dress(report, item)
            properties = report.user_properties
        hook.pytest_runtest_logreport(report=report)
    hook.pytest_runtest_logfinish(nodeid=nodeid, location=location)
    return True
