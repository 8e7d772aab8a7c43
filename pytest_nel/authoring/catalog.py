"""From the name of a benchmark to the benchmark: a file, or a built-in.

A file is imported under a module name of its own, once per process. Its folder is added at the
*end* of ``sys.path``, so that it can import what lies beside it and hides nothing installed; two
folders with helpers of the same name are refused rather than mixed up.
"""

import ast
import hashlib
import inspect
import pkgutil
import re
import sys
import traceback
from importlib import import_module
from importlib.metadata import entry_points
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType, TracebackType
from typing import TypeAlias, TypeGuard

from pytest_nel.authoring.benchmark import Benchmark
from pytest_nel.core.errors import ConfigError, NelError
from pytest_nel.core.protocols import EvalEnvironment
from pytest_nel.core.registry import unknown

Found: TypeAlias = Benchmark | type[EvalEnvironment]

_BUILTINS = "pytest_nel.benchmarks"  # imported by name: they are a layer above
_FILE = re.compile(r"(?P<file>.+\.py)(?::(?P<name>.+))?", re.DOTALL)


def find(name: str, *, base: Path) -> Found:
    """Return the benchmark of that name.

    Args:
        name: ``file.py``, ``file.py:benchmark``, or a built-in's name, in which case, ``-`` and
            ``_`` make no difference.
        base: The folder that a relative file is relative to.

    Raises:
        ConfigError: There is none, there are several, or the file cannot be imported.
    """
    if (written := file_of(name)) is not None:
        path = Path(base, written[0]).resolve()
        return _choose(_import_file(path), *written)
    key = _normal(name)
    if key in _own_names():
        return _of_module(import_module(f"{_BUILTINS}.{key}"), key)
    for point in entry_points(group=_BUILTINS):
        if _normal(point.name) == key:
            loaded = point.load()
            return _of_module(loaded, key) if isinstance(loaded, ModuleType) else _checked(loaded)
    error = unknown("benchmark", name, builtin_names())
    raise error


def anchored(bench: str, base: Path) -> str:
    """A benchmark's name that means the same in any folder."""
    file, found, name = bench.partition(".py")
    if not found:
        return bench
    return f"{(base / f'{file}.py').resolve()}{name}"


def file_of(name: str) -> tuple[str, str | None] | None:
    """File and benchmark of ``file.py:benchmark``; None where the name is of another kind."""
    match = _FILE.fullmatch(name)
    return (match["file"], match["name"]) if match else None


def builtin_names() -> list[str]:
    """Names of the benchmarks that are installed, ours and those of entry points."""
    points = {_normal(point.name) for point in entry_points(group=_BUILTINS)}
    return sorted({*_own_names(), *points})


def benchmarks_of(module: ModuleType) -> dict[str, Found]:
    """The benchmarks that a module defines, by their names.

    Those imported from elsewhere count only where the module has none of its own.

    Raises:
        ConfigError: Two different ones have the same name.
    """
    found = [value for value in vars(module).values() if _is_benchmark(value)]
    own = [value for value in found if _is_own(value, module)]
    named: dict[str, Found] = {}
    for value in own or found:
        if named.setdefault(value.name, value) is not value:
            msg = f"{module.__file__}: two benchmarks are called {value.name!r}"
            raise ConfigError(msg)
    return named


def _choose(module: ModuleType, file: str, name: str | None) -> Found:
    found = benchmarks_of(module)
    choices = ", ".join(f"{file}:{each}" for each in sorted(found))
    if name is not None:
        attribute = vars(module).get(name)
        if name in found:
            return found[name]
        if _is_benchmark(attribute):
            return attribute
        error = unknown(f"benchmark of {file}", name, sorted(found))
        raise error
    if not found:
        msg = f"{file}: no benchmark in it; decorate a scorer with @benchmark(name=…, dataset=…)"
        raise ConfigError(msg)
    if len(found) > 1:
        msg = f"{file}: {len(found)} benchmarks in it, say which: {choices}"
        raise ConfigError(msg)
    return next(iter(found.values()))


