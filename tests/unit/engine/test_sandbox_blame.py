"""Who is to blame: what the agent causes is wrong, what the machinery causes is unscored."""

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from pytest_nel.core.sandbox import Command, ExecResult, Sandbox, SandboxSpec
from pytest_nel.core.types import AttemptKey, JsonObject, SeedResult, SolveResult, VerifyResult
from pytest_nel.engine.artifacts import Artifacts
from pytest_nel.engine.cycle import Lifecycle
from tests.support.temp_sandbox import TempSandbox
from tests.unit.engine.sandboxed import (
    CARRIED,
    FRESH,
    PACK,
    UNPACK,
    Blind,
    Idle,
    Reads,
    Writes,
    attempted,
    prepared,
    room_of,
)

pytestmark = pytest.mark.asyncio


async def test_a_workspace_that_is_too_large_is_wrong_and_says_so(tmp_path: Path) -> None:
    room, backend = room_of()
    made = prepared(tmp_path, Writes("head -c 20000 /dev/zero > big"), Reads(**CARRIED), room)
    made.cycle = Lifecycle(room, Artifacts(tmp_path / "artifacts", largest=15_000), needed=True)

    record = await attempted(made)

    assert (record.scored.outcome, record.scored.reward) == ("wrong", 0.0)
    assert record.scored.failure == "model_error"
    assert "15,000 at most" in str(record.scored.error)
    assert not list((tmp_path / "artifacts").glob("*"))
    assert not backend.running


async def test_a_workspace_that_grows_after_it_was_measured_is_not_kept(tmp_path: Path) -> None:
    room, _ = room_of()

    class Grows(Artifacts):
        async def _fetched(self, sandbox: Sandbox, target: Path) -> JsonObject:
            await sandbox.exec("head -c 90000 /dev/zero > /output/workspace.tar")
            return await super()._fetched(sandbox, target)

    made = prepared(tmp_path, Writes(), Reads(**CARRIED), room)
    made.cycle = Lifecycle(room, Grows(tmp_path / "artifacts", largest=50_000), needed=True)

    record = await attempted(made)

    assert record.scored.outcome == "wrong"
    assert "90,000 bytes, 50,000 at most" in str(record.scored.error)
    assert not list((tmp_path / "artifacts").glob("*"))


async def test_a_workspace_that_cannot_be_packed_where_an_untouched_one_can_is_wrong(
    tmp_path: Path,
) -> None:
    room, backend = room_of(concurrency=1)
    environment = Reads(**CARRIED | {"capture_cmd": f"test ! -e trap && {PACK}"})
    solver = Writes("touch trap")

    record = await attempted(prepared(tmp_path, solver, environment, room))

    assert (record.scored.outcome, record.scored.failure) == ("wrong", "model_error")
    assert "an untouched one can: capture_cmd failed" in str(record.scored.error)
    assert (solver.calls, backend.most, len(backend.running)) == (1, 1, 0)


NO_TRAP = f"{UNPACK} && test ! -e /workspace/trap"


async def test_a_workspace_that_cannot_be_unpacked_where_another_can_is_wrong(
    tmp_path: Path,
) -> None:
    room, backend = room_of(concurrency=1)
    environment = Reads(**CARRIED | {"apply_cmd": NO_TRAP})
    solver = Writes("touch trap")

    record = await attempted(prepared(tmp_path, solver, environment, room))

    assert (record.scored.outcome, record.scored.reward) == ("wrong", 0.0)
    assert record.scored.failure == "model_error"
    assert "another one can: apply_cmd failed in the sandbox (exit 1)" in str(record.scored.error)
    assert [spec.image for spec in backend.made] == [
        "solving",
        "fresh",
        "fresh",
        "solving",
        "fresh",
    ]
    assert (solver.calls, backend.most, len(backend.running)) == (1, 1, 0)
    assert [path.name for path in (tmp_path / "artifacts").iterdir()] == ["0-r0.tar"]


ANY_CHANGE = f"{UNPACK} && test $(ls /workspace | wc -l) -le 1"


