"""One attempt: seed, solve, verify, record.

Solving runs on the engine's loop. A blocking scorer runs in the thread of whoever asks for the
result, so it never stalls a request in flight, and a debugger or Ctrl-C reaches it.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from pytest_nel.core.errors import (
    FailureKind,
    GracefulError,
    InfraError,
    JournalError,
    ScorerError,
)
from pytest_nel.core.protocols import NoSandbox, Solver
from pytest_nel.core.types import (
    AttemptKey,
    ModelResponse,
    Outcome,
    SeedResult,
    SolveResult,
    VerifyResult,
)
from pytest_nel.engine.guard import Guard
from pytest_nel.engine.plan import BenchmarkPlan
from pytest_nel.records.journal import JournalWriter
from pytest_nel.records.record import Scored, Solved, StepRecord, model_facts
from pytest_nel.scoring.reasoning import split_reasoning
from pytest_nel.scoring.result import to_verify_result

T = TypeVar("T")

_NO_SANDBOX = NoSandbox()
_RETRY_BASE = 5.0
_RETRY_CAP = 30.0
_RESULT_FIELDS: Sequence[tuple[str, Any, str]] = (  # Any: what isinstance takes
    ("response", str, "text"),
    ("model_response", ModelResponse | None, "a ModelResponse or None"),
    ("trajectory", Sequence, "a list"),
    ("scoring_details", Mapping, "a dict"),
)


class UserCodeEnded(Exception):
    """A user's code tried to end the process, or was cancelled by something of its own."""


@dataclass(slots=True)
class AttemptRunner:
    """What the attempts of one benchmark share.

    Attributes:
        plan: The benchmark.
        solver: Answers its problems.
        journal: Where facts are kept.
        guard: Told about every attempt.
        sleep: Waits before an attempt is made again.
    """

    plan: BenchmarkPlan
    solver: Solver
    journal: JournalWriter
    guard: Guard
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep

    async def attempt(self, key: AttemptKey) -> Solved | StepRecord:
        """Make the attempt; what still needs a blocking scorer comes back as Solved."""
        self.journal.started(key)
        solved = await self._solve(key)
        self.journal.solved(solved)
        self.guard.solved(None if solved.graceful else solved.failure, solved.error)
        scored = without_scorer(solved, self.plan.environment.pass_at)
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
            returned = environment.verify_now(pending.response, pending.expected, pending.metadata)
            judged = returned if environment.checks_results else self._checked(pending, returned)
        except InfraError as error:
            return self._keep(pending, _no_score(error, began))
        except (KeyboardInterrupt, GeneratorExit):
            raise  # Ctrl-C reaches whoever waits
        except BaseException as error:  # noqa: BLE001 - a user's scorer: pytest.skip(), sys.exit()
            return self._keep(pending, _no_score(self._verify_failed(pending, error), began))
        return self._keep(pending, _judged(pending, judged, environment.pass_at, began))

    def _checked(self, solved: Solved, returned: object) -> VerifyResult:
        name = self.plan.environment.name
        where = f"{name} problem {solved.key.problem_idx}"
        return to_verify_result(returned, method=name, where=where, response=solved.response)

    def _verify_failed(self, solved: Solved, error: BaseException) -> ScorerError:
        name = self.plan.environment.name
        return ScorerError(
            f"{name} problem {solved.key.problem_idx}: verify failed: {_says(error)}"
        )

    def _keep(self, solved: Solved, scored: Scored) -> StepRecord:
        self.journal.scored(solved.key, scored)
        if solved.failure is None:
            self.guard.judged(scored.failure if scored.reward is None else None, scored.error)
        return StepRecord(solved, scored)

    async def _solve(self, key: AttemptKey) -> Solved:
        began, clock = time.time(), time.perf_counter()
        solved = Solved(key, str(key.problem_idx), started=began)
        try:
            seed = await _user(self._seed, solved)
        except Exception as error:  # noqa: BLE001 - a user's environment may raise anything
            return _failed(solved, FailureKind.SYSTEM, f"seed failed: {_says(error)}")
        if (fault := _not_a(SeedResult, seed)) is not None:
            return _failed(solved, FailureKind.SYSTEM, f"seed() {fault}")
        seed = replace(seed, attempt=key)
        solved.prompt = seed.prompt
        solved.messages = None if _is_plain(seed) else seed.messages
        solved.system = seed.system
        solved.expected = seed.expected_answer
        solved.metadata = seed.metadata
        began_solving = time.perf_counter()
        solved.seed_ms = (began_solving - clock) * 1000
        await self._ask(seed, solved)
        solved.solve_ms = (time.perf_counter() - began_solving) * 1000
        return solved

    async def _seed(self, solved: Solved) -> SeedResult:
        environment, problem = self.plan.environment, solved.key.problem_idx
        solved.problem_id = environment.problem_id(problem)
        return await environment.seed(problem)

    async def _ask(self, seed: SeedResult, solved: Solved) -> None:
        limit = self.plan.config.timeout
        deadline = asyncio.timeout(limit)
        try:
            async with deadline:
                await self._tries(seed, solved)
        except TimeoutError as error:
            if not deadline.expired():
                _failed(solved, FailureKind.SYSTEM, f"solver failed: {_says(error)}")
                return
            text = f"no answer within {limit:g} s, retries included (benchmark `timeout`)"
            _failed(solved, FailureKind.SOLVE_TIMEOUT, text)

    async def _tries(self, seed: SeedResult, solved: Solved) -> None:
        last = self.plan.config.max_system_retries
        while True:
            try:
                _answered(solved, await _user(self.solver.solve, seed, _NO_SANDBOX))
            except GracefulError as error:
                solved.graceful = True
                _failed(solved, FailureKind.MODEL_ERROR, _says(error))
            except InfraError as error:
                solved.requests += error.requests
                if error.retryable and solved.tries < last:
                    await self.sleep(min(_RETRY_CAP, _RETRY_BASE * 2 ** (solved.tries - 1)))
                    solved.tries += 1
                    continue
                _failed(solved, error.kind, str(error))
            except (TimeoutError, JournalError):
                raise
            except Exception as error:  # noqa: BLE001 - a user's solver may raise anything
                _failed(solved, FailureKind.SYSTEM, f"solver failed: {_says(error)}")
            return

    async def _verify(self, solved: Solved) -> Scored:
        began = time.perf_counter()
        environment = self.plan.environment
        facts = _for_verifier(solved)
        limit = self.plan.config.timeout  # of its own: a slow answer takes no time from its judge
        deadline = asyncio.timeout(limit)
        try:
            async with deadline:
                returned = await _user(
                    environment.verify, solved.response, solved.expected, None, **facts
                )
            judged = self._checked(solved, returned)
        except InfraError as error:
            return _no_score(error, began)
        except Exception as error:  # noqa: BLE001 - a user's verifier may raise anything
            if deadline.expired():
                text = f"no judgement within {limit:g} s (benchmark `timeout`)"
                return _no_score(ScorerError(text), began)
            return _no_score(self._verify_failed(solved, error), began)
        return _judged(solved, judged, environment.pass_at, began)


