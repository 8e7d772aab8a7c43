"""A command becomes an endpoint; what is wrong with it is said before anything is asked."""

import os
import re
import socket
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from pytest_nel.core.errors import ConfigError, InfraError
from pytest_nel.core.types import Endpoint
from pytest_nel.services._placeholders import fill
from tests.support.processes import gone
from tests.unit.services.commands import LINUX, SERVED, Make, ask, log, started

PLANTED = "planted-5b7d1e90c2"  # nobody's


def test_the_endpoint_is_ready_and_described(make: Make) -> None:
    endpoint = make(
        model="m", generation={"temperature": 0, "seed": None}, max_concurrent=7,
        connect_timeout=1, read_timeout=2, timeout=3, max_retries=0,
    ).start()  # fmt: skip

    assert endpoint == Endpoint(
        name="mine",
        url=endpoint.url,
        protocol="chat_completions",
        model="m",
        generation={"temperature": 0.0},
        max_concurrent=7,
        connect_timeout=1.0,
        read_timeout=2.0,
        timeout=3.0,
        max_retries=0,
    )
    assert re.fullmatch(r"http://127\.0\.0\.1:\d+/v1/chat/completions", endpoint.url)


def test_without_a_model_the_service_name_is_sent(make: Make) -> None:
    endpoint = make().start()

    assert endpoint.model == "mine"


def test_the_path_is_that_of_the_protocol_or_ones_own(make: Make) -> None:
    plain = make(protocol="completions").start()
    own = make(protocol="completions", path="/api/generate?v=2").start()

    assert plain.url.endswith("/v1/completions")
    assert own.url.endswith("/api/generate?v=2")


def test_a_port_of_ones_own_is_used(make: Make) -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]

    endpoint = make(port=port).start()

    assert f":{port}/" in endpoint.url


def test_a_port_that_somebody_listens_on_is_refused(make: Make) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]

        with pytest.raises(ConfigError, match=rf"services.mine.port: {port} is in use"):
            make(port=port).start()


@LINUX
def test_a_list_is_run_as_it_is(make: Make, tmp_path: Path) -> None:
    command = [sys.executable, str(SERVED), "{port}", "", "$HOME; {{port}} '{\"a\": 1}'"]

    make(command=command).start()

    (pid,) = started(tmp_path)
    arguments = Path(f"/proc/{pid}/cmdline").read_text().split("\0")
    assert arguments[4] == "$HOME; {port} '{\"a\": 1}'"