@pytest.mark.parametrize(
    ("apply", "why"),
    [
        (ANY_CHANGE, "exit 1"),  # takes what nobody has changed, and nothing else
        (f"{UNPACK} && if [ -e /workspace/trap ]; then exit 137; fi", "exit 137"),
        (f"{UNPACK}; nel-no-such-program", "exit 127"),
    ],
)
async def test_an_apply_cmd_that_may_be_to_blame_itself_leaves_the_answer_unscored(
    tmp_path: Path, apply: str, why: str
) -> None:
    room, backend = room_of()
    environment = Reads(**CARRIED | {"apply_cmd": apply})

    record = await attempted(prepared(tmp_path, Writes("touch trap"), environment, room))

    assert (record.scored.outcome, record.scored.failure) == ("unscored", "infra_error")
    assert f"apply_cmd failed in the sandbox ({why}" in str(record.scored.error)
    assert not backend.running


async def test_a_workspace_is_not_blamed_where_the_disk_may_be_full(tmp_path: Path) -> None:
    class Full(TempSandbox):
        async def exec(self, command: Command, *args: Any, **given: Any) -> ExecResult:
            if str(command).startswith("df "):
                return ExecResult(b"Filesystem 1024-blocks Used Available\noverlay 9 9 9 9% /\n")
            return await super().exec(command, *args, **given)

    room, backend = room_of()
    backend.sandbox = Full
    environment = Reads(**CARRIED | {"apply_cmd": NO_TRAP})

    record = await attempted(prepared(tmp_path, Writes("touch trap"), environment, room))

    assert (record.scored.outcome, record.scored.failure) == ("unscored", "infra_error")


async def test_a_workspace_that_is_unpacked_at_the_second_try_is_judged(tmp_path: Path) -> None:
    once = tmp_path / "once"
    flaky = f"test -e {once} || {{ touch {once}; exit 2; }}; {UNPACK}"
    room, backend = room_of()

    record = await attempted(
        prepared(tmp_path, Writes(), Reads(**CARRIED | {"apply_cmd": flaky}), room)
    )

    assert (record.scored.outcome, record.scored.reward) == ("correct", 1.0)
    assert not backend.running


@pytest.mark.parametrize(("stateful", "ends"), [(False, 1), (True, 0)])
async def test_what_runs_in_the_background_is_ended_before_the_workspace_is_packed(
    tmp_path: Path, *, stateful: bool, ends: int
) -> None:
    log = tmp_path / "log"
    room, _ = room_of(log=str(log), stateful=stateful)

    record = await attempted(prepared(tmp_path, Writes(), Reads(**CARRIED), room))

    assert record.scored.reward == 1.0
    assert sum(line.startswith("end ") for line in log.read_text().splitlines()) == ends


async def test_an_agent_that_uses_up_its_time_is_judged_by_what_it_has_left(tmp_path: Path) -> None:
    room, backend = room_of()

    record = await attempted(
        prepared(tmp_path, Writes("sleep 2"), Reads(**CARRIED), room, timeout=0.8)
    )

    assert (record.scored.outcome, record.scored.reward) == ("correct", 1.0)
    assert record.scored.details["error_category"] == "solve_timeout"
    assert "no answer within 0.8 s" in record.scored.details["error"]
    assert (record.solved.failure, len(backend.running)) == (None, 0)


async def test_an_agent_that_uses_up_its_time_is_judged_where_it_worked(tmp_path: Path) -> None:
    room, backend = room_of()
    solver = Writes("echo 41 > answer.txt; sleep 2")

    record = await attempted(prepared(tmp_path, solver, Reads(), room, timeout=0.8))

    assert (record.scored.outcome, record.scored.extracted) == ("wrong", "41")
    assert record.scored.details["error_category"] == "solve_timeout"
    assert len(backend.made) == 1


async def test_an_agent_that_uses_up_its_time_is_wrong_where_its_text_is_judged(
    tmp_path: Path,
) -> None:
    room, _ = room_of()
    made = prepared(tmp_path, Writes("sleep 2"), Blind(), room, timeout=0.8)
    made.cycle = Lifecycle(room, visits=False)

    record = await attempted(made)

    assert (record.scored.outcome, record.scored.failure) == ("wrong", "solve_timeout")


async def test_a_model_that_does_not_answer_after_short_commands_is_unscored(
    tmp_path: Path,
) -> None:
    class Waits(Writes):
        async def solve(self, seed: SeedResult, sandbox: Sandbox) -> SolveResult:
            await super().solve(seed, sandbox)
            await asyncio.sleep(60)
            return SolveResult("late")

    room, backend = room_of()

    record = await attempted(prepared(tmp_path, Waits(), Reads(**CARRIED), room, timeout=1.0))

    assert (record.scored.outcome, record.scored.failure) == ("unscored", "solve_timeout")
    assert not backend.running