async def _user(call: Callable[..., Awaitable[T]], *args: Any, **named: Any) -> T:
    """Await a user's code; what would end the worker or the loop becomes an ordinary error.

    Any: whatever the user's function takes.
    """
    try:
        return await call(*args, **named)
    except (Exception, GeneratorExit):  # the latter: our own coroutine is being closed
        raise
    except asyncio.CancelledError as error:
        task = asyncio.current_task()
        if task is not None and task.cancelling():
            raise  # we cancel it: a deadline, or the end of the run
        msg = "it was cancelled, and not by pytest-nel"
        raise UserCodeEnded(msg) from error
    except SystemExit as error:
        msg = f"it called sys.exit({error.code!r})"
        raise UserCodeEnded(msg) from error
    except BaseException as error:  # pytest.skip(), a BaseExceptionGroup
        raise UserCodeEnded(_says(error)) from error


def _is_plain(seed: SeedResult) -> bool:
    """Whether the messages say no more than system and prompt do."""
    plain = [{"role": "user", "content": seed.prompt}]
    if seed.system:
        plain.insert(0, {"role": "system", "content": seed.system})
    return seed.messages is None or list(seed.messages) == plain


def _not_a(kind: type, value: object) -> str | None:
    if isinstance(value, kind):
        return None
    return f"must return a {kind.__name__}, got {type(value).__name__}"


def _answered(solved: Solved, result: object) -> None:
    if not isinstance(result, SolveResult):
        _failed(solved, FailureKind.SYSTEM, f"solve() {_not_a(SolveResult, result)}")
        return
    for name, kind, wanted in _RESULT_FIELDS:
        value = getattr(result, name)
        if not isinstance(value, kind):
            msg = f"solve() returned a SolveResult with {name}={value!r:.80}; it must be {wanted}"
            _failed(solved, FailureKind.SYSTEM, msg)
            return
    reply = result.model_response
    reward: Any = result.reward  # Any: a solver of a user's may have put anything there
    if reply is not None:
        solved.model, solved.sampling = model_facts(reply), reply.sampling
    solved.response, solved.reasoning = split_reasoning(
        result.response, reply.reasoning_content if reply is not None else None
    )
    solved.trajectory = result.trajectory
    solved.details = result.scoring_details
    solved.reward = float(reward) if hasattr(reward, "__float__") else reward  # numpy's too


def _failed(solved: Solved, kind: FailureKind, text: str) -> Solved:
    solved.failure, solved.error = str(kind), text
    return solved


def _says(error: BaseException) -> str:
    text = " ".join(str(error).split())
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def without_scorer(solved: Solved, pass_at: float) -> Scored | None:
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
        return _judged(solved, judged, pass_at, time.perf_counter())
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
