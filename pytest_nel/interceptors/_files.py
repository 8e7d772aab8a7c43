"""Lines of JSON, appended in a thread of their own: nothing waits for the disk but its writer."""

import asyncio
import json
import logging
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from pytest_nel.core.text import storable
from pytest_nel.core.types import JsonObject

_LOG = logging.getLogger("pytest_nel.interceptors")


class LineFiles:
    """Files that grow by whole lines; what a killed process left of a line stays a line apart.

    Args:
        redact: Takes secrets out of a line before it is written.
    """

    def __init__(self, redact: Callable[[str], str]) -> None:
        self._redact = redact
        self._thread: ThreadPoolExecutor | None = None
        self._open: dict[Path, int] = {}
        self._failed = False

    async def append(self, path: Path, row: JsonObject) -> None:
        """Append one line; a disk that refuses is named in the log, once."""
        if self._thread is None:
            self._thread = ThreadPoolExecutor(1, thread_name_prefix="nel-lines")
        text = self._redact(json.dumps(row, ensure_ascii=False, default=str))
        line = storable(text).encode("utf-8") + b"\n"
        await asyncio.get_running_loop().run_in_executor(self._thread, self._append, path, line)

    async def close(self) -> None:
        """Close the files; another line opens its own again."""
        thread, self._thread = self._thread, None
        if thread is not None:
            await asyncio.to_thread(thread.shutdown)
        files, self._open = self._open, {}
        for number in files.values():
            os.close(number)

    def _append(self, path: Path, line: bytes) -> None:
        if self._failed:
            return
        try:
            os.write(self._number(path), line)
        except OSError as error:
            self._failed = True
            _LOG.warning("%s: cannot be written, no more is: %s", path, error)

    def _number(self, path: Path) -> int:
        if path not in self._open:
            path.parent.mkdir(parents=True, exist_ok=True)
            flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC
            number = self._open[path] = os.open(path, flags, 0o644)
            size = os.fstat(number).st_size
            if size and os.pread(number, 1, size - 1) != b"\n":
                os.write(number, b"\n")
        return self._open[path]
