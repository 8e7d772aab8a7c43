"""A model that is an image: started, watched, restarted, removed; no secret on a command line."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from pydantic import ValidationError

from pytest_nel.config.schema import PluginSpec
from pytest_nel.core.errors import ConfigError, InfraError
from pytest_nel.engine.fingerprint import answering
from pytest_nel.services.docker_model import DockerModelService
from pytest_nel.services.nim import NimService
from tests.support.containers import (
    IMAGE,
    MOUNTS,
    PYTHON,
    client,
    containers,
    make_image,
    no_docker,
)
from tests.support.processes import command_lines, until
from tests.unit.services.commands import SERVED, ask

PLANTED = "planted-9d3e5a1c70"  # nobody's
DOCKER = pytest.mark.skipif(bool(no_docker()), reason=str(no_docker()))
INSIDE = "/nel-tests"
WORDS = [str(PYTHON), f"{INSIDE}/served.py", "8000"]
Make = Callable[..., DockerModelService]


def options(**given: Any) -> dict[str, Any]:
    return {"image": IMAGE, "protocol": "chat_completions", **given}


def order(service: Any) -> dict[str, Any]:
    """What the container's process is told, and no more."""
    found: dict[str, Any] = json.loads(service._launch(9, 0).command[-1])
    return found


def nim(tmp_path: Path, **given: Any) -> NimService:
    config = NimService.Config.model_validate(options(image="nvcr.io/nim/x:1", **given))
    return NimService("mine", config, log_dir=tmp_path)


def test_a_nim_gets_its_key_by_name_and_is_told_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MY_NGC", PLANTED)
    service = nim(tmp_path, model="meta/x", ngc_key_env="MY_NGC", gpus=[0, 1],
                  extra_env={"NIM_LOG_LEVEL": "lit:INFO"})  # fmt: skip

    launch = service._launch(9, 0)

    told = order(service)
    assert told["image"] == "nvcr.io/nim/x:1"
    assert sorted(told["env"]) == ["NGC_API_KEY", "NIM_LOG_LEVEL", "NIM_SERVED_MODEL_NAME"]
    assert (told["gpus"], told["shm_size"]) == (["0", "1"], "16g")
    assert (told["publish"], told["port"]) == (["127.0.0.1", 9], 8000)
    assert (told["entrypoint"], told["command"], told["script"]) == (None, None, None)
    assert launch.env["NEL_CONTAINER_NGC_API_KEY"] == PLANTED
    assert launch.env["NEL_CONTAINER_NIM_SERVED_MODEL_NAME"] == "meta/x" == service.served
    assert PLANTED not in " ".join(launch.command)
    assert service._probe(9).health_urls == ("http://127.0.0.1:9/v1/health/ready",)
    assert PLANTED in service._probe(9).hidden


