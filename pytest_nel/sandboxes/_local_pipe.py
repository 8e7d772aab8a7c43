"""The output of a process, read on the loop for as long as somebody wants it."""

import asyncio
import os
from contextlib import suppress

from pytest_nel.sandboxes._kept import Kept

_PIECE = 65_536


class Pipe:
    """A pipe whose other end a process gets.

    Not asyncio's own: a process counts there as running while a child of it holds the pipe.

    Attributes:
        kept: What has come.
        end: The end for the process; closed here by :meth:`follow`.
        ended: Done when nobody holds the other end any more.
    """

    def __init__(self, limit: int) -> None:
        self._loop = asyncio.get_running_loop()
        self.kept = Kept(limit)
        self.ended: asyncio.Future[None] = self._loop.create_future()
        self._reader, self.end = os.pipe()
        os.set_blocking(self._reader, False)
        self._open = {self._reader, self.end}

    def follow(self) -> None:
        """Read from now on: the process has its end."""
        self._close(self.end)
        self._loop.add_reader(self._reader, self._read)

    def close(self) -> None:
        """Read what is there already, and no more."""
        if not self.ended.done() and self.end not in self._open:
            self._read()
        self._loop.remove_reader(self._reader)
        for descriptor in list(self._open):
            self._close(descriptor)
        if not self.ended.done():
            self.ended.cancel()

    def _read(self) -> None:
        with suppress(BlockingIOError):
            data = os.read(self._reader, _PIECE)
            self.kept.add(data)
            if not data:
                self._loop.remove_reader(self._reader)
                if not self.ended.done():
                    self.ended.set_result(None)

    def _close(self, descriptor: int) -> None:
        self._open.discard(descriptor)
        os.close(descriptor)
