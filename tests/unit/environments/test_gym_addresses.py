"""What ``gym://`` names mean, and which are refused."""

import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_nel.core.errors import ConfigError
from pytest_nel.environments import resolve
from pytest_nel.environments._gym_address import read_address
from pytest_nel.environments.gym import GymEnvironment


def made(name: str, **params: Any) -> GymEnvironment:
    found = resolve(name, base=Path("/suites"), params=params)
    assert isinstance(found, GymEnvironment)
    return found


@pytest.mark.parametrize(
    ("name", "params", "url"),
    [
        ("gym://localhost:9090", {}, "http://localhost:9090"),
        ("gym://localhost:9090/", {}, "http://localhost:9090"),
        ("gym://10.0.0.7:80/below/it/", {}, "http://10.0.0.7:80/below/it"),
        ("gym://[::1]:9090", {}, "http://[::1]:9090"),
        ("gym://gym.example.com:443?tls=1", {}, "https://gym.example.com:443"),
        ("gym://gym.example.com:443", {"tls": True}, "https://gym.example.com:443"),
        ("gym://h:1?protocol=evaluator&tls=true", {}, "https://h:1"),
    ],
)
def test_a_server_that_is_there_has_a_url(name: str, params: dict[str, Any], url: str) -> None:
    address, options = read_address(name, params)

    assert address.kind == "remote"
    assert address.url(tls=options.tls) == url
    assert made(name, **params).managed is None


PYTHON = (sys.executable, "-m")


@pytest.mark.parametrize(
    ("name", "called", "command"),
    [
        ("gym://gsm8k", "gym@gsm8k", [*PYTHON, "pytest_nel.cli.main", "serve", "-b", "gsm8k"]),
        (
            "gym://sub/bench_x.py:own",
            "gym@bench_x.py:own",
            [*PYTHON, "pytest_nel.cli.main", "serve", "-b", "/suites/sub/bench_x.py:own"],
        ),
        ("gym://module:my.app", "gym@my.app", [*PYTHON, "uvicorn", "my.app:app"]),
        ("gym://module:my.app:make", "gym@my.app:make", [*PYTHON, "uvicorn", "my.app:make"]),
        (
            "gym://cmd:serve --data 'a?b' && x=1",
            "gym@serve-data-a-b-x-1-877e964f",
            ["sh", "-c", "serve --data 'a?b' && x=1"],
        ),
    ],
)
def test_a_managed_server_has_a_command_and_a_name_without_its_port(
    name: str, called: str, command: list[str]
) -> None:
    environment = made(name)

    assert environment.managed is not None
    assert environment.managed.command(4711)[: len(command)] == command
    assert ("4711" in environment.managed.command(4711)) == (command[0] != "sh")
    assert environment.name == called


@pytest.mark.parametrize(
    ("name", "params", "said"),
    [
        ("gym://", {}, "neither host and port nor a benchmark"),
        ("gym://user:secret@host:1", {}, "neither host and port nor a benchmark"),
        ("gym://host:0", {}, "port 0 is none"),
        ("gym://host:99999", {}, "port 99999 is none"),
        ("gym://cmd:  ", {}, "no command stands after cmd:"),
        ("gym://module:no-module", {}, "'no-module' is no name of a module"),
        ("gym://host:1?protocl=native", {}, "Did you mean 'protocol'?"),
        ("gym://host:1?tls=1&tls=1", {}, "tls stands in it twice"),
        ("gym://host:1?tls=1", {"tls": True}, "tls stands in it and in params"),
        ("gym://host:1?protocol=grpc", {}, "protocol: Input should be 'evaluator' or 'native'"),
        ("gym://host:1?protocol=native", {}, "name the rows by data=FILE.jsonl"),
        ("gym://host:1?protocol=evaluator&data=x", {}, "data belongs to the native protocol"),
        ("gym://host:1", {"timeot": 3}, "Did you mean 'timeout'?"),
        ("gym://host:1", {"timeout": 0}, "timeout: Input should be greater than 0"),
        ("gym://host:1", {"api_key": "literal"}, "expected a reference like ${API_KEY}"),
        ("gym://host:1", {"api_key": "${NOT_SET_HERE}"}, "NOT_SET_HERE is not set"),
        ("gym://gsm8k?tls=1", {}, "listens on loopback, without tls"),
        ("gym://host:1?data=nothing.jsonl", {}, "/suites/nothing.jsonl: the rows (data=)"),
    ],
)
def test_what_is_wrong_with_a_name_is_said(name: str, params: dict[str, Any], said: str) -> None:
    with pytest.raises(ConfigError) as caught:
        made(name, **params)

    assert said in str(caught.value)
    assert "literal" not in str(caught.value).replace("literal key", "")


@given(st.text(max_size=40))
def test_any_name_is_an_address_or_a_mistake(rest: str) -> None:
    try:
        address, _ = read_address(f"gym://{rest}", {})
    except ConfigError:
        return  # with a message; nothing else is raised

    assert address.target
