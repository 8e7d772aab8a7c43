"""What a benchmark's journals hold, by position: the text stays on the disk.

A line with a checksum is not decoded: the checksum proves it whole, and what is needed to find it
again stands at its beginning. Memory is about 200 bytes per attempt, however long the answers.
"""

import json
import re
import zlib
from array import array
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from pytest_nel.core.types import JsonObject, Outcome
from pytest_nel.records.journal import journal_files
from pytest_nel.records.places import Place, Reader

_NONE = -1
_OUTCOMES: tuple[Outcome | None, ...] = (None, "correct", "wrong", "unparsed", "unscored")
_CODES = {str(outcome): code for code, outcome in enumerate(_OUTCOMES) if outcome is not None}
_FILE_SHIFT = 48  # a position is an offset of 48 bits below the number of its file
_OFFSET = (1 << _FILE_SHIFT) - 1
_KINDS = frozenset({"started", "solved", "scored", "dropped"})
_FACTS = ("key", "answered", "because", "outcome", "alone")
_SEAL = len(b',"crc":"00000000"}\n')
_SEALED = re.compile(rb',"crc":"([0-9a-f]{8})"\}\n')
_HEAD = re.compile(
    rb'\{"_type":"(started|solved|scored|dropped)","problem_idx":(\d+),"repeat":(\d+)'
    rb'(?:,"(?:solve|score)_key":"([0-9a-f]{32})")?'
    rb'(?:,"answered":(true|false))?'
    rb'(?:,"because":"(wrong|unparsed)")?'
    rb'(?:,"outcome":"(correct|wrong|unparsed|unscored)")?'
    rb'(?:,"alone":(true))?'
)


class Answer(NamedTuple):
    """A ``solved`` line.

    Attributes:
        place: Where it stands.
        key: :func:`short` of its solve_key; 0 where its writer gave none.
        whole: Whether it is an answer that can be judged again.
        because: The outcome for whose sake the attempt was made again, if it was.
    """

    place: Place
    key: int
    whole: bool
    because: Outcome | None


class Known(NamedTuple):
    """The newest facts of one attempt.

    Attributes:
        answer: What the model did; the one that ``judgement`` judges where there is one.
        judgement: Where the newest judgement stands.
        score_key: :func:`short` of its score_key; 0 where its writer gave none.
        outcome: Its outcome.
        again: A later answer that nobody has judged yet; it never hides a finished attempt.
        said: Where the last judgement stands, though it may have been dropped since.
    """

    answer: Answer | None
    judgement: Place | None
    score_key: int
    outcome: Outcome | None
    again: Answer | None
    said: Place | None = None


NOTHING = Known(None, None, 0, None, None)
"""Of an attempt that nobody began."""


def short(key: str | None) -> int:
    """The part of a key that an index keeps: its first 64 bits."""
    return int(key[:16], 16) if key else 0


class _Head(NamedTuple):
    """What the index reads of a line, as text."""

    kind: str
    key: str | None
    answered: str | None
    because: str | None
    outcome: str | None
    alone: str | None


class _Lines:
    """A line of one kind per attempt, in columns."""

    __slots__ = ("because", "keys", "lengths", "starts", "whole")

    def __init__(self) -> None:
        self.starts = array("q")
        self.lengths = array("q")
        self.keys = array("Q")
        self.whole = bytearray()
        self.because = bytearray()

    def grow(self) -> None:
        self.starts.append(_NONE)
        self.lengths.append(0)
        self.keys.append(0)
        self.whole.append(0)
        self.because.append(0)

    def put(self, row: int, place: Place, head: "_Head") -> None:
        self.starts[row] = place.file << _FILE_SHIFT | place.offset
        self.lengths[row] = place.length
        self.keys[row] = short(head.key)
        self.whole[row] = head.answered == "true"
        self.because[row] = _CODES.get(head.because or "", 0)

    def take_from(self, row: int, other: "_Lines") -> None:
        self.starts[row], self.lengths[row] = other.starts[row], other.lengths[row]
        self.keys[row], self.whole[row] = other.keys[row], other.whole[row]
        self.because[row] = other.because[row]
        other.clear(row)

    def clear(self, row: int) -> None:
        self.starts[row] = _NONE

    def has(self, row: int) -> bool:
        return self.starts[row] != _NONE

    def place(self, row: int) -> Place | None:
        start = self.starts[row]
        if start == _NONE:
            return None
        return Place(start >> _FILE_SHIFT, start & _OFFSET, self.lengths[row])

    def answer(self, row: int) -> Answer | None:
        place = self.place(row)
        if place is None:
            return None
        because = _OUTCOMES[self.because[row]]
        return Answer(place, self.keys[row], bool(self.whole[row]), because)


