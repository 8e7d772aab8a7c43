"""What in a folder of datasets was nearly called as it should be."""

import difflib
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from pytest_nel.datasets._address import Part
from pytest_nel.datasets.local import READABLE

_SHOWN = 5
_ALIKE = 0.85
"""From which ratio of equal letters on one name was meant for another."""


def near_files(root: Path, name: str, part: Part) -> Iterator[str]:
    """Say what is nearly the file for a part of a hub's dataset; nothing where nothing is.

    Args:
        root: The folder of datasets.
        name: The dataset, as ``org/name``.
        part: Which of its rows.
    """
    top = root / name.replace("/", "__")
    if top.is_dir():
        yield from _inside(top, part)
        return
    short = name.rpartition("/")[2]
    ways = [_bare(each) for each in (name, short)]
    more = [part.config or "", part.split, f"{part.config or ''}{part.split}"]
    files = {*ways, *(way + _bare(each) for way in ways for each in more)}
    for path in _entries(root, name):
        bare = _bare(_stem(path.name))
        alike = difflib.SequenceMatcher(None, bare, ways[0]).ratio() >= _ALIKE
        if path.is_dir() and (bare in ways or alike):
            yield f"there is a folder {path}: it should be {top}"
        elif path.is_file() and (bare in files or alike):
            yield f"there is a file {path}: it should be {_wanted(top, part)}"


def near_key(key: str, known: Iterable[str]) -> str | None:
    """The name that a map has in place of one that it does not have; None where none is alike.

    Args:
        key: The one that was looked for, as ``org/name/config:split``.
        known: Those it has.
    """
    names = {each.casefold(): each for each in known}
    wanted = key.casefold()
    short = re.split(r"[/:]", wanted.partition("/")[2])[0]
    for lower, each in names.items():
        if short and short in re.split(r"[/:]|__|--", lower):
            return each
    found = difflib.get_close_matches(wanted, names, n=1, cutoff=_ALIKE)
    return names[found[0]] if found else None


def _inside(top: Path, part: Part) -> Iterator[str]:
    wanted = _wanted(top, part)
    folder = top
    while folder != wanted.parent:
        inner = folder / wanted.relative_to(folder).parts[0]
        if not inner.is_dir():
            break
        folder = inner
    there = _listed(folder)
    names = ", ".join(each.name + "/" * each.is_dir() for each in there[:_SHOWN])
    more = f" and {len(there) - _SHOWN} more" if len(there) > _SHOWN else ""
    yield f"in {folder} there is {names or 'nothing'}{more}: expected {wanted}"


def _wanted(top: Path, part: Part) -> Path:
    if part.file:
        return top / part.file
    folder = top / part.config if part.config else top
    return folder / f"{part.split}{{{','.join(READABLE)}}}"


def _entries(root: Path, name: str) -> Iterator[Path]:
    """What lies in the folder, and in folders of it that are called like the organization."""
    org, _, _ = name.rpartition("/")
    for path in _listed(root):
        yield path
        if org and path.is_dir() and _bare(path.name) == _bare(org):
            yield from _listed(path)


def _listed(folder: Path) -> list[Path]:
    try:
        return sorted(folder.iterdir())
    except OSError:  # one that may not be read gives no hint
        return []


def _stem(name: str) -> str:
    lower = name.lower().removesuffix(".gz")
    return next((lower.removesuffix(kind) for kind in READABLE if lower.endswith(kind)), lower)


def _bare(name: str) -> str:
    return re.sub(r"[^a-z0-9]+", "", name.lower())
