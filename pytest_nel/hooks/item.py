"""One item per attempt: a view of it. The attempt itself runs on the engine, ahead of the item."""

from typing import Any

import pytest

from pytest_nel.core.errors import NoAnswer, RunStopped
from pytest_nel.core.keys import item_name
from pytest_nel.core.types import AttemptKey
from pytest_nel.hooks.engine import begin, tick
from pytest_nel.hooks.sharing import heed, told_to_stop
from pytest_nel.hooks.state import BenchmarkRun, run_key
from pytest_nel.records.record import StepRecord

UNSET = -1


class AttemptItem(pytest.Item):
    """``bench_capitals.py::capitals[0-r0]``.

    A plain Item, not a Function: a hundred thousand of them are collected in seconds. Fixtures
    are resolved once per benchmark (hooks/engine.py).
    """

    bench: BenchmarkRun
    key: AttemptKey
    position: int
    record: StepRecord | None

    @classmethod
    def for_attempt(cls, bench: BenchmarkRun, key: AttemptKey) -> "AttemptItem":
        """Build the item of an attempt."""
        name = item_name(bench.label, key.problem_idx, key.repeat)
        # given as text, or pytest >= 9.2 takes it for another id than the text it caches (--lf)
        nodeid = f"{bench.node.nodeid}::{name}"
        item: AttemptItem = cls.from_parent(bench.node, name=name, nodeid=nodeid)
        item.bench = bench
        item.key = key
        item.position = UNSET
        item.record = None
        return item

    @property
    def location(self) -> tuple[str, int | None, str]:
        """As pytest's, without asking the file system for each item."""
        path, line = self.bench.location
        return path, line, self.name

    def reportinfo(self) -> tuple[Any, int | None, str]:
        """Where the benchmark stands."""
        return self.path, self.bench.location[1], self.name

    def setup(self) -> None:
        """Start the engine with the first item of the session."""
        if not self.config.getoption("setuponly", default=False):  # nothing will be asked for
            run = self.config.stash[run_key]
            if run.engine is None:
                heed(run, self.session, now=True)
            begin(run, self)

    def runtest(self) -> None:
        """Take this attempt's record, waiting for it if need be."""
        try:
            fetch(self)
        except (RunStopped, NoAnswer) as stopped:
            pytest.skip(f"not run: {stopped}")


def fetch(item: AttemptItem) -> StepRecord:
    """The attempt's record; a second request repeats only what had no score.

    Raises:
        RunStopped: The run ended before the attempt was made.
        NoAnswer: It is only to be judged, and there is nothing to judge.
    """
    if item.record is not None and item.record.scored.outcome != "unscored":
        return item.record
    run = item.config.stash[run_key]
    assert run.engine is not None
    if run.ctrl_c and not run.interrupted:
        raise KeyboardInterrupt
    heed(run, item.session, now=item.position == UNSET)
    if (told := told_to_stop(run)) is not None:
        item.session.shouldstop = item.session.shouldstop or "told to stop"
        run.engine.stop(told)
    if item.position == UNSET:
        msg = "its worker died, and nobody said that it is to be made here"
        raise RunStopped(msg)
    try:
        item.record = run.engine.result(item.position, lambda: tick(run, item.session))
    finally:  # the engine may have given up while this item waited
        reason = run.engine.stop_reason
        if reason is not None and run.stop is None:
            run.stop = reason
            item.session.shouldstop = "the run gave up"  # the summary says why
    return item.record
