"""From a name in a suite to an environment."""

from pathlib import Path
from typing import Any

import pytest

from pytest_nel.core.errors import ConfigError
from pytest_nel.environments import resolve
from pytest_nel.environments.builtin import BenchmarkEnvironment

FILE = """\
from pytest_nel.authoring.benchmark import benchmark, register, scorer
from pytest_nel.core.protocols import EvalEnvironment


@benchmark(name="sums", dataset="rows.jsonl", prompt="{q}", tolerance=1)
@scorer
def sums(sample):
    return sample.response == sample.target


@register("mine")
class Mine(EvalEnvironment):
    def __init__(self, num_examples=None, *, mode="a"):
        if mode == "bad":
            raise ValueError("no such mode")
        self.given = (num_examples, mode)
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "bench.py").write_text(FILE, encoding="utf-8")
    rows = "".join(f'{{"q": "{n}", "target": "{n}"}}\n' for n in range(3))
    (tmp_path / "rows.jsonl").write_text(rows, encoding="utf-8")
    return tmp_path


def complaint(name: str, base: Path, **options: Any) -> str:
    with pytest.raises(ConfigError) as caught:
        resolve(name, base=base, **options)
    return str(caught.value)


def test_a_benchmark_of_a_file_is_loaded_up_to_the_limit(folder: Path) -> None:
    env = resolve("bench.py:sums", base=folder, limit=2)

    assert isinstance(env, BenchmarkEnvironment)
    assert (env.name, len(env), env.endpoint_type) == ("sums", 2, "chat")


def test_params_replace_settings_that_the_benchmark_has(folder: Path) -> None:
    env = resolve("bench.py:sums", base=folder, params={"tolerance": 5})

    assert isinstance(env, BenchmarkEnvironment)
    assert env.benchmark.extra == {"tolerance": 5}


def test_params_that_the_benchmark_does_not_have_are_refused(folder: Path) -> None:
    message = complaint("bench.py:sums", folder, params={"tolerence": 5})

    assert "unknown param of benchmark sums 'tolerence'. Did you mean 'tolerance'?" in message


def test_a_class_is_made_with_the_params(folder: Path) -> None:
    env: Any = resolve("bench.py:mine", base=folder, limit=3, params={"mode": "b"})

    assert env.name == "mine"
    assert env.given == (3, "b")


def test_params_that_a_class_does_not_take_are_refused(folder: Path) -> None:
    message = complaint("bench.py:mine", folder, params={"mod": "b"})

    assert "unknown param of benchmark mine 'mod'. Did you mean 'mode'?" in message


def test_a_class_that_fails_is_blamed(folder: Path) -> None:
    message = complaint("bench.py:mine", folder, params={"mode": "bad"})

    assert "bench.py:15: ValueError: no such mode" in message


@pytest.mark.parametrize(
    "name",
    ["skills://x", "lm-eval://x", "vlmevalkit://x", "container://i#t"],
)
def test_schemes_of_other_harnesses_are_not_supported_yet(name: str) -> None:
    assert "is not supported yet" in complaint(name, Path())


def test_an_unknown_scheme_lists_the_known(folder: Path) -> None:
    assert "unknown environments 'ftp'" in complaint("ftp://x", folder)
