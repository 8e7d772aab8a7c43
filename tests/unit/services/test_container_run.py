"""The process behind a container, where the daemon answers as a real one does only by chance."""

import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

from pytest_nel.sandboxes._owner import owner
from pytest_nel.services._container import Container, in_container
from tests.support.fake_daemon import Answer, fake_daemon


def ended(folder: Path, answer: Callable[[str, Any], Answer]) -> "subprocess.CompletedProcess[str]":
    """A container's process whose daemon answers that."""
    launch = in_container(Container(image="nel/none:1"), "services.mine", 9, {})
    with fake_daemon(answer) as host:
        return subprocess.run(
            launch.command, env={**os.environ, "DOCKER_HOST": host}, cwd=folder,
            capture_output=True, text=True, check=False,
        )  # fmt: skip


def test_a_container_that_goes_while_leftovers_are_listed_is_no_error(tmp_path: Path) -> None:
    """As when several services start at once and each clears away what was left."""
    dead = {"pytest-nel.owner": json.dumps({**owner(), "pid": "1", "began": "0"})}

    def answer(path: str, _: Any) -> Answer:
        if path == "/containers/json":
            return 200, [{"Id": "1b56", "Names": ["/other"], "Labels": dead}]
        if "/containers/" in path:
            return 404, {"message": "No such container: 1b56"}
        return (404, {"message": "no such image"}) if path.startswith("/images/") else (200, "OK")

    done = ended(tmp_path, answer)

    assert "No such container" not in done.stdout
    assert "pulling nel/none:1" in done.stdout


def test_leftovers_are_removed_without_a_look_at_containers_on_which_the_daemon_may_hang(
    tmp_path: Path,
) -> None:
    asked: list[str] = []
    dead = {"pytest-nel.owner": json.dumps({**owner(), "pid": "1", "began": "0"})}
    there = [("dead", dead), ("living", {"pytest-nel.owner": json.dumps(owner())}), ("odd", {})]

    def answer(path: str, _: Any) -> Answer:
        asked.append(path)
        if path == "/containers/json":
            return 200, [{"Id": one, "Names": [f"/{one}"], "Labels": of} for one, of in there]
        return (404, {"message": "no such image"}) if path.startswith("/images/") else (200, "OK")

    ended(tmp_path, answer)

    about = [path for path in asked if "/containers/" in path and "nel-services" not in path]
    assert about == ["/containers/json", "DELETE /containers/dead"]
