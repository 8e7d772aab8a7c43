"""Where one attempt is solved and verified: sandboxes that start when they are first used.

There is one at a time. *Stateful*, the answer is verified where it was given, or where it would
have been. *Stateless*, where the problem has a sandbox of its own for verifying, what the solver
leaves is taken out, its sandbox is removed, and a fresh one is given it. The suite can make it
stateful, unless nothing of what the solver leaves is judged.
"""

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeAlias

from pytest_nel.core.errors import GracefulError
from pytest_nel.core.sandbox import BASE_COMMIT, NoSandbox, Sandbox, SandboxError
from pytest_nel.core.types import AttemptKey, JsonObject, SeedResult
from pytest_nel.engine.artifacts import NotPacked, NotUnpacked, packed, unpacked
from pytest_nel.engine.cycle import Lifecycle
from pytest_nel.engine.disk import has_room
from pytest_nel.engine.git_history import scrub
from pytest_nel.engine.honest_work import HONEST_WORK
from pytest_nel.engine.lazy_sandbox import Deadline, LazySandbox, Ledger, Use
from pytest_nel.engine.sandboxes import Room
from pytest_nel.engine.trials import Trials
from pytest_nel.records.record import Solved

_NONE = NoSandbox()
_PRE_AGENT_TIMEOUT = 900.0
_VERIFY_TIMEOUT = 600.0
_MOST = 0.5
"""The part of an attempt's time from which on it was the agent's commands that used it up."""
_DROPPED = (
    "what was left in the sandbox is not judged: the problem has a verify_sandbox_spec and neither "
    "it nor the suite's sandbox a capture_cmd"
)
KEEP_BASE = f"""
export GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=safe.directory GIT_CONFIG_VALUE_0='*'
base=${{1:-}}
if [ -z "$base" ]; then
  git rev-parse --git-dir >/dev/null 2>&1 || exit 0
  base=$(git rev-parse -q --verify HEAD || git hash-object -w -t tree /dev/null) || exit 1
fi
mkdir -p "${{TMPDIR:-/tmp}}" && rm -rf "{BASE_COMMIT}" && echo "$base" | tee "{BASE_COMMIT}"
"""
"""Writes down and says the commit that is its argument, else the one that the solver begins from:
the empty tree where there is none yet."""
_Furnish: TypeAlias = Callable[[Sandbox], Awaitable[None]]
LIVE: JsonObject = {"live": True}
"""The workspace of an answer that can be judged only as long as its sandbox runs."""


