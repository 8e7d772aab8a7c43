"""What a piece of a user's code is: its file, the files beside it that it uses, its settings."""

import argparse
import importlib
import importlib.util
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from pytest_nel.core.source import constants, plain_state, source_digest


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """On the path; what is imported from it is forgotten afterwards."""
    monkeypatch.syspath_prepend(str(tmp_path))
    before = set(sys.modules)
    yield tmp_path
    for name in set(sys.modules) - before:
        del sys.modules[name]


def digest(folder: Path, **files: str) -> str:
    for name, text in files.items():
        (folder / f"{name}.py").write_text(text, encoding="utf-8")
    for name in ("judge_x", "help_x", "deep_x", "other_x"):
        sys.modules.pop(name, None)
    importlib.invalidate_caches()
    return source_digest(importlib.import_module("judge_x").judge)


JUDGE = "from help_x import near\n\ndef judge(sample):\n    return near(sample)\n"
HELP = "import deep_x\n\ndef near(sample):\n    return deep_x.LIMIT\n"


def test_a_helper_in_the_same_folder_is_part_of_it(folder: Path) -> None:
    first = digest(folder, judge_x=JUDGE, help_x=HELP, deep_x="LIMIT = 1\n", other_x="A = 1\n")
    same = digest(folder, other_x="A = 2\n")
    changed = digest(folder, deep_x="LIMIT = 2\n")
    back = digest(folder, deep_x="LIMIT = 1\n")

    assert first == same == back != changed


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


@dataclass
class Settings:
    depth: int
    tools: list[str]


class Thing:
    def __init__(self, **state: object) -> None:
        self.__dict__.update(state)


def test_nested_plain_values_count_and_objects_count_by_their_type() -> None:
    state = plain_state(
        Thing(settings=Settings(2, ["a"]), file=sys.stdout, many=list(range(1000)), when=None)
    )

    assert state["settings"] == {"": f"{__name__}.Settings", "depth": 2, "tools": ["a"]}
    assert state["when"] is None
    assert state["many"] == "builtins.list"
    assert "." in state["file"][""]


@pytest.mark.parametrize("name", ["api_key", "key", "_token", "PASSWORD", "client_secret"])
def test_secrets_are_no_part_of_it(name: str) -> None:
    assert plain_state(Thing(**{name: "k"})) == {}


@pytest.mark.parametrize("name", ["max_tokens", "keyword", "secretary", "tokenizer"])
def test_what_only_sounds_like_a_secret_is(name: str) -> None:
    assert plain_state(Thing(**{name: 1})) == {name: 1}


def test_a_loop_of_values_ends() -> None:
    loop: list[object] = []
    loop.append(loop)

    assert plain_state(Thing(loop=loop))["loop"]


class Inner:
    def __init__(self, temperature: float) -> None:
        self._temperature = temperature


def test_objects_of_the_same_project_count_by_what_they_hold() -> None:
    cold, warm = (plain_state(Thing(llm=Inner(t), tools=[Inner(t)])) for t in (0.0, 0.7))

    assert cold != warm
    assert cold == plain_state(Thing(llm=Inner(0.0), tools=[Inner(0.0)]))


def test_objects_of_others_count_by_their_public_plain_attributes() -> None:
    one, two = argparse.Namespace(model="a", _pool=object()), argparse.Namespace(model="b")

    assert plain_state(Thing(client=one)) != plain_state(Thing(client=two))
    assert "_pool" not in str(plain_state(Thing(client=one)))


LIMIT, API_KEY = 3, "k"


def test_constants_of_the_module_count() -> None:
    found = constants(test_constants_of_the_module_count)

    assert found["LIMIT"] == 3
    assert "API_KEY" not in found
    assert "JUDGE" in found
