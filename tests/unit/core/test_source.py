"""What a piece of a user's code is: its file, the files beside it that it uses, its settings."""

import importlib
import importlib.util
import sys
from collections.abc import Iterator
from functools import cache, partial, wraps
from pathlib import Path
from typing import Any

import pytest

from pytest_nel.core.source import constants, plain_state, source_digest


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """On the path; what is imported from it is forgotten afterwards."""
    monkeypatch.syspath_prepend(str(tmp_path))
    before = set(sys.modules)
    places = list(sys.path)
    yield tmp_path
    sys.path[:] = places
    for name in set(sys.modules) - before:
        del sys.modules[name]


def digest(folder: Path, **files: str) -> str:
    for name, text in files.items():
        (folder / f"{name}.py").write_text(text, encoding="utf-8")
    return source_digest(loaded("judge_x").judge)


def loaded(name: str) -> Any:
    for each in [each for each in sys.modules if each.partition(".")[0].endswith("_x")]:
        del sys.modules[each]
    importlib.invalidate_caches()
    return importlib.import_module(name)


def write(folder: Path, **files: str) -> None:
    for name, text in files.items():
        path = folder / f"{name.replace('__', '/').replace('INIT', '__init__')}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


JUDGE = "from help_x import near\n\ndef judge(sample):\n    return near(sample)\n"
HELP = "import deep_x\n\ndef near(sample):\n    return deep_x.LIMIT\n"


def test_a_helper_in_the_same_folder_is_part_of_it(folder: Path) -> None:
    first = digest(folder, judge_x=JUDGE, help_x=HELP, deep_x="LIMIT = 1\n", other_x="A = 1\n")
    same = digest(folder, other_x="A = 2\n")
    changed = digest(folder, deep_x="LIMIT = 2\n")
    back = digest(folder, deep_x="LIMIT = 1\n")

    assert first == same == back != changed


@pytest.mark.parametrize(
    "text",
    [
        "from help_x import near  # why\n\n\n\ndef judge(sample):\n    return near(sample)\n",
        "from help_x import (\n    near,\n)\ndef judge( sample ):\n  return (near(sample))\n",
    ],
    ids=["comments", "formatting"],
)
def test_comments_and_formatting_do_not_count(folder: Path, text: str) -> None:
    first = digest(folder, judge_x=JUDGE, help_x="def near(s): return 1\n")

    assert digest(folder, judge_x=text, help_x="def near(s):\n    return 1\n# end\n") == first


@pytest.mark.parametrize(
    ("one", "other"),
    [("1", "1.0"), ("1", "True"), ("'a'", "b'a'"), ("None", "''"), ("[1]", "(1,)"), ("-1", "+1")],
)
def test_values_that_only_look_alike_differ(folder: Path, one: str, other: str) -> None:
    text = "def judge(sample): return {}\n"

    assert digest(folder, judge_x=text.format(one)) != digest(folder, judge_x=text.format(other))


IMPORTS = {
    "module": "import common_x.h\n\ndef judge(s): return common_x.h.LIMIT\n",
    "constant": "from common_x.h import LIMIT\n\ndef judge(s): return LIMIT\n",
    "package": "from common_x import h\n\ndef judge(s): return h.LIMIT\n",
    "star": "from common_x.h import *\n\ndef judge(s): return LIMIT\n",
    "later": "def judge(s):\n    from common_x.h import LIMIT\n    return LIMIT\n",
    "by name": "import importlib\nh = importlib.import_module('common_x.h')\njudge = h.judge\n",
    "re-exported": "from common_x import again\n\ndef judge(s): return again()\n",
}


@pytest.mark.parametrize("how", IMPORTS)
def test_what_a_file_imports_counts_wherever_it_is(
    folder: Path, tmp_path_factory: pytest.TempPathFactory, how: str
) -> None:
    elsewhere = tmp_path_factory.mktemp("src")
    sys.path.append(str(elsewhere))  # as an editable install does; put back by the fixture
    write(folder, judge_x=IMPORTS[how])
    write(elsewhere, common_x__INIT="from common_x.h import judge as again\n")
    helper = "LIMIT = {}\n\ndef judge(s=0): return LIMIT\n"

    marks = []
    for value in (1, 2, 1):
        write(elsewhere, common_x__h=helper.format(value))
        marks.append(source_digest(loaded("judge_x").judge))

    assert marks[0] == marks[2] != marks[1]


@pytest.mark.parametrize("how", ["from . import h", "from .h import LIMIT", "from ..top import A"])
def test_relative_imports_count(folder: Path, how: str) -> None:
    write(folder, pack_x__INIT="", pack_x__b__INIT="", pack_x__b__h="LIMIT = 1\n")
    write(folder, pack_x__top="A = 1\n", pack_x__b__j=f"{how}\n\ndef judge(s): return 1\n")
    first = source_digest(loaded("pack_x.b.j").judge)
    write(folder, pack_x__b__h="LIMIT = 2\n", pack_x__top="A = 2\n")

    assert source_digest(loaded("pack_x.b.j").judge) != first


def test_a_file_that_is_imported_late_is_not_executed(folder: Path) -> None:
    late = "def judge(s):\n    import late_x\n    return late_x.A\n"

    first = digest(folder, judge_x=late, late_x="A = 1\nraise RuntimeError\n")

    assert "late_x" not in sys.modules
    assert digest(folder, late_x="A = 2\nraise RuntimeError\n") != first


@pytest.mark.usefixtures("folder")
def test_where_the_checkout_is_does_not_count(tmp_path: Path) -> None:
    marks = []
    for place in ("one", "other/deeper"):
        write(tmp_path / place, judge_x=JUDGE, help_x=HELP, deep_x="LIMIT = 1\n")
        sys.path.insert(0, str(tmp_path / place))
        marks.append(source_digest(loaded("judge_x").judge))
        sys.path.pop(0)

    assert marks[0] == marks[1]