class Workplace:
    """The sandboxes of one attempt.

    Args:
        cycle: The benchmark's.
        seed: The problem; None where it could not be made, and then nothing is asked of this.
        key: The attempt.
        name: What the sandboxes are called.

    Attributes:
        ledger: What they took so far.
        deadline: To be told of the limit in force.
    """

    __slots__ = (
        *("_base", "_box", "_cycle", "_key", "_seed", "_spoiled", "_use"),
        *("deadline", "ledger"),
    )

    def __init__(self, cycle: Lifecycle, seed: SeedResult | None, key: AttemptKey) -> None:
        self._cycle = cycle
        self._seed = seed
        self._key = key
        self._box: LazySandbox | None = None
        self._base = ""
        self._spoiled = False
        self.ledger = Ledger()
        self.deadline = Deadline()
        name = f"{key.benchmark}-{key.problem_idx}-r{key.repeat}"
        self._use = Use(name, self.ledger, self.deadline)

    async def solving(self, *, first: bool = False) -> Sandbox:
        """A fresh sandbox for the solver; what it had before is removed.

        Args:
            first: Whether it goes before others that wait for a slot.

        Raises:
            SandboxError: Its image cannot be told.
        """
        await self.close()
        room, seed = self._cycle.room, self._seed
        if room is None or seed is None:
            return _NONE
        spec = seed.sandbox_spec
        if spec is None and not self._cycle.stateless(seed):
            spec = seed.verify_sandbox_spec
        self._box = LazySandbox(
            room,
            room.resolved(spec, seed.metadata),
            self._use,
            self._for_the_solver,
            first=first,
        )
        return self._box

    async def leave(self, solved: Solved) -> None:
        """After an answer: take its workspace out, or keep the sandbox for the verifier.

        Raises:
            SandboxError: The sandbox did not start, or the workspace could not be taken out.
        """
        box, seed = self._box, self._seed
        if box is None or seed is None:
            return
        if box.unstarted and box.trouble is not None:  # also where the solver went on without it
            raise box.trouble
        if solved.failure is not None or not self._cycle.verifies_in_one(seed):
            await self.close()
        elif not self._cycle.stateless(seed):
            solved.workspace = LIVE if box.runs else None
        else:
            await self._taken_out(box, seed, solved)

    async def _taken_out(self, box: LazySandbox, seed: SeedResult, solved: Solved) -> None:
        room = self._cycle.room
        assert room is not None
        command = room.option("capture_cmd", seed.capture_cmd)
        if box.runs and command is None:
            self.ledger.facts["workspace"] = _DROPPED
            room.warn_once(f"{self._key.benchmark}: {_DROPPED}")
        if box.runs and command is not None:
            with self.deadline.paused():  # it has limits of its own
                await self._captured(box, command, solved)
        await self.close()

    async def _captured(self, box: LazySandbox, command: str, solved: Solved) -> None:
        await self._settled(box)
        try:
            solved.workspace = await self._cycle.artifacts.capture(
                box, box.said_workdir, command, self._key
            )
        except NotPacked as error:
            await self._blamed(command, error)

    async def _settled(self, box: LazySandbox) -> None:
        await box.end_processes()  # what goes on in the background changes what is packed
        if self._base:  # the agent may have emptied the folder of temporary files
            await box.exec(["/bin/sh", "-c", KEEP_BASE, "sh", self._base])

    async def _blamed(self, command: str, error: NotPacked) -> None:
        """Whose fault it was: a command that packs what nobody has worked in is not to blame.

        Raises:
            GracefulError: That of who worked there.
            NotPacked: The command's.
        """
        box = await self.solving(first=True)
        assert isinstance(box, LazySandbox)
        try:
            await packed(box, box.said_workdir, command)
        except NotPacked:
            raise error from None
        finally:
            await self.close()
        msg = f"the workspace that was left cannot be packed, and an untouched one can: {error}"
        raise GracefulError(msg) from error

    def worked_through(self, limit: float) -> bool:
        """Whether commands in the sandbox have taken at least half of so many seconds."""
        return self.ledger.worked >= limit * _MOST

    async def verifying(self, solved: Solved) -> Sandbox | None:
        """The sandbox for the verifier, fresh unless the answer was given in it.

        Raises:
            SandboxError: The answer was given in one that is gone, or its image cannot be told.
        """
        room, seed = self._cycle.room, self._seed
        if seed is None or not self._cycle.verifies_in_one(seed):
            return None
        if room is None:
            return _NONE
        stateless = self._cycle.stateless(seed)
        if not stateless and solved.workspace is not None:
            if self._box is None or not self._box.runs:
                msg = "the sandbox in which this was answered is gone, and the workspace with it"
                raise SandboxError(msg, retryable=False)
            self._box.trouble = None  # what the solver made of it is known
            return self._box
        if not stateless:
            return await self.solving(first=True)
        return await self._fresh(room, seed, self._given(room, seed, solved))

    def _given(self, room: Room, seed: SeedResult, solved: Solved) -> _Furnish:
        """Puts what the solver left into a verifier's sandbox."""

        async def furnish(box: Sandbox) -> None:
            if solved.workspace is not None and not self._spoiled:
                workdir = room.resolved(seed.verify_sandbox_spec, seed.metadata).workdir
                limit = room.option("verify_timeout", _VERIFY_TIMEOUT)
                await self._cycle.artifacts.apply(
                    box, workdir, seed.apply_cmd, self._key, limit, solved.workspace
                )

        return furnish

    async def _fresh(self, room: Room, seed: SeedResult, furnish: _Furnish) -> LazySandbox:
        """The verifier's sandbox in place of the one there is."""
        await self.close()
        spec = room.resolved(seed.verify_sandbox_spec, seed.metadata)
        self._box = box = LazySandbox(room, spec, self._use, furnish, first=True)
        return box

    async def spoiled(self, solved: Solved, error: NotUnpacked) -> str | None:
        """Why a workspace that cannot be unpacked is its maker's fault; None: it may not be.

        Nobody is blamed for what is wrong with ``apply_cmd`` or with this machine: the workspace
        must fail once more in another sandbox, one of ours in which there is all that honest work
        may leave must not, and before each there must be room on the disk. Where it failed only
        once, the error says that trying again may help.

        Args:
            solved: The answer.
            error: How it failed.
        """
        room, seed = self._cycle.room, self._seed
        assert room is not None
        assert seed is not None
        self.deadline.limit = None  # the verifier's is over
        try:
            text = await self._tried_again(room, seed, solved)
            if text is None:
                error.retryable = True
            elif not await self._honest_goes(room, seed, solved):
                text = None
        except (SandboxError, OSError):  # then it is not known
            text = None
        finally:
            await self.close()
        self._spoiled = text is not None
        return text

    async def _tried_again(self, room: Room, seed: SeedResult, solved: Solved) -> str | None:
        """Why it is not unpacked in another sandbox either; None: now it was.

        Raises:
            SandboxError: Something else failed, or the disk may be full.
        """
        given = self._given(room, seed, solved)

        async def furnish(box: Sandbox) -> None:
            await self._refuse_without_room(room, box, solved)
            await given(box)

        try:
            await (await self._fresh(room, seed, furnish)).exec("true")
        except NotUnpacked as error:
            return f"the workspace that was left cannot be unpacked, and another one can: {error}"
        return None

    async def _honest_goes(self, room: Room, seed: SeedResult, solved: Solved) -> bool:
        """Whether a workspace in which we have worked is packed and unpacked.

        Raises:
            SandboxError: It is not, or the disk may be full.
        """

        async def work(box: Sandbox) -> None:
            await box.exec(HONEST_WORK)

        box = await self._carried(room, seed, solved, work)
        return box is not None and (await box.exec("true")).return_code == 0

    async def tried(self, solved: Solved, work: _Furnish) -> LazySandbox | None:
        """A sandbox for the verifier as though ``work`` had answered; None: it cannot be had.

        Raises:
            SandboxError: As the sandboxes of an attempt, or the disk may be full.
        """
        room, seed = self._cycle.room, self._seed
        if room is None or seed is None:
            return None
        self.deadline.limit = None  # the verifier's is over
        if self._cycle.stateless(seed):
            return await self._carried(room, seed, solved, work)
        box = await self.solving(first=True)
        assert isinstance(box, LazySandbox)
        await work(box)
        return box

    async def _carried(
        self, room: Room, seed: SeedResult, solved: Solved, work: _Furnish
    ) -> LazySandbox | None:
        """What ``work`` leaves in a solver's sandbox, in a verifier's.

        Raises:
            SandboxError: It is not packed or unpacked, or the disk may be full.
        """
        command = room.option("capture_cmd", seed.capture_cmd)
        if command is None:  # the answer is an earlier run's, which had one
            return None
        box = await self.solving(first=True)
        assert isinstance(box, LazySandbox)
        await work(box)
        await self._settled(box)
        probe = await self._cycle.artifacts.probe(box, box.said_workdir, command, self._key)

        async def furnish(box: Sandbox) -> None:
            await self._refuse_without_room(room, box, solved)
            workdir = room.resolved(seed.verify_sandbox_spec, seed.metadata).workdir
            limit = room.option("verify_timeout", _VERIFY_TIMEOUT)
            await unpacked(box, workdir, seed.apply_cmd, probe, limit)

        try:
            fresh = await self._fresh(room, seed, furnish)
            await fresh.exec("true")  # starts it, as long as the probe is there
        finally:
            await asyncio.to_thread(probe.unlink, missing_ok=True)
        return fresh

    @staticmethod
    async def _refuse_without_room(room: Room, box: Sandbox, solved: Solved) -> None:
        size = int((solved.workspace or {}).get("bytes") or 0)
        if not await has_room(box, size, own_limit=room.option("disk") is not None):
            msg = "there may be no room on the disk for what was left in the sandbox"
            raise SandboxError(msg, retryable=False)

    @property
    def trials(self) -> Trials:
        """What is known of the benchmark's verifiers."""
        return self._cycle.trials

    @property
    def trouble(self) -> SandboxError | None:
        """What the machinery did wrong in the sandbox there is, even where nobody cared."""
        return None if self._box is None else self._box.trouble

    @property
    def judges(self) -> bool:
        """Whether the verifier is given a sandbox."""
        return self._seed is not None and self._cycle.verifies_in_one(self._seed)

    def renewable(self, solved: Solved) -> bool:
        """Whether the verifier may have another sandbox, with all that is needed in it."""
        return not (solved.workspace or {}).get("live")

    async def for_scorers(self, solved: Solved) -> Sandbox | None:
        """For further scorers: where the verifier was, else as for the verifier."""
        if self._box is not None and self._box.trouble is None:
            return self._box
        try:
            return await self.verifying(solved)
        except SandboxError:  # each of them is told when it uses what stands in its place
            return _NONE

    async def whole(self, stored: Solved) -> bool:
        """Whether a stored answer has all that its verifier needs; reads the disk."""
        if self._seed is None or not self.judges or stored.workspace is None:
            return True
        return self._cycle.stateless(self._seed) and await self._cycle.artifacts.there(
            self._key, stored.workspace
        )

    async def close(self) -> None:
        """Remove the sandbox there is, if any."""
        box, self._box = self._box, None
        if box is not None:
            await box.stop()

    async def _prepared(self, box: Sandbox, command: str, *, required: bool) -> None:
        """Run the command that goes before the solver; the record says so where it fails.

        Raises:
            SandboxError: It failed, and nothing can be measured without it.
        """
        ran = await box.exec(command, _PRE_AGENT_TIMEOUT)
        if ran.return_code == 0:
            return
        said = (ran.stderr or ran.stdout).strip()[-200:]
        why = f"exit {ran.return_code}: {said}"
        self.ledger.facts["pre_agent_cmd"] = why
        if required:
            msg = f"pre_agent_cmd failed, without which there is nothing to measure: {why}"
            raise SandboxError(msg)

    async def _for_the_solver(self, box: Sandbox) -> None:
        room, seed = self._cycle.room, self._seed
        assert room is not None
        assert seed is not None
        stateless = self._cycle.stateless(seed)
        if stateless:
            self._base = (await box.exec(KEEP_BASE)).stdout.strip()
        if seed.pre_agent_cmd is not None:
            await self._prepared(box, seed.pre_agent_cmd, required=seed.pre_agent_required)
        if stateless and room.option("scrub_git_history"):
            self.ledger.facts["git_history"] = dict(await scrub(box))
