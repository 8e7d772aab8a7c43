"""The append-only journal: one file per writer, one line per fact, nothing is ever rewritten.

``started`` is written before an attempt, ``solved`` when the model has answered, ``scored``
when the answer was judged. A line is one unbuffered write, so what was written survives the
death of the process; what the power supply takes is bounded by ``sync``. Every line ends with its
checksum: what a disk or a hand has changed is found when it is read.
"""

import os
import re
import threading
import time
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pytest_nel.core.errors import JournalError
from pytest_nel.core.text import storable
from pytest_nel.core.types import AttemptKey, JsonObject
from pytest_nel.records.record import Scored, Solved, dumps

SYNC_EVERY = 1.0
"""Seconds."""
_FILE = re.compile(r"(?P<writer>.+?)(?:\.(?P<turn>\d+))?")
_ALONE = ',"alone":true'


class JournalWriter:
    """Appends to one file. Lines may come from two threads; each is written whole.

    Every method that writes raises JournalError when the disk does not take it.

    Args:
        path: The file; made with its folder where there is none.
        meta: The first line's facts.
        sync_every: Seconds between two :meth:`sync` that really put the file on the disk; 0 for
            file systems where only that makes a line safe.
    """

    def __init__(
        self, path: Path, meta: Mapping[str, Any], *, sync_every: float = SYNC_EVERY
    ) -> None:
        self.path = path
        self._sync_every = sync_every
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
        except OSError as error:
            raise self._failed(error) from error
        self._lock = threading.Lock()
        self._held = b""
        self._full = False
        self._synced = time.monotonic()
        self._end_torn_line()
        self._write({"_type": "meta", **meta})

    @property
    def syncs_each(self) -> bool:
        """Whether a record counts only when it is on the disk."""
        return not self._sync_every

    def started(self, key: AttemptKey, *, alone: bool = False) -> None:
        """Say that the attempt begins now; ``alone``: and that nothing else is under way."""
        line = (
            f'{{"_type":"started","problem_idx":{key.problem_idx},"repeat":{key.repeat}'
            f'{_ALONE if alone else ""},"t":{time.time():.3f}'
        )
        self._append(_sealed(line.encode("ascii")))

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

    def dropped(self, key: AttemptKey) -> None:
        """Say that the judgement of an attempt does not count any more; its answer stays."""
        self._write({"_type": "dropped", "problem_idx": key.problem_idx, "repeat": key.repeat})

    def sync(self, *, force: bool = False) -> None:
        """Put the file on the disk, unless that was done lately. Blocks: not on a loop."""
        now = time.monotonic()
        if force or now - self._synced >= self._sync_every:
            self._synced = now
            self.flush()
            try:
                os.fsync(self._file)
            except OSError as error:
                raise self._failed(error) from error

    def close(self) -> None:
        """Sync and close; safe to call twice. What did not fit was said when it did not."""
        if self._file >= 0:
            self._flush_last()
        with self._lock:
            if self._file < 0:
                return
            try:
                self.sync(force=True)
            finally:
                os.close(self._file)
                self._file = -1

    def _flush_last(self) -> None:
        said = self._full
        try:
            self.flush()
        except JournalError:
            self._held = b""
            if not said:
                raise

    def _write(self, row: JsonObject) -> None:
        self._append(self._line(row))

    def _line(self, row: JsonObject) -> bytes:
        line = dumps(row)[:-1]
        try:
            return _sealed(line.encode("utf-8"))
        except UnicodeEncodeError:
            return _sealed(storable(line).encode("utf-8"))

    def _append(self, line: bytes) -> None:
        with self._lock:
            if self._file < 0:
                msg = f"journal {self.path} is closed"
                raise JournalError(msg)
            held, written = self._held, 0
            line, self._held = held + line, b""
            try:
                while written < len(line):
                    written += os.write(self._file, line[written:] if written else line)
            except OSError as error:
                whole = line.rfind(b"\n", 0, written) + 1  # lines that stay
                # Should there be room again, no judgement is written without its solution.
                self._held, self._full = held[whole:], True
                self._take_back(written - whole)
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


def _sealed(line: bytes) -> bytes:
    """End a line, given without its closing brace, with its checksum."""
    return b'%b,"crc":"%08x"}\n' % (line, zlib.crc32(line))


def journal_name(writer: str, turn: int) -> str:
    """``gw0.jsonl`` of the first processes of a run, ``gw0.2.jsonl`` of those that came later."""
    return f"{writer}.jsonl" if turn == 1 else f"{writer}.{turn}.jsonl"


def turn_of(path: Path) -> int:
    """The turn in a journal's name."""
    return writer_and_turn(path)[1]


def writer_and_turn(path: Path) -> tuple[str, int]:
    """What :func:`journal_name` made the name of."""
    found = _FILE.fullmatch(path.stem)
    return (found["writer"], int(found["turn"] or 1)) if found else (path.stem, 1)


def journal_files(directory: Path) -> list[Path]:
    """The journals of a benchmark, in the order in which they count."""
    return sorted(directory.glob("*.jsonl"), key=lambda path: (turn_of(path), natural(path.stem)))


def natural(name: str) -> list[tuple[int, str]]:
    """A key that sorts ``shard_10`` after ``shard_9``."""
    parts = re.split(r"(\d+)", name)
    return [(int(part), "") if part.isdecimal() else (-1, part) for part in parts]
