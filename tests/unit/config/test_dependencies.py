"""Services start after what they depend on; what can never start is said with its cycle."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_nel.config.dependencies import asked, dependency_problems, start_order
from pytest_nel.config.load import parse_suite
from pytest_nel.config.schema import PluginSpec
from pytest_nel.core.errors import ConfigError


def specs(**depends: list[str]) -> dict[str, PluginSpec]:
    return {
        name: PluginSpec.model_validate({"type": "command", "depends_on": names})
        for name, names in depends.items()
    }


def test_what_is_depended_on_comes_first_and_nothing_else_comes() -> None:
    services = specs(a=["b", "c"], b=["c"], c=[], unused=["a"])

    assert start_order(services, ["a"]) == ["c", "b", "a"]
    assert start_order(services, ["b", "a"]) == ["c", "b", "a"]


@pytest.mark.parametrize(
    ("depends", "said"),
    [
        ({"a": ["bb"], "b": []}, "no service is called 'bb'. Did you mean 'b'?"),
        ({"a": ["a"]}, "can never start: a -> a"),
        ({"a": ["b"], "b": ["c"], "c": ["b"]}, "can never start: b -> c -> b"),
    ],
    ids=["unknown", "self", "cycle"],
)
def test_what_can_never_start_is_said(depends: dict[str, list[str]], said: str) -> None:
    problems = list(dependency_problems(specs(**depends)))

    assert len(problems) == 1
    assert said in problems[0].message
    with pytest.raises(ConfigError, match="depends_on"):
        start_order(specs(**depends), ["a"])


def test_a_suite_says_it_with_its_line() -> None:
    text = """services:
  a: {type: command, protocol: completions, command: "x {port}", depends_on: [b]}
  b: {type: command, protocol: completions, command: "x {port}",
      depends_on: [a]}
benchmarks: [{name: gsm8k, solver: {type: simple, service: a}}]
"""

    with pytest.raises(ConfigError, match=r"^s.yaml:2: services.a.depends_on: .* a -> b -> a$"):
        parse_suite(text, "s.yaml")


@given(st.dictionaries(st.sampled_from("abcdef"), st.sets(st.sampled_from("abcdef"))))
def test_the_order_is_right_or_there_is_a_problem(graph: dict[str, set[str]]) -> None:
    services = specs(**{name: sorted(names) for name, names in graph.items()})
    problems = list(dependency_problems(services))

    if problems:
        with pytest.raises(ConfigError):
            start_order(services, services)
    else:
        order = start_order(services, services)
        assert sorted(order) == sorted(services)
        assert all(order.index(b) < order.index(name) for name in graph for b in graph[name])


def test_a_benchmark_asks_what_it_names_under_service() -> None:
    entry: dict[str, Any] = {
        "solver": {"type": "simple", "service": "a", "model": "f"},
        "scoring": {"metrics": [{"service": "b"}, {"services": ["c", "nobody"]}]},
        "params": {"gym_service": "d", "note": "e"},
    }

    assert asked(["a", "b", "c", "d", "e", "f"], entry) == {"a", "b", "c", "d"}
