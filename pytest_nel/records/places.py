"""Lines of files by their place."""

import json
import os
import threading
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from pytest_nel.core.types import JsonObject

_OPEN_AT_ONCE = 4  # of each reader: a suite has many benchmarks, and a process 1,024 files


class Place(NamedTuple):
    """Where a line stands: number of the file, byte offset, length."""

    file: int
    offset: int
    length: int


class Reader:
    """Reads lines by place; may be used by several threads at once.

    A run that went on many times has more files than a process may have open.
    """

    def __init__(self, paths: Iterable[Path]) -> None:
        self._paths = list(paths)
        self._open: dict[int, int] = {}
        self._lock = threading.Lock()

    def __call__(self, place: Place) -> JsonObject:
        """The object of a line."""
        with self._lock:
            row: JsonObject = json.loads(self._bytes(place))
        return row

    def close(self) -> None:
        """Close the files; safe to call twice."""
        with self._lock:
            while self._open:
                os.close(self._open.popitem()[1])

    def _bytes(self, place: Place) -> bytes:
        descriptor = self._descriptor(place.file)
        parts, offset, left = [], place.offset, place.length
        while left > 0:  # one call reads 2 GiB at most
            part = os.pread(descriptor, left, offset)
            if not part:
                break
            parts.append(part)
            offset, left = offset + len(part), left - len(part)
        return b"".join(parts)

    def _descriptor(self, number: int) -> int:
        if number not in self._open:
            if len(self._open) >= _OPEN_AT_ONCE:
                os.close(self._open.pop(next(iter(self._open))))
            self._open[number] = os.open(self._paths[number], os.O_RDONLY | os.O_CLOEXEC)
        return self._open[number]
