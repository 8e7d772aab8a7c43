"""Maps of environment variables that say where each value comes from."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ConfigDict, ValidationError

from pytest_nel.config.env_map import EnvMap, literal, parse, references, resolve, secret_names
from pytest_nel.config.interpolate import expand
from pytest_nel.config.schema import Model
from pytest_nel.core.errors import ConfigError

HOST = {"TOKEN": "s3cret", "CACHE": "/cache"}


class Options(Model):
    model_config = ConfigDict(hide_input_in_errors=True)

    extra_env: EnvMap


def test_each_value_comes_from_where_its_prefix_says() -> None:
    written = {"HF_TOKEN": "host:TOKEN", "RANK": "runtime:SLURM_PROCID", "MODE": "lit:host:x"}

    values = resolve(written, "here", host=HOST, runtime={"SLURM_PROCID": "3"})

    assert values == {"HF_TOKEN": "s3cret", "RANK": "3", "MODE": "host:x"}
    assert secret_names(written) == {"HF_TOKEN", "RANK"}
    assert references(written, "runtime") == {"RANK": "SLURM_PROCID"}


def test_where_both_are_one_place_runtime_reads_the_same_variables() -> None:
    assert resolve({"A": "runtime:CACHE"}, "here", host=HOST) == {"A": "/cache"}


@pytest.mark.parametrize("bare", ["s3cret", "", "HOST:TOKEN", "env:s3cret", " host:TOKEN"])
def test_a_bare_value_is_refused_with_the_three_prefixes_and_not_shown(bare: str) -> None:
    with pytest.raises(ValidationError) as caught:
        Options(extra_env={"A": bare})

    message = str(caught.value)
    assert "must have an explicit prefix: host:VAR" in message
    assert "runtime:VAR" in message
    assert "lit:text" in message
    assert "s3cret" not in message


def test_a_reference_there_is_answered_with_what_to_write() -> None:
    with pytest.raises(ValueError, match=r"instead of \$\{TOKEN\} write host:TOKEN"):
        parse({"A": "${TOKEN}"})


@pytest.mark.parametrize(
    ("name", "value", "part"),
    [
        ("HF_TOKEN", "lit:s3cret", "named like a secret"),
        ("A", "lit:${TOKEN}/x", "no variable is put into"),
        ("A", "host:s3cret-x", "expected the name of a variable after host:"),
        ("A", "runtime:", "expected the name of a variable after runtime:"),
        ("A", "lit:a\0s3cret", "NUL"),
        ("A-B", "lit:x", "expected names of variables"),
    ],
)
def test_what_cannot_be_meant_is_refused_without_showing_it(
    name: str, value: str, part: str
) -> None:
    with pytest.raises(ValueError, match=part) as caught:
        parse({name: value})

    assert "s3cret" not in str(caught.value)


def test_variables_that_are_not_set_are_all_listed() -> None:
    written = {"A": "host:ONE", "B": "runtime:TWO", "C": "lit:x"}

    with pytest.raises(ConfigError) as caught:
        resolve(written, "services.m.extra_env", host={}, runtime={})

    assert str(caught.value).splitlines() == [
        "services.m.extra_env.A: variable ONE is not set here; export it",
        "services.m.extra_env.B: variable TWO is not set where it is to run; export it",
    ]


def test_such_a_map_is_not_expanded_but_a_parameter_of_that_name_is() -> None:
    raw = {
        "services": {"m": {"extra_env": {"A": "host:X"}, "prefill": {"extra_env": {"A": "${X}"}}}},
        "benchmarks": [{"params": {"extra_env": {"A": "${X}"}}}],
    }

    expanded = expand(raw, {"X": "s3cret"})

    assert expanded["services"] == raw["services"]
    assert expanded["benchmarks"] == [{"params": {"extra_env": {"A": "s3cret"}}}]


@given(st.text(st.characters(blacklist_characters="\0"), max_size=30))
def test_a_literal_comes_back_as_it_was(text: str) -> None:
    assert resolve({"A": literal(text)}, "here", host={}) == {"A": text}
