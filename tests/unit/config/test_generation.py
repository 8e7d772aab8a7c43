"""Sampling parameters: what may be said, and which level counts."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from pytest_nel.config.schema import BenchmarkConfig, Generation, layered

LEVELS = st.fixed_dictionaries(
    {},
    optional={
        "temperature": st.floats(0, 2),
        "max_tokens": st.integers(1, 99),
        "extra_body": st.dictionaries(st.sampled_from(["top_k", "min_p"]), st.integers(0, 9)),
    },
)


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ({"temperature": 1}, "write generation.temperature"),
        ({"n": 4}, "ask several times with repeats"),
        ({"model": "x"}, "model is what the request itself says"),
        ({"stream": True}, "stream is what the request itself says"),
    ],
)
def test_further_keys_of_the_body_are_no_second_door(body: dict[str, object], message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        Generation(extra_body=body)


def test_alternatives_need_log_probabilities() -> None:
    with pytest.raises(ValidationError, match="logprobs: true"):
        Generation(top_logprobs=3)


@given(LEVELS, LEVELS, LEVELS)
def test_the_first_level_that_says_a_key_counts(
    solver: dict[str, object], benchmark: dict[str, object], service: dict[str, object]
) -> None:
    given_by = [Generation.model_validate(one).given() for one in (solver, benchmark, service)]

    whole = Generation.model_validate(layered(solver, benchmark, service)).given()

    for name in {name for level in given_by for name in level}:
        assert whole[name] == next(level[name] for level in given_by if name in level)
    assert whole.keys() == {name for level in given_by for name in level}


@given(LEVELS, LEVELS, LEVELS)
def test_levels_may_be_joined_in_any_grouping(
    one: dict[str, object], two: dict[str, object], three: dict[str, object]
) -> None:
    left, right = layered(layered(one, two), three), layered(one, layered(two, three))

    assert Generation.model_validate(left) == Generation.model_validate(right)


def test_a_benchmarks_parameters_stand_behind_its_solvers() -> None:
    entry = BenchmarkConfig.model_validate(
        {
            "name": "x",
            "generation": {"temperature": 0.5, "max_tokens": 9},
            "solver": {"type": "simple", "service": "m", "generation": {"temperature": 0}},
        }
    )

    assert entry.settled().solver.options["generation"] == {"temperature": 0, "max_tokens": 9}
