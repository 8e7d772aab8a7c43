"""A run that notes itself in the store: that it has begun, where, and how it ended."""

import contextlib
import os
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from pytest_nel.cluster.processes import mark_of
from pytest_nel.cluster.runs import RunEntry, RunStore, here
from pytest_nel.hooks.state import Run, run_key
from pytest_nel.records.rundir import RUN


class Noted:
    """A plugin of pytest for one run. What it cannot write is a warning, and the run goes on.

    Args:
        store: Where runs are noted.
        command: The words after ``nel eval run``, secrets left out.
        log: The file that the run prints into, in the store; None for a terminal.
    """

    def __init__(self, store: RunStore, command: Sequence[str], log: Path | None) -> None:
        self._store = store
        self._command = tuple(command)
        self._log = log
        self._entry: RunEntry | None = None
        self._run: Run | None = None
        self._moved = log is None
        self._warned = False

    @pytest.hookimpl(trylast=True)
    def pytest_sessionstart(self, session: pytest.Session) -> None:
        """Note that it has begun; what only lists is no run."""
        run = session.config.stash.get(run_key, None)
        if run is None or session.config.option.collectonly or run.options.given.get("dry-run"):
            return
        self._run = run
        self._entry = RunEntry(
            run_id=run.id,
            pid=os.getpid(),
            mark=mark_of(os.getpid()) or "",
            host=here(),
            directory=str(run.directory.absolute()),
            target=", ".join(run.run_facts.targets),
            command=self._command,
            cwd=str(Path.cwd()),
            started=time.time(),
            log=None if self._log is None else str(self._log),
        )
        self._write()

    def pytest_runtest_logreport(self) -> None:
        """Move the log into the run's directory, once that is there."""
        if not self._moved:
            self._moved = True
            self._move()

    def end(self, code: int) -> None:
        """Note the exit status."""
        if self._entry is not None:
            self._entry = replace(self._entry, ended=time.time(), exit_code=code)
            self._write()

    def _move(self) -> None:
        if self._run is None or self._entry is None or self._log is None:
            return
        folder = self._run.directory / "logs"
        stamp = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime(self._entry.started))
        target = (folder / f"nel-{stamp}.log").absolute()
        if not (self._run.directory / RUN).is_file() or target.exists():
            return
        with contextlib.suppress(OSError):  # another file system: it stays where it is
            folder.mkdir(exist_ok=True)
            self._log.rename(target)
            self._entry = replace(self._entry, log=str(target))
            self._write()

    def _write(self) -> None:
        assert self._entry is not None
        try:
            self._store.write(self._entry)
        except OSError as error:
            self._warn(f"this run cannot be noted in {self._store.folder}: {error}")

    def _warn(self, text: str) -> None:
        if not self._warned:
            sys.stderr.write(f"nel: {text}; nel eval status, logs and stop will not know it\n")
        self._warned = True


def run_noted(
    arguments: Sequence[str], noted: Noted | None, run: Callable[..., int | pytest.ExitCode]
) -> int:
    """Run pytest, and note what it ended with."""
    code = int(run(list(arguments), plugins=[] if noted is None else [noted]))
    if noted is not None:
        noted.end(code)
    return code
