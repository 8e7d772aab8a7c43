"""A daemon that never answers about one container; it is a plain HTTP server here."""

import argparse
import asyncio
import json
import logging
import re
import time
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Event
from typing import Any

import pytest

from pytest_nel.cli.sandbox_prune import told
from pytest_nel.config.schema import PluginSpec
from pytest_nel.core.errors import GracefulError
from pytest_nel.core.sandbox import SandboxError, SandboxSpec
from pytest_nel.engine.sandboxes import Sandboxes
from pytest_nel.gate.verdict import Exit
from pytest_nel.http.secret import Secrets
from pytest_nel.sandboxes._docker_daemon import Daemon, connect
from pytest_nel.sandboxes._docker_exec import Order, restart
from pytest_nel.sandboxes._docker_images import Image
from pytest_nel.sandboxes._docker_sandbox import DockerSandbox, Making
from pytest_nel.sandboxes._docker_status import Restarts
from pytest_nel.sandboxes._owner import owner
from pytest_nel.sandboxes.leftovers import OWNER, RUN, Swept, remove_marked, sweep
from tests.support.fake_daemon import Answer, fake_daemon

_PATIENCE = 0.5
_PLAIN = {"size": 1, "mode": 0o644, "linkTarget": ""}
_PIPE = {"size": 0, "mode": 0o644 | 1 << 25, "linkTarget": ""}


@contextmanager
def hanging(*parts: str, there: Any = _PLAIN, names: tuple[str, ...] = ()) -> Iterator[list[str]]:
    """One that hangs on paths that any of these fit; what it was asked, its address first."""
    over, asked = Event(), list[str]()
    dead = {**owner(), "pid": "1", "began": "0"}
    labels = {RUN: "r", OWNER: json.dumps(dead)}
    listed = [
        {"Id": one, "Names": [f"/{one}"], "Labels": labels, "State": "running"} for one in names
    ]

    def answer(path: str, _body: Any) -> Answer:
        asked.append(path)
        if any(re.search(part, path) for part in parts):
            over.wait(20)
        if path == "/containers/json":
            return 200, listed
        if path.startswith("HEAD"):
            return 200, there
        return 200 if not path.startswith("PUT") else 403, {"Id": "made", "message": "read-only"}

    with fake_daemon(answer) as host:
        asked.append(host)
        try:
            yield asked
        finally:
            over.set()


async def sandbox_of(host: str, monkeypatch: pytest.MonkeyPatch) -> tuple[Daemon, DockerSandbox]:
    """A sandbox that runs, for what it knows, and its daemon."""
    monkeypatch.setenv("DOCKER_HOST", host)
    daemon = Daemon(1, patience=_PATIENCE)
    await daemon.open()
    making = Making(
        settings={},
        env={},
        labels={},
        network="none",
        tmpfs={"/workspace": ""},
        read_only=False,
        user="0:0",
        platform=None,
        output_limit=100,
        workdirs={},
    )

    async def image() -> Image:
        return Image("image", "", {}, "sha256:0")

    sandbox = DockerSandbox(daemon, SandboxSpec(), making, image)
    await sandbox.start()
    return daemon, sandbox


