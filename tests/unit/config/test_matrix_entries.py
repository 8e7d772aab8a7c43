"""What a matrix makes of the entries of a suite."""

import pytest

from pytest_nel.config.load import parse_suite
from pytest_nel.config.matrix import compared, entries
from pytest_nel.core.errors import ConfigError

SUITE = """services:
  a: {{type: api, url: "http://127.0.0.1:9/v1", protocol: chat_completions}}
  b: {{type: api, url: "http://127.0.0.1:9/v1", protocol: chat_completions}}
  c: {{type: api, url: "http://127.0.0.1:9/v1", protocol: chat_completions}}
matrix: {{small: [a, b], large: [a, c]}}
benchmarks:
  - {{name: gsm8k, solver: {{type: simple, service: small}}}}
  - {{name: gsm8k, solver: {{type: simple, service: large}}{more}}}
"""


def asked(more: str = "") -> list[object]:
    suite = parse_suite(SUITE.format(more=more), "s.nel.yaml")
    found = list(entries(suite.config, suite.raw))
    assert [raw["solver"]["service"] for _, raw in found] == [
        entry.solver.options["service"] for entry, _ in found
    ]
    return [entry.solver.options["service"] for entry, _ in found]


def test_a_model_of_two_lists_is_asked_once_where_the_entries_say_the_same() -> None:
    assert asked() == ["a", "b", "c"]


def test_a_model_of_two_lists_is_asked_twice_where_the_entries_differ() -> None:
    assert asked(", repeats: 2") == ["a", "b", "a", "c"]
    assert asked(", max_unscored: 2") == ["a", "b", "a", "c"]


def test_what_is_in_two_lists_is_compared_in_both() -> None:
    suite = parse_suite(SUITE.format(more=""), "s.nel.yaml")

    small, large = compared([(suite.config, suite.raw)] * 2)

    assert (small.name, small.services) == ("small", ("a", "b"))
    assert (large.name, large.services) == ("large", ("a", "c"))
    assert [len(each.entries) for each in (small, large)] == [2, 2]
    assert len(small.entries & large.entries) == 1


def test_a_variant_that_a_model_of_the_matrix_makes_as_well_is_refused_in_both_places() -> None:
    text = SUITE.format(more="") + (
        "  - {name: gsm8k, variant: b, solver: {type: simple, service: b}}\n"
    )

    with pytest.raises(ConfigError) as error:
        parse_suite(text, "s.nel.yaml")

    assert str(error.value).splitlines() == [
        (
            "s.nel.yaml:7: benchmarks[0].solver.service: with service 'b' this is variant 'b', as "
            "benchmarks[2] says of itself"
        ),
        (
            "s.nel.yaml:9: benchmarks[2].variant: benchmarks[0] is called 'b' with service 'b' of "
            "its matrix: give this one another variant"
        ),
    ]
