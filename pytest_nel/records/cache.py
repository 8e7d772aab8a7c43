"""Answers by solve_key, shared by runs and suites: an answer that was paid for is had again.

One SQLite file in WAL mode, which many processes of one machine read and write at once. It is
an aid and never the record: what fails once it is open costs a saving, not the run.
"""

import json
import sqlite3
import threading
import time
import zlib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from pytest_nel.core.errors import ConfigError
from pytest_nel.core.text import storable
from pytest_nel.core.types import JsonObject
from pytest_nel.records._cache_file import FILE_NAME, opened
from pytest_nel.records.record import dumps

DEFAULT_LIMIT = 2_000_000_000
"""Bytes."""

_VERSION = 1  # of a value
_ROW_OVERHEAD = 100  # bytes of a row that are neither its value nor its key
_PATIENCE = 10.0  # seconds to wait for another process's write
_RECENT = 60.0  # seconds for which an answer counts as in use
_USES_HELD, _USES_HELD_SECONDS = 256, 10.0  # a hit must not cost a write
_CHUNK = 500  # rows deleted in one transaction: others write in between
_VACUUM_PAGES = 2000  # as above
_MOST_FAILURES = 3  # in a row; a lock can cost _PATIENCE each time


class CacheInfo(NamedTuple):
    """What a cache holds.

    Attributes:
        path: The database.
        entries: Answers.
        bytes: What they take, as the limit counts it.
        disk_bytes: What the files take.
        oldest_use: Unix time at which the answer next to go was last used; None when empty.
        newest_use: Unix time of the last use; None when empty.
    """

    path: Path
    entries: int
    bytes: int
    disk_bytes: int
    oldest_use: float | None
    newest_use: float | None


class Pruned(NamedTuple):
    """How many answers were deleted, and what they took in bytes."""

    entries: int
    bytes: int


class _Bounds(NamedTuple):
    """What may stay: see ``_victims``."""

    goal: float
    most: float
    recent: float
    stale: float