def test_a_nim_without_a_key_says_which_variable_it_wants(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("NGC_API_KEY", raising=False)

    with pytest.raises(ConfigError, match="ngc_key_env: environment variable NGC_API_KEY is not"):
        nim(tmp_path).start()
    assert "NGC_API_KEY" not in order(nim(tmp_path, ngc_key_env=None))["env"]


@pytest.mark.parametrize("given", [None, 0, []])
def test_gpus_of_a_nim_are_all_and_of_an_image_none_unless_it_says(
    tmp_path: Path, given: Any
) -> None:
    all_of_them = order(nim(tmp_path, ngc_key_env=None, gpus=given))["gpus"]
    config = DockerModelService.Config.model_validate(options(gpus=given))
    none = order(DockerModelService("mine", config, log_dir=tmp_path))["gpus"]

    assert all_of_them == (None if given is None else [])
    assert none == []


@pytest.mark.parametrize("service", [NimService, DockerModelService])
def test_parallel_sizes_are_for_the_image_to_know(service: Any) -> None:
    with pytest.raises(ValidationError, match=r"tensor_parallel_size: .*extra_env"):
        service.Config.model_validate(options(tensor_parallel_size=2))


def test_another_image_is_another_model_and_another_port_is_not() -> None:
    def facts(**more: Any) -> dict[str, Any]:
        return answering(
            None, {"type": "simple"}, PluginSpec(type="docker_model", **options(**more))
        )

    assert facts() == facts(port=8001, container_mounts=["/a:/a"], shm_size="1g")
    assert facts() != facts(image="other:2")
    assert facts() != facts(extra_args=["--fp8"])


@pytest.fixture
def model(tmp_path: Path) -> Iterator[Make]:
    """Make services that run the tests' server in a container; all are stopped."""
    make_image(WORDS)
    made: list[DockerModelService] = []

    def build(**given: Any) -> DockerModelService:
        mounts = [*MOUNTS, f"{SERVED.parent}:{INSIDE}:ro"]
        env = {"SERVED_HOST": "lit:0.0.0.0", **given.pop("extra_env", {})}
        config = DockerModelService.Config.model_validate(
            options(container_mounts=mounts, extra_env=env, startup_timeout=60, **given)
        )
        name = f"box{os.getpid()}-{len(made)}"
        made.append(DockerModelService(name, config, log_dir=tmp_path / "logs"))
        return made[-1]

    yield build
    for service in made:
        service.stop()


@DOCKER
def test_a_container_serves_keeps_secrets_off_command_lines_and_is_removed(
    model: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MY_TOKEN", PLANTED)
    service = model(extra_env={"HF_TOKEN": "host:MY_TOKEN"}, setup_commands=["echo made ready"])

    endpoint = service.start()
    seen = ask(endpoint, "variable/HF_TOKEN")
    lines = command_lines()
    running = containers(service._where)
    service.stop()

    assert seen == PLANTED
    assert [line for line in lines.values() if PLANTED in line] == []
    assert [len(running), len(containers(service._where))] == [1, 0]
    assert endpoint.url.startswith("http://127.0.0.1:")
    assert endpoint.model == service._name
    log = (tmp_path / "logs" / f"server-{service._name}.log").read_text()
    assert "made ready" in log
    assert "started 1\n" in log
    assert PLANTED not in log
    with pytest.raises(httpx.ConnectError):
        ask(endpoint, "health")


@DOCKER
def test_a_container_that_dies_is_started_again(model: Make, tmp_path: Path) -> None:
    service = model()
    endpoint = service.start()
    (first,) = containers(service._where)

    first.kill()

    log = tmp_path / "logs" / f"server-{service._name}.log"
    assert until(lambda: "the server is ready again" in log.read_text())
    (second,) = containers(service._where)
    assert second.id != first.id
    assert "ended with status 137; restart 1 of 3" in log.read_text()
    assert ask(endpoint, "health") == "ok"


@DOCKER
def test_a_container_that_does_not_come_up_is_said_with_its_last_words(
    model: Make, tmp_path: Path
) -> None:
    dead = model(extra_args=[*WORDS, "early"])
    with pytest.raises(InfraError) as caught:
        dead.start()
    nowhere = model(setup_commands=["echo tried; exit 4"])
    with pytest.raises(InfraError) as failed:
        nowhere.start()
    gone = DockerModelService(
        "gone", DockerModelService.Config.model_validate(options(image="127.0.0.1:9/nel/none:1")),
        log_dir=tmp_path,
    )  # fmt: skip
    with pytest.raises(InfraError) as missing:
        gone.start()

    assert "ended before it was ready (status 3)" in str(caught.value)
    assert "out of memory" in str(caught.value)
    assert "setup_commands[0] failed with status 4: echo tried" in str(failed.value)
    assert "the image '127.0.0.1:9/nel/none:1' is not here and cannot be pulled" in str(
        missing.value
    )
    assert containers(dead._where) == containers(nowhere._where) == []


def test_without_a_daemon_that_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/none.sock")
    service = DockerModelService(
        "mine", DockerModelService.Config.model_validate(options()), log_dir=tmp_path
    )

    with pytest.raises(InfraError, match=r"(?s)no daemon answers: .*or set DOCKER_HOST"):
        service.start()


OWNER = """
import json, sys, time
from pathlib import Path
from pytest_nel.services.docker_model import DockerModelService
config = DockerModelService.Config.model_validate(json.loads(sys.argv[2]))
print(DockerModelService(sys.argv[3], config, log_dir=Path(sys.argv[1])).start().url, flush=True)
time.sleep(60)
"""


@DOCKER
@pytest.mark.parametrize("whom", ["owner", "owner and runner"])
def test_kill_9_of_the_owner_leaves_no_container(model: Make, tmp_path: Path, whom: str) -> None:
    config = model()._config.model_dump(mode="json")
    name = f"owned{os.getpid()}"
    environ = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    with subprocess.Popen(
        [sys.executable, "-c", OWNER, str(tmp_path / "logs"), json.dumps(config), name],
        stdout=subprocess.PIPE, text=True, env=environ,
    ) as owner:  # fmt: skip
        assert owner.stdout is not None
        url = owner.stdout.readline()
        were = len(containers(f"services.{name}"))
        runners = [pid for pid, line in command_lines().items() if f"services.{name}" in line]

        if whom != "owner":
            for pid in runners:
                os.kill(pid, signal.SIGKILL)
            owner.send_signal(signal.SIGSTOP)  # so that it starts no other
        owner.send_signal(signal.SIGKILL)

    if whom != "owner":  # nobody is left who could: the next one finds it
        time.sleep(0.5)
        model().start()
    assert url.startswith("http://127.0.0.1:")
    assert were == 1
    assert until(lambda: not containers(f"services.{name}"), 30)


@DOCKER
def test_replicas_are_containers_of_their_own(model: Make) -> None:
    service = model(replicas=2)

    endpoint = service.start()

    assert len(set(endpoint.replicas)) == 2
    docker = client()
    try:
        running = docker.containers.list(ignore_removed=True)
        names = [one.name for one in running if service._name in one.name]
    finally:
        docker.close()
    assert len(names) == 2
