"""Files that appear under their name only when all of them was written."""

import os
from collections.abc import Mapping
from errno import EISDIR
from pathlib import Path
from typing import Any, TextIO

from pytest_nel.records.record import indented


class whole:  # noqa: N801 - reads as a verb at its only use
    """A text file that appears under its name only when all of it was written."""

    def __init__(self, target: Path) -> None:
        if target.is_symlink():  # what it leads to is written, and it stays a link
            target = target.resolve()
        if target.is_dir():
            raise IsADirectoryError(EISDIR, "is a directory", str(target))
        self._target = target
        self._special = target.exists() and not target.is_file()  # a device or a pipe
        scratch = target.with_name(f".{target.name}.{os.getpid()}")
        self._scratch = target if self._special else scratch

    def __enter__(self) -> TextIO:
        self._file = self._scratch.open("w", encoding="utf-8", errors="replace", newline="\n")
        return self._file

    def __exit__(self, kind: object, *_: object) -> None:
        try:
            self._file.close()  # writes what is buffered: the disk may be full
            if kind is None and not self._special:
                self._scratch.replace(self._target)
        finally:
            if not self._special:
                self._scratch.unlink(missing_ok=True)


def whole_json(target: Path, value: Mapping[str, Any]) -> None:
    """Write an indented JSON file that appears whole or not at all."""
    with whole(target) as file:
        file.write(indented(value))
