"""A benchmark as a server knows it: problems by position, verdicts by the way a run takes."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any, TypeAlias

from pytest_nel.core.errors import FailureKind, InfraError
from pytest_nel.core.exchange import begin_session
from pytest_nel.core.keys import digest
from pytest_nel.core.types import AttemptKey, JsonObject, SeedResult
from pytest_nel.engine.asked import fill_in
from pytest_nel.engine.cycle import Lifecycle
from pytest_nel.engine.extra import judged_also_here
from pytest_nel.engine.judge import Judges, with_primary
from pytest_nel.engine.lifecycle import Workplace
from pytest_nel.engine.plan import BenchmarkPlan
from pytest_nel.engine.user_code import of_user, says
from pytest_nel.engine.verifying import judge_in_thread, verified
from pytest_nel.environments._gym_wire import same
from pytest_nel.environments.builtin import INDEX, BenchmarkEnvironment
from pytest_nel.records.record import Scored, Solved

Score: TypeAlias = Callable[[BenchmarkPlan, Solved, SeedResult | None], Awaitable[Scored]]
"""Has the benchmark's own scorers judge an answer; never raises for what they do.

The problem is None where nothing but the answer is needed.
"""

SERVED = "served_idx"
"""The problem's position in the metadata of a benchmark whose own metadata do not say it."""


TRAJECTORY = "trajectory"
"""The key of metadata by which a verifier asks for what the solver did."""


class BadRequest(Exception):
    """The client's mistake, in words for it; the reply has this status."""

    status = 422


class NoSuchProblem(BadRequest):
    """There is no problem at that position."""

    status = 400


class Served:
    """Seeds and judges.

    Args:
        plan: The benchmark; its environment is prepared already.
        size: How many problems it has.
        judges: Models that grade its answers.
        sandbox: What determines what runs in the one its scorers are given; None without.
        score: Asks its own scorers.
        redact: Takes secrets out of what a user's code says when it fails.
    """

    def __init__(
        self,
        plan: BenchmarkPlan,
        size: int,
        *,
        score: Score,
        judges: Judges | None = None,
        sandbox: JsonObject | None = None,
        redact: Callable[[str], str] = str,
    ) -> None:
        self.plan = plan
        self.size = size
        self.redact = redact
        self._judges = judges or Judges()
        self._score = score
        self._sandbox = sandbox
        self._looks = sandbox is not None or bool(self._judges)  # at the problem, to judge
        self._has_rows = isinstance(plan.environment, BenchmarkEnvironment)

    @property
    def name(self) -> str:
        """What is served."""
        return self.plan.environment.name or self.plan.id

    def facts(self) -> JsonObject:
        """What a client should know of data and verdicts, to tell them from others."""
        environment = self.plan.environment
        judging: JsonObject = {**self.plan.judging(), "judges": dict(self._judges.facts)}
        if self._sandbox is not None:
            judging["sandbox"] = self._sandbox
        note = getattr(environment, "another_size", None)
        return {
            **({} if note is None else {"note": note}),
            "pass_at": environment.pass_at,
            "min_score": environment.min_score,
            "endpoint_type": getattr(environment, "endpoint_type", "chat"),
            "fingerprint": dict(environment.fingerprint()),
            "judging": digest(judging),
        }

    async def seed(self, idx: int) -> SeedResult:
        """Problem ``idx``.

        Raises:
            NoSuchProblem: There is none.
            InfraError: It could not be made.
        """
        if not 0 <= idx < self.size:
            msg = f"idx={idx} out of range [0, {self.size})"
            raise NoSuchProblem(msg)
        try:
            seed = await of_user(self.plan.environment.seed, idx)
        except Exception as error:  # a user's environment may raise anything
            msg = self.redact(f"{self.name} problem {idx}: seed failed: {says(error)}")
            raise InfraError(msg, retryable=False) from error
        if INDEX not in seed.metadata:
            seed = replace(seed, metadata={**seed.metadata, SERVED: idx})
        return seed

    async def judge(
        self,
        response: str,
        expected: str | None,
        metadata: Mapping[str, Any],
        *,
        gold: str = "expected",
    ) -> tuple[Scored, str]:
        """The verdict on an answer, and the gold answer it was judged by.

        Args:
            response: The answer text, reasoning taken out.
            expected: The gold answer; None takes that of the problem.
            metadata: As the problem has them.
            gold: What the request calls the gold answer.

        Raises:
            BadRequest: They do not say which problem that was, and it must be known; or the
                scorer cannot judge by them, and they are not those of the problem.
            InfraError: The problem could not be made again, or cannot be judged from afar.
        """
        idx = self._index(metadata, needed=expected is None or self._looks)
        name = "" if idx is None else self.plan.environment.problem_id(idx)
        solved = Solved(AttemptKey(self.plan.id, idx or 0, 0), name)
        seed = None
        if idx is not None and (expected is None or self._looks or self._has_rows):
            seed = await self.seed(idx)
            if self._sandbox is not None:
                refuse_workspace(self.name, seed)
            fill_in(solved, seed)
        known = _known(metadata, solved.metadata)
        solved.response, solved.metadata = response, known
        if isinstance(known.get(TRAJECTORY), list):  # who solves elsewhere sends it along
            solved.trajectory = known[TRAJECTORY]
        solved.expected = solved.expected if expected is None else expected
        begin_session(solved.key)  # judges of one answer belong together
        scored = await self._score(self.plan, solved, seed)
        if scored.failure == FailureKind.SCORER:
            wrong = await self._others(idx, {gold: solved.expected}, known)
            if wrong:
                msg = f"{wrong}, and the scorer cannot judge by that: {scored.error}"
                raise BadRequest(self.redact(msg))
        verdicts = await self._judges.judged(self.plan, solved, scored)
        return with_primary(self.plan, verdicts.scored), solved.expected

    async def _others(
        self, idx: int | None, gold: Mapping[str, str], known: Mapping[str, Any]
    ) -> str:
        """Which fields of a request are not those of the problem; empty where all are."""
        if idx is None:
            return f"metadata: without the {SERVED} that /seed_session gave"
        own = Solved(AttemptKey(self.plan.id, idx, 0), "")
        fill_in(own, await self.seed(idx))
        wrong = [name for name, said in gold.items() if said != own.expected]
        for name, value in own.metadata.items():
            if name != SERVED and not (name in known and same(value, known[name])):
                wrong.append(f"metadata.{name}")
        return f"{', '.join(wrong)}: not as /seed_session gave it for idx={idx}" if wrong else ""

    def _index(self, metadata: Mapping[str, Any], *, needed: bool) -> int | None:
        idx = metadata.get(INDEX, metadata.get(SERVED))
        if isinstance(idx, int) and not isinstance(idx, bool) and 0 <= idx < self.size:
            return idx
        if needed or self._has_rows:
            msg = (
                f"metadata.{INDEX}: expected that of the problem, from 0 to {self.size - 1}, got "
                f"{idx!r}: send back the metadata of /seed_session"
            )
            raise BadRequest(msg)
        return None


