"""A run's directory: whose it is, and who writes into it now."""

import contextlib
import json
import os
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from pytest_nel.core.errors import ConfigError
from pytest_nel.core.locks import fcntl
from pytest_nel.records.journal import turn_of
from pytest_nel.records.plans import PLAN, read_plan

RUN = "run.json"
PATIENCE = 10.0
"""Seconds in which the workers of a controller that was killed have ended."""


@dataclass(frozen=True, slots=True)
class RunFacts:
    """The object of run.json.

    Attributes:
        run_id: The run's id, kept by every resumption.
        timestamp: When it began, ISO 8601 in UTC.
        targets: What was measured, as the command line named it: files relative to pytest's
            root, or the benchmark of quick mode.
        shard: (index, count) where the run is one of several shards.
    """

    run_id: str
    timestamp: str
    targets: Sequence[str]
    shard: tuple[int, int] | None = None

    def as_text(self) -> str:
        """What run.json holds."""
        return json.dumps(asdict(self), indent=2) + "\n"

    def same_suite(self, other: "RunFacts") -> bool:
        """Whether the other may go on in this one's directory: it measures no more than this."""
        return set(other.targets) <= set(self.targets) and self.shard == other.shard


class RunDirectory:
    """The directory of a run, held by this process against other runs.

    The controller holds it alone for a moment, then together with its workers; whoever holds it
    keeps others out, and the operating system lets go for those that are killed.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock = -1
        self._made = False

    def take(self, facts: RunFacts, *, new: bool = False) -> None:
        """Make it ours, and the directory itself where there is none.

        Args:
            facts: What run.json says, unless it says something already.
            new: Whether this run begins here, so that another must not have.

        Raises:
            ConfigError: Another run writes here, or has begun here.
            OSError: It cannot be written.
        """
        if self._lock >= 0:
            return
        self.path.mkdir(parents=True, exist_ok=True)
        self._hold(alone=True, patience=0.0 if new else PATIENCE)
        said = os.fstat(self._lock).st_size
        if said and new:
            self.release()
            msg = f"{self.path}: another run has begun there: name another directory"
            raise ConfigError(msg)
        if not said:  # in place: who waits for the lock has this file open
            self._made = True
            os.write(self._lock, facts.as_text().encode())
        self._hold(alone=False)

    def join(self) -> None:
        """Hold it as one of the processes of its run."""
        self._hold(alone=False)

    def release(self) -> None:
        """Let go; safe to call twice."""
        if self._lock >= 0:
            os.close(self._lock)
            self._lock = -1

    def discard(self) -> None:
        """Remove what :meth:`take` has made, where nothing else is there."""
        if self._lock < 0 or not self._made or {path.name for path in self.path.iterdir()} > {RUN}:
            return
        (self.path / RUN).unlink(missing_ok=True)
        self.release()
        with contextlib.suppress(OSError):  # not empty
            self.path.rmdir()

    def _hold(self, *, alone: bool, patience: float | None = None) -> None:
        if self._lock < 0:
            self._lock = os.open(self.path / RUN, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        if fcntl is None:
            return
        end = time.monotonic() + (PATIENCE if patience is None else patience)
        kind = fcntl.LOCK_EX if alone else fcntl.LOCK_SH
        while True:
            try:
                fcntl.flock(self._lock, kind | fcntl.LOCK_NB)
            except BlockingIOError:
                if time.monotonic() < end:
                    time.sleep(0.1)
                    continue
                self.release()
                msg = f"{self.path}: another run is writing there: wait for its end, or end it"
                raise ConfigError(msg) from None
            except OSError:  # a file system without locks
                return
            return


def being_written(directory: Path) -> bool:
    """Whether a run writes there now; never, where the file system has no locks."""
    with contextlib.suppress(OSError), _undisturbed(directory) as free:
        return not free
    return False


@contextlib.contextmanager
def kept_still(directory: Path) -> Iterator[None]:
    """Let no run write into the directory while the block replaces files there.

    Raises:
        ConfigError: One does.
    """
    with _undisturbed(directory) as free:
        if not free:
            msg = f"{directory}: a run is writing there: wait for its end, or end it"
            raise ConfigError(msg)
        yield


@contextlib.contextmanager
def _undisturbed(directory: Path) -> Iterator[bool]:
    """Whether nobody held the directory; nobody else does so during the block."""
    path = directory / RUN
    if fcntl is None or not path.is_file():
        yield True
        return
    lock = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        free = True
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            free = False
        except OSError:  # a file system without locks
            pass
        yield free
    finally:
        os.close(lock)


def read_run(directory: Path) -> RunFacts | None:
    """The facts of a run directory, None where there are none.

    Raises:
        ConfigError: run.json cannot be understood.
    """
    path = directory / RUN
    try:
        text = path.read_text(encoding="utf-8")
        if not text:  # it was killed before it could say anything
            return None
        found = json.loads(text)
        facts = RunFacts(**dict(found))
        set(facts.targets).add("")  # a TypeError unless it holds texts or their like
        return facts if facts.shard is None else replace(facts, shard=(*facts.shard,))
    except FileNotFoundError:
        return None
    except (OSError, ValueError, TypeError) as error:
        msg = f"{path}: cannot be read: {error}; move it away: a run is known by its plans, too"
        raise ConfigError(msg) from error


def newest_run(base: Path, facts: RunFacts) -> Path | None:
    """The youngest run directory in ``base`` that measures the same thing."""
    found = []
    for path in base.glob(f"*/{RUN}"):
        with contextlib.suppress(ConfigError):
            there = read_run(path.parent)
            if there is not None and there.same_suite(facts):
                found.append((there.timestamp, path.parent.name, path.parent))
    return max(found)[2] if found else None


def next_turn(directory: Path) -> int:
    """The number of the turn that begins now: 1 in a new directory."""
    turns = [turn_of(path) for path in directory.glob("*/journal/*.jsonl")]
    turns += [int(read_plan(path.parent).get("turn", 0)) for path in directory.glob(f"*/{PLAN}")]
    return max(turns, default=0) + 1


def refuse_used(directory: Path, way_out: str = "") -> None:
    """Refuse a directory that is not empty.

    Args:
        directory: It need not exist.
        way_out: What else may be done, for the message.

    Raises:
        ConfigError: It holds something; the message says what to do.
    """
    if directory.is_dir() and any(directory.iterdir()):
        msg = (
            f"output directory {directory} is not empty: results are never overwritten; "
            f"name a new directory or remove that one{way_out}"
        )
        raise ConfigError(msg)
