"""No connection to the daemon outlives what it was for; the daemon is a plain server that counts.

What went wrong is kept while they are counted: its traceback holds whatever was not closed, which
the interpreter would otherwise close by itself, with a warning, in the midst of something else.
"""

import asyncio
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pytest_nel.cluster.daemon import daemon as daemon_of_builds
from pytest_nel.cluster.images import push
from pytest_nel.core.errors import ConfigError, InfraError
from pytest_nel.core.sandbox import SandboxError
from pytest_nel.http.secret import Secrets
from pytest_nel.sandboxes._docker_daemon import Daemon, connect
from pytest_nel.sandboxes._docker_exec import Order, run
from pytest_nel.sandboxes._docker_images import built, pulled
from pytest_nel.sandboxes._docker_paths import archive
from pytest_nel.sandboxes.docker import DockerBackend
from tests.support.counted_daemon import Answer, Endless, Silence, Upgraded, counted_daemon
from tests.support.processes import until

_FRAME = b"\1\0\0\0\0\0\0\3out"
_FAILED = Endless([{"stream": "Step 1"}, {"error": "no luck"}, {"stream": "more"}])
_ENDED = (200, {"Running": False, "ExitCode": 0})
_REFUSED = (500, {"message": "no luck"})
_RUNS = (200, {"Running": True, "ExitCode": None})


def by_end(answers: dict[str, Any], usual: Any = (404, {"message": "No such image: it"})) -> Answer:
    """Answers by how a path ends; of several, each once, and the last from then on."""

    def answer(path: str) -> Any:
        said = next((one for end, one in answers.items() if path.endswith(end)), usual)
        return said if not isinstance(said, list) else said.pop(0) if said[1:] else said[0]

    return answer


def of_commands(stream: Any, state: Any) -> Answer:
    """Of a daemon that makes every command, and says that of its stream and of its state."""
    there = (200, {"State": {"Running": True}})
    answers = {"/c/exec": (201, {"Id": "made"}), "/start": stream, "/made/json": state}
    return by_end({**answers, "/c/json": there, "/c/restart": (204, {})})


def command(api: Any) -> Any:
    return run(api, "c", Order(["true"], "1", "/", 0.4, 100))


def with_stdin(api: Any) -> Any:
    return run(api, "c", Order(["true"], "1", "/", 0.4, 100, stdin=b"in"))


def image(api: Any) -> Any:
    return pulled(api, "image:1", None)


def part_of_a_file(api: Any) -> Any:
    with archive(api, "c", "/file") as pieces:
        return next(pieces)


@pytest.mark.parametrize(
    ("work", "answer", "comes"),
    [
        pytest.param(
            command, of_commands(Upgraded(_FRAME, ends=True), _ENDED), "b'out'", id="ended"
        ),
        pytest.param(with_stdin, of_commands(Upgraded(_FRAME), _ENDED), "b'out'", id="output held"),
        pytest.param(
            with_stdin,
            of_commands([Upgraded(), _REFUSED], _RUNS),
            "timed_out=True",
            id="out of time",
        ),
        pytest.param(command, of_commands(Upgraded(), _REFUSED), "APIError", id="state unknown"),
        pytest.param(command, of_commands(Upgraded(), (200, {})), "KeyError", id="state unsaid"),
        pytest.param(command, of_commands(Upgraded(), Silence()), "timed out", id="state hangs"),
        pytest.param(command, of_commands(_REFUSED, _RUNS), "APIError", id="not started"),
        pytest.param(command, of_commands(Silence(), _RUNS), "timed out", id="start hangs"),
        pytest.param(image, by_end({"/create": _FAILED}), "no luck", id="pull fails"),
        pytest.param(part_of_a_file, by_end({"/archive": Endless([b"x"])}), "b'x'", id="a part"),
        pytest.param(part_of_a_file, by_end({"/archive": Endless([])}), "timed out", id="a hang"),
        pytest.param(part_of_a_file, by_end({}), "Not Found", id="no file"),
    ],
)
def test_whatever_comes_of_it_a_call_leaves_no_connection(
    monkeypatch: pytest.MonkeyPatch, work: Callable[[Any], Any], answer: Answer, comes: str
) -> None:
    with counted_daemon(answer) as daemon:
        monkeypatch.setenv("DOCKER_HOST", daemon.host)
        api = connect(patience=0.5)

        outcome = outcome_of(work, api)
        api.close()

        assert daemon.left() == 0
    assert comes in repr(outcome)


def outcome_of(work: Callable[[Any], Any], api: Any) -> Any:
    try:
        return work(api)
    except Exception as error:  # noqa: BLE001 - of whatever kind: what it holds is looked at
        return error


