"""Slips that PyYAML or the memory would answer otherwise."""

import pytest

from pytest_nel.config.load import parse_suite
from pytest_nel.core.errors import ConfigError

SUITE = """services:
  m: {{type: api, url: {url}, protocol: chat_completions}}
benchmarks:
  - {{name: basics, repeats: {repeats}, solver: {{type: simple, service: m}}}}
output: {{dir: "{dir}"}}
"""
URL = "http://h.test/v1/chat/completions"


def complaint(url: str = URL, repeats: str = "1", folder: str = "out") -> str:
    with pytest.raises(ConfigError) as caught:
        parse_suite(
            SUITE.format(url=url, repeats=repeats, dir=folder),
            "s.yaml",
            {"TEAM": "ours", "MODEL_API_KEY": "sk-0123456789"},
        )
    return str(caught.value)


def test_a_placeholder_within_braces_is_told_to_stand_in_quotes() -> None:
    bare, quoted = complaint("???"), complaint('"???"')

    assert bare.startswith("s.yaml:2: not valid YAML: ")
    assert bare.endswith('within braces and brackets a placeholder stands in quotes: "???"')
    assert quoted.startswith("s.yaml:2: services.m.url: a value is needed here")


def test_more_repeats_than_the_memory_holds_are_refused() -> None:
    message = complaint(repeats="99999999999999999999")

    assert message == (
        "s.yaml:4: benchmarks[0].repeats: expected at most 10000, got 99999999999999999999"
    )


def test_a_key_makes_no_name_of_a_folder_and_other_variables_may() -> None:
    message = complaint(folder="${MODEL_API_KEY}/x")

    assert message.startswith("s.yaml:5: output.dir: MODEL_API_KEY is a secret")
    assert "sk-0123456789" not in message
    text = SUITE.format(url=URL, repeats="1", dir="${TEAM}/x")
    assert parse_suite(text, "s.yaml", {"TEAM": "ours"}).config.output.dir == "ours/x"
