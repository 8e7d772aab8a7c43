"""References to the environment."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_nel.config.interpolate import escape, expand, getenv, resolve_secret
from pytest_nel.core.errors import ConfigError


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("${HOST}/v1", "h/v1"),
        ("${HOST:-other}", "h"),
        ("${GONE:-other}", "other"),
        ("${GONE:-}", ""),
        ("${EMPTY:-other}", ""),
        ("${EMPTY}", ""),
        ("$${RUNTIME_VAR}/v1", "${RUNTIME_VAR}/v1"),
        ("$${VAR:-default}", "${VAR:-default}"),
        ("cost: $$100", "cost: $$100"),
        ("$HOST", "$HOST"),
        ("${GONE:-a}b}", "ab}"),
        ("${HOST}${HOST}", "hh"),
    ],
)
def test_a_reference_becomes_the_variable_or_its_default(text: str, expected: str) -> None:
    assert expand(text, {"HOST": "h", "EMPTY": ""}) == expected


def test_strings_are_expanded_at_any_depth_and_keys_are_not() -> None:
    value = {"${A}": [{"x": "${A}", "n": 1, "none": None, "yes": True}]}

    expanded = expand(value, {"A": "a"})

    assert expanded == {"${A}": [{"x": "a", "n": 1, "none": None, "yes": True}]}


def test_every_missing_variable_is_named_at_once() -> None:
    value = {"a": "${ONE}", "b": ["x", {"c": "${TWO} ${THREE}"}]}

    with pytest.raises(ConfigError) as caught:
        expand(value, {})

    lines = str(caught.value).splitlines()
    assert [line.split(":")[0] for line in lines] == ["a", "b[1].c", "b[1].c"]
    assert all(name in str(caught.value) for name in ("ONE", "TWO", "THREE"))


def test_the_value_of_a_variable_is_not_expanded_again() -> None:
    assert expand("${A}", {"A": "${B}", "B": "b"}) == "${B}"


def test_a_reference_to_another_place_is_refused_where_there_is_no_suite() -> None:
    with pytest.raises(ConfigError, match="refers to another place of a suite file"):
        expand("http://localhost:${.port}", {})


def test_the_process_environment_is_the_default(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NEL_TEST_VALUE", "here")

    assert expand("${NEL_TEST_VALUE}") == "here"
    assert getenv("NEL_TEST_VALUE") == "here"
    assert getenv("NEL_TEST_NO_VALUE") is None


@given(st.text(alphabet=st.sampled_from("${}AB:-. \n"), max_size=20))
def test_escaped_text_comes_back_as_it_was(text: str) -> None:
    assert expand(escape(text), {}) == text


def test_a_reference_under_api_key_stays_a_reference_at_any_depth() -> None:
    value = {"services": {"m": {"api_key": "${KEY}", "deep": [{"api_key": None}]}}}

    assert expand(value, {"KEY": "s3cret"}) == value


@pytest.mark.parametrize(
    "literal", ["sk-s3cret", "", "${KEY:-sk-s3cret}", "Bearer ${KEY} s3cret", 5, ["s3cret"]]
)
def test_anything_else_under_api_key_is_refused_and_not_shown(literal: object) -> None:
    with pytest.raises(ConfigError) as caught:
        expand({"services": {"m": {"api_key": literal}}}, {"KEY": "x"})

    assert str(caught.value).startswith("services.m.api_key: ")
    assert "would be written to the run directory: export it" in str(caught.value)
    assert "s3cret" not in str(caught.value)


def test_a_secret_is_resolved_at_start_up() -> None:
    assert resolve_secret("${KEY}", "services.m.api_key", {"KEY": "sk-1"}) == "sk-1"


@pytest.mark.parametrize(
    ("env", "reason"),
    [({}, "not set"), ({"KEY": ""}, "empty"), ({"KEY": "s3cret\n"}, "line break")],
)
def test_a_secret_that_cannot_be_used_names_its_variable(env: dict[str, str], reason: str) -> None:
    with pytest.raises(ConfigError, match=reason) as caught:
        resolve_secret("${KEY}", "services.m.api_key", env)

    assert "services.m.api_key" in str(caught.value)
    assert "KEY" in str(caught.value)
    assert "s3cret" not in str(caught.value)


def test_a_literal_secret_is_refused_at_start_up_too() -> None:
    with pytest.raises(ConfigError) as caught:
        resolve_secret("sk-s3cret", "here", {})

    assert "s3cret" not in str(caught.value)


def test_variables_of_a_server_stay_references_until_it_starts() -> None:
    raw = {"services": {"m": {"env": {"TOKEN": "${KEY}"}, "cwd": "${KEY}"}}}

    expanded = expand(raw, {"KEY": "sk-1"})

    assert expanded == {"services": {"m": {"env": {"TOKEN": "${KEY}"}, "cwd": "sk-1"}}}


def test_what_is_called_env_elsewhere_is_expanded() -> None:
    raw = {"benchmarks": [{"env": "${A}"}], "services": {"env": {"url": "${A}"}}}

    expanded = expand(raw, {"A": "a"})

    assert expanded == {"benchmarks": [{"env": "a"}], "services": {"env": {"url": "a"}}}


def test_a_missing_variable_of_a_server_is_found_before_it_starts() -> None:
    with pytest.raises(ConfigError, match=r"services.m.env.TOKEN: .*GONE is not set"):
        expand({"services": {"m": {"env": {"TOKEN": "${GONE}"}}}}, {})
