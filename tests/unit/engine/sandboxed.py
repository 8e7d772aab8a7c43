"""Solvers, verifiers and sandboxes that tests of lifecycles set up in one line."""

import asyncio
from pathlib import Path
from typing import Any

from pytest_nel.config.schema import PluginSpec
from pytest_nel.core.protocols import EvalEnvironment
from pytest_nel.core.sandbox import Sandbox, SandboxError, SandboxSpec
from pytest_nel.core.types import AttemptKey, SeedResult, SolveResult, VerifyResult
from pytest_nel.engine.artifacts import Artifacts
from pytest_nel.engine.attempt import AttemptRunner
from pytest_nel.engine.cycle import Lifecycle
from pytest_nel.engine.sandboxes import Room
from pytest_nel.records.record import StepRecord
from tests.support.temp_sandbox import TempBackend
from tests.unit.engine.parts import KEY, runner

PACK = "tar -cf /output/workspace.tar -C /workspace ."
UNPACK = "tar -xf /input/workspace.tar -C /workspace"
SPEC = SandboxSpec(image="solving")
FRESH = {"verify_sandbox_spec": SandboxSpec(image="fresh")}
CARRIED = {**FRESH, "capture_cmd": PACK, "apply_cmd": UNPACK}


class Writes:
    """A solver that writes its answer into a file of the sandbox."""

    def __init__(self, *more: str, error: Exception | None = None) -> None:
        self.commands = more
        self.error = error
        self.calls = 0

    async def solve(self, seed: SeedResult, sandbox: Sandbox) -> SolveResult:
        del seed
        self.calls += 1
        for command in ("echo 42 > answer.txt", *self.commands):
            await sandbox.exec(command)
        if self.error is not None:
            raise self.error
        return SolveResult("done")


class Idle:
    """A solver that uses no sandbox."""

    async def solve(self, seed: SeedResult, sandbox: Sandbox) -> SolveResult:
        del seed, sandbox
        await asyncio.sleep(0)
        return SolveResult("done")


class Reads(EvalEnvironment):
    """Looks for the answer in the sandbox it is given; says which that was."""

    name = "reads"
    needs_sandbox = True

    def __init__(self, **seeded: Any) -> None:
        self.seeded = {"sandbox_spec": SPEC, **seeded}

    def __len__(self) -> int:
        return 4

    async def seed(self, idx: int) -> SeedResult:
        return SeedResult(f"write 42 ({idx})", "42", {"tag": f"t{idx}"}, **self.seeded)

    async def verify(
        self, response: str, expected: str, sandbox: Sandbox | None = None, **metadata: Any
    ) -> VerifyResult:
        del response, metadata
        assert sandbox is not None
        image = (await sandbox.read("image.txt")).decode()
        try:
            found = (await sandbox.read("answer.txt")).decode().strip()
        except FileNotFoundError:
            found = ""
        return VerifyResult(float(found == expected), found, {"image": image})


class Blind(Reads):
    """A verifier that looks at no sandbox."""

    async def verify(
        self, response: str, expected: str, sandbox: Sandbox | None = None, **metadata: Any
    ) -> VerifyResult:
        del response, expected, sandbox, metadata
        await asyncio.sleep(0)
        return VerifyResult(1.0)


class Swallows(Reads):
    """A verifier that makes a wrong answer of a sandbox that does not work."""

    async def verify(
        self, response: str, expected: str, sandbox: Sandbox | None = None, **metadata: Any
    ) -> VerifyResult:
        del response, expected, metadata
        assert sandbox is not None
        try:
            ran = await sandbox.exec("true")
        except SandboxError:
            return VerifyResult(0.0)
        return VerifyResult(float(ran.return_code == 0))


def room_of(**options: Any) -> tuple[Room, TempBackend]:
    config = TempBackend.Config(**options)
    backend = TempBackend(config)
    return Room(PluginSpec(type="temp", **options), backend, config, config.concurrency), backend


def prepared(
    folder: Path, solver: Any, environment: EvalEnvironment, room: Room | None, **settings: Any
) -> AttemptRunner:
    made = runner(folder, solver, environment, **settings)
    made.cycle = Lifecycle(
        room, Artifacts(folder / "artifacts"), needed=environment.needs_sandbox, visits=True
    )
    return made


async def attempted(made: AttemptRunner, key: AttemptKey = KEY) -> StepRecord:
    try:
        return made.finish(await made.attempt(key))
    finally:
        made.journal.close()
