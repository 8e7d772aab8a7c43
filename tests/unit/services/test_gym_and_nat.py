"""Servers that are no models: up when their health page says so, and asked nothing."""

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from pytest_nel.config.schema import PluginSpec
from pytest_nel.core.errors import ConfigError, InfraError
from pytest_nel.engine.runtime import Parts
from pytest_nel.services import REGISTRY as SERVICES
from tests.unit.services.commands import SERVED, ask
from tests.unit.services.standins import calls, stand_in

Make = Callable[..., Any]
LINE = f"exec {sys.executable} {SERVED} {{port}}"


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Make]:
    """Make services named ``mine``; all are stopped whatever the test does."""
    made: list[Any] = []

    def build(kind: str, **options: Any) -> Any:
        cls: Any = SERVICES.load(kind)
        made.append(cls("mine", cls.Config.model_validate(options), log_dir=tmp_path / "logs"))
        return made[-1]

    yield build
    for service in made:
        service.stop()


def test_a_gym_is_up_when_one_of_its_pages_answers(server: Make) -> None:
    endpoint = server("gym", server_cmd=LINE, setup_commands=["true"]).start()

    assert endpoint.kind == "resource"
    assert ask(endpoint, "health") == "ok"


def test_a_gym_may_serve_a_benchmark_of_ours(server: Make) -> None:
    endpoint = server("gym", benchmark="basics").start()

    assert ask(endpoint, "dataset_size") == {"size": 72}


def test_a_gym_that_is_there_is_not_started(server: Make, tmp_path: Path) -> None:
    endpoint = server("gym", url="http://gym.example:8000/").start()

    assert endpoint.url == "http://gym.example:8000"
    assert not (tmp_path / "logs").exists()


def test_a_gym_that_does_not_come_up_is_said(server: Make) -> None:
    with pytest.raises(InfraError, match="was not ready in time"):
        server("gym", server_cmd=f"{LINE} never", startup_timeout=1.0).start()


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({}, "expected one of `url` of a server"),
        ({"url": "http://a", "server_cmd": LINE}, "expected one of `url` of a server"),
        ({"benchmark": "basics", "url": "http://a"}, "expected one of `url` of a server"),
        ({"benchmark": "basics", "image": "i"}, "image: a benchmark is served on this machine"),
        ({"server_cmd": LINE, "sandbox": {"type": "local"}}, "sandbox: it is that of a `bench"),
        ({"benchmark": "basics", "sandbox": "box"}, "no sandbox is called 'box'"),
        ({"server_cmd": "serve"}, "does not say {port}"),
        ({"server_cmd": "serve {prt}"}, "unknown placeholder {prt}"),
        ({"url": "gym:8000"}, "expected http"),
        ({"url": "http://me:pass@gym"}, "without credentials"),
    ],
)
def test_what_a_gym_cannot_be_is_refused(options: dict[str, Any], said: str) -> None:
    gym: Any = SERVICES.load("gym")

    with pytest.raises(ValidationError) as caught:
        gym.Config.model_validate(options)

    assert said in str(caught.value)


def test_nat_is_served_with_its_file(
    server: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    said = stand_in(tmp_path / "bin", "nat", names=("LOUD",))
    monkeypatch.setenv("PATH", str(tmp_path / "bin"), prepend=":")
    file = tmp_path / "flow.yml"
    file.write_text("workflow: {}\n")

    endpoint = server("nat", nat_config_file=str(file), extra_env={"LOUD": "lit:1"}).start()

    ((_, words, variables),) = calls(said)
    port = endpoint.url.rpartition(":")[2]
    assert words == ["serve", "--config_file", str(file), "--port", port, "--host", "127.0.0.1"]
    assert variables == {"LOUD": "1"}
    assert endpoint.kind == "resource"


def test_nat_without_its_file_is_said(server: Make, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="nat_config_file: expected an existing file"):
        server("nat", nat_config_file=str(tmp_path / "none.yml")).start()


def test_what_is_no_model_is_not_asked(tmp_path: Path) -> None:
    spec = PluginSpec.model_validate({"type": "gym", "url": "http://gym.example"})
    parts = Parts({"g": spec}, log_dir=tmp_path)

    with pytest.raises(ConfigError, match=r"services.g: this is no model"):
        parts.client("g")
