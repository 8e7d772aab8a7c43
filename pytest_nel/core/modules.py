"""Which files a piece of code is made of: imports are read, nothing is executed to find them."""

import ast
import os
import re
import sys
import sysconfig
import warnings
from collections.abc import Iterator, Mapping, Sequence
from functools import cache, lru_cache
from hashlib import sha256
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

_OURS = str(Path(__file__).parents[1])
_INSTALLED = {"site-packages", "dist-packages"}
_SKIPPED = {"ctx", "kind", "type_ignores"}  # they follow from the rest, or mean nothing
_UNDER_A_MARK = re.compile(r"^nel_benchmark_(.+)_[0-9a-f]{8}$")  # of a file that was named
_UP = 3  # levels that a checkout's root is above one of its files, at most
_FILES = 256  # whose texts are kept parsed


class Import(NamedTuple):
    """A name that a file imports: ``from ..x import y`` is ``("x.y", 2)`` beside ``("x", 2)``."""

    name: str
    level: int


class _Found(NamedTuple):
    """Where a module is: its file, and the folders of what is below it."""

    file: str | None
    folders: Sequence[str]


@lru_cache(maxsize=4096)
def is_project(file: str | None) -> bool:
    """Whether a module's file is a user's own: not of Python, not installed, not ours."""
    if not file or file.startswith("<"):
        return False
    path = os.path.realpath(file)
    if _is_installed(path) or _is_installed(file):
        return False
    return not path.startswith(tuple(f"{folder}{os.sep}" for folder in _not_theirs()))


def kind_name(kind: Any) -> str:
    """``module.Name`` of a class or function, the same wherever its file is."""
    module = _UNDER_A_MARK.sub(r"\1", str(getattr(kind, "__module__", "")))
    return f"{module}.{getattr(kind, '__qualname__', type(kind).__qualname__)}"


def file_of(thing: object) -> str | None:
    """The file of the module that defines a function, a class or an object's class."""
    file = (namespace(thing) or {}).get("__file__")
    return file if isinstance(file, str) else None


def namespace(thing: Any) -> Mapping[str, Any] | None:
    """The global names of that module, or those of a module itself."""
    if isinstance(thing, ModuleType):
        return vars(thing)
    own = getattr(thing, "__globals__", None)
    if isinstance(own, Mapping):  # of a type of functions it is no mapping
        return own
    module = sys.modules.get(str(getattr(thing, "__module__", "")))
    return vars(module) if isinstance(module, ModuleType) else None


def near(path: str, folder: str | None) -> str:
    """A path as seen from a folder, where one is in the other: a checkout may be moved."""
    if not folder or not path.startswith(os.sep):
        return path
    one, other = Path(path), Path(folder)
    if other in (one, *one.parents) or one in other.parents[:_UP]:
        return os.path.relpath(path, folder)
    return path


def tree_digest(roots: Sequence[str]) -> str | None:
    """Digest of files and, transitively, of the project's files that they import.

    Comments and formatting do not count, nor does where the files are. A root counts even if
    it is installed; then the files of its own folder do, too.

    Returns:
        Hexadecimal digits, or None when the first root cannot be read.
    """
    numbers: dict[str, int] = {}
    waiting: list[str] = []

    def number(file: str) -> int:
        real = os.path.realpath(file)
        if real not in numbers:
            numbers[real] = len(numbers)
            waiting.append(file)
        return numbers[real]

    for root in roots:
        number(root)
    homes = [str(Path(root).parent) for root in roots if _is_installed(root)]
    mark = sha256()
    while waiting:
        file = waiting.pop(0)
        text = _bytes(file)
        if text is None and file == roots[0]:
            return None
        shape, imports = _read(text or b"", python=file.endswith(".py"))
        mark.update(f"\n{number(file)} {shape}".encode())
        for one in imports:
            found = _resolved(one, file)
            if is_project(found) or _below(found, homes):
                mark.update(f"\n{one.level} {one.name} {number(str(found))}".encode())
    return mark.hexdigest()


def project_files(root: str) -> list[str]:
    """A file and, transitively, the project's files that it imports, each once.

    Args:
        root: The file, with its folder.
    """
    found = dict.fromkeys([root])
    waiting = [root]
    while waiting:
        file = waiting.pop()
        _, imports = _read(_bytes(file) or b"", python=file.endswith(".py"))
        for one in imports:
            path = _resolved(one, file)
            if path is not None and is_project(path) and path not in found:
                found[path] = None
                waiting.append(path)
    return list(found)


@cache
def _not_theirs() -> tuple[str, ...]:
    places = [sysconfig.get_path("stdlib"), sysconfig.get_path("platstdlib"), _OURS]
    places.append(str(Path(os.__file__).parent))
    return tuple({place for each in places for place in (each, os.path.realpath(each))})


def _is_installed(file: str) -> bool:
    return not _INSTALLED.isdisjoint(Path(file).parts)


def _bytes(file: str) -> bytes | None:
    try:
        return Path(file).read_bytes()
    except OSError:  # out of a zip file, or gone
        return None