def test_a_build_that_fails_leaves_no_connection(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "Dockerfile").write_text("FROM scratch\n")
    with counted_daemon(by_end({"/build": _FAILED})) as daemon:
        monkeypatch.setenv("DOCKER_HOST", daemon.host)
        api = connect()

        with pytest.raises(ConfigError, match="no luck") as raised:
            built(api, tmp_path, None)
        api.close()

        assert daemon.left() == 0
    assert "Step 1" in str(raised.value)


def test_a_push_that_fails_leaves_no_connection(monkeypatch: pytest.MonkeyPatch) -> None:
    with counted_daemon(by_end({"/push": _FAILED, "/_ping": (200, {})})) as daemon:
        monkeypatch.setenv("DOCKER_HOST", daemon.host)

        with (
            pytest.raises(InfraError, match="no luck") as raised,
            daemon_of_builds() as client,
        ):
            push(client, "host/image:1", lambda _: None)

        assert daemon.left() == 0
    assert raised.value is not None


def backend() -> DockerBackend:
    config = DockerBackend.Config(image="image:1", cpus=1)
    return DockerBackend(config, run_id="r", secrets=Secrets([]))


@pytest.mark.asyncio
async def test_a_backend_that_cannot_be_opened_leaves_no_connection_and_may_be_tried_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    answers = {"/containers/json": (200, []), "/create": (400, {"message": "too little"})}
    with counted_daemon(by_end(answers)) as daemon:
        monkeypatch.setenv("DOCKER_HOST", daemon.host)
        made = backend()

        with pytest.raises(ConfigError, match="too little"):
            await made.open()
        left = await asyncio.to_thread(daemon.left)
        answers["/create"] = (404, {"message": "no image"})
        await made.open()
        await made.close()

        assert (left, await asyncio.to_thread(daemon.left)) == (0, 0)


@pytest.mark.asyncio
async def test_an_opening_that_is_cancelled_leaves_no_connection(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    listing, over = threading.Event(), threading.Event()

    def answer(path: str) -> Any:
        if path.endswith("/containers/json"):
            listing.set()
            over.wait(20)
        return 200, []

    with counted_daemon(answer) as daemon:
        monkeypatch.setenv("DOCKER_HOST", daemon.host)
        made = backend()
        opening = asyncio.create_task(made.open())
        await asyncio.to_thread(listing.wait, 20)
        opening.cancel()
        await asyncio.sleep(0)
        over.set()
        with pytest.raises(asyncio.CancelledError):
            await opening

        assert await asyncio.to_thread(daemon.left) == 0


@pytest.mark.asyncio
@pytest.mark.parametrize("hangs_at", [1, 2])
async def test_who_stops_connecting_to_a_daemon_that_hangs_waits_no_longer(
    monkeypatch: pytest.MonkeyPatch, hangs_at: int
) -> None:
    asked, over = list[str](), threading.Event()
    asking = threading.Event()

    def version() -> Any:
        asked.append("version")
        if len(asked) == hangs_at:
            asking.set()
            over.wait(20)
        return 200, {"ApiVersion": "1.41"}

    with counted_daemon(by_end({}), version) as counted:
        monkeypatch.setenv("DOCKER_HOST", counted.host)
        made = backend()
        opening = asyncio.create_task(made.open())
        assert await asyncio.to_thread(asking.wait, 20)

        opening.cancel()
        stopped, _ = await asyncio.wait([opening], timeout=5)
        await asyncio.wait_for(made.close(), 5)
        over.set()

        assert stopped == {opening}
        assert opening.cancelled()
        assert await asyncio.to_thread(until, lambda: len(asked) == 2)
        assert await asyncio.to_thread(counted.left) == 0


@pytest.mark.asyncio
async def test_a_second_client_that_finds_nobody_leaves_the_first_not_open(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked: list[str] = []

    def version() -> Any:
        asked.append("version")
        return (200, {"ApiVersion": "1.41"}) if len(asked) == 1 else (500, {"message": "full"})

    with counted_daemon(by_end({}), version) as counted:
        monkeypatch.setenv("DOCKER_HOST", counted.host)
        daemon = Daemon(1)

        with pytest.raises(ConfigError, match="full") as raised:
            await daemon.open()

        assert daemon.api is None
        assert await asyncio.to_thread(counted.left) == 0
    assert raised.value is not None


@pytest.mark.asyncio
async def test_a_call_that_hangs_leaves_no_connection(monkeypatch: pytest.MonkeyPatch) -> None:
    with counted_daemon(by_end({"/json": Silence(), "/_ping": (200, {})})) as counted:
        monkeypatch.setenv("DOCKER_HOST", counted.host)
        daemon = Daemon(1, patience=0.3)
        await daemon.open()

        with pytest.raises(SandboxError, match="hangs") as raised:
            await daemon.on("c", daemon.api.inspect_container, "c")
        await daemon.close()

        assert await asyncio.to_thread(counted.left) == 0
    assert raised.value is not None
