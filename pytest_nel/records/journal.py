"""The append-only journal: one file per writer, one line per fact, nothing is ever rewritten.

``started`` is written before an attempt, ``solved`` when the model has answered, ``scored``
when the answer was judged. A line is one unbuffered write, so what was written survives the
death of the process; what the power supply takes is bounded by ``sync``.
"""

import json
import os
import re
import threading
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pytest_nel.core.errors import JournalError
from pytest_nel.core.text import storable
from pytest_nel.core.types import AttemptKey, JsonObject
from pytest_nel.records.record import Scored, Solved, dumps

_SYNC_EVERY = 1.0
_OUTCOMES = frozenset({"correct", "wrong", "unparsed", "unscored"})


class JournalWriter:
    """Appends to one file. Lines may come from two threads; each is written whole.

    Every method that writes raises JournalError when the disk does not take it.
    """

    def __init__(self, path: Path, meta: Mapping[str, Any]) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self.path = path
        self._file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
        self._lock = threading.Lock()
        self._held = b""
        self._synced = time.monotonic()
        self._end_torn_line()
        self._write({"_type": "meta", **meta})

    def started(self, key: AttemptKey) -> None:
        """Say that the attempt begins now."""
        line = (
            f'{{"_type":"started","problem_idx":{key.problem_idx},"repeat":{key.repeat},'
            f'"t":{time.time():.3f}}}\n'
        )
        self._append(line.encode("ascii"))

    def solved(self, solved: Solved) -> None:
        """Keep what the model did; written with the next line, or by :meth:`flush`.

        The line of the next attempt follows within the same turn of the loop, and one write costs
        half of two.
        """
        line = self._line(solved.as_json())
        with self._lock:
            self._held += line

    def flush(self) -> None:
        """Write what ``solved`` holds back."""
        if self._held:
            self._append(b"")

    def scored(self, key: AttemptKey, scored: Scored) -> None:
        """Keep the judgement."""
        self._write(scored.as_json(key))

    def sync(self, *, force: bool = False) -> None:
        """Put the file on the disk, at most once a second unless forced. Blocks: not on a loop."""
        now = time.monotonic()
        if force or now - self._synced >= _SYNC_EVERY:
            self._synced = now
            try:
                os.fsync(self._file)
            except OSError as error:
                raise self._failed(error) from error

    def close(self) -> None:
        """Sync and close; safe to call twice."""
        if self._file >= 0:
            self.flush()
        with self._lock:
            if self._file < 0:
                return
            try:
                self.sync(force=True)
            finally:
                os.close(self._file)
                self._file = -1

    def _write(self, row: JsonObject) -> None:
        self._append(self._line(row))

    def _line(self, row: JsonObject) -> bytes:
        line = f"{dumps(row)}\n"
        try:
            return line.encode("utf-8")
        except UnicodeEncodeError:
            return storable(line).encode("utf-8")

    def _append(self, line: bytes) -> None:
        with self._lock:
            if self._file < 0:
                msg = f"journal {self.path} is closed"
                raise JournalError(msg)
            line, self._held = self._held + line, b""
            written = 0
            try:
                while written < len(line):
                    written += os.write(self._file, line[written:] if written else line)
            except OSError as error:
                self._take_back(written)
                raise self._failed(error) from error

    def _end_torn_line(self) -> None:
        """An earlier writer of this name may have died in the middle of a line."""
        size = os.fstat(self._file).st_size
        if size:
            with self.path.open("rb") as file:
                file.seek(size - 1)
                if file.read(1) != b"\n":
                    self._append(b"\n")

    def _take_back(self, written: int) -> None:
        """Remove the beginning of a line that did not fit, or the next one would go on from it."""
        if written:
            os.ftruncate(self._file, os.fstat(self._file).st_size - written)

    def _failed(self, error: OSError) -> JournalError:
        reason = error.strerror or type(error).__name__
        return JournalError(f"the journal cannot be written: {reason}: {self.path}")


