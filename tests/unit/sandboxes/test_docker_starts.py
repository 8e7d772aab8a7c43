"""A command that the runtime could not start; the daemon is a plain server here."""

from typing import Any

import pytest

from pytest_nel.core.sandbox import ExecResult, SandboxError
from pytest_nel.sandboxes._docker_daemon import connect
from pytest_nel.sandboxes._docker_exec import Order, run
from tests.support.counted_daemon import Upgraded, counted_daemon

_LIMIT = 30
_NO_ROOM = (
    "OCI runtime exec failed: exec failed: read init-p: connection reset by peer: unknown\r\n"
)


def frame(text: str) -> bytes:
    """What a command has printed, as the daemon sends it."""
    return b"\1\0\0\0" + len(text).to_bytes(4, "big") + text.encode()


def outcome(
    monkeypatch: pytest.MonkeyPatch, *, failing: int, processes: int
) -> tuple[ExecResult | str, int]:
    """What comes of a command whose first starts fail, and how often it was tried.

    Args:
        monkeypatch: Says where the daemon is.
        failing: So many starts.
        processes: That there are when somebody looks.
    """
    made: list[str] = []

    def answer(path: str) -> Any:
        failed = len(made) <= failing
        if path.endswith("/c/exec"):
            made.append(path)
            return 201, {"Id": f"made-{len(made)}"}
        if path.endswith("/start"):
            return Upgraded(frame(_NO_ROOM if failed else "out"), ends=True)
        if path.endswith("/stats"):
            return 200, {"pids_stats": {"current": processes, "limit": _LIMIT}}
        if path.endswith("/c/json"):
            return 200, {"State": {"Running": True}}
        return 200, {"Running": False, "ExitCode": 126 if failed else 0, "Pid": 0 if failed else 7}

    with counted_daemon(answer) as daemon:
        monkeypatch.setenv("DOCKER_HOST", daemon.host)
        api = connect()
        try:
            return run(api, "c", Order(["true"], "1", "/", 10, 1000)), len(made)
        except SandboxError as error:
            return str(error), len(made)
        finally:
            api.close()


def test_a_command_for_which_there_was_no_room_is_started_once_more_when_there_is(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    done, tries = outcome(monkeypatch, failing=1, processes=1)

    assert isinstance(done, ExecResult)
    assert (done.return_code, done.stdout, tries) == (0, "out", 2)


def test_a_command_for_which_what_runs_inside_leaves_no_room_has_failed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    done, tries = outcome(monkeypatch, failing=9, processes=_LIMIT)

    assert isinstance(done, ExecResult)
    assert (done.return_code, tries) == (126, 1)


def test_a_container_that_has_ended_since_a_command_was_not_started_is_started_anew(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    made: list[str] = []
    restarted: list[str] = []

    def answer(path: str) -> Any:
        if path.endswith("/c/exec"):
            made.append(path)
        elif path.endswith("/restart"):
            restarted.append(path)
        first, gone = len(made) == 1, len(made) == 2 and not restarted
        of_command = {"ExitCode": 126, "Pid": 0} if first else {"ExitCode": 0, "Pid": 7}
        answers: dict[str, Any] = {
            "exec": (409, {"message": "it is not running"}) if gone else (201, {"Id": "made"}),
            "start": Upgraded(frame(_NO_ROOM if first else "out"), ends=True),
            "c/json": (200, {"State": {"Running": not gone, "OOMKilled": True}}),
            "made/json": (200, {"Running": False, **of_command}),
        }
        return next((said for end, said in answers.items() if path.endswith(end)), (200, {}))

    with counted_daemon(answer) as daemon:
        monkeypatch.setenv("DOCKER_HOST", daemon.host)
        api = connect()
        try:
            done = run(api, "c", Order(["true"], "1", "/", 10, 1000))
        finally:
            api.close()

    assert (done.return_code, done.stdout, len(made), len(restarted)) == (0, "out", 3, 1)


def test_a_daemon_that_starts_nothing_is_at_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    done, tries = outcome(monkeypatch, failing=9, processes=1)

    assert isinstance(done, str)
    assert "cannot start a command" in done
    assert tries == 2
