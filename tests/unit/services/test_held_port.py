"""A port is held for one run's server, before that listens and as long as it runs."""

import os
import socket
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from pytest_nel.core.errors import ConfigError
from pytest_nel.core.locks import fcntl
from pytest_nel.services._process import HeldPort
from tests.support.processes import until
from tests.unit.services.commands import LINUX, Make, ask, log

ROOT = Path(__file__).parents[3]


@pytest.fixture
def port(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> int:
    """A free port, and a temporary folder of its own for the locks."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def test_a_held_port_is_refused_by_name_until_it_is_released(port: int) -> None:
    held = HeldPort.take("services.a", port)

    with pytest.raises(ConfigError, match=rf"^services.b.port: {port} is held for .* another run"):
        HeldPort.take("services.b", port)

    held.release()
    held.release()
    HeldPort.take("services.b", port).release()


def test_a_port_that_was_refused_is_not_held(port: int) -> None:
    with socket.create_server(("127.0.0.1", port)), pytest.raises(ConfigError, match="in use"):
        HeldPort.take("services.a", port)

    HeldPort.take("services.a", port).release()


@pytest.mark.usefixtures("port")
def test_a_port_of_our_choice_is_held_as_well() -> None:
    held = HeldPort.take("services.a")

    with pytest.raises(ConfigError, match="another run"):
        HeldPort.take("services.b", held.number)

    held.release()


def test_a_process_that_dies_holds_nothing(port: int, tmp_path: Path) -> None:
    code = (
        "from pytest_nel.services._process import HeldPort\n"
        f"HeldPort.take('services.b', {port})\n"
        "print('held', flush=True)\n"
        "input()\n"
    )
    env = {**os.environ, "PYTHONPATH": str(ROOT), "TMPDIR": str(tmp_path)}
    pipe = subprocess.PIPE
    with subprocess.Popen([sys.executable, "-c", code], env=env, stdin=pipe, stdout=pipe) as other:
        assert other.stdout is not None
        assert other.stdout.readline()
        with pytest.raises(ConfigError, match="another run"):
            HeldPort.take("services.a", port)

        other.kill()

    HeldPort.take("services.a", port).release()


def test_nothing_is_left_of_a_port_that_was_held(port: int, tmp_path: Path) -> None:
    left_by_the_dead = tmp_path / f"nel-port-{port}.lock"
    left_by_the_dead.touch()

    held = HeldPort.take("services.a", port)
    there = left_by_the_dead.exists()
    held.release()

    assert there, "others see that it is held by this file"
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_somebody_has_replaced_is_not_removed(port: int, tmp_path: Path) -> None:
    file = tmp_path / f"nel-port-{port}.lock"
    first = HeldPort.take("services.a", port)
    file.unlink()  # as by who tidies the temporary folder
    second = HeldPort.take("services.b", port)

    first.release()

    assert file.exists()
    with pytest.raises(ConfigError, match="another run"):
        HeldPort.take("services.c", port)
    second.release()


def test_a_file_that_is_replaced_just_before_it_is_locked_makes_no_second_holder(
    port: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = HeldPort.take("services.a", port)
    rivals: list[HeldPort] = []
    flock = fcntl.flock

    def late(descriptor: int, how: int) -> None:
        """The first lets go, and another takes the port, between our open and our lock."""
        monkeypatch.setattr(fcntl, "flock", flock)
        first.release()
        rivals.append(HeldPort.take("services.b", port))
        flock(descriptor, how)

    monkeypatch.setattr(fcntl, "flock", late)

    with pytest.raises(ConfigError, match="another run"):
        HeldPort.take("services.c", port)

    rivals[0].release()
    HeldPort.take("services.c", port).release()


def test_where_no_lock_can_be_made_only_what_listens_is_seen(
    port: int, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "nowhere"))

    first, second = HeldPort.take("a", port), HeldPort.take("b", port)

    assert first.number == second.number == port


def test_a_link_in_place_of_the_lock_is_not_followed(port: int, tmp_path: Path) -> None:
    (tmp_path / f"nel-port-{port}.lock").symlink_to(tmp_path / "elsewhere")

    HeldPort.take("a", port)

    assert not (tmp_path / "elsewhere").exists()


@LINUX
def test_a_service_holds_its_port_until_it_is_stopped(
    make: Make, port: int, tmp_path: Path
) -> None:
    slow = f"sleep 1; exec true {port}"  # it does not listen yet when the other starts
    first, second = make(port=port), make(port=port, command=slow)
    first.start()

    with pytest.raises(ConfigError, match=rf"services.mine.port: {port} is held"):
        second.start()

    first.stop()
    assert f":{port}/" in make(port=port).start().url
    assert log(tmp_path)


@LINUX
def test_a_server_that_is_started_again_keeps_its_port(
    make: Make, port: int, tmp_path: Path
) -> None:
    endpoint = make(port=port).start()
    os.kill(ask(endpoint, "pid"), 9)
    assert until(lambda: "ready again" in log(tmp_path))

    with pytest.raises(ConfigError, match="is held"):
        HeldPort.take("services.b", port)
