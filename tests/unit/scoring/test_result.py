import dataclasses
import json
import math
from decimal import Decimal
from enum import Enum
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_nel.core.errors import ScorerError
from pytest_nel.core.types import VerifyResult
from pytest_nel.scoring.plain import plain
from pytest_nel.scoring.result import to_verify_result

WHERE = "bench.py:capitals row 17 (id 'x')"


class Colour(Enum):
    RED = "red"


def read(returned: object, response: str = "something") -> VerifyResult:
    return to_verify_result(returned, method="mine", where=WHERE, response=response)


@pytest.mark.parametrize(
    ("returned", "reward"),
    [
        (True, 1.0),
        (False, 0.0),
        (0.25, 0.25),
        (1, 1.0),
        (np.float64(0.5), 0.5),
        (np.bool_(1), 1.0),
        (Decimal("0.5"), 0.5),
        ({"correct": True}, 1.0),
        ({"correct": np.bool_(0)}, 0.0),
        ({"reward": 0.5}, 0.5),
        ({"reward": 0.5, "correct": True}, 0.5),
        ({"reward": 0.5, "correct": False}, 0.5),
        (VerifyResult(reward=0.75), 0.75),
    ],
)
def test_a_reward_is_read_from_what_scorers_return(returned: object, reward: float) -> None:
    result = read(returned)

    assert result.reward == reward
    assert type(result.reward) is float
    assert result.scoring_details["method"] == "mine"


@pytest.mark.parametrize(
    ("returned", "field"),
    [
        (math.nan, "returned value"),
        (math.inf, "returned value"),
        (1.5, "returned value"),
        (-0.1, "returned value"),
        (None, "returned value"),
        ("1", "returned value"),
        ([1], "returned value"),
        ({}, "'reward' or 'correct'"),
        ({"score": 1}, "score"),
        ({"reward": None}, "'reward'"),
        ({"reward": "1"}, "'reward'"),
        ({"reward": math.nan}, "'reward'"),
        ({"correct": None}, "'correct'"),
        ({"correct": "yes"}, "'correct'"),
        ({"correct": 0.5}, "'correct'"),
        ({"correct": True, "reward": 0}, "contradict"),
        ({"correct": False, "reward": 1.0}, "contradict"),
        ({"reward": 1.0, "parsed": False}, "unparsed"),
        ({"reward": 0.0, "parsed": True, "unparsed": True}, "alike"),
        (VerifyResult(reward=math.nan), "reward"),
        (VerifyResult(reward=1.0, parsed=False), "parsed=False"),
        (VerifyResult(reward=1.0, scoring_details={"correct": False}), "contradict"),
    ],
)
def test_what_is_no_reward_is_an_error_that_says_where_and_what(
    returned: object, field: str
) -> None:
    with pytest.raises(ScorerError) as caught:
        read(returned)

    assert str(caught.value).startswith(WHERE)
    assert field in str(caught.value)


def test_a_forgotten_await_is_named() -> None:
    async def verdict() -> bool:
        return True

    with pytest.raises(ScorerError, match="coroutine"):
        read(verdict())


def test_the_rest_of_a_dict_becomes_details() -> None:
    result = read({"correct": True, "extracted": "Paris", "confidence": np.float64(0.5)})

    assert result.extracted_answer == "Paris"
    assert result.scoring_details == {"method": "mine", "correct": True, "confidence": 0.5}


def test_a_method_that_the_scorer_names_is_kept() -> None:
    assert read({"correct": True, "method": "own"}).scoring_details["method"] == "own"


def test_nothing_extracted_and_no_reward_means_unparsed() -> None:
    assert not read({"correct": False, "extracted": None}).parsed
    assert read({"correct": False}).parsed
    assert read({"correct": True, "extracted": None}).parsed


@pytest.mark.parametrize("returned", [True, {"reward": 1.0, "extracted": ""}, VerifyResult(1.0)])
def test_an_empty_response_never_earns_a_reward(returned: object) -> None:
    result = read(returned, response=" \n")

    assert (result.reward, result.parsed, result.extracted_answer) == (0.0, False, None)
    assert "refused" in result.scoring_details["note"]


def test_a_number_as_extracted_answer_becomes_text() -> None:
    assert read({"correct": True, "extracted": 42}).extracted_answer == "42"


@dataclasses.dataclass
class Point:
    x: int
    colour: Colour


@pytest.mark.parametrize(
    ("value", "copy"),
    [
        (np.int64(3), 3),
        (np.float32(0.5), 0.5),
        (np.str_("a"), "a"),
        (np.array([[1, 2], [3, 4]]), [[1, 2], [3, 4]]),
        (Colour.RED, "red"),
        (Path("a") / "b", str(Path("a") / "b")),
        ({"b", "a"}, ["a", "b"]),
        ((1, 2), [1, 2]),
        ({1: math.nan}, {"1": None}),
        (Point(1, Colour.RED), {"x": 1, "colour": "red"}),
        (b"a", "YQ=="),
        ("\ud800", "\ufffd"),
        (Decimal("1.5"), "1.5"),
    ],
)
def test_values_become_plain(value: object, copy: object) -> None:
    assert plain(value) == copy


def test_a_cycle_is_cut() -> None:
    cycle: dict[str, Any] = {"a": 1}
    cycle["self"] = cycle

    assert plain(cycle) == {"a": 1, "self": "<dict: contains itself>"}


@pytest.mark.parametrize(
    "value",
    [[list(range(1000))] * 1000, {str(i): "x" * 99999 for i in range(10)}, 10**5000],
    ids=["many", "long", "huge"],
)
def test_what_is_too_large_is_cut(value: object) -> None:
    assert len(json.dumps(plain(value))) < 1_000_000


def test_deep_nesting_is_cut() -> None:
    value: list[Any] = []
    for _ in range(5000):
        value = [value]

    assert "too large" in json.dumps(plain(value))


nested = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.binary(),
    lambda inner: (
        st.lists(inner) | st.dictionaries(st.text() | st.integers(), inner) | st.tuples(inner)
    ),
)


@given(nested)
def test_every_copy_is_strict_json(value: object) -> None:
    text = json.dumps(plain(value), allow_nan=False)

    assert json.loads(text) == plain(value)
    text.encode("utf-8")
