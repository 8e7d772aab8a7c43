"""Whose fault it is that nothing can be read at a path; the daemon is a plain HTTP server here."""

from typing import Any

import pytest

from pytest_nel.core.sandbox import WrongPath
from pytest_nel.sandboxes._archive import Owner
from pytest_nel.sandboxes._docker_daemon import connect
from pytest_nel.sandboxes._docker_files import Files
from tests.support.fake_daemon import Answer, fake_daemon

_PLAIN = {"name": "x", "size": 1, "mode": 0o644, "linkTarget": ""}


def read(monkeypatch: pytest.MonkeyPatch, head: Answer, get: Answer) -> None:
    """Read a file of a daemon that answers so."""

    def answer(path: str, _body: Any) -> Answer:
        return head if path.startswith("HEAD") else get

    with fake_daemon(answer) as host:
        monkeypatch.setenv("DOCKER_HOST", host)
        api = connect()
        try:
            Files(api, api, "c", "0", Owner(), ()).read("/logs/reward.txt", 100)
        finally:
            api.close()


@pytest.mark.parametrize(
    "said",
    [
        "evalSymlinksInScope: too many links in /data/merged/logs/reward.txt",
        "lstat /data/merged/logs/reward.txt: not a directory",
        "Lstat /data/merged/logs/reward.txt: file name too long",
    ],
)
@pytest.mark.parametrize("head", [(500, {}), (200, _PLAIN)], ids=["at once", "a moment later"])
def test_a_path_that_leads_nowhere_is_no_fault_of_the_daemon(
    monkeypatch: pytest.MonkeyPatch, head: Answer, said: str
) -> None:
    with pytest.raises(WrongPath, match=r"/logs/reward\.txt in the sandbox leads nowhere"):
        read(monkeypatch, head, (500, {"message": said}))


def test_a_file_that_is_removed_while_it_is_read_is_not_there(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    gone = (404, {"message": "Could not find the file /logs/reward.txt in container c"})

    with pytest.raises(FileNotFoundError):
        read(monkeypatch, (200, _PLAIN), gone)


@pytest.mark.parametrize("head", [(500, {}), (200, _PLAIN)], ids=["at once", "a moment later"])
@pytest.mark.parametrize(
    "get",
    [(500, {"message": "input/output error"}), (404, {"message": "No such container: c"})],
    ids=["disk", "gone"],
)
def test_what_else_a_daemon_says_is_its_own_fault(
    monkeypatch: pytest.MonkeyPatch, head: Answer, get: Answer
) -> None:
    docker = pytest.importorskip("docker")

    with pytest.raises(docker.errors.APIError):
        read(monkeypatch, head, get)
