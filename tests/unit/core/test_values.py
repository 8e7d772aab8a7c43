"""What the values are that code was given: all of their content, no secret, no accident."""

import argparse
import datetime as dt
import json
import operator
import re
import subprocess
import sys
import time
from collections import OrderedDict, deque
from dataclasses import dataclass
from decimal import Decimal
from enum import Enum
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import BaseModel, PrivateAttr

from pytest_nel.core.source import plain_state

ROOT = Path(__file__).parents[3]


class Thing:
    def __init__(self, **state: object) -> None:
        self.__dict__.update(state)


@dataclass
class Settings:
    depth: int
    tools: list[str]


@dataclass(slots=True)
class Slotted:
    prompt: str


class Base:
    __slots__ = ("__own", "few", "unset")

    def __init__(self, few: int) -> None:
        self.few = few
        self.__own = few


class Derived(Base):
    __slots__ = ("more",)

    def __init__(self, few: int, more: object) -> None:
        super().__init__(few)
        self.more = more


class Inner:
    def __init__(self, temperature: float) -> None:
        self._temperature = temperature


class Listed(list[int]):
    style = ""


class Pair(NamedTuple):
    api_key: str
    name: str


class Colour(Enum):
    RED = 1
    BLUE = 2


def state(value: object) -> str:
    return json.dumps(plain_state(Thing(value=value)), sort_keys=True)


def test_nested_plain_values_count_and_objects_count_by_their_type() -> None:
    found = plain_state(Thing(settings=Settings(2, ["a"]), file=sys.stdout, when=None))

    assert found["settings"] == {"": f"{__name__}.Settings", "depth": 2, "tools": ["a"]}
    assert found["when"] is None
    assert "." in found["file"][""]


def test_slots_are_attributes() -> None:
    assert plain_state(Slotted("a")) == {"prompt": "a"}
    assert plain_state(Derived(1, [2])) == {"few": 1, "__own": 1, "more": [2]}


@pytest.mark.parametrize(
    "name",
    [
        *("api_key", "_token", "PASSWORD", "client_secret", "OPENAI_API_KEY", "apiKey"),
        *("X-Api-Key", "Authorization", "access_token", "hf_token", "aws_secret_access_key"),
        *("credentials", "bearer", "auth_token", "api_token", "db_password", "passwd"),
    ],
)
def test_secrets_are_no_part_of_it_at_any_depth(name: str) -> None:
    assert plain_state(Thing(**{name: "k"})) == {}
    assert plain_state(Thing(client=[{"headers": {name: "k"}}])) == {"client": [{"headers": {}}]}
    assert state([{name: "k", "a": 1}] * 500) == state([{name: "l", "a": 1}] * 500)


@pytest.mark.parametrize(
    "name",
    [
        *("max_tokens", "keyword", "secretary", "tokenizer", "answer_key", "target_key"),
        *("cache_key", "stop_token", "eos_token", "key", "tokens", "author"),
    ],
)
def test_what_only_sounds_like_a_secret_is(name: str) -> None:
    assert plain_state(Thing(**{name: 1})) == {name: 1}
    assert plain_state(Thing(a={name: "x"})) == {"a": {name: "x"}}


def test_a_field_of_a_named_tuple_may_be_a_secret() -> None:
    assert state(Pair("k", "a")) == state(Pair("l", "a")) != state(Pair("k", "b"))


def test_addresses_of_servers_are_no_part_of_it_and_addresses_in_data_are() -> None:
    assert plain_state(Thing(base_url="http://a:1", where="https://b")) == {}
    assert state({"api_base": "http://a:1"}) == state({"api_base": "http://b:1"})
    assert state({"answer": "http://a:1"}) != state({"answer": "http://b:1"})


DIFFERENT: dict[str, tuple[Any, Any]] = {
    "long list": (list(range(1000)), [*range(999), 7]),
    "rows": ([{"a": i} for i in range(900)], [{"a": i or 5} for i in range(900)]),
    "deep rows": ([{"a": [{"b": i}]} for i in range(900)], [{"a": [{"b": 0}]} for _ in range(900)]),
    "long mapping": ({i: i for i in range(900)}, {i: i or 5 for i in range(900)}),
    "keys": ({1: "a"}, {"1": "a"}),
    "bytes": (b"a", b"b"),
    "deep": ([[[[[[[["a"]]]]]]]], [[[[[[[["b"]]]]]]]]),
    "sets": ({1, 2}, {1, 3}),
    "path": (Path("a"), Path("b")),
    "path and text": (Path("a"), "a"),
    "decimal": (Decimal("1.0"), Decimal("1.00")),
    "date": (dt.date(2020, 1, 1), dt.date(2020, 1, 2)),
    "pattern": (re.compile("a"), re.compile("a", re.IGNORECASE)),
    "enum": (Colour.RED, Colour.BLUE),
    "numpy scalar": (np.int64(1), np.int64(2)),
    "numpy type": (np.int64(1), np.int32(1)),
    "array": (np.arange(900), np.arange(900)[::-1]),
    "objects": (np.array(["a", 1], dtype=object), np.array(["b", 1], dtype=object)),
    "not finite": (float("nan"), float("inf")),
    "huge": (10**9000, 10**9000 + 1),
    "huge in rows": ([10**9000] * 900, [10**9000 + 1] * 900),
    "range": (range(10**12), range(10**11)),
    "partial": (partial(max, 1), partial(max, 2)),
    "partial's function": (partial(max, 1), partial(min, 1)),
    "function": (test_slots_are_attributes, state),
    "built-in": (len, abs),
    "method of a built-in": (str.lower, str.upper),
    "class": (Inner, Settings),
    "getter": (operator.itemgetter("a"), operator.itemgetter("b")),
    "ordered": (OrderedDict(a=1), OrderedDict(a=2)),
    "deque": (deque([1]), deque([2])),
    "subclass of a list": (Listed([1]), Listed([2])),
    "object": (Inner(0.0), Inner(0.7)),
    "objects in a list": ([Inner(0.0)] * 300, [Inner(0.7)] * 300),
    "objects in slots": (Derived(1, Inner(0.0)), Derived(1, Inner(0.7))),
    "of others": (argparse.Namespace(model="a"), argparse.Namespace(model="b")),
}


