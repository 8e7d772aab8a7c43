"""What no linter checks: how long a module and a function may be."""

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
MODULES = sorted(
    path
    for folder in ("pytest_nel", "benchmarks", "tests")
    for path in ROOT.glob(f"{folder}/**/*.py")
)


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(ROOT)))
def test_a_module_has_at_most_400_lines(path: Path) -> None:
    lines = path.read_text(encoding="utf-8").count("\n")

    assert lines <= 400


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(ROOT)))
def test_a_function_has_at_most_50_lines(path: Path) -> None:
    tree = ast.parse(path.read_text(encoding="utf-8"))

    long = {
        node.name: length
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and (length := (node.end_lineno or node.lineno) - node.lineno + 1) > 50
    }

    assert long == {}
