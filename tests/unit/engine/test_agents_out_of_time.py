"""An agent that has not had its model leaves nothing that is judged, whatever ended its attempt."""

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from pytest_nel.config.schema import PluginSpec
from pytest_nel.core.errors import FailureKind, InfraError
from pytest_nel.core.exchange import Lost, Usage, begin_session, keep_progress
from pytest_nel.core.sandbox import Command, ExecResult
from pytest_nel.core.types import SeedResult, SolveResult
from pytest_nel.engine.cycle import Lifecycle
from pytest_nel.engine.lazy_sandbox import Ledger
from pytest_nel.engine.lifecycle import Workplace
from pytest_nel.engine.sandboxes import Room
from pytest_nel.engine.unfinished import out_of_time
from pytest_nel.records.record import Solved
from pytest_nel.solvers.agent import PLACE, AgentSolver
from pytest_nel.solvers.around import Around
from tests.support.agent_proxy import AgentProxy
from tests.support.temp_sandbox import TempSandbox
from tests.unit.engine.parts import KEY
from tests.unit.engine.sandboxed import CARRIED, Reads, attempted, prepared, room_of

pytestmark = pytest.mark.asyncio
OVERLOADED = Lost(FailureKind.SERVER_ERROR, "HTTP 503: overloaded")


class Installed(TempSandbox):
    """A folder in which an agent's scripts take so many seconds and end with 1."""

    takes: Mapping[str, float] = {}

    async def write(self, path: str, data: bytes, *, mode: int | None = None) -> None:
        if not path.startswith(PLACE):
            await super().write(path, data, mode=mode)

    async def exec(self, command: Command, timeout_sec: float = 180.0, **more: Any) -> ExecResult:
        script = command[-1].rpartition("/")[2]
        if isinstance(command, str) or script not in {"install.sh", "run.sh"}:
            return await super().exec(command, timeout_sec, **more)
        seconds = self.takes.get(script, 0.0)
        await asyncio.sleep(min(seconds, timeout_sec))
        if seconds > timeout_sec:
            return ExecResult(return_code=124, timed_out=True)
        return ExecResult(return_code=int(script == "run.sh"))


def room(**takes: float) -> Room:
    made, backend = room_of()
    named = {f"{name}.sh": seconds for name, seconds in takes.items()}
    backend.sandbox = type("Takes", (Installed,), {"takes": named})
    return made


def agent(
    folder: Path, used: Usage, timeout: float = 0.8, toml: str = "", proxy: AgentProxy | None = None
) -> AgentSolver:
    made = folder / "mine"
    made.mkdir()
    for name in ("run.sh.j2", "install.sh.j2"):
        (made / name).write_text("work\n")
    (made / "agent.toml").write_text(toml)
    around = Around(timeout, PluginSpec(type="local"), lambda **_: proxy or AgentProxy(used), "m")
    return AgentSolver(around, AgentSolver.Config(service="s", agent=str(made)))


async def test_the_requests_of_a_try_that_failed_are_counted_once(tmp_path: Path) -> None:
    used = Usage(requests=3, prompt=30, completion=9, asked=4, lost=OVERLOADED)
    made = prepared(tmp_path, agent(tmp_path, used), Reads(**CARRIED), room(), max_system_retries=2)

    record = await attempted(made)

    assert (record.scored.outcome, record.solved.tries) == ("unscored", 2)
    assert record.solved.all_requests == 6


@pytest.mark.parametrize(
    ("used", "kind", "said"),
    [
        (Usage(asked=1), "infra_error", "none of its 1 requests had an answer"),
        (Usage(), "infra_error", "it never did (its time was up)"),
        (Usage(asked=2, lost=OVERLOADED), "server_error", "HTTP 503: overloaded"),
        (Usage(requests=1, asked=2, lost=OVERLOADED), "server_error", "failed the last request"),
    ],
)
async def test_an_agent_that_waits_in_vain_until_the_time_is_up_is_unscored(
    tmp_path: Path, used: Usage, kind: str, said: str
) -> None:
    made = prepared(tmp_path, agent(tmp_path, used), Reads(**CARRIED), room(run=5.0), timeout=0.8)

    record = await attempted(made)

    assert (record.scored.outcome, record.scored.failure) == ("unscored", kind)
    assert said in str(record.scored.error)


