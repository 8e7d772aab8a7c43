"""A plugin's name is the name of its file, and what the reference page promises is exported."""

import ast
import re
from importlib import import_module
from pathlib import Path

import pytest

import pytest_nel
from pytest_nel.core.registry import Registry

ROOT = Path(__file__).parents[2]
KINDS = sorted(
    path.parent.name
    for path in ROOT.glob("pytest_nel/*/__init__.py")
    if "REGISTRY: Registry" in path.read_text(encoding="utf-8")
)
ROWS = [
    (kind, name, target)
    for kind in KINDS
    for name, target in import_module(f"pytest_nel.{kind}").REGISTRY.rows.items()
]


def test_there_are_services() -> None:
    assert ("services", "api", "pytest_nel.services.api:ApiService") in ROWS


@pytest.mark.parametrize(("kind", "name", "target"), ROWS, ids=lambda value: value)
def test_a_row_names_the_module_of_its_name(kind: str, name: str, target: str) -> None:
    module, _, attribute = target.partition(":")
    registry: Registry[object] = import_module(f"pytest_nel.{kind}").REGISTRY

    assert module == f"pytest_nel.{kind}.{name}"
    assert registry.load(name).__name__ == attribute


def test_the_reference_page_documents_exactly_what_is_exported() -> None:
    page = (ROOT / "docs/reference/api.md").read_text(encoding="utf-8")

    documented = re.findall(r"^## `(\w+)`$", page, re.MULTILINE)

    assert sorted(documented) == sorted(pytest_nel.__all__)


@pytest.mark.parametrize("name", pytest_nel.__all__)
def test_every_exported_name_can_be_had(name: str) -> None:
    assert getattr(pytest_nel, name).__name__ == name


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="nothing_like_it"):
        pytest_nel.nothing_like_it  # noqa: B018  # looking is the act


def test_every_option_is_on_the_options_page(pytester: pytest.Pytester) -> None:
    page = (ROOT / "docs/reference/options.md").read_text(encoding="utf-8")
    shown = pytester.runpytest_subprocess("-p", "nel", "--help").stdout.str()

    options = set(re.findall(r"--nel-[a-z-]+\w", shown))
    inis = set(re.findall(r"^  (nel_\w+)", shown, re.MULTILINE))

    assert options
    assert {name for name in options | inis if f"`{name}`" not in page} == set()


def test_no_two_test_files_have_one_name() -> None:
    names = [path.name for path in (ROOT / "tests").rglob("test_*.py")]  # pytest imports by it

    assert sorted(name for name in set(names) if names.count(name) > 1) == []


@pytest.mark.parametrize("path", sorted(ROOT.glob("benchmarks/*.py")), ids=lambda path: path.stem)
def test_a_benchmark_defines_no_function_that_nothing_uses(path: Path) -> None:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    used = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}

    unused = [
        node.name
        for node in tree.body
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and not node.decorator_list
        and node.name not in used
    ]

    assert unused == []
