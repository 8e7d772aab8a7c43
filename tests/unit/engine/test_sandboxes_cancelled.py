"""A run that is ended while sandboxes are in use."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from pytest_nel.core.sandbox import Sandbox, SandboxError, SandboxSpec
from pytest_nel.core.types import SeedResult, SolveResult, VerifyResult
from pytest_nel.engine.cycle import Lifecycle
from pytest_nel.engine.lifecycle import Workplace
from tests.support.temp_sandbox import TempSandbox
from tests.unit.engine.parts import KEY
from tests.unit.engine.sandboxed import Idle, Reads, prepared, room_of

SEED = SeedResult("Do it.", sandbox_spec=SandboxSpec())


class TwoAtOnce(Reads):
    """A verifier that runs two commands at once, as that of code does.

    Cancelled while the first of them starts the sandbox, the second finds it removed; a group of
    tasks that has such an error forgets that it was cancelled.
    """

    async def verify(
        self, response: str, expected: str, sandbox: Sandbox | None = None, **metadata: Any
    ) -> VerifyResult:
        del response, expected, metadata
        assert sandbox is not None
        async with asyncio.TaskGroup() as group:
            first = group.create_task(sandbox.exec("true"))
            group.create_task(sandbox.exec("true"))
            await first
        return VerifyResult(1.0)


class TwoCommands:
    """The same of a solver."""

    async def solve(self, seed: SeedResult, sandbox: Sandbox) -> SolveResult:
        await TwoAtOnce().verify("", "", sandbox)
        return SolveResult(seed.prompt)


@pytest.mark.asyncio
@pytest.mark.parametrize(
    ("solver", "environment", "left"),
    [(Idle(), TwoAtOnce(), ["started", "solved"]), (TwoCommands(), Reads(), ["started"])],
    ids=["verifying", "solving"],
)
async def test_what_is_cancelled_while_its_sandbox_starts_is_not_recorded(
    tmp_path: Path, solver: Any, environment: Reads, left: list[str]
) -> None:
    starts = asyncio.Event()
    room, backend = room_of()

    class Slow(TempSandbox):
        async def start(self) -> None:
            starts.set()
            await asyncio.sleep(60)

    backend.sandbox = Slow
    made = prepared(tmp_path, solver, environment, room)
    attempt = asyncio.create_task(made.attempt(KEY))
    await starts.wait()

    attempt.cancel()
    with pytest.raises(asyncio.CancelledError):
        await attempt
    made.journal.close()

    kinds = [line.split('"')[3] for line in journal(tmp_path)]
    assert [kind for kind in kinds if kind in {"started", "solved", "scored"}] == left


@pytest.mark.asyncio
@pytest.mark.parametrize("whose", ["an attempt's", "nobody's"])
async def test_a_cancellation_counts_although_the_sandbox_cannot_be_stopped(whose: str) -> None:
    room, backend = room_of()
    stops, fails = asyncio.Event(), asyncio.Event()

    class Hangs(TempSandbox):
        async def stop(self) -> None:
            stops.set()
            await fails.wait()
            await super().stop()
            msg = "the daemon does not answer"
            raise SandboxError(msg)

    backend.sandbox = Hangs

    async def used() -> None:
        if whose == "nobody's":
            async with room.sandbox(SandboxSpec()) as box:
                await box.exec("true")
            return
        place = Workplace(Lifecycle(room), SEED, KEY)
        await (await place.solving()).exec("true")
        await place.close()

    closing = asyncio.create_task(used())
    await stops.wait()

    closing.cancel()
    await asyncio.sleep(0)
    fails.set()

    with pytest.raises(asyncio.CancelledError):
        await closing
    assert room.slots.free == 4


@pytest.mark.asyncio
@pytest.mark.parametrize("waits", ["for a slot", "for its start"])
async def test_a_sandbox_that_is_removed_before_it_runs_keeps_no_slot(waits: str) -> None:
    room, backend = room_of(concurrency=1)
    starts, goes_on = asyncio.Event(), asyncio.Event()

    class Slow(TempSandbox):
        async def start(self) -> None:
            starts.set()
            await goes_on.wait()
            await super().start()

    backend.sandbox = Slow
    place = Workplace(Lifecycle(room), SEED, KEY)
    box = await place.solving()
    if waits == "for a slot":
        await room.slots.acquire()
    left = asyncio.create_task(box.exec("true"))  # by a solver that does not wait for it
    await (asyncio.sleep(0.05) if waits == "for a slot" else starts.wait())

    await place.close()
    if waits == "for a slot":
        room.slots.release()
    goes_on.set()

    with pytest.raises(SandboxError, match="has been removed"):
        await left
    assert room.slots.free == 1
    assert not backend.running


def journal(folder: Path) -> list[str]:
    return [
        line for path in folder.rglob("*.jsonl") for line in path.read_text("utf-8").splitlines()
    ]
