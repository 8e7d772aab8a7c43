"""Links of the documentation lead somewhere, and its code is code."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

import pytest_nel
from pytest_nel.config.load import load_suite
from pytest_nel.core.errors import ConfigError
from pytest_nel.engine.plugin_options import check_names_and_options
from pytest_nel.scoring.catalog import SCORERS

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted(ROOT.glob("docs/**/*.md"))]


def blocks(language: str) -> Iterator[tuple[str, str]]:
    """Fenced blocks of that language: where, and the text."""
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        for found in re.finditer(rf"^```{language}\n(.*?)^```$", text, re.MULTILINE | re.DOTALL):
            line = text.count("\n", 0, found.start()) + 1
            yield f"{page.relative_to(ROOT)}:{line}", found[1]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_a_link_to_a_file_has_a_file(page: Path) -> None:
    text = re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    links = re.findall(r"\]\((?!https?:|#)([^)#]+)", text)

    assert [link for link in links if not (page.parent / link).exists()] == []


@pytest.mark.parametrize(("where", "code"), list(blocks("python")), ids=lambda value: value[:60])
def test_python_in_the_documentation_uses_public_names(where: str, code: str) -> None:
    tree = ast.parse(code, filename=where)

    names = {
        alias.name
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and node.module == "pytest_nel"
        for alias in node.names
    }
    assert names <= set(pytest_nel.__all__)


@pytest.mark.parametrize(("where", "code"), list(blocks("yaml")), ids=lambda value: value[:60])
def test_yaml_in_the_documentation_is_yaml(where: str, code: str) -> None:
    assert isinstance(yaml.safe_load(code), dict), where


@pytest.mark.parametrize(
    ("where", "code"),
    [
        pytest.param(where, code, id=where)
        for where, code in blocks("yaml")
        if {"services", "benchmarks"} <= yaml.safe_load(code).keys() and "???" not in code
    ],
)
def test_a_suite_in_the_documentation_can_be_loaded(
    where: str, code: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """But for files and variables that only its reader has."""
    for name in re.findall(r"\$\{(\w+)\}", code):
        monkeypatch.setenv(name, "http://localhost/v1/chat/completions")
    file = tmp_path / "suite.nel.yaml"
    file.write_text(code, encoding="utf-8")
    wrong = []

    try:
        check_names_and_options(load_suite(file, scorers=SCORERS))
    except ConfigError as error:
        wrong = [line for line in str(error).splitlines() if "there is no file" not in line]

    assert wrong == [], where


def test_every_page_can_be_reached_from_the_index() -> None:
    index = ROOT / "docs/index.md"
    reached, waiting = set[Path](), [index]

    while waiting:
        page = waiting.pop()
        reached.add(page)
        links = re.findall(r"\]\((?!https?:|#)([^)#]+\.md)", page.read_text(encoding="utf-8"))
        waiting += {(page.parent / link).resolve() for link in links} - reached

    assert {page for page in PAGES if page.parent != ROOT} - reached == set()