def test_variables_reach_the_command(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VALUE", "{port} ${HOME}")
    env = {"ONE": "${VALUE}", "TWO": "http://{host}:{port}", "api_key": "x${UNSET:-y}"}

    endpoint = make(env=env).start()

    assert ask(endpoint, "variable/ONE") == "{port} ${HOME}"
    assert endpoint.url.startswith(ask(endpoint, "variable/TWO"))
    assert ask(endpoint, "variable/api_key") == "xy"
    assert ask(endpoint, "variable/PATH") == os.environ["PATH"]


def test_a_port_may_be_told_by_a_variable_alone(make: Make) -> None:
    command = f'exec {sys.executable} {SERVED} "$PORT"'

    endpoint = make(command=command, env={"PORT": "{port}"}).start()

    assert f":{ask(endpoint, 'variable/PORT')}/" in endpoint.url


def test_a_missing_variable_is_named(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("GONE", raising=False)

    with pytest.raises(ConfigError, match=r"services.mine.env.TOKEN: .*GONE is not set"):
        make(env={"TOKEN": "${GONE}"}).start()


def test_the_command_runs_in_its_folder(make: Make, tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()

    make("once", cwd=str(tmp_path / "there")).start()

    assert (tmp_path / "there" / "served.once").exists()


def test_a_folder_or_program_that_is_not_there_is_named(make: Make) -> None:
    with pytest.raises(ConfigError, match=r"services.mine.cwd: .*'/nowhere'"):
        make(cwd="/nowhere").start()
    with pytest.raises(ConfigError, match=r"services.mine: cannot run 'no-such-program'"):
        make(command=["no-such-program", "{port}"]).start()


def test_a_server_is_given_time_to_come_up(make: Make) -> None:
    endpoint = make("slow").start()

    assert ask(endpoint, "pid")


def test_without_a_health_path_a_completion_is_enough(make: Make) -> None:
    endpoint = make("never", health_path=None).start()

    assert ask(endpoint, "pid")


def test_more_output_than_a_pipe_holds_blocks_nobody(make: Make, tmp_path: Path) -> None:
    make("noisy").start()

    assert len(log(tmp_path)) > 300_000


def test_the_key_is_sent(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_KEY", PLANTED)

    endpoint = make(api_key="${MY_KEY}", env={"SERVED_KEY": "${MY_KEY}"}).start()

    assert endpoint.api_key == PLANTED
    assert PLANTED not in repr(endpoint)


@pytest.mark.parametrize(
    ("fault", "options", "said", "last_words"),
    [
        ("early", {}, r"ended before it was ready \(status 3\)", "out of memory"),
        ("never", {"startup_timeout": 1}, r"not ready in time; .*/health 503", "started"),
        ("refuse", {}, "answered 400", "cannot"),
        ("", {"health_path": "/up", "startup_timeout": 1}, "last answer: /up 404", "started"),
        ("", {"command": "no-such-program {port}"}, r"\(status 127\)", "not found"),
    ],
)
def test_a_server_that_does_not_come_up_is_explained_and_removed(
    make: Make, tmp_path: Path, fault: str, options: dict[str, Any], said: str, last_words: str
) -> None:
    with pytest.raises(InfraError) as caught:
        make(fault, **options).start()

    assert re.search(said, str(caught.value))
    assert last_words in str(caught.value)
    assert "server-mine.log" in str(caught.value)
    assert gone(started(tmp_path))


@pytest.mark.parametrize("fault", ["early", "refuse"])
def test_no_message_shows_a_secret(make: Make, monkeypatch: pytest.MonkeyPatch, fault: str) -> None:
    monkeypatch.setenv("MY_KEY", PLANTED)
    env = {"SERVED_SECRET": "${MY_KEY}", "SERVED_KEY": "${MY_KEY}"}

    with pytest.raises(InfraError) as caught:
        make(fault, env=env, api_key="${MY_KEY}").start()

    assert PLANTED not in str(caught.value)
    assert "[API key]" in str(caught.value)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"command": "serve"}, "neither command nor env says {port}"),
        ({"command": "serve $${port}", "env": {"A": "{{port}}"}}, "neither command nor env"),
        ({"command": "serve {prot}"}, "unknown placeholder {prot}: known are {host} and {port}"),
        ({"command": ["serve", "{model}"]}, "write {{model}} for the literal text"),
        ({"command": "serve", "port": 8000, "env": {"A": "{x}"}}, "unknown placeholder {x}"),
        ({"command": ""}, "command"),
        ({"command": []}, "command"),
        ({"command": "x\0 {port}"}, "without NUL"),
        ({"env": {"A=B": "1"}}, "names of variables"),
        ({"env": {"A": 1}}, "env.A"),
        ({"env": {"HF_TOKEN": PLANTED}}, "export it and write ${HF_TOKEN}"),
        ({"port": 0}, "port"),
        ({"port": 65_536}, "port"),
        ({"path": "v1"}, "path"),
        ({"health_path": "health"}, "health_path"),
        ({"startup_timeout": 0}, "startup_timeout"),
        ({"max_restarts": -1}, "max_restarts"),
        ({"api_key": PLANTED}, "expected a reference"),
        ({"gpus": -1}, "gpus"),
        ({"protocol": "grpc"}, "protocol"),
    ],
)
def test_options_that_make_no_sense_are_refused_and_not_quoted(
    make: Make, options: dict[str, Any], message: str
) -> None:
    with pytest.raises(ValidationError) as caught:
        make(**options)

    assert message in str(caught.value)
    assert PLANTED not in str(caught.value)


@pytest.mark.parametrize(
    ("text", "filled"),
    [
        ("-p {port} -h {host}", "-p 80 -h h"),
        ("{port}{port}", "8080"),
        ("{{port}} {{x}}", "{port} {x}"),
        ("${port} ${HOME:-{host}}", "${port} ${HOME:-h}"),
        ('f() { echo; }; {a,b} {} \'{"a": {"b": 1}}\'', None),
    ],
)
def test_only_a_single_word_in_braces_is_a_placeholder(text: str, filled: str | None) -> None:
    assert fill(text, {"port": "80", "host": "h"}) == (text if filled is None else filled)


@given(st.text(st.sampled_from("ab{}$ :\"'"), max_size=30).filter(lambda t: "{{" not in t))
def test_text_without_known_placeholders_is_left_alone(text: str) -> None:
    known = {word: f"{{{word}}}" for word in re.findall(r"\w+", text)}

    assert fill(text, known) == text
