"""Links in a task's folder: one that leads out would show this machine's files to a model."""

import posixpath
from collections.abc import Iterator, Sequence
from pathlib import Path

from pytest_nel.core.errors import DataError

_SHOWN = 5


def refuse_links_out(folder: Path, followed: Sequence[str]) -> None:
    """Refuse a task whose links lead out of its folder.

    Where they are followed here, it counts where they lead on this machine. Elsewhere links come
    into the container as links: an absolute one means what is in there, a relative one that
    leaves the folder means nothing that the task has.

    Args:
        folder: The task's.
        followed: What of it is read on this machine, by its path in there.

    Raises:
        DataError: There are such; the message names them.
    """
    wrong = list(dict.fromkeys([*_followed(folder, followed), *_relative(folder)]))
    if wrong:
        more = f" and {len(wrong) - _SHOWN} more" if len(wrong) > _SHOWN else ""
        msg = (
            f"{folder}: links lead out of the task's folder: {', '.join(wrong[:_SHOWN])}{more}: "
            "put there what is meant, or leave this task out (params: task_names)"
        )
        raise DataError(msg)


def _followed(folder: Path, names: Sequence[str]) -> Iterator[str]:
    root = folder.resolve()
    for name in names:
        path = folder / name
        try:
            real = path.resolve(strict=True)
        except FileNotFoundError:
            continue
        except (OSError, RuntimeError):  # a link that leads to itself
            yield name
            continue
        if not real.is_relative_to(root):
            yield name


def _relative(folder: Path) -> Iterator[str]:
    for path in sorted(folder.rglob("*")):
        if not path.is_symlink():
            continue
        target, name = str(path.readlink()), path.relative_to(folder).as_posix()
        there = posixpath.normpath(posixpath.join(posixpath.dirname(name), target))
        if not target.startswith("/") and there.split("/")[0] == "..":
            yield name
