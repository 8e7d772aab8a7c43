"""What solvers have left in their sandboxes, as a run's directory keeps it.

Answers that are judged by such a workspace can be judged again as long as it is there.
"""

import os
import shutil
from collections.abc import Iterable, Mapping, Sequence
from hashlib import file_digest
from pathlib import Path
from typing import Any, NamedTuple

FOLDER = "artifacts"
LOST = "lost"
"""What attempts are counted as whose workspace is gone; ``lost NAME`` says it of one."""
PARTIAL = "partial"
"""As above, of those of whose answer or workspace only a part was ever written."""


class Wanted(NamedTuple):
    """The workspaces that the records of an attempt speak of.

    Attributes:
        attempt: (problem, repeat).
        marks: SHA-256 of each that may be meant: that of the answer that is judged first.
    """

    attempt: tuple[int, int]
    marks: Sequence[str]


def file_of(problem_idx: int, repeat: int) -> str:
    """The name of an attempt's workspace."""
    return f"{problem_idx}-r{repeat}.tar"


def mark_of(solved: Mapping[str, Any]) -> str | None:
    """The digest of the workspace that a journal's ``solved`` object speaks of; None: of none."""
    workspace = solved.get("workspace")
    mark = workspace.get("sha256") if isinstance(workspace, Mapping) else None
    return mark if isinstance(mark, str) else None


def carry(
    wanted: Iterable[Wanted], folders: Sequence[Path], target: Path, kept: dict[str, Path]
) -> list[tuple[int, int]]:
    """Have workspaces in another run's directory, too; equal ones take room once.

    They are linked where that can be, else copied: nobody writes into one, a new one takes the
    place of the old. Each is read once, so that none is taken for what it is not.

    Args:
        wanted: Which.
        folders: Where they are looked for, the likeliest first.
        target: The folder where they go; made when the first is there.
        kept: Those that are there by their digests; what comes is added.

    Returns:
        The attempts whose workspaces are nowhere as they were kept.

    Raises:
        OSError: A file cannot be written.
    """
    lost = []
    for attempt, marks in wanted:
        name = file_of(*attempt)
        mark, source = _found(name, marks, folders, kept)
        if mark is None or source is None:
            lost.append(attempt)
            continue
        target.mkdir(parents=True, exist_ok=True)
        _linked(source, target / name)
        kept.setdefault(mark, target / name)
    return lost


def _found(
    name: str, marks: Sequence[str], folders: Sequence[Path], kept: Mapping[str, Path]
) -> tuple[str | None, Path | None]:
    for folder in folders:
        mark = _digest(folder / name)
        if mark in marks:
            return mark, kept.get(mark, folder / name)
    return next(((mark, kept[mark]) for mark in marks if mark in kept), (None, None))


def _digest(path: Path) -> str:
    try:
        with path.open("rb") as file:
            return file_digest(file, "sha256").hexdigest()
    except OSError:
        return ""


def _linked(source: Path, target: Path) -> None:
    try:
        os.link(source, target)
    except OSError:  # another file system, or one without links
        shutil.copyfile(source, target)