@pytest.mark.parametrize("harm", ["gone", "changed"])
async def test_a_workspace_that_is_lost_before_it_is_judged_is_unscored(
    tmp_path: Path, harm: str
) -> None:
    class Loses(Reads):
        async def verify(
            self, response: str, expected: str, sandbox: Sandbox | None = None, **metadata: object
        ) -> VerifyResult:
            kept = tmp_path / "artifacts" / "0-r0.tar"
            if harm == "gone":
                kept.unlink()
            else:
                kept.write_bytes(b"something else")
            return await super().verify(response, expected, sandbox, **metadata)

    room, _ = room_of()

    record = await attempted(prepared(tmp_path, Writes(), Loses(**CARRIED), room))

    assert (record.scored.outcome, record.scored.failure) == ("unscored", "infra_error")
    assert "is missing or has been changed" in str(record.scored.error)


async def test_files_of_this_machine_that_fail_a_sandbox_are_no_verifiers_to_judge(
    tmp_path: Path,
) -> None:
    class Vanishes(Artifacts):
        async def there(self, key: AttemptKey, said: Mapping[str, Any]) -> bool:
            found = await super().there(key, said)
            self.path(key).unlink()
            return found

    room, _ = room_of()
    made = prepared(tmp_path, Writes(), Reads(**CARRIED), room)
    made.cycle = Lifecycle(room, Vanishes(tmp_path / "artifacts"), needed=True)

    record = await attempted(made)

    assert record.scored.outcome == "unscored"
    assert "could not be furnished" in str(record.scored.error)


async def test_a_sandbox_that_its_backend_refuses_is_an_attempts_own_trouble(
    tmp_path: Path,
) -> None:
    room, _ = room_of()
    spec = SandboxSpec(image="x", network="refused")

    record = await attempted(prepared(tmp_path, Writes(), Reads(sandbox_spec=spec), room))

    assert (record.scored.outcome, record.scored.failure) == ("unscored", "infra_error")
    assert "a network that is refused" in str(record.scored.error)


async def test_work_that_nothing_captures_is_said_to_be_lost(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    room, _ = room_of()
    made = prepared(tmp_path, Writes(), Reads(**FRESH), room)

    record = await attempted(made)

    assert "not judged" in record.solved.sandbox["workspace"]
    assert "capture_cmd" in caplog.text


async def test_an_agent_that_did_nothing_has_lost_nothing(tmp_path: Path) -> None:
    room, _ = room_of()

    record = await attempted(prepared(tmp_path, Idle(), Reads(**FRESH), room))

    assert "workspace" not in record.solved.sandbox


async def test_what_a_command_before_the_solver_printed_is_kept_without_secrets(
    tmp_path: Path,
) -> None:
    room, _ = room_of()
    environment = Reads(pre_agent_cmd="echo dsn=s3cr3t >&2; exit 3", apply_cmd=UNPACK)
    made = prepared(tmp_path, Writes(), environment, room)
    made.redact = lambda text: text.replace("s3cr3t", "***")

    record = await attempted(made)

    assert record.solved.sandbox["pre_agent_cmd"] == "exit 3: dsn=***"


@pytest.mark.parametrize(("workspace", "outcome"), [(True, "correct"), (False, "unparsed")])
async def test_an_agent_that_says_nothing_is_judged_by_its_workspace_where_that_counts(
    tmp_path: Path, *, workspace: bool, outcome: str
) -> None:
    class Silent(Writes):
        async def solve(self, seed: SeedResult, sandbox: Sandbox) -> SolveResult:
            await super().solve(seed, sandbox)
            return SolveResult("")

    room, _ = room_of()
    environment = Reads(**CARRIED)
    environment.judges_workspace = workspace

    record = await attempted(prepared(tmp_path, Silent(), environment, room))

    assert record.scored.outcome == outcome


async def test_an_attempt_without_the_required_command_before_the_solver_is_unscored(
    tmp_path: Path,
) -> None:
    room, backend = room_of()
    environment = Reads(pre_agent_cmd="echo no API >&2; exit 7", pre_agent_required=True)
    solver = Writes()

    record = await attempted(prepared(tmp_path, solver, environment, room, max_system_retries=2))

    assert (record.scored.outcome, record.solved.tries) == ("unscored", 2)
    assert "pre_agent_cmd failed" in str(record.scored.error)
    assert "exit 7: no API" in str(record.scored.error)
    assert backend.running == set()