@pytest.mark.asyncio
async def test_a_container_on_which_the_daemon_hangs_is_named_once_and_left(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    with hanging("/exec") as asked, caplog.at_level(logging.WARNING):
        daemon, sandbox = await sandbox_of(asked[0], monkeypatch)
        began = time.monotonic()
        with pytest.raises(SandboxError, match="hangs on the sandbox nel-sandbox-") as raised:
            await asyncio.wait_for(sandbox.exec("true"), 10)
        with pytest.raises(SandboxError, match="nel sandbox prune"):
            await sandbox.read("/file")
        await sandbox.stop()
        await daemon.close()
        seconds = time.monotonic() - began

    assert not raised.value.retryable
    assert [record.message for record in caplog.records] == [str(raised.value)]
    assert seconds < 5
    assert not any(path.startswith("DELETE") for path in asked)


@pytest.mark.asyncio
async def test_a_removal_on_which_the_daemon_hangs_ends_and_is_said(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    with hanging("DELETE") as asked, caplog.at_level(logging.WARNING):
        daemon, sandbox = await sandbox_of(asked[0], monkeypatch)
        await asyncio.wait_for(sandbox.stop(), 10)
        await sandbox.stop()
        await daemon.close()

    assert [sandbox.name in record.message for record in caplog.records] == [True]


@pytest.mark.asyncio
async def test_who_made_the_daemon_hang_has_failed(monkeypatch: pytest.MonkeyPatch) -> None:
    with hanging("/exec", there=_PIPE) as asked:
        daemon, sandbox = await sandbox_of(asked[0], monkeypatch)
        sandbox._restarts.used = True
        with pytest.raises(GracefulError, match="in place of /etc/passwd"):
            await asyncio.wait_for(sandbox.exec("true"), 10)
        await daemon.close()

    assert sum(path.startswith("PUT") for path in asked) == 2


@pytest.mark.asyncio
async def test_who_made_the_daemon_hang_on_a_file_has_failed_before_long(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with hanging("^/containers/[^/]+/archive", there=_PIPE) as asked:
        daemon, sandbox = await sandbox_of(asked[0], monkeypatch)
        sandbox._restarts.used = True
        with pytest.raises(GracefulError, match="in place of /etc/passwd"):
            await asyncio.wait_for(sandbox.read("/file", limit=100), 10)
        await daemon.close()


@pytest.mark.asyncio
async def test_one_that_is_not_to_sweep_looks_for_no_leftovers(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with hanging(names=("left",)) as asked:
        monkeypatch.setenv("DOCKER_HOST", asked[0])
        removed = []
        for sweeps in (True, False):
            sandboxes = Sandboxes((0, 1), lambda: Secrets(()))
            sandboxes.sweeps = sweeps
            room = sandboxes.room(PluginSpec(type="docker"))
            assert room is not None
            del asked[1:]
            await room.open()
            removed.append(any(path.startswith("DELETE") for path in asked))
            await sandboxes.close()

    assert removed == [True, False]


def test_pipes_are_replaced_before_a_container_is_started_anew(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with hanging(there=_PIPE) as asked:
        monkeypatch.setenv("DOCKER_HOST", asked[0])
        api = connect()
        restart(api, "c", Order([], "0", "/", 1, 1, restarts=Restarts(used=True)))
        api.close()

    changes = [path.split("?")[0] for path in asked if path.startswith(("PUT", "/containers/c/r"))]
    assert changes == ["PUT /containers/c/archive"] * 2 + ["/containers/c/restart"]


@pytest.mark.parametrize("part", ["/containers/stuck/json", "DELETE /containers/stuck"])
def test_leftovers_on_which_the_daemon_hangs_keep_no_others(
    monkeypatch: pytest.MonkeyPatch, part: str
) -> None:
    with hanging(part, names=("stuck", "free")) as asked:
        monkeypatch.setenv("DOCKER_HOST", asked[0])
        api = connect(patience=_PATIENCE)
        swept = sweep(api)
        marked = list(remove_marked(api, RUN, "r"))
        known = list(remove_marked(api, RUN, "r", known={"stuck"}))
        api.close()

    assert [one.name for one in swept.removed] == ["free"]
    assert [one.name for one in swept.stuck] == ["stuck"]
    assert (marked, known) == (["stuck"], [])


def test_what_prune_could_not_remove_is_said_and_no_success(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with hanging("/containers/stuck", names=("stuck",)) as asked:
        monkeypatch.setenv("DOCKER_HOST", asked[0])
        api = connect(patience=_PATIENCE)
        swept = sweep(api)
        api.close()

    status = told(swept, argparse.Namespace(json=True, dry_run=False))
    nothing = told(Swept([], []), argparse.Namespace(json=True, dry_run=False))

    said = capsys.readouterr()
    assert (status, nothing) == (Exit.INCOMPLETE, Exit.GO)
    assert said.out == "[]\n[]\n"
    assert "hangs on the sandbox stuck" in said.err