@dataclass(slots=True)
class Entry:
    """Where an attempt's newest facts stand: (file number, byte offset, length).

    Attributes:
        solved: What the model did; the one that ``scored`` judges where there is a judgement.
        scored: The newest judgement.
        again: A later solution that nobody has judged yet; it never hides a finished attempt.
        begun: The file whose writer began it last.
        rewarded: Whether the newest judgement has a reward.
    """

    solved: tuple[int, int, int] | None = None
    scored: tuple[int, int, int] | None = None
    again: tuple[int, int, int] | None = None
    begun: int | None = None
    rewarded: bool = False


@dataclass(slots=True)
class JournalIndex:
    """What a benchmark's journals hold, by position; the text stays on the disk.

    Attributes:
        paths: The files, in name order.
        entries: Newest facts of each attempt, as they were begun.
        problems: One line per unreadable place: file, line, why.
        metas: The meta objects found.
    """

    paths: list[Path] = field(default_factory=list)
    entries: dict[tuple[int, int], Entry] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)
    metas: list[JsonObject] = field(default_factory=list)

    def overtaken(self) -> int:
        """Attempts without a judgement that were begun before one with a reward.

        Only a run that was stopped has any; they are those that took longest.
        """
        waiting: Counter[int] = Counter()
        found = 0
        for entry in self.entries.values():
            if entry.begun is None:
                continue
            if entry.scored is None:
                waiting[entry.begun] += 1
            elif entry.rewarded:
                found += waiting.pop(entry.begun, 0)
        return found

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
    ``problems`` and skipped; nothing else is lost. Writers count in the order of their names,
    numbers by value (gw2 before gw10), so a worker's replacement comes after it.
    """
    index = JournalIndex()
    for path in sorted(directory.glob("*.jsonl"), key=lambda path: _natural(path.stem)):
        index.paths.append(path)
        _scan(path, len(index.paths) - 1, index)
    return index


def _natural(name: str) -> list[tuple[int, str]]:
    parts = re.split(r"(\d+)", name)
    return [(int(part), "") if part.isdecimal() else (-1, part) for part in parts]


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
        _enter(_STRICT.decode(line.decode("utf-8")), place, index)
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        return f"unreadable ({type(error).__name__}: {error})"
    return None


def _no_constant(name: str) -> object:
    msg = f"{name} is not JSON"
    raise ValueError(msg)


_STRICT = json.JSONDecoder(parse_constant=_no_constant)


def _enter(row: JsonObject, place: tuple[int, int, int], index: JournalIndex) -> None:
    kind = row["_type"]
    if kind == "meta":
        index.metas.append(row)
        return
    key = (int(row["problem_idx"]), int(row["repeat"]))
    if kind == "started":
        index.entries.setdefault(key, Entry()).begun = place[0]
        return
    if kind == "solved":
        entry = index.entries.setdefault(key, Entry())
        if entry.scored is None:
            entry.solved = place
        else:
            entry.again = place
    elif kind == "scored":
        _check_judgement(row)
        entry = index.entries.setdefault(key, Entry())
        entry.solved, entry.scored, entry.again = entry.again or entry.solved, place, None
        entry.rewarded = row["outcome"] != "unscored"
    else:
        msg = f"unknown _type {kind!r}"
        raise ValueError(msg)


def _check_judgement(row: JsonObject) -> None:
    """A reward is a number in [0, 1], and missing exactly when the attempt is unscored."""
    outcome, reward = row["outcome"], row.get("reward")
    fits = reward is None if outcome == "unscored" else _is_reward(reward)
    if outcome not in _OUTCOMES or not fits:
        msg = f"outcome {outcome!r} with reward {reward!r}"
        raise ValueError(msg)


def _is_reward(value: object) -> bool:
    return isinstance(value, int | float) and 0 <= value <= 1
