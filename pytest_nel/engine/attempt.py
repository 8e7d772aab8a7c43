"""One attempt: seed, solve, verify, record.

Solving runs on the engine's loop. A blocking scorer runs in the thread of whoever asks for the
result, so it never stalls a request in flight, and a debugger or Ctrl-C reaches it.
"""

import asyncio
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from pytest_nel.core.errors import FailureKind, GracefulError, InfraError, ScorerError
from pytest_nel.core.protocols import NoSandbox, Solver
from pytest_nel.core.types import AttemptKey, Outcome, SeedResult, SolveResult, VerifyResult
from pytest_nel.engine.guard import Guard
from pytest_nel.engine.plan import BenchmarkPlan
from pytest_nel.records.journal import JournalWriter
from pytest_nel.records.record import Scored, Solved, StepRecord, model_facts
from pytest_nel.scoring.reasoning import split_reasoning
from pytest_nel.scoring.result import to_verify_result

_NO_SANDBOX = NoSandbox()
_RETRY_BASE = 5.0
_RETRY_CAP = 30.0


@dataclass(slots=True)
class AttemptRunner:
    """What the attempts of one benchmark share.

    Attributes:
        plan: The benchmark.
        solver: Answers its problems.
        journal: Where facts are kept.
        guard: Told about every attempt.
    """

    plan: BenchmarkPlan
    solver: Solver
    journal: JournalWriter
    guard: Guard

    async def attempt(self, key: AttemptKey) -> Solved | StepRecord:
        """Make the attempt; what still needs a blocking scorer comes back as Solved."""
        self.journal.started(key)
        solved = await self._solve(key)
        self.journal.solved(solved)
        scored = without_scorer(solved)
        if scored is None and self.plan.environment.judges_now:
            return solved
        if scored is None:
            scored = await self._verify(solved)
        return self._keep(solved, scored)

    def finish(self, pending: Solved | StepRecord) -> StepRecord:
        """Judge what is not judged yet, in the calling thread."""
        if isinstance(pending, StepRecord):
            return pending
        began = time.perf_counter()
        environment = self.plan.environment
        try:
            judged = environment.verify_now(pending.response, pending.expected, pending.metadata)
        except ScorerError as error:
            return self._keep(pending, _no_score(error, began))
        return self._keep(pending, _judged(pending, judged, environment.pass_at, began))

    def _keep(self, solved: Solved, scored: Scored) -> StepRecord:
        self.journal.scored(solved.key, scored)
        self.guard.note(scored.failure if scored.reward is None else None, scored.error)
        return StepRecord(solved, scored)

    async def _solve(self, key: AttemptKey) -> Solved:
        began, clock = time.time(), time.perf_counter()
        environment = self.plan.environment
        blank = Solved(key, environment.problem_id(key.problem_idx), started=began)
        try:
            seed = await environment.seed(key.problem_idx)
        except Exception as error:  # noqa: BLE001 - a user's environment may raise anything
            return _failed(blank, FailureKind.SYSTEM, f"seed failed: {_says(error)}")
        seed = replace(seed, attempt=key)
        seeded = replace(
            blank,
            prompt=seed.prompt,
            messages=None if _is_plain(seed) else seed.messages,
            system=seed.system,
            expected=seed.expected_answer,
            metadata=seed.metadata,
            seed_ms=(time.perf_counter() - clock) * 1000,
        )
        clock = time.perf_counter()
        solved = await self._ask(seed, seeded)
        return replace(solved, solve_ms=(time.perf_counter() - clock) * 1000)

    async def _ask(self, seed: SeedResult, seeded: Solved) -> Solved:
        limit = self.plan.config.timeout
        deadline = asyncio.timeout(limit)
        try:
            async with deadline:
                return await self._tries(seed, seeded)
        except TimeoutError as error:
            if not deadline.expired():
                return _failed(seeded, FailureKind.SYSTEM, f"solver failed: {_says(error)}")
            text = f"no answer within {limit:g} s, retries included (benchmark `timeout`)"
            return _failed(seeded, FailureKind.SOLVE_TIMEOUT, text)

    async def _tries(self, seed: SeedResult, seeded: Solved) -> Solved:
        last = self.plan.config.max_system_retries
        for number in range(1, last + 1):
            counted = replace(seeded, tries=number)
            try:
                return _answered(counted, await self.solver.solve(seed, _NO_SANDBOX))
            except GracefulError as error:
                return replace(
                    _failed(counted, FailureKind.MODEL_ERROR, _says(error)), graceful=True
                )
            except InfraError as error:
                if not error.retryable or number == last:
                    return _failed(counted, error.kind, str(error))
                await asyncio.sleep(min(_RETRY_CAP, _RETRY_BASE * 2 ** (number - 1)))
            except TimeoutError:
                raise
            except Exception as error:  # noqa: BLE001 - a user's solver may raise anything
                return _failed(counted, FailureKind.SYSTEM, f"solver failed: {_says(error)}")
        msg = "unreachable: the last try returns"
        raise AssertionError(msg)

    async def _verify(self, solved: Solved) -> Scored:
        began = time.perf_counter()
        environment = self.plan.environment
        facts = _for_verifier(solved)
        try:
            returned = await environment.verify(solved.response, solved.expected, None, **facts)
            where = f"{environment.name} problem {solved.key.problem_idx}"
            judged = to_verify_result(
                returned, method=environment.name, where=where, response=solved.response
            )
        except ScorerError as error:
            return _no_score(error, began)
        except InfraError as error:
            return _no_score(error, began)
        except Exception as error:  # noqa: BLE001 - a user's verifier may raise anything
            text = f"verify failed on problem {solved.key.problem_idx}: {_says(error)}"
            return _no_score(ScorerError(text), began)
        return _judged(solved, judged, environment.pass_at, began)


