"""Files appear whole or not at all, and what is no plain file is not replaced by one."""

import os
import threading
from pathlib import Path

import pytest

from pytest_nel.records.whole import whole


def write(target: Path, text: str) -> None:
    with whole(target) as file:
        file.write(text)


def _half(target: Path) -> None:
    with whole(target) as file:
        file.write("new")
        raise ZeroDivisionError


def test_a_file_that_failed_half_way_leaves_the_old_one(tmp_path: Path) -> None:
    target = tmp_path / "report.md"
    write(target, "old")

    with pytest.raises(ZeroDivisionError):
        _half(target)

    assert target.read_text() == "old"
    assert list(tmp_path.iterdir()) == [target]


def test_what_a_link_leads_to_is_written_and_it_stays_a_link(tmp_path: Path) -> None:
    there, link = tmp_path / "there.md", tmp_path / "link.md"
    there.write_text("old")
    link.symlink_to(there)

    write(link, "new")

    assert link.is_symlink()
    assert there.read_text() == "new"


def test_a_pipe_is_written_to_and_stays_a_pipe(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    heard: list[str] = []
    reader = threading.Thread(target=lambda: heard.append(pipe.read_text()))
    reader.start()

    write(pipe, "new")
    reader.join(10)

    assert heard == ["new"]
    assert pipe.is_fifo()


def test_a_directory_is_named_as_what_it_is(tmp_path: Path) -> None:
    there = tmp_path / "there"
    there.mkdir()

    with pytest.raises(IsADirectoryError, match=r"is a directory: '.*/there'"):
        write(there, "new")
