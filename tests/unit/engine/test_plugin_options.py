"""Options of plugins are validated with the file and line where they stand."""

import pytest

from pytest_nel.config.load import parse_suite
from pytest_nel.core.errors import ConfigError
from pytest_nel.engine.plugin_options import check_options

SUITE = """\
services:
  served:
    type: command
    protocol: completions
    command: serve {{port}}
    {option}
benchmarks:
  - name: basics
    solver: {{type: {solver}, service: served}}
"""


def complaint(option: str, solver: str = "simple") -> str:
    suite = parse_suite(SUITE.format(option=option, solver=solver), "s.yaml", {"S": "s3cret"})
    with pytest.raises(ConfigError) as caught:
        check_options(suite)
    return str(caught.value)


@pytest.mark.parametrize(
    ("option", "said"),
    [
        ("port: 70000", "services.served.port: expected at most 65535, got 70000"),
        ("env: {A: 5}", "services.served.env.A: expected text (quote it), got 5"),
        ("env: {A-B: x}", "services.served.env: expected names of variables, such as HF_HOME"),
        ("cwd: [x]", "services.served.cwd: expected text (quote it), got a list"),
        ("prices: {prompt: 1}", "services.served.prices.completion: required, but missing"),
        ("prices: {completion: '${S}', prompt: 1}", "got '${S}'"),
        ("restarts: 3", "services.served.restarts: unknown option. Did you mean 'max_restarts'?"),
    ],
)
def test_a_wrong_option_is_named_with_its_line(option: str, said: str) -> None:
    message = complaint(option)

    assert message.startswith("s.yaml:6: ")
    assert said in message
    assert "s3cret" not in message


def test_what_may_be_of_several_kinds_is_one_line() -> None:
    suite = SUITE.replace("command: serve {{port}}", "command: 5").format(
        option="", solver="simple"
    )

    with pytest.raises(ConfigError) as caught:
        check_options(parse_suite(suite, "s.yaml", {}))

    assert str(caught.value) == (
        "s.yaml:5: services.served.command: expected text (quote it) or a list, got 5"
    )


def test_a_solver_that_no_one_knows_is_named() -> None:
    assert "solver.type: there is no solver of type 'simpel'. Did you mean 'simple'?" in complaint(
        "max_retries: 1", solver="simpel"
    )


def test_a_simple_solver_of_completions_has_the_options_of_that_one() -> None:
    message = complaint("port: 1", solver="simple, system_prompt: x")

    assert "s.yaml:9: benchmarks[0].solver.system_prompt: " in message


def test_a_solver_that_a_fixture_brings_has_no_options_to_check() -> None:
    suite = parse_suite(SUITE.format(option="port: 1", solver="fixture"), "s.yaml", {})

    check_options(suite)

    assert suite.config.benchmarks[0].solver.type == "fixture"