def _below(file: str | None, homes: Sequence[str]) -> bool:
    """Whether it is in the folder of an installed root; that of all packages is none."""
    if file is None or file.startswith(_OURS + os.sep):
        return False
    packages = [home for home in homes if Path(home).name not in _INSTALLED]
    return any(file.startswith(home + os.sep) for home in packages)


@lru_cache(maxsize=_FILES)
def _read(text: bytes, *, python: bool) -> tuple[str, tuple[Import, ...]]:
    """Digest of what a file says to Python, and what it imports; of no Python, of its bytes."""
    raw = sha256(text).hexdigest()
    if not python:
        return raw, ()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of odd escapes: said when it was imported
            tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return raw, ()
    imports = tuple(dict.fromkeys(_imports(tree)))
    words: list[str] = []
    try:
        _write(tree, words.append)
    except (ValueError, RecursionError):  # numbers of thousands of digits, sums as long
        return raw, imports
    return sha256("\n".join(words).encode("utf-8", "surrogatepass")).hexdigest(), imports


def _write(node: Any, say: Any) -> None:
    """Say what a tree is made of, in words that no version of Python spells otherwise."""
    if isinstance(node, ast.Constant):  # most of a file with data in it
        say(repr(node.value))
    elif isinstance(node, ast.AST):
        say(node.__class__.__name__)
        for name in node._fields:
            value = getattr(node, name, None)
            if value is None or value == [] or name in _SKIPPED:
                continue
            say(name)
            _write(value, say)
        say(")")
    elif isinstance(node, list):
        say("[")
        for item in node:
            _write(item, say)
        say("]")
    else:
        say(repr(node))


def _imports(tree: ast.AST) -> Iterator[Import]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for each in node.names:
                yield from _with_parents(each.name, 0)
        elif isinstance(node, ast.ImportFrom):
            prefix = f"{node.module}." if node.module else ""
            yield from _with_parents(node.module or "", node.level)
            for each in node.names:
                if each.name != "*":
                    yield Import(prefix + each.name, node.level)
        elif isinstance(node, ast.Call):
            yield from _asked_for(node)


def _asked_for(call: ast.Call) -> Iterator[Import]:
    """``importlib.import_module("x")``."""
    named = getattr(call.func, "attr", None) or getattr(call.func, "id", None)
    first = call.args[0] if call.args else None
    if named in {"import_module", "__import__"} and isinstance(first, ast.Constant):
        name = str(first.value)
        yield from _with_parents(name.lstrip("."), len(name) - len(name.lstrip(".")))


def _with_parents(name: str, level: int) -> Iterator[Import]:
    """``a``, ``a.b`` and ``a.b.c``: all three are executed."""
    if level:
        yield Import("", level)
    parts = name.split(".") if name else []
    for count in range(1, len(parts) + 1):
        yield Import(".".join(parts[:count]), level)


def _resolved(one: Import, importer: str) -> str | None:
    """The file that an import leads to; None for what has none or is not found."""
    folder = Path(importer).parent
    if one.level:
        for _ in range(one.level - 1):
            folder = folder.parent
        found = _Found(str(folder / "__init__.py"), [str(folder)])
        for part in filter(None, one.name.split(".")):
            found = _look(part, found.folders)
        return _a_file(found.file)
    loaded = _loaded(one.name)
    if loaded is not None:
        return loaded.file
    return _a_file(_search(one.name, str(folder)).file)


def _a_file(file: str | None) -> str | None:
    return file if file and os.path.isfile(file) else None  # noqa: PTH113 - thrice as fast


def _search(name: str, folder: str) -> _Found:
    """A module that is not loaded: below its parent, or in the importer's folder and the path."""
    parent, _, last = name.rpartition(".")
    if not parent:
        return _look(last, [folder, *(place or "." for place in sys.path)])
    above = _loaded(parent) or _search(parent, folder)
    return _look(last, above.folders)


def _look(name: str, folders: Sequence[str]) -> _Found:
    portions = []
    for folder in folders:
        stem = os.path.join(folder, name)  # noqa: PTH118 - many, and thrice as fast
        if _a_file(f"{stem}/__init__.py"):
            return _Found(f"{stem}/__init__.py", [stem])
        if _a_file(f"{stem}.py"):
            return _Found(f"{stem}.py", [])
        if os.path.isdir(stem):  # noqa: PTH112 - as above
            portions.append(stem)
    return _Found(None, portions)


def _loaded(name: str) -> _Found | None:
    module = sys.modules.get(name)
    if module is None:
        return None
    try:  # as it is: a lazy module would be loaded by a look at its attributes
        names: Mapping[str, Any] = object.__getattribute__(module, "__dict__")
        folders = [str(each) for each in names.get("__path__") or ()]
        file = names.get("__file__")
    except Exception:  # noqa: BLE001 - anybody may have put anything there
        return None
    return _Found(file if isinstance(file, str) else None, folders)