@pytest.mark.parametrize(
    ("used", "toml"),
    [(Usage(requests=1, asked=2), ""), (Usage(), "asks_model = false"), (Usage(refused=1), "")],
)
async def test_an_agent_that_took_the_time_itself_is_judged_by_what_it_has_left(
    tmp_path: Path, used: Usage, toml: str
) -> None:
    solver = agent(tmp_path, used, toml=toml)
    made = prepared(tmp_path, solver, Reads(**CARRIED), room(run=5.0), timeout=0.8)

    record = await attempted(made)

    assert record.scored.outcome == "wrong"
    assert record.solved.details["cut_by_timeout"] is True


@pytest.mark.parametrize("limit", [0.8, 2.5])  # the benchmark's, and the agent's own before it
async def test_what_an_agent_waited_for_when_its_time_was_up_is_waited_for_to_the_end(
    tmp_path: Path, limit: float
) -> None:
    used = Usage(requests=1, asked=2)
    solver = agent(tmp_path, used, limit, proxy=AgentProxy(used, OVERLOADED, 1.5))
    made = prepared(tmp_path, solver, Reads(**CARRIED), room(run=9.0), timeout=limit)

    record = await attempted(made)

    assert (record.scored.outcome, record.scored.failure) == ("unscored", "server_error")
    assert "failed the last request: HTTP 503: overloaded" in str(record.scored.error)
    assert record.solved.tries == 1


async def test_waiting_for_the_outcome_of_a_request_is_no_time_of_the_agents(
    tmp_path: Path,
) -> None:
    used = Usage(requests=1, asked=2)
    solver = agent(tmp_path, used, 1.5, proxy=AgentProxy(used, after=2.0))
    made = prepared(tmp_path, solver, Reads(**CARRIED), room(run=0.1), timeout=1.5)

    record = await attempted(made)

    assert record.scored.reward == 0.0
    assert record.solved.details["agent_exit_code"] == 1


async def test_an_agent_that_is_not_installed_when_the_time_is_up_is_unscored(
    tmp_path: Path,
) -> None:
    solver = agent(tmp_path, Usage(), toml="asks_model = false")
    made = prepared(tmp_path, solver, Reads(**CARRIED), room(install=5.0), timeout=0.8)

    record = await attempted(made)

    assert record.scored.outcome == "unscored"
    assert "could not be installed (its time was up)" in str(record.scored.error)


async def test_what_installing_takes_is_no_time_of_the_agents(tmp_path: Path) -> None:
    solver = agent(tmp_path, Usage(requests=1, asked=1), timeout=2.5)
    made = prepared(tmp_path, solver, Reads(**CARRIED), room(install=0.4, run=5.0), timeout=2.5)

    record = await attempted(made)

    assert record.scored.reward == 0.0
    assert record.solved.details["agent_exit_code"] == 124  # its own limit came first
    assert record.solved.details["cut_by_timeout"] is True


async def test_an_agent_for_which_no_time_is_left_is_unscored(tmp_path: Path) -> None:
    solver = agent(tmp_path, Usage(), timeout=1.0, toml="asks_model = false")
    made = prepared(tmp_path, solver, Reads(**CARRIED), room(install=0.96), timeout=1.0)

    record = await attempted(made)

    assert record.scored.outcome == "unscored"
    assert "of the benchmark's timeout of 1 s: raise `timeout`" in str(record.scored.error) or (
        "could not be installed" in str(record.scored.error)  # on a machine that is busy
    )


async def test_what_has_returned_is_judged_whatever_is_said_against_it() -> None:
    begin_session(KEY)
    keep_progress(lambda: SolveResult(""), lambda: InfraError("no model"))
    place = Workplace(Lifecycle(), SeedResult("Do it."), KEY)
    open_still, returned = Solved(KEY, "p"), Solved(KEY, "p", details={"agent_exit_code": 0})

    for each in (open_still, returned):
        await out_of_time(each, place, "no answer within 1 s")

    assert (open_still.failure, open_still.error) == ("infra_error", "no model")
    assert returned.failure == "solve_timeout"


async def test_work_that_is_lost_is_none_of_the_next_trys() -> None:
    ledger = Ledger()
    with ledger.working():
        await asyncio.sleep(0.05)

    before = ledger.worked
    ledger.begin_again()

    assert before >= 0.05
    assert ledger.worked == 0.0
    assert ledger.busy == before
