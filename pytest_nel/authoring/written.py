"""Names of benchmarks in a file, as far as they can be read without importing it."""

import ast
from collections.abc import Iterator
from pathlib import Path

from pytest_nel.core.errors import ConfigError
from pytest_nel.core.registry import unknown

_UNREADABLE = frozenset({"globals", "setattr", "exec", "eval", "type", "vars"})


def refuse_unwritten(path: Path, file: str, name: str) -> None:
    """Refuse the name of a benchmark that the file certainly does not have.

    Args:
        path: The file.
        file: What the suite calls it.
        name: What stands behind the colon.

    Raises:
        ConfigError: The file has no such benchmark. A file that cannot be read, or makes names
            while it runs, is left to whoever imports it.
    """
    try:
        tree = ast.parse(path.read_bytes(), str(path))
    except (OSError, SyntaxError, ValueError):
        return
    nodes = list(ast.walk(tree))
    if any(map(_makes_names, nodes)):
        return
    called = {text for node in nodes for text in _called(node)}
    if name not in called | {bound for node in nodes for bound in _bound(node)}:
        error: ConfigError = unknown(f"benchmark of {file}", name, sorted(called))
        raise error


def _makes_names(node: ast.AST) -> bool:
    if isinstance(node, ast.Name):
        return node.id in _UNREADABLE
    if isinstance(node, ast.ImportFrom):
        return any(alias.name == "*" for alias in node.names)
    if not isinstance(node, ast.keyword):
        return False
    return node.arg is None or (node.arg == "name" and not isinstance(node.value, ast.Constant))


def _called(node: ast.AST) -> Iterator[str]:
    """Texts that may be names: ``name="x"`` as an argument or in a class, ``register("x")``."""
    given: list[ast.expr] = []
    if isinstance(node, ast.keyword) and node.arg == "name":
        given = [node.value]
    elif isinstance(node, ast.Call):
        given = node.args if isinstance(node.func, ast.Name | ast.Attribute) else []
        given = given if _last(node.func) in {"register", "benchmark"} else []
    elif isinstance(node, ast.Assign | ast.AnnAssign):
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        is_name = any(isinstance(each, ast.Name) and each.id == "name" for each in targets)
        given = [node.value] if is_name and node.value is not None else []
    for each in given:
        if isinstance(each, ast.Constant) and isinstance(each.value, str):
            yield each.value


def _last(function: ast.expr) -> str:
    return function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")


def _bound(node: ast.AST) -> Iterator[str]:
    """Names that the file gives to something, by which a benchmark may be asked for, too."""
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        yield node.name
    elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
        yield node.id
    elif isinstance(node, ast.alias):
        yield node.asname or node.name.partition(".")[0]
