"""That a connection to the daemon which was left open is found, however DOCKER_HOST names it."""

import socket
from pathlib import Path

import pytest

from tests.contract.boxes import client, no_image
from tests.contract.connections import open_connections


def test_a_connection_through_a_link_to_the_daemons_socket_is_found(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    bound, link = tmp_path / "bound", tmp_path / "link"
    link.symlink_to(bound)
    monkeypatch.setenv("DOCKER_HOST", f"unix://{link}")

    with socket.socket(socket.AF_UNIX) as daemon:
        daemon.bind(str(bound))
        daemon.listen()
        with socket.socket(socket.AF_UNIX) as left:
            left.connect(str(link))
            during = open_connections()

        after = open_connections()

    assert (len(during), after) == (1, [])


def test_a_connection_to_a_port_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.create_server(("127.0.0.1", 0)) as daemon:
        host, port = daemon.getsockname()
        monkeypatch.setenv("DOCKER_HOST", f"tcp://{host}:{port}")
        with socket.create_connection((host, port)):
            during = open_connections()

        after = open_connections()

    assert (len(during), after) == (1, [])


@pytest.mark.skipif("no_image() is not None", reason=str(no_image()))
def test_a_client_that_is_left_open_is_found() -> None:
    docker = client()
    docker.ping()

    during = open_connections()
    docker.close()

    assert during
    assert open_connections() == []
