"""Finding a benchmark by its name."""

import sys
from pathlib import Path
from types import ModuleType

import pytest

from pytest_nel.authoring.benchmark import Benchmark
from pytest_nel.authoring.catalog import benchmarks_of, builtin_names, find
from pytest_nel.core.errors import ConfigError
from pytest_nel.core.protocols import EvalEnvironment

HEAD = """\
from pytest_nel.authoring.benchmark import Benchmark, benchmark, register, scorer
from pytest_nel.core.protocols import EvalEnvironment

def make(name):
    return Benchmark(name=name, dataset=[{"q": "1", "target": "2"}], prompt="{q}")

"""


def write(folder: Path, body: str, name: str = "bench.py") -> str:
    folder.mkdir(exist_ok=True)
    (folder / name).write_text(HEAD + body, encoding="utf-8")
    return name


def complaint(name: str, base: Path) -> str:
    with pytest.raises(ConfigError) as caught:
        find(name, base=base)
    return str(caught.value)


def test_the_only_benchmark_of_a_file_is_found(tmp_path: Path) -> None:
    name = write(tmp_path, "x = make('capitals')\nagain = x\n")

    found = find(name, base=tmp_path)

    assert isinstance(found, Benchmark)
    assert found.name == "capitals"
    assert found.file == str(tmp_path / "bench.py")


def test_a_file_is_imported_once(tmp_path: Path) -> None:
    name = write(tmp_path, "x = make('capitals')\n")

    assert find(name, base=tmp_path) is find(str(tmp_path / name), base=Path("/"))


def test_one_of_several_is_chosen_by_name_or_attribute(tmp_path: Path) -> None:
    name = write(tmp_path, "x = make('one')\ny = make('two')\n")

    assert find(f"{name}:two", base=tmp_path).name == "two"
    assert find(f"{name}:x", base=tmp_path).name == "one"


def test_several_without_a_choice_are_listed(tmp_path: Path) -> None:
    name = write(tmp_path, "x = make('one')\ny = make('two')\n")

    assert "bench.py:one, bench.py:two" in complaint(name, tmp_path)


def test_a_wrong_choice_gets_a_suggestion(tmp_path: Path) -> None:
    name = write(tmp_path, "x = make('one')\ny = make('two')\n")

    assert "Did you mean 'two'?" in complaint(f"{name}:twoo", tmp_path)


def test_two_of_one_name_are_refused(tmp_path: Path) -> None:
    name = write(tmp_path, "x = make('one')\ny = make('one')\n")

    assert "two benchmarks are called 'one'" in complaint(name, tmp_path)


def test_a_file_without_a_benchmark_is_refused(tmp_path: Path) -> None:
    assert "no benchmark in it" in complaint(write(tmp_path, ""), tmp_path)


def test_a_registered_class_is_found_and_its_bases_are_not(tmp_path: Path) -> None:
    name = write(
        tmp_path,
        "class Base(EvalEnvironment):\n    pass\n@register('mine')\nclass Mine(Base):\n    pass\n",
    )

    found = find(name, base=tmp_path)

    assert isinstance(found, type)
    assert issubclass(found, EvalEnvironment)
    assert found.name == "mine"


def test_benchmarks_imported_from_elsewhere_count_only_where_there_are_no_others(
    tmp_path: Path,
) -> None:
    write(tmp_path, "x = make('one')\n", "nel_test_first.py")
    both = write(tmp_path, "from nel_test_first import x\ny = make('two')\n", "both.py")
    only = write(tmp_path, "from nel_test_first import x\n", "only.py")

    assert find(both, base=tmp_path).name == "two"
    assert find(only, base=tmp_path).name == "one"


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ("\nraise KeyError('x')\n", "bench.py:8: KeyError: 'x'"),
        ("def f(:\n", "bench.py:7: SyntaxError"),
        ("import no_such_module_nel\n", "bench.py:7: ModuleNotFoundError"),
        ("import sys\nsys.exit('bye')\n", "bench.py:8: SystemExit: bye"),
    ],
)
def test_a_file_that_fails_is_blamed_with_its_own_line(
    body: str, words: str, tmp_path: Path
) -> None:
    name = write(tmp_path, body)

    assert words in complaint(name, tmp_path)
    assert words in complaint(name, tmp_path)


def test_what_a_decorator_says_is_passed_on_as_it_is(tmp_path: Path) -> None:
    name = write(tmp_path, "x = make(5)\n")

    message = complaint(name, tmp_path)

    assert "name: expected text, got 5" in message
    assert "importing" not in message


def test_a_file_may_import_what_lies_beside_it(tmp_path: Path) -> None:
    (tmp_path / "nel_test_helper.py").write_text("NAME = 'helped'\n", encoding="utf-8")
    name = write(tmp_path, "import nel_test_helper\nx = make(nel_test_helper.NAME)\n")

    assert find(name, base=tmp_path).name == "helped"
    assert sys.path[0] != str(tmp_path)


def test_helpers_of_one_name_in_two_folders_are_not_mixed_up(tmp_path: Path) -> None:
    for each in ("a", "b"):
        write(tmp_path / each, f"NAME = '{each}'\n", "nel_test_same.py")
        write(tmp_path / each, "import nel_test_same\nx = make(nel_test_same.NAME)\n")

    assert find("a/bench.py", base=tmp_path).name == "a"
    assert "not the nel_test_same.py beside it" in complaint("b/bench.py", tmp_path)


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    assert complaint("gone.py", tmp_path) == f"{tmp_path / 'gone.py'}: no such benchmark file"


def test_an_unknown_name_lists_the_built_in_ones(tmp_path: Path) -> None:
    message = complaint("no-such-benchmark", tmp_path)

    assert "unknown benchmark 'no-such-benchmark'" in message
    assert all(name in message for name in builtin_names())


@pytest.mark.parametrize("name", ["nel_test_built-in", "NEL-Test-Built_In"])
def test_a_built_in_is_found_however_it_is_spelt(name: str, tmp_path: Path) -> None:
    import pytest_nel.benchmarks as package

    write(tmp_path, "x = make('nel-test-built-in')\ny = make('other')\n", "nel_test_built_in.py")
    package.__path__.append(str(tmp_path))
    try:
        assert "nel_test_built_in" in builtin_names()
        assert find(name, base=Path()).name == "nel-test-built-in"
    finally:
        package.__path__.remove(str(tmp_path))
        sys.modules.pop("pytest_nel.benchmarks.nel_test_built_in", None)


def test_a_module_without_benchmarks_has_none() -> None:
    assert benchmarks_of(ModuleType("empty")) == {}
