"""The attempts of a bundle, read one by one from the files beside it."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, BinaryIO

from pytest_nel.core.types import JsonObject
from pytest_nel.exporters.hidden import Hidden
from pytest_nel.records.judged import judged

_UNREADABLE = (ValueError, RecursionError)
_BESIDE = "trajectories.jsonl"


@dataclass(frozen=True, slots=True)
class Sample:
    """One attempt.

    Attributes:
        problem_idx: Which problem, by its place in the dataset.
        repeat: Which attempt at it, from 0.
        outcome: ``correct``, ``wrong``, ``unparsed`` or ``unscored``.
        reward: None exactly when the attempt has no score, which is not 0.
        row: Its line of ``results.jsonl``.
        beside: Its line of ``trajectories.jsonl``; empty where there is none.
    """

    problem_idx: int
    repeat: int
    outcome: str
    reward: float | None
    row: Mapping[str, Any]
    beside: Mapping[str, Any] = field(default_factory=dict)


class Samples:
    """Attempts in the order of the file; reading again begins anew.

    Args:
        results: The file; None has none.
        hidden: Takes secrets out of each line.

    Attributes:
        damaged: Lines of the last reading that say of no attempt what became of it.
    """

    def __init__(self, results: Path | None, hidden: Hidden) -> None:
        self._results = results
        self._hidden = hidden
        self.damaged = 0

    def __iter__(self) -> Iterator[Sample]:
        self.damaged = 0
        if self._results is None:
            return
        with ExitStack() as stack:
            beside = self._beside(stack)
            lines = stack.enter_context(self._results.open(encoding="utf-8", errors="replace"))
            for line in lines:
                if not line.strip():
                    continue
                sample = _sample(self._object(line))
                if sample is None:
                    self.damaged += 1
                    continue
                if beside is not None:
                    other = beside.line_of((sample.problem_idx, sample.repeat))
                    sample = sample if other is None else replace(sample, beside=other)
                yield sample

    def _beside(self, stack: ExitStack) -> "_Beside | None":
        assert self._results is not None
        path = self._results.with_name(_BESIDE)
        if not path.is_file():
            return None
        return _Beside(stack.enter_context(path.open("rb")), self._object)

    def _object(self, line: str) -> JsonObject | None:
        try:
            found = self._hidden.line(line)
        except _UNREADABLE:
            return None
        return found if isinstance(found, dict) else None


class _Beside:
    """Lines of the other file, found by their place.

    Both files are written together in the same order, so that the next line is the one wanted.
    Where one of them lacks a line or has a damaged one, what is passed over is kept by where it
    stands in the file, and found there when its turn comes.

    Args:
        file: It.
        read: The object of a line; None: it holds none.
    """

    def __init__(self, file: BinaryIO, read: Callable[[str], JsonObject | None]) -> None:
        self._file = file
        self._read = read
        self._next = 0  # where the first line stands that was not looked at
        self._passed: dict[tuple[object, object], int] = {}

    def line_of(self, place: tuple[int, int]) -> JsonObject | None:
        """The first line of that place; each is asked for once."""
        at = self._passed.pop(place, None)
        if at is not None:
            return self._object(self._line(at))
        while line := self._line(self._next):
            at, self._next = self._next, self._next + len(line)
            found = self._object(line)
            if found is None:
                continue
            its = _place(found)
            if its == place:
                return found
            if all(type(part) is int for part in its):
                self._passed.setdefault(its, at)
        return None

    def _line(self, at: int) -> bytes:
        if self._file.tell() != at:
            self._file.seek(at)
        return self._file.readline()

    def _object(self, line: bytes) -> JsonObject | None:
        return self._read(line.decode("utf-8", "replace"))


def _place(row: Mapping[str, Any]) -> tuple[object, object]:
    return row.get("problem_idx"), row.get("repeat", 0)


def _sample(row: JsonObject | None) -> Sample | None:
    if row is None:
        return None
    said, (problem, repeat) = judged(row), _place(row)
    if said is None or type(problem) is not int or type(repeat) is not int:
        return None
    reward, outcome = said
    return Sample(problem, repeat, outcome, reward, row)
