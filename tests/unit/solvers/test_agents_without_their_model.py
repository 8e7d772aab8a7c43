"""An agent that failed for want of its model's answers is not judged, and no other is spared."""

import asyncio
import functools
import shlex
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
from starlette.responses import JSONResponse, Response, StreamingResponse

from pytest_nel.config.schema import PluginSpec
from pytest_nel.core.errors import FailureKind, InfraError
from pytest_nel.core.sandbox import TIMED_OUT, Command, ExecResult
from pytest_nel.core.types import SeedResult, SolveResult
from pytest_nel.engine.runtime import Parts
from pytest_nel.http import faults
from pytest_nel.http.whole import Whole
from pytest_nel.solvers.agent import PLACE, AgentSolver
from pytest_nel.solvers.around import Around
from tests.unit.interceptors.chains import answer
from tests.unit.interceptors.upstream import Answer, ModelServer
from tests.unit.solvers.process_sandbox import ProcessSandbox

pytestmark = pytest.mark.asyncio
BRIDGE = PluginSpec.model_validate({"type": "docker", "network": "bridge"})
ASK = f"""ask() {{
{shlex.quote(sys.executable)} - "$@" <<'END'
import json, os, sys, threading, time, urllib.request
url = {{{{ base_url | tojson }}}} + sys.argv[1]
more = json.loads(sys.argv[2]) if len(sys.argv) > 2 else {{}}
def leave():
    while not os.path.exists(sys.argv[3]):
        time.sleep(0.02)
    os._exit(1)
if len(sys.argv) > 3:
    threading.Thread(target=leave, daemon=True).start()
body = {{"messages": [{{"role": "user", "content": "hi"}}], **more}}
asked = urllib.request.Request(url, json.dumps(body).encode())
urllib.request.build_opener(urllib.request.ProxyHandler({{}})).open(asked, timeout=60).read()
END
}}
"""
CHAT = "ask /chat/completions"
LASTING = '{"max_tokens": 100000}'
OVERLOADED = (503, {"error": {"message": "overloaded"}})
TOO_LONG = (500, {"error": {"message": "maximum context length is 8 tokens"}})
FINE = (200, answer("42"))


def hangs_up(number: int, body: str = "{}") -> str:
    """Makes the request of that number, and leaves when it has come to the service."""
    return f"{CHAT} '{body}' came{number}"


class FolderSandbox(ProcessSandbox):
    """Where an agent is installed is below its folder, not at this machine's root.

    Attributes:
        late: Once set, the time of what runs is up.
        over: Set when it has ended.
    """

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.late = asyncio.Event()
        self.over = asyncio.Event()

    async def exec(self, command: Command, timeout_sec: float = 180.0, **more: Any) -> ExecResult:
        words = [command] if isinstance(command, str) else command
        moved = [word.replace(PLACE, f"{self.root}{PLACE}") for word in words]
        running = asyncio.create_task(super().exec(moved, timeout_sec, **more))
        late = asyncio.create_task(self.late.wait())
        try:
            await asyncio.wait([running, late], return_when=asyncio.FIRST_COMPLETED)
        finally:
            late.cancel()
            running.cancel()
            await asyncio.wait([running])
            self.over.set()
        if running.cancelled():
            return ExecResult(return_code=TIMED_OUT, timed_out=True)
        return running.result()

    async def write(self, path: str, data: bytes, *, mode: int | None = None) -> None:
        written(Path(f"{self.root}{path}"), data, mode or 0o644)


def written(place: Path, data: bytes, mode: int) -> None:
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_bytes(data)
    place.chmod(mode)


@pytest.fixture
def box(tmp_path: Path) -> FolderSandbox:
    return FolderSandbox(tmp_path)


def replying(*replies: tuple[int, Any]) -> Callable[[dict[str, Any]], Response]:
    """One after the other; the last again and again."""
    left = list(replies)

    def reply(_body: dict[str, Any]) -> Response:
        status, body = left.pop(0) if len(left) > 1 else left[0]
        return JSONResponse(body, status)

    return reply


