"""Names of benchmarks in files that are not imported."""

from pathlib import Path

import pytest

from pytest_nel.authoring.written import refuse_unwritten
from pytest_nel.core.errors import ConfigError

FILE = """from pytest_nel import benchmark, register
@benchmark(name="capitals", dataset=ROWS, prompt="{q}")
def towns(sample): ...
@register("rivers")
class Rivers: ...
class Lakes:
    name = "lakes"
"""


def written(folder: Path, text: str) -> Path:
    path = folder / "b.py"
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.parametrize("name", ["capitals", "towns", "rivers", "Rivers", "lakes"])
def test_a_benchmark_may_be_asked_for_by_its_name_and_by_that_of_its_object(
    tmp_path: Path, name: str
) -> None:
    refuse_unwritten(written(tmp_path, FILE), "b.py", name)


def test_a_name_that_is_nowhere_in_the_file_is_refused_with_a_suggestion(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"benchmark of b.py 'capital'. Did you mean 'capitals'"):
        refuse_unwritten(written(tmp_path, FILE), "b.py", "capital")


@pytest.mark.parametrize(
    "text",
    [
        "from towns import *",
        "for town in TOWNS:\n    benchmark(name=town)(score)",
        "benchmark(**FACTS)(score)",
        "globals()['x'] = made()",
        "this is no Python",
    ],
)
def test_a_file_that_makes_names_while_it_runs_is_left_to_the_run(
    tmp_path: Path, text: str
) -> None:
    refuse_unwritten(written(tmp_path, text), "b.py", "x")
