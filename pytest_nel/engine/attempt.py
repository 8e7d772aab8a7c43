"""One attempt: seed, solve, verify, record.

Solving runs on the engine's loop. A blocking scorer runs in the thread of whoever asks for the
result, so it never stalls a request in flight, and a debugger or Ctrl-C reaches it.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable, Collection
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from pytest_nel.core.errors import (
    FailureKind,
    GracefulError,
    InfraError,
    JournalError,
    NoAnswer,
    RunStopped,
    ScorerError,
)
from pytest_nel.core.exchange import begin_session
from pytest_nel.core.protocols import NoSandbox, Solver
from pytest_nel.core.types import (
    AttemptKey,
    SeedResult,
    VerifyResult,
)
from pytest_nel.engine.answered import answered, failed, not_a
from pytest_nel.engine.asked import fill_in
from pytest_nel.engine.budget import Purse
from pytest_nel.engine.cached import CachedAnswers
from pytest_nel.engine.extra import judged_also, judged_also_here, says_more
from pytest_nel.engine.guard import Guard
from pytest_nel.engine.identity import Identity
from pytest_nel.engine.judge import Judges, unread, with_primary
from pytest_nel.engine.past import Kept, Mode, Past, same_question
from pytest_nel.engine.plan import BenchmarkPlan
from pytest_nel.engine.scored import (
    for_verifier,
    judgement,
    no_score,
    without_scorer,
    without_secrets,
)
from pytest_nel.engine.user_code import of_user, says
from pytest_nel.records.journal import JournalWriter
from pytest_nel.records.record import Scored, Solved, StepRecord
from pytest_nel.scoring.result import to_verify_result

Pending: TypeAlias = Solved | Kept | StepRecord
"""An attempt on its way to whoever asks: to be judged, to be read, or finished."""

_NO_SANDBOX = NoSandbox()
_RETRY_BASE, _RETRY_CAP = 5.0, 30.0


@dataclass(slots=True)
class AttemptRunner:
    """What the attempts of one benchmark share.

    Attributes:
        plan: The benchmark.
        solver: Answers its problems.
        journal: Where facts are kept.
        guard: Told about every attempt.
        identity: Makes the keys; None for a benchmark that is measured once and never resumed.
        past: What earlier processes have written; None when there is nothing.
        taken_over: Attempts of a process that has died, and what is written about them.
        cache: Answers of other runs, or None.
        shares: Whether repeats may share an answer of the cache.
        purse: Asked before anything is begun, told what was spent.
        judges: Models that judge; everything is then judged on the loop.
        redact: Takes secrets out of what a user's code says when it fails.
        sleep: Waits before an attempt is made again.
    """

    plan: BenchmarkPlan
    solver: Solver
    journal: JournalWriter
    guard: Guard
    identity: Identity | None = None
    past: Past | None = None
    cache: CachedAnswers | None = None
    shares: bool = False
    purse: Purse = field(default_factory=Purse)
    taken_over: tuple[Collection[AttemptKey], Past] | None = None
    judges: Judges = field(default_factory=Judges)
    redact: Callable[[str], str] = str
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    _turn: asyncio.Lock = field(default_factory=asyncio.Lock)  # of a plain scorer off the loop

    @property
    def _here(self) -> bool:
        """Whether judging is for the loop: the verifier is async, or a model judges."""
        return bool(self.judges) or not self.plan.environment.judges_now

    async def attempt(self, key: AttemptKey, *, alone: bool = False) -> Pending:
        """Make the attempt; what still needs the asker's thread comes back as Solved or Kept.

        Raises:
            NoAnswer: Re-scoring, and nobody has answered this.
            RunStopped: A budget is spent.
        """
        begin_session(key)  # judges of a stored answer are asked outside of any try
        past = self._past(key)
        known = past is not None and key in past
        if not known:
            self._begin(key, alone=alone)
        solved = Solved(key, str(key.problem_idx), started=time.time())
        seed = await self._seeded(solved)
        if known:
            kept = self._look(solved) if seed is not None else None
            if kept is not None:
                return await self._kept(kept, alone=alone)
            self._begin(key, alone=alone)
        if seed is not None:
            await self._answer(seed, solved)
        if solved.error is not None:
            solved.error = self.redact(solved.error)
        self.journal.solved(solved)
        self.purse.spend(solved)
        self.guard.solved(None if solved.graceful else solved.failure, solved.error)
        if self.journal.syncs_each:
            await asyncio.to_thread(self.journal.sync)
        return await self._judge_here(solved)

    def finish(self, pending: Pending) -> StepRecord:
        """Judge what is not judged yet, in the calling thread.

        Raises:
            NoAnswer: Re-scoring, and the journal has no answer to this question.
        """
        if isinstance(pending, StepRecord):
            return pending
        if isinstance(pending, Kept):
            past = self._past(pending.key)
            assert past is not None
            if pending.judgement is not None:
                known = past.record(pending)
                return self._completed(known, judged_also(self.plan, known.solved, known.scored))
            pending = self._stored(pending)
        scored = without_scorer(pending, self.plan.environment.pass_at)
        scored = judged_also(self.plan, pending, scored or self._judge_now(pending))
        return self._keep(pending, with_primary(self.plan, scored))

    def _past(self, key: AttemptKey) -> Past | None:
        if self.taken_over is not None and key in self.taken_over[0]:
            return self.taken_over[1]
        return self.past

    def _begin(self, key: AttemptKey, *, alone: bool) -> None:
        past = self._past(key)
        if past is not None and past.mode is Mode.RESCORE:
            msg = "no answer is stored"
            raise NoAnswer(msg)
        self.purse.check()
        self.journal.started(key, alone=alone)

    def _judge_now(self, solved: Solved) -> Scored:
        began = time.perf_counter()
        environment = self.plan.environment
        try:
            returned = environment.verify_now(solved.response, solved.expected, solved.metadata)
            judged = returned if environment.checks_results else self._checked(solved, returned)
        except InfraError as error:
            return no_score(error, began)
        except (KeyboardInterrupt, GeneratorExit):
            raise  # Ctrl-C reaches whoever waits
        except BaseException as error:  # noqa: BLE001 - a user's scorer: pytest.skip(), sys.exit()
            return no_score(self._verify_failed(solved, error), began)
        return judgement(solved, judged, environment.pass_at, began)

    async def _judge_here(self, solved: Solved, earlier: Scored | None = None) -> Pending:
        """Judge what needs no scorer, or one that belongs on the loop."""
        scored = without_scorer(solved, self.plan.environment.pass_at)
        others = bool(self.plan.scorers) or bool(self.judges)
        needed = scored is None or (others and scored.reward is not None)
        if needed and not self._here:
            return solved
        if needed:
            self.journal.flush()  # the answer is safe while its judge takes time
        scored = scored or await self._verified(solved)
        scored = await judged_also_here(self.plan, solved, scored)
        by_judges = await self.judges.judged(self.plan, solved, scored, earlier)
        self.purse.spend_on_judges(by_judges.spent)
        record = self._keep(solved, with_primary(self.plan, by_judges.scored))
        if self.journal.syncs_each:
            await asyncio.to_thread(self.journal.sync)
        return record

    def _look(self, solved: Solved) -> Kept | None:
        past = self._past(solved.key)
        assert past is not None
        return past.look(solved, self._score_key(solved))

    async def _kept(self, kept: Kept, *, alone: bool) -> Pending:
        """What is judged on the loop is judged here; the rest is read by whoever asks for it."""
        here = self._here
        if kept.judgement is None and self.judges:
            self.purse.check()
        if kept.judgement is None and (here or alone):
            self.journal.started(kept.key, alone=alone)  # should this process die of judging it
        if kept.judgement is not None and here and (self.plan.scorers or self.judges):
            return await self._completed_here(kept)
        if kept.judgement is not None or not here:
            return kept
        try:
            solved = await asyncio.to_thread(self._stored, kept)
        except NoAnswer:
            return kept  # whoever asks is told
        earlier = await self._said_before(kept)
        begin_session(kept.key, again=unread(earlier))
        return await self._judge_here(solved, earlier)

    async def _said_before(self, kept: Kept) -> Scored | None:
        past = self._past(kept.key)
        if past is None or not self.judges:
            return None
        return await asyncio.to_thread(past.earlier, kept)

    async def _completed_here(self, kept: Kept) -> StepRecord:
        past = self._past(kept.key)
        assert past is not None
        known = await asyncio.to_thread(past.record, kept)
        scored = await judged_also_here(self.plan, known.solved, known.scored)
        if self.judges.asks(self.plan, known.solved, scored):
            try:
                self.purse.check()
            except RunStopped:  # it has its score; what a judge has not said stays missing
                return self._completed(known, scored)
            begin_session(kept.key, again=unread(scored))
        by_judges = await self.judges.judged(self.plan, known.solved, scored)
        self.purse.spend_on_judges(by_judges.spent)
        return self._completed(known, by_judges.scored)

    def _completed(self, known: StepRecord, scored: Scored) -> StepRecord:
        """A record, and what further scorers say of it now that had failed on it before."""
        past = self._past(known.solved.key)
        if past is None or not says_more(known.scored, scored):
            return known
        past.counts["completed"] += 1
        return self._keep(known.solved, scored)

    def _stored(self, kept: Kept) -> Solved:
        """A stored answer, ready to be judged; reads the disk."""
        past = self._past(kept.key)
        assert past is not None
        solved, changed = past.answer(kept)
        asked_now = same_question(solved, kept.fresh, reads_row=past.reads_row)
        if past.mode is Mode.RESCORE and not asked_now:
            msg = "the stored answer was given to another prompt"
            raise NoAnswer(msg)
        if changed:
            self.journal.solved(solved)
        return solved

    def _checked(self, solved: Solved, returned: object) -> VerifyResult:
        name = self.plan.environment.name
        where = f"{name} problem {solved.key.problem_idx}"
        return to_verify_result(returned, method=name, where=where, response=solved.response)

    def _verify_failed(self, solved: Solved, error: BaseException) -> ScorerError:
        name = self.plan.environment.name
        return ScorerError(f"{name} problem {solved.key.problem_idx}: verify failed: {says(error)}")

    def _keep(self, solved: Solved, scored: Scored) -> StepRecord:
        scored = replace(without_secrets(scored, self.redact), score_key=self._score_key(solved))
        self.journal.scored(solved.key, scored)
        if solved.failure is None:
            self.guard.judged(scored.failure if scored.reward is None else None, scored.error)
        return StepRecord(solved, scored)

    def _score_key(self, solved: Solved) -> str:
        if self.identity is None:
            return ""
        return self.identity.score_key(solved.solve_key, solved.expected, solved.metadata)

    async def _seeded(self, solved: Solved) -> SeedResult | None:
        """The problem; None when it could not be made, and ``solved`` says why."""
        clock = time.perf_counter()
        try:
            seed = await of_user(self._seed, solved)
        except Exception as error:  # noqa: BLE001 - a user's environment may raise anything
            failed(solved, FailureKind.SYSTEM, f"seed failed: {says(error)}")
            return None
        if (fault := not_a(SeedResult, seed)) is not None:
            failed(solved, FailureKind.SYSTEM, f"seed() {fault}")
            return None
        fill_in(solved, seed)
        if self.identity is not None:
            solved.solve_key = self.identity.solve_key(seed, solved.key.repeat)
        solved.seed_ms = (time.perf_counter() - clock) * 1000
        return replace(seed, attempt=solved.key)

    async def _answer(self, seed: SeedResult, solved: Solved) -> None:
        clock = time.perf_counter()
        if self.cache is None or self.identity is None or solved.because is not None:
            await self._ask(seed, solved)
        else:
            repeat = 0 if self.shares else solved.key.repeat
            twin = self.plan.twin(solved.key.problem_idx)
            key = self.identity.solve_key(seed, repeat, twin=twin)
            await self.cache.answer(key, solved, lambda solved: self._ask(seed, solved))
        solved.solve_ms = (time.perf_counter() - clock) * 1000

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
                failed(solved, FailureKind.SYSTEM, f"solver failed: {says(error)}")
                return
            text = f"no answer within {limit:g} s, retries included (benchmark `timeout`)"
            failed(solved, FailureKind.SOLVE_TIMEOUT, text)

    async def _tries(self, seed: SeedResult, solved: Solved) -> None:
        last = self.plan.config.max_system_retries
        while True:
            begin_session(solved.key, again=solved.because is not None)
            try:
                answered(solved, await of_user(self.solver.solve, seed, _NO_SANDBOX))
            except GracefulError as error:
                solved.graceful = True
                failed(solved, FailureKind.MODEL_ERROR, says(error))
            except InfraError as error:
                solved.requests += error.requests
                if error.retryable and solved.tries < last:
                    await self.sleep(min(_RETRY_CAP, _RETRY_BASE * 2 ** (solved.tries - 1)))
                    solved.tries += 1
                    continue
                failed(solved, error.kind, str(error))
            except (TimeoutError, JournalError):
                raise
            except Exception as error:  # noqa: BLE001 - a user's solver may raise anything
                failed(solved, FailureKind.SYSTEM, f"solver failed: {says(error)}")
            return

    async def _verified(self, solved: Solved) -> Scored:
        """By the benchmark's own verifier; a plain one runs in a thread and delays no request."""
        if not self.plan.environment.judges_now:
            return await self._verify(solved)
        async with self._turn:
            return await asyncio.to_thread(self._judge_now, solved)

    async def _verify(self, solved: Solved) -> Scored:
        began = time.perf_counter()
        environment = self.plan.environment
        facts = for_verifier(solved)
        limit = self.plan.config.timeout  # of its own: a slow answer takes no time from its judge
        deadline = asyncio.timeout(limit)
        try:
            async with deadline:
                returned = await of_user(
                    environment.verify, solved.response, solved.expected, None, **facts
                )
            judged = self._checked(solved, returned)
        except InfraError as error:
            return no_score(error, began)
        except Exception as error:  # noqa: BLE001 - a user's verifier may raise anything
            if deadline.expired():
                text = f"no judgement within {limit:g} s (benchmark `timeout`)"
                return no_score(ScorerError(text), began)
            return no_score(self._verify_failed(solved, error), began)
        return judgement(solved, judged, environment.pass_at, began)