def model(
    box: FolderSandbox, *answers: str, last: int = 0
) -> Callable[[dict[str, Any]], Awaitable[Response]]:
    """Answers ``now``, when the agent is ``gone``, or ``never``, or is ``busy``.

    A request for many tokens is never answered, and takes none of these.

    Args:
        box: Where the agent runs; gets a file ``cameN`` with the N-th request.
        *answers: One after the other; the last again and again.
        last: At which request the agent's time is up; 0: at none.
    """
    left, came = list(answers), 0

    def next_one() -> str:
        return left.pop(0) if len(left) > 1 else left[0]

    async def reply(body: dict[str, Any]) -> Response:
        nonlocal came
        came += 1
        written(Path(box.workdir, f"came{came}"), b"", 0o644)
        if came == last:
            box.late.set()
        when = "never" if body.get("max_tokens", 0) > 1 else next_one()
        if when == "never":
            await asyncio.Event().wait()
        if when == "gone":
            await box.over.wait()
        if when == "busy":
            return JSONResponse(OVERLOADED[1], OVERLOADED[0])
        return JSONResponse(answer("42"))

    return reply


@asynccontextmanager
async def serving(reply: Answer) -> AsyncIterator[ModelServer]:
    async with ModelServer(reply).running() as server:
        yield server


async def ended(
    box: FolderSandbox,
    script: str,
    *replies: tuple[int, Any],
    toml: str = "",
    said: Any = None,
    patience: float = 30.0,
) -> SolveResult:
    """What comes of an agent that is this script; the service replies so."""
    folder = box.root / "mine"
    folder.mkdir()
    (folder / "run.sh.j2").write_text(ASK + script)
    (folder / "agent.toml").write_text(toml)
    async with serving(said or replying(*(replies or (FINE,)))) as server:
        service = {"type": "api", "url": server.url, "protocol": "chat_completions", "model": "m"}
        spec = PluginSpec.model_validate({**service, "max_retries": 0, "timeout": patience})
        parts = Parts({"m": spec}, log_dir=box.root / "logs")
        around = Around(60.0, BRIDGE, functools.partial(parts.adapter, "m"), "m")
        solver = AgentSolver(around, AgentSolver.Config(service="m", agent=str(folder)))
        await solver.open()
        try:
            return await solver.solve(SeedResult("Say 7."), box)
        finally:
            await solver.close()
            await parts.close_async()


@pytest.mark.parametrize(
    ("script", "replies", "kind", "said"),
    [
        ("echo 'Connection refused' >&2; exit 1", (FINE,), FailureKind.INFRA, "Connection refused"),
        (CHAT, (OVERLOADED,), FailureKind.SERVER_ERROR, "failed each request that had an outcome"),
        (f"{CHAT}; true", (OVERLOADED,), FailureKind.SERVER_ERROR, "HTTP 503: overloaded"),
        (f"{CHAT} && {CHAT}", (FINE, OVERLOADED), FailureKind.SERVER_ERROR, "the last request"),
        (f"{CHAT}; {CHAT}", ((429, {}),), FailureKind.RATE_LIMIT, "HTTP 429"),
        (CHAT, ((401, {}),), FailureKind.AUTH, "HTTP 401"),
        (f"{CHAT} && {CHAT}", (FINE, (403, {})), FailureKind.INFRA, "HTTP 403"),
        (CHAT, ((200, {"error": {"code": 502, "message": "bad"}}),), None, "error 502 in a 200"),
    ],
)
async def test_an_agent_whose_model_did_not_answer_has_no_score(
    box: FolderSandbox,
    script: str,
    replies: tuple[tuple[int, Any], ...],
    kind: FailureKind | None,
    said: str,
) -> None:
    with pytest.raises(InfraError) as refused:
        await ended(box, script, *replies)

    assert said in str(refused.value)
    assert refused.value.kind is (kind or FailureKind.SERVER_ERROR)


@pytest.mark.parametrize(
    ("script", "replies"),
    [
        (f"{CHAT}; exit 3", (FINE,)),
        (f"{CHAT} && {CHAT}; true", (FINE, OVERLOADED)),  # it went on, and ended well
        (f"{CHAT}; {CHAT}; exit 1", (OVERLOADED, FINE)),  # the service was back
        (f"{CHAT} && {CHAT}", (FINE, (400, {"error": {"message": "bad"}}))),
        (f"{CHAT} && {CHAT}", (FINE, (404, {}))),
        (f"{CHAT} && {CHAT}", (FINE, TOO_LONG)),
        (f"{CHAT} && {CHAT}", (FINE, (429, TOO_LONG[1]))),
        (f"{CHAT} && ask /admin", (FINE, (403, {}))),
        (f"{CHAT} && ask /../x", (FINE,)),
        (CHAT, ((400, {"error": {"message": "no such parameter"}}),)),
    ],
)
async def test_a_request_that_is_at_fault_itself_spares_no_agent_its_score(
    box: FolderSandbox, script: str, replies: tuple[tuple[int, Any], ...]
) -> None:
    result = await ended(box, script, *replies)

    assert "agent_exit_code" in result.scoring_details