def _is_plain(seed: SeedResult) -> bool:
    """Whether the messages say no more than system and prompt do."""
    plain = [{"role": "user", "content": seed.prompt}]
    if seed.system:
        plain.insert(0, {"role": "system", "content": seed.system})
    return seed.messages is None or list(seed.messages) == plain


def _answered(seeded: Solved, result: object) -> Solved:
    if not isinstance(result, SolveResult):
        msg = f"solve() must return a SolveResult, got {type(result).__name__}"
        return _failed(seeded, FailureKind.SYSTEM, msg)
    reply = result.model_response
    answer, reasoning = split_reasoning(
        result.response, reply.reasoning_content if reply is not None else None
    )
    return replace(
        seeded,
        response=answer,
        reasoning=reasoning,
        model=None if reply is None else model_facts(reply),
        sampling={} if reply is None else reply.sampling,
        trajectory=result.trajectory,
        details=result.scoring_details,
        reward=result.reward,
    )


def _failed(seeded: Solved, kind: FailureKind, text: str) -> Solved:
    return replace(seeded, failure=str(kind), error=text)


def _says(error: BaseException) -> str:
    text = " ".join(str(error).split())
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def without_scorer(solved: Solved) -> Scored | None:
    """The judgement of an attempt that needs no scorer, or None."""
    if solved.failure is not None and solved.graceful:
        details = {"method": "solver", "error": solved.error}
        return Scored("wrong", 0.0, None, details, failure=solved.failure, error=solved.error)
    if solved.failure is not None:
        return Scored("unscored", None, failure=solved.failure, error=solved.error)
    if solved.reward is not None:
        try:
            judged = to_verify_result(
                solved.reward, method="solver", where="the solver", response=solved.response
            )
        except ScorerError as error:
            return _no_score(error, time.perf_counter())
        return _judged(solved, judged, 1.0, time.perf_counter())
    return None


def _for_verifier(solved: Solved) -> Mapping[str, Any]:
    """The seed's metadata as keyword arguments; reserved names never shadow the arguments."""
    reserved = {"self", "response", "expected", "sandbox"}
    return {name: value for name, value in solved.metadata.items() if name not in reserved}


def _judged(solved: Solved, judged: VerifyResult, pass_at: float, began: float) -> Scored:
    missed: Outcome = "wrong" if judged.parsed else "unparsed"
    return Scored(
        "correct" if judged.reward >= pass_at else missed,
        judged.reward,
        judged.extracted_answer,
        {**solved.details, **judged.scoring_details},
        judged.metadata,
        verify_ms=(time.perf_counter() - began) * 1000,
    )


def _no_score(error: InfraError, began: float) -> Scored:
    millis = (time.perf_counter() - began) * 1000
    return Scored("unscored", None, failure=str(error.kind), error=str(error), verify_ms=millis)
