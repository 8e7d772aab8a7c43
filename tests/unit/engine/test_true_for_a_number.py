"""Pydantic takes true for 1, at any depth; options of plugins that say it are refused."""

from typing import Any

import pytest
from pydantic import BaseModel

from pytest_nel.core.errors import ConfigError
from pytest_nel.engine.validated import validated
from pytest_nel.solvers.simple import SimpleSolver


class Inner(BaseModel):
    times: int = 1
    on: bool = False


class Outer(BaseModel):
    inner: Inner = Inner()
    listed: list[Inner] = []
    named: dict[str, float] = {}
    rest: dict[str, Any] = {}


@pytest.mark.parametrize(
    ("options", "place"),
    [
        ({"inner": {"times": True}}, "inner.times"),
        ({"listed": [{}, {"times": True}]}, "listed[1].times"),
        ({"named": {"a": True}}, "named.a"),
    ],
)
def test_it_is_refused_at_any_depth(options: dict[str, Any], place: str) -> None:
    with pytest.raises(ConfigError) as caught:
        validated(Outer, options, "it")

    assert str(caught.value) == f"it.{place}: expected a number, got true"


def test_it_is_refused_in_generation() -> None:
    options = {"service": "s", "generation": {"temperature": True}}

    with pytest.raises(ConfigError, match=r"solver.generation.temperature: .*number, got true"):
        validated(SimpleSolver.Config, options, "solver")


def test_switches_and_what_has_no_type_may_be_true() -> None:
    made = validated(Outer, {"inner": {"on": True}, "rest": {"a": True, "b": [True]}}, "it")

    assert made.inner.on is True
    assert made.rest == {"a": True, "b": [True]}