async def test_an_agent_that_asks_no_model_by_design_is_judged(box: FolderSandbox) -> None:
    result = await ended(box, "echo done")

    assert result.response == "done"
    assert result.scoring_details["agent_requests"] == 0


@pytest.mark.parametrize(
    ("script", "says", "judged"), [("exit 1", "false", True), ("echo done", "true", False)]
)
async def test_an_agent_folder_says_whether_it_asks_its_model(
    box: FolderSandbox, script: str, says: str, *, judged: bool
) -> None:
    try:
        await ended(box, script, toml=f"asks_model = {says}\n")
        found = True
    except InfraError:
        found = False

    assert found is judged


async def test_an_agent_whose_time_is_up_after_its_model_has_failed_is_not_judged(
    box: FolderSandbox,
) -> None:
    with pytest.raises(InfraError, match=r"\(its time was up\).*HTTP 503: overloaded"):
        await ended(box, f"{CHAT}; sleep 60", said=model(box, "busy", last=1))


async def test_a_stream_that_breaks_last_is_the_services_failure(box: FolderSandbox) -> None:
    def cut(_body: dict[str, Any]) -> Response:
        piece = b'data: {"choices": [{"index": 0, "delta": {"content": "4"}}]}\n\n'
        return StreamingResponse(iter([piece]), media_type="text/event-stream")

    script = f"{CHAT} '{{\"stream\": true}}'; exit 1"

    with pytest.raises(InfraError, match="failed each request"):
        await ended(box, script, said=cut)


@pytest.mark.parametrize(
    ("script", "answers", "last"),
    [
        (f"{CHAT} && {hangs_up(2)}", ("now", "never"), 0),
        (f"{hangs_up(1)}; true", ("never",), 0),  # it ended well, and its model had no say
        (f"{CHAT}; {CHAT}", ("now", "never"), 2),  # it waits until its time is up
    ],
)
async def test_an_agent_that_waits_for_nothing_and_gives_up_is_not_judged(
    box: FolderSandbox, script: str, answers: tuple[str, ...], last: int
) -> None:
    with pytest.raises(InfraError, match="no whole reply within 3 s") as refused:
        await ended(box, script, said=model(box, *answers, last=last), patience=3.0)

    assert refused.value.kind is FailureKind.MODEL_TIMEOUT


@pytest.mark.parametrize(
    ("script", "answers", "last", "answered"),
    [
        (f"{CHAT} && {hangs_up(2)}", ("now", "gone"), 0, 2),
        (f"{hangs_up(1)}; {hangs_up(2)}", ("gone",), 0, 1),
        (f"{hangs_up(1)}; {CHAT}; exit 1", ("never", "now"), 0, 1),
        (f"{CHAT}; {CHAT}", ("now", "gone"), 2, 2),  # it waits until its time is up
        (f"{CHAT}; {hangs_up(2)}; true", ("now", "never"), 0, 1),
    ],
)
async def test_an_agent_that_hangs_up_on_a_model_that_answers_is_judged(
    box: FolderSandbox, script: str, answers: tuple[str, ...], last: int, answered: int
) -> None:
    result = await ended(box, script, said=model(box, *answers, last=last))

    assert result.scoring_details["agent_requests"] == answered


@pytest.mark.parametrize(
    ("script", "last"),
    [
        (f"{CHAT} && {hangs_up(2, LASTING)}; exit 1", 0),
        (f"{CHAT} && {CHAT} '{LASTING}'", 2),  # it waits until its time is up
        (
            f"{CHAT} && {{ {CHAT} '{LASTING}' & }}; sleep 60",
            2,
        ),  # so does a process in its background
    ],
)
async def test_an_agent_that_leaves_a_request_that_lasts_is_judged_all_the_same(
    box: FolderSandbox, script: str, last: int
) -> None:
    result = await ended(box, script, said=model(box, "now", last=last), patience=4.0)

    assert result.scoring_details["agent_requests"] == 1
    assert result.model_response is not None
    assert result.model_response.requests == 1  # the service was asked once more, but not by it


async def test_what_no_server_answered_is_the_services_failure() -> None:
    refused = faults.of_exception(httpx.ConnectError("Connection refused"))
    unsendable = faults.of_exception(httpx.LocalProtocolError("Illegal header value"))
    wrong = faults.of_response(Whole(422, {}, b"{}"), 0.0)

    assert faults.of_the_service(refused)
    assert faults.of_the_service(faults.of_deadline(5.0))
    assert not faults.of_the_service(unsendable)
    assert not faults.of_the_service(wrong)
