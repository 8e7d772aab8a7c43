"""The append-only journal: one file per writer, one line per fact, nothing is ever rewritten.

``started`` is written before an attempt, ``solved`` when the model has answered, ``scored``
when the answer was judged. A line is one unbuffered write, so what was written survives the
death of the process; what the power supply takes is bounded by ``sync``.
"""

import json
import os
import threading
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pytest_nel.core.types import AttemptKey, JsonObject
from pytest_nel.records.record import Scored, Solved, dumps

_SYNC_EVERY = 1.0


class JournalWriter:
    """Appends to one file. Lines may come from two threads; each is written whole."""

    def __init__(self, path: Path, meta: Mapping[str, Any]) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self.path = path
        self._file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
        self._lock = threading.Lock()
        self._synced = time.monotonic()
        self._write({"_type": "meta", **meta})

    def started(self, key: AttemptKey) -> None:
        """Say that the attempt begins now."""
        line = (
            f'{{"_type":"started","problem_idx":{key.problem_idx},"repeat":{key.repeat},'
            f'"t":{time.time():.3f}}}\n'
        )
        self._append(line.encode("ascii"))

    def solved(self, solved: Solved) -> None:
        """Keep what the model did."""
        self._write(solved.as_json())

    def scored(self, key: AttemptKey, scored: Scored) -> None:
        """Keep the judgement."""
        self._write(scored.as_json(key))

    def sync(self, *, force: bool = False) -> None:
        """Put the file on the disk, at most once a second unless forced. Blocks: not on a loop."""
        now = time.monotonic()
        if force or now - self._synced >= _SYNC_EVERY:
            self._synced = now
            os.fsync(self._file)

    def close(self) -> None:
        """Sync and close; safe to call twice."""
        if self._file >= 0:
            self.sync(force=True)
            os.close(self._file)
            self._file = -1

    def _write(self, row: JsonObject) -> None:
        self._append(f"{dumps(row)}\n".encode("utf-8", "replace"))

    def _append(self, line: bytes) -> None:
        with self._lock:
            view = memoryview(line)
            while view:
                view = view[os.write(self._file, view) :]


@dataclass(slots=True)
class Entry:
    """Where an attempt's newest facts stand: (file number, byte offset, length)."""

    solved: tuple[int, int, int] | None = None
    scored: tuple[int, int, int] | None = None


@dataclass(slots=True)
class JournalIndex:
    """What a benchmark's journals hold, by position; the text stays on the disk.

    Attributes:
        paths: The files, in name order.
        entries: Newest facts of each attempt.
        problems: One line per unreadable place: file, line, why.
        metas: The meta objects found.
        tries: Lines ``started``, all writers together.
    """

    paths: list[Path] = field(default_factory=list)
    entries: dict[tuple[int, int], Entry] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)
    metas: list[JsonObject] = field(default_factory=list)
    tries: int = 0

    def rows(self, order: Iterator[tuple[int, int]]) -> Iterator[tuple[JsonObject, JsonObject]]:
        """Yield (solved, scored) of every judged attempt in ``order``."""
        files = [path.open("rb") for path in self.paths]
        try:
            for key in order:
                entry = self.entries.get(key)
                if entry is None or entry.solved is None or entry.scored is None:
                    continue
                yield _read(files, entry.solved), _read(files, entry.scored)
        finally:
            for file in files:
                file.close()


def _read(files: list[Any], place: tuple[int, int, int]) -> JsonObject:  # Any: binary files
    number, offset, length = place
    files[number].seek(offset)
    row: JsonObject = json.loads(files[number].read(length))
    return row


def index_journals(directory: Path) -> JournalIndex:
    """Scan ``directory/*.jsonl`` once, keeping positions only.

    A torn last line (the writer died in the middle) and a corrupt line are reported in
    ``problems`` and skipped; nothing else is lost.
    """
    index = JournalIndex()
    for path in sorted(directory.glob("*.jsonl")):
        index.paths.append(path)
        _scan(path, len(index.paths) - 1, index)
    return index


def _scan(path: Path, number: int, index: JournalIndex) -> None:
    offset = 0
    with path.open("rb") as file:
        for line_number, line in enumerate(file, start=1):
            place = (number, offset, len(line))
            offset += len(line)
            problem = _note(line, place, index)
            if problem:
                index.problems.append(f"{path} line {line_number}: {problem}")


def _note(line: bytes, place: tuple[int, int, int], index: JournalIndex) -> str | None:
    if not line.strip():
        return None
    if not line.endswith(b"\n"):
        return "torn last line (its writer died while writing it)"
    try:
        _enter(json.loads(line), place, index)
    except (ValueError, KeyError, TypeError) as error:
        return f"unreadable ({type(error).__name__}: {error})"
    return None


def _enter(row: JsonObject, place: tuple[int, int, int], index: JournalIndex) -> None:
    kind = row["_type"]
    if kind == "meta":
        index.metas.append(row)
        return
    key = (int(row["problem_idx"]), int(row["repeat"]))
    if kind == "started":
        index.tries += 1
        return
    entry = index.entries.setdefault(key, Entry())
    if kind == "solved":
        entry.solved, entry.scored = place, None
    else:
        entry.scored = place
