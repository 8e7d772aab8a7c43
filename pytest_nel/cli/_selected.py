"""Which run a command is about: by its id, by its directory, or the newest one."""

import argparse
import sys
from pathlib import Path
from typing import NamedTuple

from pytest_nel.cluster.runs import RunEntry, RunStore, default_folder
from pytest_nel.config.interpolate import getenv
from pytest_nel.core.errors import ConfigError
from pytest_nel.core.text import showable
from pytest_nel.records.found import is_run, runs_below
from pytest_nel.records.rundir import RUN, being_written

RESULTS = Path("eval_results")


class Selected(NamedTuple):
    """A run.

    Attributes:
        directory: Where it is, or was.
        entry: What the store says of it; None where pytest was called without ``nel``.
    """

    directory: Path
    entry: RunEntry | None

    def settled(self) -> "Selected":
        """This run as the store says now, where it seems to have died: it may just have ended."""
        if self.state != "died":
            return self
        return self._replace(entry=store().in_directory(self.directory) or self.entry)

    @property
    def state(self) -> str:
        """As the store says; of others, whether somebody writes there."""
        if self.entry is not None and self.entry.state != "elsewhere":
            return self.entry.state
        if being_written(self.directory):
            return "running"
        return "unknown" if self.entry is None else f"on {self.entry.host}"


def add_selectors(parser: argparse.ArgumentParser) -> None:
    """Declare ``-r`` and ``-o``."""
    parser.add_argument(
        "-r", "--run", metavar="ID", help="The run's id, or how it begins (default: the newest)"
    )
    parser.add_argument(
        "-o", "--output-dir", metavar="DIR", type=Path, help="The run's directory, or its parent"
    )


def store() -> RunStore:
    """The store of this user.

    Raises:
        ConfigError: There is no place for one.
    """
    return RunStore(default_folder(getenv))


def entries_of(runs: RunStore) -> list[RunEntry]:
    """All entries, the newest first; what is damaged is said on stderr."""
    entries, notes = runs.list()
    sys.stderr.writelines(f"nel: {showable(note)}\n" for note in notes)
    return entries


def selected(options: argparse.Namespace) -> Selected:
    """The run that ``-r`` or ``-o`` names, else the newest one.

    Raises:
        ConfigError: There is none, or there are several.
    """
    if options.run is not None and options.output_dir is not None:
        msg = "-r and -o both name a run: give one of them"
        raise ConfigError(msg)
    if options.output_dir is not None:
        return _in_directory(options.output_dir)
    runs = store()
    if options.run is not None:
        return _known(runs.find(options.run))
    entries = entries_of(runs)
    if entries:
        return _known(entries[0])
    if RESULTS.is_dir():
        return _in_directory(RESULTS)
    msg = f"no run is known: name its directory with -o DIR (looked in {runs.folder})"
    raise ConfigError(msg)


def _known(entry: RunEntry) -> Selected:
    return Selected(Path(entry.directory), entry)


def _in_directory(directory: Path) -> Selected:
    runs = store()
    entry = runs.in_directory(directory)
    if entry is not None:
        return _known(entry)
    if not directory.is_dir():
        msg = f"no such directory: {directory}"
        raise ConfigError(msg)
    if not ((directory / RUN).is_file() or is_run(directory)):
        below = runs_below(directory)
        if not below:
            msg = f"{directory} holds no run"
            raise ConfigError(msg)
        directory = max(below, key=lambda path: path.stat().st_mtime)
    return Selected(directory, runs.in_directory(directory))