@pytest.mark.parametrize("name", DIFFERENT)
def test_what_differs_in_content_differs(name: str) -> None:
    one, other = DIFFERENT[name]

    assert state(one) == state(one) != state(other)


def test_an_attribute_of_a_list_counts_beside_its_items() -> None:
    one, other = Listed([1]), Listed([1])
    other.style = "brief"

    assert state(one) != state(other)


def test_what_a_class_says_for_its_objects_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    before, own = plain_state(Listed()), Listed()
    own.style = "brief"
    monkeypatch.setattr(Listed, "style", "brief")

    assert before != plain_state(Listed()) == plain_state(own)


class Model(BaseModel):
    prompt: str = ""
    _shots: list[str] = PrivateAttr(default_factory=list)


def test_fields_of_models_count_whether_they_were_given_or_not() -> None:
    shot = Model()
    shot._shots.append("a")

    assert state(Model()) == state(Model(prompt="")) != state(Model(prompt="a"))
    assert state(shot) != state(Model())


def test_two_equal_values_are_the_same_however_they_are_shared() -> None:
    shared = ["a", ["b"]]

    assert state([[[[[shared, shared]]]]]) == state([[[[[["a", ["b"]], ["a", ["b"]]]]]]])


def test_of_objects_of_others_private_parts_do_not_count() -> None:
    assert "_pool" not in state(argparse.Namespace(model="a", _pool=object()))


def test_a_loop_of_values_ends() -> None:
    loop: list[object] = []
    loop.append(loop)
    around: dict[str, object] = {"list": loop}
    around["self"] = around

    assert state(loop)
    assert state(around)


def test_a_graph_with_many_ways_ends_soon() -> None:
    graph: list[object] = ["end"]
    for _ in range(55):
        graph = [graph, graph]

    assert state(graph)


def test_a_huge_depth_ends() -> None:
    deep: list[object] = []
    for _ in range(100_000):
        deep = [deep]

    assert state(deep)


class Broken(list[int]):
    def __len__(self) -> int:
        raise RuntimeError

    def __iter__(self) -> Any:
        raise OSError


class Hostile:
    def __getattribute__(self, name: str) -> Any:
        raise RuntimeError(name)


def test_objects_that_cannot_be_read_count_by_their_type() -> None:
    assert "Broken" in state(Broken())
    assert "Hostile" in state(Hostile())


@pytest.mark.slow
def test_a_large_dataset_is_read_quickly() -> None:
    rows = [{"question": f"what is {i}?" * 8, "answer": str(i), "at": [i]} for i in range(14_000)]
    megabytes = len(json.dumps(rows)) / 1e6
    started = time.process_time()

    state(rows)

    assert time.process_time() - started < 0.05 * megabytes


scalars = st.one_of(
    *(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=5)),
    *(st.binary(max_size=5), st.decimals(allow_nan=False), st.dates(), st.complex_numbers()),
)
keys = st.one_of(
    st.text(max_size=5), st.integers(), st.booleans(), st.none(), st.binary(max_size=3)
)
nested = st.recursive(
    scalars,
    lambda inner: st.one_of(
        *(st.lists(inner, max_size=4), st.tuples(inner, inner)),
        *(st.dictionaries(keys, inner, max_size=4), st.frozensets(scalars, max_size=4)),
        st.builds(lambda value: Thing(value=value, own=[value]), inner),
        *(st.builds(Derived, st.integers(), inner), st.builds(partial, st.just(max), inner)),
    ),
    max_leaves=20,
)


@given(nested)
@settings(max_examples=200, deadline=None)
def test_any_value_has_one_text(value: object) -> None:
    assert state(value) == state(value)


SCRIPT = """
import json
from hypothesis import given, settings
from pytest_nel.core.source import plain_state, source_digest
from tests.unit.core.test_values import Derived, Inner, Thing, nested, state
words = {f"w{i}" for i in range(300)}
thing = Thing(few={"a", "b", 3}, many=words, keys={(1, "a"): words, None: frozenset("abc")},
              deep=[[[[[[Derived(1, {"x", "y", "z"})]]]]]], other=object(), call=lambda: words)
print(json.dumps(plain_state(thing), sort_keys=True), source_digest(thing.call))
settings(derandomize=True, database=None, max_examples=100, deadline=None)(
    given(nested)(lambda value: print(state(value)))
)()
"""


def test_values_are_the_same_in_every_process() -> None:
    said = {
        subprocess.run(
            [sys.executable, "-c", SCRIPT],
            env={"PYTHONHASHSEED": seed, "PYTHONPATH": str(ROOT)},
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2", "3")
    }

    assert len(said) == 1
    assert len(said.pop().splitlines()) > 100