def _of_module(module: ModuleType, key: str) -> Found:
    found = benchmarks_of(module)
    for name, value in found.items():
        if _normal(name) == key:
            return value
    if len(found) == 1:
        return next(iter(found.values()))
    msg = (
        f"{module.__name__}: expected one benchmark called {key!r}, found {sorted(found) or 'none'}"
    )
    raise ConfigError(msg)


def _own_names() -> list[str]:
    package = import_module(_BUILTINS)
    modules = pkgutil.iter_modules(package.__path__)
    return sorted(module.name for module in modules if not module.name.startswith("_"))


def _normal(name: str) -> str:
    return name.strip().lower().replace("-", "_")


def _checked(value: object) -> Found:
    if isinstance(value, Benchmark):
        return value
    if inspect.isclass(value) and issubclass(value, EvalEnvironment):
        return value
    msg = f"an entry point of {_BUILTINS} leads to {value!r}, which is no benchmark"
    raise ConfigError(msg)


def _is_benchmark(value: object) -> TypeGuard[Found]:
    if isinstance(value, Benchmark):
        return True
    # ``name`` of its own is the mark of @register; a base class without one is no benchmark
    return (
        inspect.isclass(value)
        and issubclass(value, EvalEnvironment)
        and isinstance(vars(value).get("name"), str)
        and bool(value.name)
    )


def _is_own(value: Found, module: ModuleType) -> bool:
    if isinstance(value, Benchmark):
        return value.file == module.__file__
    return value.__module__ == module.__name__


def _import_file(path: Path) -> ModuleType:
    if not path.is_file():
        msg = f"{path}: no such benchmark file"
        raise ConfigError(msg)
    mark = hashlib.sha256(str(path).encode("utf-8", "surrogatepass")).hexdigest()[:8]
    name = f"nel_benchmark_{path.stem}_{mark}"
    if name in sys.modules:
        return sys.modules[name]
    spec = spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        msg = f"{path}: cannot be imported as Python"
        raise ConfigError(msg)
    module = module_from_spec(spec)
    if str(path.parent) not in sys.path:
        sys.path.append(str(path.parent))
    sys.modules[name] = module  # dataclasses and inspect look there
    try:
        spec.loader.exec_module(module)
        _refuse_foreign_siblings(path)
    except NelError:
        del sys.modules[name]
        raise
    except (Exception, SystemExit) as error:  # the user's code: anything may come
        del sys.modules[name]
        msg = f"{blame(error, path)} (while importing this benchmark file)"
        raise ConfigError(msg) from error
    return module


def blame(error: BaseException, path: str | Path) -> str:
    """``file.py:12: KeyError: 'x'``: the last line of the file itself that led to an error."""
    text = " ".join("".join(traceback.format_exception_only(error)).split())
    if isinstance(error, SyntaxError):
        text = f"{type(error).__name__}: {error.msg}"
    if isinstance(error, SyntaxError) and error.filename == str(path):
        return f"{path}:{error.lineno}: {text}"
    line = _last_line(error.__traceback__, str(path))
    return f"{path}:{line}: {text}" if line else f"{path}: {text}".removeprefix(": ")


def _last_line(trace: TracebackType | None, file: str) -> int | None:
    lines = [frame.lineno for frame in traceback.extract_tb(trace) if frame.filename == file]
    return lines[-1] if lines else None


def _refuse_foreign_siblings(path: Path) -> None:
    """``import tools`` must not give this file the ``tools.py`` of another benchmark's folder."""
    tree = ast.parse(path.read_bytes(), str(path))
    names: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names.add(node.module.partition(".")[0])
    for name in sorted(names):
        beside = path.parent / f"{name}.py"
        loaded = getattr(sys.modules.get(name), "__file__", None)
        if loaded and beside.is_file() and Path(loaded).resolve() != beside:
            msg = (
                f"{path}: import {name} gave {loaded}, not the {name}.py beside it; "
                "rename one of the two"
            )
            raise ConfigError(msg)