class JournalIndex:
    """Where every attempt's newest facts stand.

    Attributes:
        paths: The files, in the order in which they count.
        problems: One line per unreadable place: file, line, why.
        metas: The meta objects found.
    """

    def __init__(self) -> None:
        self.paths: list[Path] = []
        self.problems: list[str] = []
        self.metas: list[JsonObject] = []
        self._rows: dict[tuple[int, int], int] = {}
        self._sealed = False  # the file that is read has lines with checksums
        self._begun = array("h")  # the file whose writer began it last
        self._open, self._alone = bytearray(), bytearray()  # open: begun and not judged since
        self._outcomes = bytearray()
        self._answers, self._again, self._judged = _Lines(), _Lines(), _Lines()
        self._dropped: dict[int, Place] = {}

    def __len__(self) -> int:
        return len(self._rows)

    def __contains__(self, key: tuple[int, int]) -> bool:
        return key in self._rows

    def __iter__(self) -> Iterator[tuple[int, int]]:
        return iter(self._rows)

    def known(self, problem_idx: int, repeat: int) -> Known | None:
        """The newest facts of an attempt, or None when nobody began it."""
        row = self._rows.get((problem_idx, repeat))
        if row is None:
            return None
        return Known(
            self._answers.answer(row),
            self._judged.place(row),
            self._judged.keys[row],
            _OUTCOMES[self._outcomes[row]],
            self._again.answer(row),
            self._judged.place(row) or self._dropped.get(row),
        )

    def unfinished(self) -> Iterator[tuple[tuple[int, int], Path, bool]]:
        """Attempts not judged since they were begun: (attempt, whose file, begun alone)."""
        for key, row in self._rows.items():
            if self._open[row]:
                yield key, self.paths[self._begun[row]], bool(self._alone[row])

    def overtaken(self) -> int:
        """Attempts without a judgement that were begun before one with a reward.

        Only a run that was stopped has any; they are those that took longest.
        """
        waiting: Counter[int] = Counter()
        found = 0
        for row in self._rows.values():
            file = self._begun[row]
            if file == _NONE:
                continue
            if not self._judged.has(row):
                waiting[file] += 1
            elif _OUTCOMES[self._outcomes[row]] != "unscored":
                found += waiting.pop(file, 0)
        return found

    def rows(self, order: Iterable[tuple[int, int]]) -> Iterator[tuple[JsonObject, JsonObject]]:
        """Yield (solved, scored) of every judged attempt in ``order``."""
        with self.reading() as read:
            for key in order:
                known = self.known(*key)
                if known is not None and known.answer is not None and known.judgement is not None:
                    yield read(known.answer.place), read(known.judgement)

    @contextmanager
    def reading(self) -> "Iterator[Reader]":
        """Open the files for reading lines of them."""
        reader = Reader(self.paths)
        try:
            yield reader
        finally:
            reader.close()

    def scan(self, path: Path) -> None:
        """Read one more file, which counts after all before it."""
        number = len(self.paths)
        self.paths.append(path)
        self._sealed = False
        offset = 0
        with path.open("rb") as file:
            for line_number, line in enumerate(file, start=1):
                place = Place(number, offset, len(line))
                offset += len(line)
                problem = self.note(line, place)
                if problem:
                    self.problems.append(f"{path} line {line_number}: {problem}")

    def note(self, line: bytes, place: Place) -> str | None:
        """Enter a line; what is wrong with it, when it cannot be read."""
        if not line.endswith(b"\n"):
            return "torn last line (its writer died while writing it)" if line.strip() else None
        seal = _SEALED.fullmatch(line, len(line) - _SEAL)
        damage = self._damage(line, seal and seal[1])
        if damage:
            return damage
        self._sealed = bool(seal)
        head = _HEAD.match(line) if seal else None
        try:
            if head:
                kind, idx, repeat, *facts = map(_decoded, head.groups())
                self._enter((int(idx or 0), int(repeat or 0)), place, _Head(kind or "", *facts))
            elif line.strip():
                self._decode(line, place)
        except (ValueError, KeyError, TypeError, RecursionError) as error:
            return f"unreadable ({type(error).__name__}: {error})"
        return None

    def _damage(self, line: bytes, seal: bytes | None) -> str | None:
        if seal is None:
            return "damaged (no checksum, as others of its file have)" if self._sealed else None
        fits = zlib.crc32(memoryview(line)[:-_SEAL]) == int(seal, 16)
        return None if fits else "damaged (its checksum does not fit)"

    def _decode(self, line: bytes, place: Place) -> None:
        """A line without a checksum, or one that does not begin as ours do."""
        row = _STRICT.decode(line.decode("utf-8"))
        kind = row["_type"]
        if kind == "meta":
            self.metas.append(row)
            return
        if kind not in _KINDS:
            msg = f"unknown _type {kind!r}"
            raise ValueError(msg)
        if kind == "scored":
            _check_judgement(row)
        row.setdefault("answered", "error_kind" not in row)
        row["key"] = row.get("solve_key" if kind == "solved" else "score_key")
        attempt = (int(row["problem_idx"]), int(row["repeat"]))
        self._enter(attempt, place, _Head(kind, *(_text(row.get(name)) for name in _FACTS)))

    def _enter(self, attempt: tuple[int, int], place: Place, head: "_Head") -> None:
        row = self._rows.get(attempt)
        if row is None:
            row = self._new(attempt)
        if head.kind == "started":
            self._begun[row], self._alone[row], self._open[row] = place.file, bool(head.alone), 1
        elif head.kind == "solved":
            self._enter_answer(row, place, head)
        elif head.kind == "scored":
            self._open[row] = 0
            self._enter_judgement(row, place, head)
        else:
            if (said := self._judged.place(row)) is not None:
                self._dropped[row] = said
            self._judged.clear(row)
            self._outcomes[row] = 0
            self._begun[row], self._open[row] = _NONE, 0  # nobody is waited for

    def _enter_answer(self, row: int, place: Place, head: "_Head") -> None:
        if self._judged.has(row) and self._answers.has(row):
            self._again.put(row, place, head)
            return
        if self._judged.has(row):  # of an answer whose line was damaged, and not of this one
            self._judged.clear(row)
            self._outcomes[row] = 0
        self._answers.put(row, place, head)

    def _enter_judgement(self, row: int, place: Place, head: "_Head") -> None:
        unscored = head.outcome == "unscored"
        if unscored and self._judged.has(row) and _OUTCOMES[self._outcomes[row]] != "unscored":
            self._again.clear(row)  # a second try that failed takes nothing from the first
            return
        if self._again.has(row):
            self._answers.take_from(row, self._again)
        self._judged.put(row, place, head)
        self._outcomes[row] = _CODES[head.outcome or ""]

    def _new(self, attempt: tuple[int, int]) -> int:
        row = self._rows[attempt] = len(self._rows)
        self._begun.append(_NONE)
        self._open.append(0)
        self._alone.append(0)
        self._outcomes.append(0)
        for lines in (self._answers, self._again, self._judged):
            lines.grow()
        return row


