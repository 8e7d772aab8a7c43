"""What a service would need to start and does not find is said before anything is started."""

import sys
from pathlib import Path
from typing import Any

import pytest

from pytest_nel.config.schema import PluginSpec
from pytest_nel.core.errors import ConfigError
from pytest_nel.engine.runtime import Parts
from pytest_nel.services.missing import Missing, missing

CHAT = {"protocol": "chat_completions"}


def looked_at(folder: Path, kind: str, daemon: str | None = None, **options: Any) -> Missing | None:
    spec = PluginSpec.model_validate({"type": kind, **options})
    service = Parts({"m": spec}, log_dir=folder / "logs").service("m")
    return missing(service, lambda: daemon)


def test_an_engine_that_is_not_on_the_path_refuses_the_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))

    before = looked_at(tmp_path, "vllm", model="some/model", **CHAT)
    (tmp_path / "vllm").write_text("#!/bin/sh\n")
    (tmp_path / "vllm").chmod(0o755)
    after = looked_at(tmp_path, "vllm", model="some/model", **CHAT)

    assert before is not None
    assert before.refused
    assert "'vllm' is no program here" in before.reason
    assert after is None
    assert not (tmp_path / "logs").exists()


def test_what_is_set_up_before_may_bring_the_program(tmp_path: Path) -> None:
    found = looked_at(
        tmp_path, "vllm", model="some/model", setup_commands=["pip install vllm"], **CHAT
    )

    assert found is not None
    assert not found.refused


@pytest.mark.parametrize(
    ("command", "name"),
    [
        ("no-such-server --port {port}", "no-such-server"),
        ("A=1 exec no-such-server {port}", "no-such-server"),
        ("cd /srv && ./serve {port}", None),
        ("PATH=/opt/x:$PATH no-such-server {port}", None),
        ("$SERVER --port {port}", None),
        ("'", None),
        (f"{sys.executable} -m http.server {{port}}", None),
    ],
)
def test_of_a_line_for_a_shell_its_first_word_is_looked_up(
    command: str, name: str | None, tmp_path: Path
) -> None:
    found = looked_at(tmp_path, "command", command=f"{command} # {{port}}", **CHAT)

    assert (found is None) == (name is None)
    assert found is None or (repr(name) in found.reason and not found.refused)


def test_a_program_with_a_folder_is_seen_from_where_it_runs(tmp_path: Path) -> None:
    (tmp_path / "serve").write_text("#!/bin/sh\n")
    (tmp_path / "serve").chmod(0o755)
    command = ["./serve", "{port}"]

    there = looked_at(tmp_path, "command", command=command, cwd=str(tmp_path), **CHAT)
    elsewhere = looked_at(tmp_path, "command", command=command, cwd="/", **CHAT)

    assert there is None
    assert elsewhere is not None
    assert elsewhere.refused


def test_a_container_needs_a_daemon_and_no_program(tmp_path: Path) -> None:
    lacking = looked_at(tmp_path, "docker_model", daemon="/x.sock: absent", image="x:1", **CHAT)
    fine = looked_at(tmp_path, "docker_model", image="x:1", **CHAT)

    assert lacking == Missing("its container needs a docker daemon: /x.sock: absent", refused=False)
    assert fine is None


def test_a_server_that_is_there_needs_nothing(tmp_path: Path) -> None:
    assert looked_at(tmp_path, "gym", url="http://localhost:9") is None


def test_weights_that_are_not_there_are_a_mistake(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"services\.m"):
        looked_at(tmp_path, "llama_cpp", model=str(tmp_path / "none.gguf"))
