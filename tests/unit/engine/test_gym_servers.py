"""What a server of ours is told of its sandbox: all that the entry says, and no secret."""

from pathlib import Path

import pytest

from pytest_nel.config.load import load_suite
from pytest_nel.config.schema import PluginSpec
from pytest_nel.config.served import suite_of, write_suite
from pytest_nel.core.errors import ConfigError
from pytest_nel.engine.gym_servers import GymServers
from pytest_nel.environments import resolve
from pytest_nel.environments.gym import GymEnvironment
from pytest_nel.http.secret import Secrets
from pytest_nel.scoring.catalog import SCORERS

BOX = PluginSpec.model_validate(
    {
        "type": "docker",
        "image": "registry/a${b}c$${d}:1",
        "tmpfs": {"/scratch": "size=${much}"},
        "container_env": {"KEY": "host:SOME_KEY", "TEXT": "lit:$${literal}"},
    }
)


def environment(name: str = "gym://gsm8k") -> GymEnvironment:
    made = resolve(name, base=Path("/suites"))
    assert isinstance(made, GymEnvironment)
    return made


def test_the_file_for_a_server_is_read_as_the_entry_of_the_run(tmp_path: Path) -> None:
    managed = environment().managed
    assert managed is not None
    suite = suite_of(managed.bench, BOX)
    assert suite is not None

    file = write_suite(suite, tmp_path / "logs" / "told.yaml", str, "here")
    (entry,) = load_suite(file, scorers=SCORERS).config.benchmarks

    assert (entry.name, entry.sandbox) == ("gsm8k", BOX)
    assert managed.command(80, file)[3:6] == ["serve", str(file), "-b"]


@pytest.mark.parametrize("name", ["gym://host:1", "gym://module:own", "gym://cmd:own"])
def test_servers_of_others_are_told_nothing(name: str) -> None:
    managed = environment(name).managed

    assert managed is None or suite_of(managed.bench, BOX) is None


def test_a_secret_in_an_option_is_refused_and_neither_written_nor_said(tmp_path: Path) -> None:
    secret = "a-key-of-some-length"  # noqa: S105 - of this test
    servers = GymServers(lambda: Secrets({secret}))
    box = PluginSpec.model_validate({"type": "docker", "image": f"registry/{secret}:1"})

    with pytest.raises(ConfigError) as caught:
        servers.attach(environment(), tmp_path, box)

    assert "benchmark gsm8k" in str(caught.value)
    assert "container_env, as host:NAME" in str(caught.value)
    assert secret not in str(caught.value)
    assert list(tmp_path.iterdir()) == []