def test_two_files_that_change_places_count(folder: Path) -> None:
    text = "import a_x, b_x\n\ndef judge(s): return a_x.V - b_x.V\n"
    first = digest(folder, judge_x=text, a_x="V = 1\n", b_x="V = 2\n")

    assert digest(folder, a_x="V = 2\n", b_x="V = 1\n") != first


def test_installed_packages_do_not_count(folder: Path) -> None:
    place = folder / "lib" / "site-packages"
    text = "def judge(s):\n    import wheel_x\n    return wheel_x.A\n"
    sys.path.append(str(place))
    write(place, wheel_x="A = 1\n")
    first = digest(folder, judge_x=text)
    write(place, wheel_x="A = 2\n")

    assert digest(folder) == first


def test_a_scorer_of_an_installed_package_counts_with_its_neighbours(folder: Path) -> None:
    place = folder / "site-packages"
    sys.path.append(str(place))
    write(place, pack_x__INIT="", pack_x__h="A = 1\n")
    write(place, pack_x__j="from pack_x.h import A\n\ndef judge(s): return A\n")
    first = source_digest(loaded("pack_x.j").judge)
    write(place, pack_x__h="A = 2\n")

    assert source_digest(loaded("pack_x.j").judge) != first


def test_a_file_that_python_cannot_read_counts_by_its_text(folder: Path) -> None:
    late = "def judge(s):\n    import late_x\n"

    first = digest(folder, judge_x=late, late_x="A = = 1\n")

    assert digest(folder, late_x="A = = 2\n") != first


def made(limit: int) -> Any:
    def judge(sample: Any) -> bool:
        return len(sample) < limit

    return judge


def keeping(function: Any) -> Any:
    @wraps(function)
    def inner(*args: Any) -> Any:
        return function(*args)

    return inner


class Judge:
    def __init__(self, limit: int) -> None:
        self.limit = limit

    def judge(self, sample: Any) -> bool:
        return len(sample) < self.limit

    __call__ = judge


@pytest.mark.parametrize(
    "make",
    [
        made,
        lambda limit: partial(made, limit),
        lambda limit: partial(made, limit=limit),
        lambda limit: keeping(made(limit)),
        lambda limit: cache(made(limit)),
        lambda limit: Judge(limit).judge,
        Judge,
    ],
    ids=["closure", "partial", "keyword", "wrapped", "cached", "method", "object"],
)
def test_what_a_function_was_given_counts(make: Any) -> None:
    assert source_digest(make(1)) == source_digest(make(1)) != source_digest(make(2))


@pytest.mark.parametrize("how", ["deco_x.keep(help_x.near)", "partial(help_x.near, 1)"])
def test_what_a_function_wraps_counts_by_its_file(folder: Path, how: str) -> None:
    deco = "from functools import wraps\n\ndef keep(f):\n    @wraps(f)\n    def g(*a):\n"
    write(folder, deco_x=f"{deco}        return f(*a)\n    return g\n")
    write(folder, help_x="def near(*a): return 1\n")
    write(folder, judge_x=f"import deco_x, help_x\nfrom functools import partial\njudge = {how}\n")
    first = source_digest(loaded("judge_x").judge)
    write(folder, help_x="def near(*a): return 2\n")

    assert source_digest(loaded("judge_x").judge) != first


def test_constants_of_what_a_function_wraps_count(folder: Path) -> None:
    write(folder, judge_x="NEAREST = int('3')\n\ndef near(*a): return NEAREST\n")
    near = loaded("judge_x").near

    assert constants(partial(near, 1))["NEAREST"] == 3
    assert constants(keeping(near))["NEAREST"] == 3


def test_the_base_class_of_another_file_counts(folder: Path) -> None:
    write(folder, base_x="class Base:\n    limit = 1\n")
    write(folder, judge_x="from base_x import Base\nJudge = type('Judge', (Base,), {})\n")
    first = source_digest(loaded("judge_x").Judge)
    write(folder, base_x="class Base:\n    limit = 2\n")

    assert source_digest(loaded("judge_x").Judge) != first


@pytest.mark.parametrize("what", ["function", "module"])
def test_the_source_of_what_an_object_holds_counts(folder: Path, what: str) -> None:
    def state() -> dict[str, Any]:
        module = loaded("help_x")
        return plain_state(Judge(module if what == "module" else module.near))

    write(folder, help_x="def near(s): return 1\n")
    first = state()
    write(folder, help_x="def near(s): return 1  # the one\n")
    same = state()
    write(folder, help_x="def near(s): return 2\n")

    assert first == same != state()


def test_a_module_that_nobody_can_find_again_counts_by_its_own_text(folder: Path) -> None:
    path = folder / "judge_x.py"
    path.write_text("def judge(sample):\n    return 1\n", encoding="utf-8")
    spec = importlib.util.spec_from_file_location("nobody", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)

    first = source_digest(module.judge)
    path.write_text("def judge(sample):\n    return 2\n", encoding="utf-8")

    assert source_digest(module.judge) != first


def test_what_has_no_source_has_a_digest() -> None:
    assert source_digest(len) == source_digest(len)


LIMIT, API_KEY = 3, "k"
WORDS, MANY, HERE = {"b", "a"}, list(range(1000)), str(Path(__file__).parent)


def test_constants_of_the_module_count() -> None:
    found = constants(test_constants_of_the_module_count)

    assert found["LIMIT"] == 3
    assert found["WORDS"] == ['"a"', '"b"']
    assert found["HERE"] == "."
    assert "JUDGE" in found
    assert not {"API_KEY", "MANY"} & set(found)
