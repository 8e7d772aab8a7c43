"""A run's directory: whose it is, who writes into it now, what in it still counts."""

import contextlib
import json
import os
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from pytest_nel.core.errors import ConfigError, NelError
from pytest_nel.core.types import JsonObject
from pytest_nel.records.files import PLAN, read_plan, write_plan
from pytest_nel.records.journal import turn_of
from pytest_nel.records.record import dumps

fcntl: Any  # a module, or None on Windows: two runs in one directory are not noticed there
try:
    import fcntl
except ImportError:
    fcntl = None

RUN = "run.json"
EARLIER = "earlier"
PATIENCE = 15.0
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
        """Whether the other may go on in this one's directory."""
        common = not self.targets or not other.targets or set(self.targets) & set(other.targets)
        return bool(common) and self.shard == other.shard


class RunDirectory:
    """The directory of a run, held by this process against other runs.

    The controller holds it alone for a moment, then together with its workers; whoever holds it
    keeps others out, and the operating system lets go for those that are killed.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock = -1
        self._made = False

    def take(self, facts: RunFacts) -> None:
        """Make it ours, and the directory itself where there is none.

        Raises:
            ConfigError: Another run writes here.
            OSError: It cannot be written.
        """
        if self._lock >= 0:
            return
        self.path.mkdir(parents=True, exist_ok=True)
        self._hold(alone=True)
        if not os.fstat(self._lock).st_size:  # in place: who waits for the lock has this file open
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
        if self._lock < 0 or not self._made:
            return
        (self.path / RUN).unlink(missing_ok=True)
        self.release()
        with contextlib.suppress(OSError):  # not empty
            self.path.rmdir()

    def _hold(self, *, alone: bool) -> None:
        if self._lock < 0:
            self._lock = os.open(self.path / RUN, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        if fcntl is None:
            return
        end = time.monotonic() + PATIENCE
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
        facts = RunFacts(**found)
        return facts if facts.shard is None else replace(facts, shard=(*facts.shard,))
    except FileNotFoundError:
        return None
    except (OSError, ValueError, TypeError) as error:
        msg = f"{path}: cannot be read: {error}"
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


def changes(old: Mapping[str, object], new: Mapping[str, object]) -> list[str]:
    """Why stored answers of a benchmark say nothing any more, such as ``model: 'a' → 'b'``.

    Args:
        old: The object of the plan.json that is there.
        new: The one that would be written.
    """
    before, after = _fingerprint(old), _fingerprint(new)
    one, two = before.get("answering") or {}, after.get("answering") or {}
    found = [
        _change(name, one.get(name), two.get(name))
        for name in sorted({*one, *two})
        if one.get(name) != two.get(name)
    ]
    same_rows = "rows_hash" in before and before["rows_hash"] == after.get("rows_hash")
    if same_rows and before.get("prompts") != after.get("prompts"):
        found.append("prompt")
    return found


def _change(name: str, before: object, after: object) -> str:
    if any(isinstance(value, str) and value.startswith("sha256:") for value in (before, after)):
        return name
    return f"{name}: {before!r} → {after!r}"


def _fingerprint(plan: Mapping[str, object]) -> JsonObject:
    found = plan.get("fingerprint")
    return dict(found) if isinstance(found, Mapping) else {}


def set_aside(directory: Path) -> Path:
    """Move all that a benchmark has recorded into a folder of its own; nothing is deleted."""
    numbers = (number for number in range(1, 10_000))
    aside = next(path for n in numbers if not (path := directory / f"{EARLIER}-{n}").exists())
    aside.mkdir()
    for path in sorted(directory.iterdir()):
        if not path.name.startswith((EARLIER, ".")):
            path.rename(aside / path.name)
    return aside


@dataclass(frozen=True, slots=True)
class Claim:
    """What became of the records that a benchmark's directory held.

    Attributes:
        changed: Why they say nothing any more.
        aside: Where they are then.
    """

    changed: Sequence[str] = ()
    aside: Path | None = None


def claim(directory: Path, plan: Mapping[str, object], *, afresh: bool) -> Claim:
    """Write plan.json for the turn that it names; older records that do not fit are set aside.

    Args:
        directory: The benchmark's.
        plan: The object of plan.json.
        afresh: Whether records may be set aside; otherwise they must fit.

    Raises:
        ConfigError: They do not fit and may not be set aside.
        NelError: Another process of this turn has planned something else.
    """
    with _one_at_a_time(directory):
        old = plan_of(directory)
        if old is None:
            write_plan(directory, plan)
            return Claim()
        if old.get("turn") == plan["turn"]:
            if dumps(old) != dumps(json.loads(dumps(plan))):
                msg = (
                    f"{directory.name}: two processes of this run loaded different data; "
                    "a dataset must be the same each time it is loaded"
                )
                raise NelError(msg)
            return Claim()
        changed = changes(old, plan)
        if changed and not afresh:
            msg = (
                f"{directory.name}: not what its answers were given to ({'; '.join(changed)}): "
                "change that back, or measure anew"
            )
            raise ConfigError(msg)
        aside = set_aside(directory) if changed else None
        write_plan(directory, plan)
        return Claim(changed, aside)


@contextlib.contextmanager
def _one_at_a_time(directory: Path) -> Iterator[None]:
    """Keep other processes of the run out while the block compares and writes a plan."""
    directory.mkdir(parents=True, exist_ok=True)
    if fcntl is None:
        yield
        return
    lock = os.open(directory, os.O_RDONLY)
    try:
        with contextlib.suppress(OSError):  # a file system without locks
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield
    finally:
        os.close(lock)


def plan_of(directory: Path) -> JsonObject | None:
    """The object of plan.json, None where there is none."""
    return read_plan(directory) if (directory / PLAN).is_file() else None