def attempt_of(line: bytes) -> tuple[int, int] | None:
    """Which attempt a journal's line is about; None for others and for what cannot be read."""
    seen = JournalIndex()
    seen.note(line, Place(0, 0, len(line)))
    return next(iter(seen), None)


def index_journals(directory: Path) -> JournalIndex:
    """Scan ``directory/*.jsonl`` once.

    A torn last line (the writer died in the middle) and a damaged line are reported in
    ``problems`` and skipped; nothing else is lost. Files count in the order of their turns
    (``journal_name``), within a turn in that of their writers, numbers by value.
    """
    index = JournalIndex()
    for path in journal_files(directory):
        index.scan(path)
    return index


def _text(value: object) -> str | None:
    """As it would stand in a line; what says nothing is None."""
    if isinstance(value, bool):
        return "true" if value else None
    return None if value is None else str(value)


def _decoded(group: bytes | None) -> str | None:
    return None if group is None else group.decode("ascii")


def _no_constant(name: str) -> object:
    msg = f"{name} is not JSON"
    raise ValueError(msg)


_STRICT = json.JSONDecoder(parse_constant=_no_constant)


def _check_judgement(row: JsonObject) -> None:
    """A reward is a number in [0, 1], and missing exactly when the attempt is unscored."""
    outcome, reward = row["outcome"], row.get("reward")
    fits = reward is None if outcome == "unscored" else _is_reward(reward)
    if outcome not in _CODES or not fits:
        msg = f"outcome {outcome!r} with reward {reward!r}"
        raise ValueError(msg)


def _is_reward(value: object) -> bool:
    return isinstance(value, int | float) and 0 <= value <= 1
