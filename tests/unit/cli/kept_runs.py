"""Runs in a store, made without running anything."""

from dataclasses import replace
from pathlib import Path
from typing import Any

from pytest_nel.cli.main import main
from pytest_nel.cluster.processes import mark_of
from pytest_nel.cluster.runs import RunEntry, RunStore, here
from tests.unit.records.parts_of_runs import Whole


def nel(*words: object) -> int:
    """The exit status of ``nel eval``."""
    try:
        return main(["eval", *map(str, words)])
    except SystemExit as ended:
        return int(ended.code or 0)


def known(store: RunStore, directory: Path, **changes: Any) -> RunEntry:
    """A run with records that has ended with 0, and its entry."""
    if not directory.exists():
        Whole().part(directory)
    made = RunEntry(
        run_id=directory.name,
        pid=2**22 + 1,
        mark="x",
        host=here(),
        directory=str(directory),
        target="b.py",
        command=("--bench=b.py",),
        cwd=str(directory.parent),
        started=1_767_000_000.0,
        ended=1_767_000_060.0,
        exit_code=0,
    )
    made = replace(made, **changes)
    store.write(made)
    return made


def running(store: RunStore, directory: Path, pid: int, **changes: Any) -> RunEntry:
    """One whose process is that one."""
    facts = {"pid": pid, "mark": mark_of(pid), "ended": None, "exit_code": None}
    return known(store, directory, **(facts | changes))
