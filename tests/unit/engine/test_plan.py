"""Which problems are attempted, in which order."""

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_nel.config.schema import BenchmarkConfig, PluginSpec
from pytest_nel.core.errors import DataError
from pytest_nel.core.types import VerifyResult
from pytest_nel.engine.plan import BenchmarkPlan, make_plan
from tests.unit.engine.parts import Sums

SEEDS = st.none() | st.integers(0, 5)


def planned(size: int, **settings: int | None) -> BenchmarkPlan:
    judge: Callable[[str, str], VerifyResult] = lambda *_: VerifyResult(0.0)  # noqa: E731
    config = BenchmarkConfig.model_validate(
        {"name": "sums", "solver": PluginSpec(type="custom"), **settings}
    )
    return make_plan(config, Sums(judge), size)


@given(size=st.integers(1, 60), seed=SEEDS)
def test_every_problem_is_planned_once_and_the_same_way_each_time(
    size: int, seed: int | None
) -> None:
    plan = planned(size, shuffle_seed=seed)

    assert sorted(plan.problems) == list(range(size))
    assert planned(size, shuffle_seed=seed).as_json() == plan.as_json()


@given(size=st.integers(1, 60), limit=st.integers(1, 80), seed=SEEDS)
def test_a_higher_limit_only_adds_problems(size: int, limit: int, seed: int | None) -> None:
    some = planned(size, max_problems=limit, shuffle_seed=seed).problems

    assert some == planned(size, shuffle_seed=seed).problems[:limit]


def test_without_a_seed_the_order_is_that_of_the_data() -> None:
    assert planned(5, shuffle_seed=None).problems == [0, 1, 2, 3, 4]


def test_repeats_of_a_problem_stand_together() -> None:
    keys = list(planned(2, repeats=2, shuffle_seed=None).keys())

    assert [(key.problem_idx, key.repeat) for key in keys] == [(0, 0), (0, 1), (1, 0), (1, 1)]


@pytest.mark.parametrize(
    ("settings", "window"),
    [({}, 1024), ({"max_concurrent": 100}, 1600), ({"max_concurrent": 100, "window": 7}, 7)],
)
def test_the_window_is_wide_unless_it_is_said(settings: dict[str, int], window: int) -> None:
    assert planned(3, **settings).window == window


def test_no_rows_are_an_error() -> None:
    with pytest.raises(DataError, match="no rows"):
        planned(0)
