"""The pages about benchmarks and suites say what is so."""

import inspect
import re
from pathlib import Path
from typing import Any

import pytest

from pytest_nel.authoring.benchmark import Benchmark, benchmark
from pytest_nel.config.load import _LATER, parse_suite
from pytest_nel.config.schema import BenchmarkConfig, OutputConfig

DOCS = Path(__file__).parents[3] / "docs"
HOW_TO = DOCS / "how-to" / "write-a-benchmark.md"
SUITE = DOCS / "reference" / "suite.md"


def blocks(page: Path, language: str) -> list[str]:
    text = page.read_text(encoding="utf-8")
    found = re.findall(rf"(?ms)^```{language}\n(.*?)^```", text)
    return [str(block) for block in found]


def test_the_examples_of_the_how_to_run() -> None:
    names: dict[str, Any] = {}

    for block in blocks(HOW_TO, "python"):
        exec(compile(block, str(HOW_TO), "exec"), names)  # noqa: S102  # our own page

    assert isinstance(names["capitals"], Benchmark)
    assert names["Squares"].name == "squares"


def test_every_argument_of_the_decorator_is_on_the_page() -> None:
    text = HOW_TO.read_text(encoding="utf-8")

    arguments = set(inspect.signature(benchmark).parameters) - {"more"}

    assert {name for name in arguments if f"`{name}`" not in text} <= {"name", "prompt"}


def test_the_example_suite_is_valid() -> None:
    example = blocks(SUITE, "yaml")[0]  # what follows are parts of one

    assert len(parse_suite(example, "suite.md", {}).config.benchmarks) == 2


@pytest.mark.parametrize(
    ("heading", "model"), [("benchmarks", BenchmarkConfig), ("output", OutputConfig)]
)
def test_the_keys_on_the_page_are_those_of_the_schema(heading: str, model: Any) -> None:
    section = (
        SUITE.read_text(encoding="utf-8").partition(f"## `{heading}`")[2].partition("\n## ")[0]
    )

    assert re.findall(r"^\| `(\w+)` \|", section, re.MULTILINE) == list(model.model_fields)


def test_what_is_not_supported_yet_is_listed() -> None:
    text = SUITE.read_text(encoding="utf-8")

    assert [key for keys in _LATER.values() for key in keys if f"`{key}`" not in text] == []
