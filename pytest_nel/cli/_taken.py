"""What a benchmark needs beside it in an image: its modules, its data, its packages."""

import re
import sys
from collections.abc import Iterable, Iterator
from importlib.metadata import entry_points
from pathlib import Path
from typing import NamedTuple

from pytest_nel.authoring.benchmark import Benchmark
from pytest_nel.authoring.catalog import Found, builtin_names, find
from pytest_nel.core.errors import ConfigError
from pytest_nel.core.modules import is_project, project_files

APP = "/app"
"""Where a benchmark's files are in an image."""
_TARGET = re.compile(r"(?P<module>[^:]+)(?P<name>:.+)?", re.DOTALL)
_DOTTED = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*")
_HUB = "hf://"
_SKIPPED = {"__pycache__"}


class Taken(NamedTuple):
    """What goes into an image.

    Attributes:
        target: What ``-b`` is told there.
        files: Place below :data:`APP` → the file here.
        requirements: Packages, as pip takes them.
        extras: Of pytest-nel.
        selftest: Whether its data is here, so that its scorer can be tried on it.
    """

    target: str
    files: dict[str, Path]
    requirements: tuple[str, ...] = ()
    extras: frozenset[str] = frozenset()
    selftest: bool = True

    def target_in(self, app: Path) -> str:
        """What ``-b`` is told where :data:`APP` is that folder."""
        if not self.files:
            return self.target
        return f"{app}{self.target.removeprefix(APP)}"


def taken(module: str, include: Iterable[Path]) -> Taken:
    """Load a benchmark and see what it needs.

    Args:
        module: ``file.py``, ``package.module``, each with or without ``:benchmark``, or the name
            of an installed benchmark.
        include: Further files and folders, which lie where the benchmark lies.

    Raises:
        ConfigError: There is no such benchmark, it cannot be loaded, or something lies elsewhere.
    """
    match = _TARGET.fullmatch(module)
    if match is None:
        msg = f"-m expects a file.py, a package.module or a name of nel list, got {module!r}"
        raise ConfigError(msg)
    file = _file(match["module"])
    if file is None:
        return _installed(module, include)
    name = match["name"] or ""
    root = _root(file)
    if str(root) not in sys.path:
        sys.path.append(str(root))  # as in the image: a package may import itself
    found = find(f"{file}{name}", base=Path())
    files = {
        _place(path, root): path
        for path in (*map(Path, project_files(str(file))), *_data(found), *_further(include, root))
    }
    needs = found.requirements if isinstance(found, Benchmark) else ()
    hub = isinstance(found, Benchmark) and str(found.dataset).startswith(_HUB)
    return Taken(
        f"{APP}/{_place(file, root)}{name}",
        files,
        tuple(needs),
        frozenset({"hf"} if hub else ()),
        selftest=not hub,
    )


def _file(module: str) -> Path | None:
    """The file that is meant; None for what is the name of an installed benchmark."""
    if module.endswith(".py"):
        return Path(module).resolve()
    if Path(module).is_dir() and (Path(module).is_absolute() or "/" in module):
        msg = f"-m {module}: a folder; name the file in it that defines the benchmark"
        raise ConfigError(msg)
    if module.lower().replace("-", "_") in builtin_names() or not _DOTTED.fullmatch(module):
        return None
    for folder in (Path.cwd(), *map(Path, sys.path)):
        stem = folder.joinpath(*module.split("."))
        for path in (stem.with_name(f"{stem.name}.py"), stem / "__init__.py"):
            if path.is_file() and is_project(str(path)):
                return path.resolve()
    return None


def _installed(name: str, include: Iterable[Path]) -> Taken:
    """One of ours, or one that another distribution brings, which is installed there, too."""
    found = find(name, base=Path())
    if list(include):
        msg = "--include is about files beside a benchmark's own; an installed one has none here"
        raise ConfigError(msg)
    needs = list(found.requirements) if isinstance(found, Benchmark) else []
    key = name.lower().replace("-", "_")
    for point in entry_points(group="pytest_nel.benchmarks"):
        if point.name.lower().replace("-", "_") == key and point.dist is not None:
            needs.append(f"{point.dist.name}=={point.dist.version}")
    hub = isinstance(found, Benchmark) and str(found.dataset).startswith(_HUB)
    extras = frozenset({"hf"} if hub else ())
    return Taken(name, {}, tuple(needs), extras, selftest=False)


def _root(file: Path) -> Path:
    """The folder from which the file's modules are imported: above its package, if it has one."""
    folder = file.parent
    while (folder / "__init__.py").is_file():
        folder = folder.parent
    return folder


def _place(path: Path, root: Path) -> str:
    """Where a file is below :data:`APP`; modules from elsewhere are where they are importable."""
    here = path.absolute()
    roots = [root, *sorted(map(Path, sys.path), key=lambda each: -len(str(each)))]
    for folder in roots:
        if here.is_relative_to(folder.absolute()):
            return here.relative_to(folder.absolute()).as_posix()
    msg = f"{path} lies outside {root}: put it beside the benchmark"
    raise ConfigError(msg)


def _data(found: Found) -> Iterator[Path]:
    """Files that a benchmark names: its rows and its prompt."""
    if not isinstance(found, Benchmark):
        return
    folder = Path(found.file).parent
    named = [found.prompt]
    if isinstance(found.dataset, str | Path) and "://" not in str(found.dataset):
        named.append(found.dataset)
    for each in named:
        text = str(each)
        path = folder / text.partition("\n")[0][:_LONGEST]
        if "\n" not in text and 0 < len(text) <= _LONGEST and path.is_file():
            yield _inside(path, _root(Path(found.file).resolve()))


_LONGEST = 255
"""Characters of a file's name; a longer prompt is one."""


def _further(include: Iterable[Path], root: Path) -> Iterator[Path]:
    for path in include:
        if not path.exists():
            msg = f"--include {path}: no such file or folder"
            raise ConfigError(msg)
        there = _inside(path, root)
        if there.is_file():
            yield there
            continue
        for file in sorted(there.rglob("*")):
            inner = file.relative_to(there).parts
            hidden = any(part.startswith(".") or part in _SKIPPED for part in inner)
            if file.is_file() and not hidden:
                yield file


def _inside(path: Path, root: Path) -> Path:
    """The path as it is named, which may be a link to a file elsewhere, in its real folder."""
    there = path.parent.resolve() / path.name if path.name else path.resolve()
    if not there.is_relative_to(root):
        msg = f"{path} lies outside {root}, so it cannot come along: put it beside the benchmark"
        raise ConfigError(msg)
    return there