def _known(said: Mapping[str, Any], own: Mapping[str, Any]) -> JsonObject:
    """What a problem has, but for what a client says otherwise.

    JSON has no tuples, dates or NaN: a scorer is given the very values that it has in a run.
    """
    others = {
        name: value
        for name, value in said.items()
        if name != SERVED and not (name in own and same(own[name], value))
    }
    return {**{name: value for name, value in own.items() if name != SERVED}, **others}


class Scorers:
    """Runs plain scorers in threads, and awaits others: no request waits for one of another kind.

    Args:
        count: How many plain scorers may run at once.
        cycle: The sandboxes for those that are awaited.
    """

    def __init__(self, count: int = 1, cycle: Lifecycle | None = None) -> None:
        self._pool = ThreadPoolExecutor(count, thread_name_prefix="nel-scorer")
        self._cycle = cycle or Lifecycle()

    async def score(self, plan: BenchmarkPlan, solved: Solved, seed: SeedResult | None) -> Scored:
        """The judgement of the benchmark's own scorers, or why there is none."""
        place = Workplace(self._cycle, seed, solved.key)
        try:
            scored = await self._verified(plan, solved, place)
            if scored.reward is None or not plan.scorers:
                return scored
            box = await place.for_scorers(solved)
            return await judged_also_here(plan, solved, scored, box)
        finally:
            await place.close()

    async def _verified(self, plan: BenchmarkPlan, solved: Solved, place: Workplace) -> Scored:
        if not plan.environment.judges_now:
            return await verified(plan, solved, place, asyncio.sleep)
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._pool, judge_in_thread, plan, solved)

    def close(self) -> None:
        """Begin no further one; what runs cannot be ended from outside."""
        self._pool.shutdown(wait=False, cancel_futures=True)


def refuse_workspace(name: str, seed: SeedResult) -> None:
    """Refuse what is judged by what a solver has done in its sandbox.

    Args:
        name: The benchmark's.
        seed: A problem whose verifier is given a sandbox.

    Raises:
        InfraError: It is taken out of there, or judged there; no request brings it here, and an
            empty one would be judged.
    """
    there = seed.sandbox_spec is not None and seed.verify_sandbox_spec is None
    if there or seed.capture_cmd is not None:
        msg = (
            f"benchmark {name}: its answers are judged by what is left in the sandbox where they "
            "were made, which no request can bring: measure it by nel eval run"
        )
        raise InfraError(msg, retryable=False)