class ResponseCache:
    """Answers by solve_key, in DIR/answers.sqlite3; safe for many processes at once.

    Calls may come from any thread, and block. Once open, a failure of the database is a miss or
    an answer not kept; :attr:`trouble` has the first one in words, for the user to be told.

    Args:
        directory: Made when it is not there.
        limit: Bytes; those used longest ago go first. None keeps everything.
        create: Whether to make the cache where there is none.
        clock: Gives Unix time.
        patience: Seconds to wait for another process's lock.

    Raises:
        ConfigError: The cache cannot be made or opened there.
    """

    def __init__(
        self,
        directory: Path,
        *,
        limit: int | None = DEFAULT_LIMIT,
        create: bool = True,
        clock: Callable[[], float] = time.time,
        patience: float = _PATIENCE,
    ) -> None:
        self.path = directory / FILE_NAME
        self.trouble: str | None = None
        self._limit = limit
        self._clock = clock
        self._lock = threading.Lock()
        self._uses: dict[str, float] = {}
        self._uses_written = clock()
        self._unchecked = 0
        self._failures: Counter[str] = Counter()
        self._db = opened(self.path, create=create, patience=patience)
        self._closed = False

    def get(self, key: str) -> JsonObject | None:
        """The answer kept under the key, which counts as used now; None: a miss.

        A value that cannot be read, or is of another version, is a miss.
        """
        with self._lock:
            answer = None
            if self._works("read"):
                with self._failing_softly("read"):
                    answer = _unpacked(key, self._stored(key))
            if answer is not None:
                self._uses[key] = self._clock()
            self._write_uses_when_due()
            return answer

    def put(self, key: str, answer: Mapping[str, Any]) -> None:
        """Keep the answer, unless there is one already: the first one stays, so that runs agree.

        It is stored as the journal would store it: strict JSON. One that is larger than the whole
        limit is not stored.
        """
        value = _packed(key, answer)
        size = len(value) + 2 * len(key) + _ROW_OVERHEAD
        if self._limit is not None and size > self._limit:
            return
        with self._lock:
            if not self._works("written"):
                return
            with self._failing_softly("written"):
                self._insert(key, value, size)
                self._unchecked += size
                # The limit is overrun by at most 2 % for each process that writes.
                if self._limit is not None and self._unchecked >= self._limit // 50:
                    self._keep_within_limit(self._limit)
            self._write_uses_when_due()

    def info(self) -> CacheInfo:
        """Count what is there.

        Raises:
            ConfigError: The database cannot be read.
        """
        with self._lock, self._failing_loudly("read"):
            entries, total = self._totals()
            oldest, newest = self._db.execute(
                "SELECT (SELECT min(used) FROM answers), (SELECT max(used) FROM answers)"
            ).fetchone()
        files = [self.path.with_name(FILE_NAME + end) for end in ("", "-wal", "-shm")]
        return CacheInfo(self.path, entries, total, sum(map(_size_on_disk, files)), oldest, newest)

    def prune(self, *, limit: int | None = None, unused_for: float | None = None) -> Pruned:
        """Delete those used longest ago, and give the space back to the disk.

        Args:
            limit: Bytes that may stay.
            unused_for: Seconds; what was not used for longer goes in any case.

        Raises:
            ConfigError: The database cannot be written.
        """
        most = float("inf") if limit is None else limit
        stale = float("-inf") if unused_for is None else self._clock() - unused_for
        with self._lock, self._failing_loudly("written"):
            self._write_uses()
            pruned = self._shrink(_Bounds(most, most, 0.0, stale))
            self._give_back()
        return pruned

    def close(self) -> None:
        """Write down what was used, enforce the limit and close; safe to call twice."""
        with self._lock:
            if self._works("written"):
                with self._failing_softly("written"):
                    self._write_uses()
                    if self._limit is not None:
                        self._keep_within_limit(self._limit)
            self._closed = True
            with self._failing_softly("written"):
                self._db.close()

    def _stored(self, key: str) -> bytes | None:
        row = self._db.execute("SELECT value FROM answers WHERE key = ?", (key,)).fetchone()
        return None if row is None else row[0]

    def _insert(self, key: str, value: bytes, size: int) -> None:
        now = self._clock()
        done = self._db.execute(
            "INSERT INTO answers (key, used, size, value) VALUES (?, ?, ?, ?)"
            " ON CONFLICT (key) DO NOTHING",
            (key, now, size, value),
        )
        if done.rowcount:
            return
        there = self._stored(key)
        if there is not None and _unpacked(key, there) is None:
            # Without this, one damaged value would be paid for in every run.
            self._db.execute(
                "UPDATE answers SET used = ?, size = ?, value = ? WHERE key = ? AND value = ?",
                (now, size, value, key, there),
            )

    def _write_uses_when_due(self) -> None:
        waited = abs(self._clock() - self._uses_written)  # a clock may be set back
        due = len(self._uses) >= _USES_HELD or waited >= _USES_HELD_SECONDS
        if self._uses and due and self._works("written"):
            with self._failing_softly("written"):
                self._write_uses()

    def _write_uses(self) -> None:
        uses, self._uses, self._uses_written = self._uses, {}, self._clock()
        if uses:
            with self._transaction():
                self._db.executemany(
                    "UPDATE answers SET used = max(used, ?) WHERE key = ?",
                    [(used, key) for key, used in uses.items()],
                )

    def _keep_within_limit(self, limit: int) -> None:
        """Delete what is too much, and a tenth more, but that tenth not from what is in use."""
        self._unchecked = 0
        if self._totals()[1] > limit:
            self._write_uses()
            recent = self._clock() - _RECENT
            self._shrink(_Bounds(0.9 * limit, limit, recent, float("-inf")))

    def _totals(self) -> tuple[int, int]:
        entries, total = self._db.execute(
            "SELECT coalesce(max(entries), 0), coalesce(max(bytes), 0) FROM totals"
        ).fetchone()
        return entries, total

    def _shrink(self, bounds: _Bounds) -> Pruned:
        """Delete from the least recently used on; each chunk looks anew at what others did."""
        entries = freed = 0
        while True:
            with self._transaction():
                rows = self._db.execute(
                    "SELECT id, used, size FROM answers ORDER BY used, id LIMIT ?", (_CHUNK,)
                ).fetchall()
                victims = list(_victims(rows, self._totals()[1], bounds))
                self._db.executemany(
                    "DELETE FROM answers WHERE id = ?", [(number,) for number, _ in victims]
                )
            entries += len(victims)
            freed += sum(size for _, size in victims)
            if len(victims) < _CHUNK:
                return Pruned(entries, freed)

    def _give_back(self) -> None:
        free = None
        while free != (free := self._db.execute("PRAGMA freelist_count").fetchone()[0]):
            self._db.execute(f"PRAGMA incremental_vacuum({_VACUUM_PAGES})").fetchall()
        self._db.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchall()

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        self._db.execute("BEGIN IMMEDIATE")
        try:
            yield
            self._db.execute("COMMIT")
        finally:
            if self._db.in_transaction:
                self._db.execute("ROLLBACK")

    def _works(self, what: str) -> bool:
        return not self._closed and self._failures[what] < _MOST_FAILURES

    @contextmanager
    def _failing_softly(self, what: str) -> Iterator[None]:
        """A saving is lost and the run goes on; after some failures in a row it is let be."""
        try:
            yield
        except (sqlite3.Error, OverflowError) as error:
            self._failures[what] += 1
            if self.trouble is None:
                self.trouble = f"the answer cache cannot be {what}: {error}: {self.path}"
            if self._failures[what] == _MOST_FAILURES:
                self.trouble += f"; after {_MOST_FAILURES} failures in a row it is let be"
        else:
            self._failures[what] = 0

    @contextmanager
    def _failing_loudly(self, what: str) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            msg = f"the answer cache cannot be {what}: {error}: {self.path}"
            raise ConfigError(msg) from error


def _packed(key: str, answer: Mapping[str, Any]) -> bytes:
    """A value says what it is and whose; zlib halves it and adds a checksum."""
    text = f'{{"version":{_VERSION},"key":{dumps(key)},"answer":{dumps(answer)}}}'
    return zlib.compress(storable(text).encode("utf-8"), 1)


def _unpacked(key: str, value: object) -> JsonObject | None:
    """The answer; None where it is not one of ours, of this version, for this key."""
    try:
        envelope = json.loads(zlib.decompress(value)) if isinstance(value, bytes) else None
    except (zlib.error, ValueError, RecursionError):
        return None
    if not isinstance(envelope, dict):
        return None
    mine = envelope.get("version") == _VERSION and envelope.get("key") == key
    answer = envelope.get("answer")
    return answer if mine and isinstance(answer, dict) else None


def _victims(
    rows: list[tuple[int, float, int]], total: int, bounds: _Bounds
) -> Iterator[tuple[int, int]]:
    """Id and size of what has to go, of rows in the order of their use.

    Below ``goal`` bytes all may stay, and between that and ``most`` what was used since
    ``recent``; what was not used since ``stale`` goes in any case.
    """
    for number, used, size in rows:
        enough = bounds.goal if used < bounds.recent else bounds.most
        if used >= bounds.stale and total <= enough:
            return
        total -= size
        yield number, size


def _size_on_disk(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:  # another process closed it, and the -wal file went
        return 0
