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
)
from pytest_nel.core.exchange import begin_session
from pytest_nel.core.protocols import Solver
from pytest_nel.core.types import AttemptKey, SeedResult
from pytest_nel.engine.answered import answered, failed, not_a, of_solver
from pytest_nel.engine.asked import fill_in, reads_files
from pytest_nel.engine.budget import Purse
from pytest_nel.engine.cached import CachedAnswers
from pytest_nel.engine.cycle import Lifecycle
from pytest_nel.engine.extra import judged_also, judged_also_here, says_more
from pytest_nel.engine.guard import Guard
from pytest_nel.engine.identity import Identity
from pytest_nel.engine.judge import Judges, unread, with_primary
from pytest_nel.engine.lifecycle import Workplace
from pytest_nel.engine.past import Kept, Mode, Past, allowed_otherwise, same_question
from pytest_nel.engine.plan import BenchmarkPlan
from pytest_nel.engine.scored import (
    as_written,
    hide_in_answer,
    masked,
    without_scorer,
    without_secrets,
)
from pytest_nel.engine.unfinished import ended, lost, out_of_time
from pytest_nel.engine.user_code import of_user, says, still_wanted
from pytest_nel.engine.verifying import judge_now, retry_after, verified
from pytest_nel.records.journal import JournalWriter
from pytest_nel.records.record import Scored, Solved, StepRecord

Pending: TypeAlias = Solved | Kept | StepRecord
"""An attempt on its way to whoever asks: to be judged, to be read, or finished."""


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
        ready: Waits until the model is there that is asked; not on the attempt's clock.
        redact: Takes secrets out of what a user's code says when it fails.
        hide: Takes whole secrets out of whatever may come from a sandbox and is written.
        passed: Takes those out, also of what is judged, that were handed on into the sandbox.
        sleep: Waits before an attempt is made again.
        cycle: What its attempts do with sandboxes.
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
    ready: Callable[[], Awaitable[None]] | None = None
    redact: Callable[[str], str] = str
    hide: Callable[[str], str] | None = None
    passed: Callable[[str], str] = str
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    cycle: Lifecycle = field(default_factory=Lifecycle)
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
        place = Workplace(self.cycle, seed, key)
        try:
            if known:
                kept = await self._look(solved, place) if seed is not None else None
                if kept is not None:
                    return await self._kept(kept, place, alone=alone)
                self._begin(key, alone=alone)
            if seed is not None:
                await self._answer(seed, solved, place)
            return await self._solved(solved, place)
        finally:
            await place.close()

    async def _solved(self, solved: Solved, place: Workplace) -> Pending:
        still_wanted()
        solved.sandbox = masked(place.ledger.taken(), self.redact)
        if solved.error is not None:
            solved.error = self.redact(solved.error)
        self.journal.solved(as_written(solved, self.hide))
        if (past := self._past(solved.key)) is not None:
            past.solved(solved.key)
        self.purse.spend(solved)
        self.guard.solved(None if solved.graceful else solved.failure, solved.error)
        if self.journal.syncs_each:
            await asyncio.to_thread(self.journal.sync)
        return await self._judge_here(solved, place)

    def finish(self, pending: Pending) -> StepRecord:
        """Judge what is not judged yet, in the calling thread.

        Raises:
            NoAnswer: Re-scoring, and the journal has no answer to this question.
        """
        if isinstance(pending, StepRecord):
            return pending
        stored: Past | None = None
        if isinstance(pending, Kept):
            stored = self._past(pending.key)
            assert stored is not None
            if pending.judgement is not None:
                known = stored.record(pending)
                return self._completed(known, judged_also(self.plan, known.solved, known.scored))
            pending = self._stored(pending)
        scored = without_scorer(pending, self.plan.environment.pass_at)
        scored = judged_also(self.plan, pending, scored or judge_now(self.plan, pending))
        record = self._keep(pending, with_primary(self.plan, scored))
        if stored is not None:
            stored.judged()
        return record

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

    async def _judge_here(
        self, solved: Solved, place: Workplace, earlier: Scored | None = None
    ) -> Pending:
        """Judge what needs no scorer, or one that belongs on the loop."""
        scored = without_scorer(solved, self.plan.environment.pass_at)
        others = bool(self.plan.scorers) or bool(self.judges)
        needed = scored is None or (others and scored.reward is not None)
        if needed and not self._here:
            return solved
        if needed:
            self.journal.flush()  # the answer is safe while its judge takes time
        scored = scored or await self._verified(solved, place)
        if scored.reward is not None and self.plan.scorers:
            box = await place.for_scorers(solved)
            scored = await judged_also_here(self.plan, solved, scored, box)
        still_wanted()
        await place.close()  # judges that are models need no slot
        if took := place.ledger.taken():
            scored = replace(scored, sandbox=masked(took, self.redact))
        by_judges = await self.judges.judged(self.plan, solved, scored, earlier)
        self.purse.spend_on_judges(by_judges.spent)
        record = self._keep(solved, with_primary(self.plan, by_judges.scored))
        if self.journal.syncs_each:
            await asyncio.to_thread(self.journal.sync)
        return record

    async def _look(self, solved: Solved, place: Workplace) -> Kept | None:
        past = self._past(solved.key)
        assert past is not None
        kept = await past.look(solved, self._score_key(solved))
        works = self.identity is not None and self.identity.works_in_sandbox
        if kept is None or kept.judgement is not None or not (works or place.judges):
            return kept
        stored = await asyncio.to_thread(past.stored, kept)
        if past.mode is Mode.RESUME and allowed_otherwise(stored, self.plan.config.timeout):
            return None
        if await place.whole(stored):
            return kept
        if past.mode is Mode.RESCORE:
            raise past.without_workspace(kept.key)
        return None

    async def _kept(self, kept: Kept, place: Workplace, *, alone: bool) -> Pending:
        """What is judged on the loop is judged here; the rest is read by whoever asks for it."""
        here = self._here
        if kept.judgement is None and self.judges:
            self.purse.check()
        if kept.judgement is None and (here or alone):
            self.journal.started(kept.key, alone=alone)  # should this process die of judging it
        if kept.judgement is not None and here and (self.plan.scorers or self.judges):
            return await self._completed_here(kept, place)
        if kept.judgement is not None or not here:
            return kept
        try:
            solved = await asyncio.to_thread(self._stored, kept)
        except NoAnswer:
            return kept  # whoever asks is told
        earlier = await self._said_before(kept)
        begin_session(kept.key, again=unread(earlier))
        judged = await self._judge_here(solved, place, earlier)
        if isinstance(judged, StepRecord) and (past := self._past(kept.key)) is not None:
            past.judged()
        return judged

    async def _said_before(self, kept: Kept) -> Scored | None:
        past = self._past(kept.key)
        if past is None or not self.judges:
            return None
        return await asyncio.to_thread(past.earlier, kept)

    async def _completed_here(self, kept: Kept, place: Workplace) -> StepRecord:
        past = self._past(kept.key)
        assert past is not None
        known = await asyncio.to_thread(past.record, kept)
        box = await place.for_scorers(known.solved)
        scored = await judged_also_here(self.plan, known.solved, known.scored, box)
        await place.close()
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

    def _keep(self, solved: Solved, scored: Scored) -> StepRecord:
        scored = without_secrets(scored, self.redact, self.hide)
        scored = replace(scored, score_key=self._score_key(solved))
        self.journal.scored(solved.key, scored)
        if solved.failure is None:
            self.guard.judged(scored.failure if scored.reward is None else None, scored.error)
        return StepRecord(as_written(solved, self.hide), scored)

    def _score_key(self, solved: Solved) -> str:
        if self.identity is None:
            return ""
        by = (solved.expected, solved.metadata, solved.judged_in)
        return self.identity.score_key(solved.solve_key, *by)

    async def _seeded(self, solved: Solved) -> SeedResult | None:
        """The problem; None when it could not be made, and ``solved`` says why."""
        clock = time.perf_counter()
        try:
            seed = await of_user(self._seed, solved)
        except InfraError as error:  # that of a server, as where it judges
            failed(solved, error.kind, f"seed failed: {error}")
            return None
        except Exception as error:  # noqa: BLE001 - a user's environment may raise anything
            failed(solved, FailureKind.SYSTEM, f"seed failed: {says(error)}")
            return None
        if (fault := not_a(SeedResult, seed)) is not None:
            failed(solved, FailureKind.SYSTEM, f"seed() {fault}")
            return None
        if reads_files(seed):
            await asyncio.to_thread(fill_in, solved, seed)
        else:
            fill_in(solved, seed)
        if self.identity is not None:
            await self.identity.look(seed)
            solved.judged_in = self.identity.judged_in(seed, solved.judged_in)
            solved.solve_key = self.identity.solve_key(seed, solved.key.repeat)
        solved.seed_ms = (time.perf_counter() - clock) * 1000
        return replace(seed, attempt=solved.key)

    async def _answer(self, seed: SeedResult, solved: Solved, place: Workplace) -> None:
        clock = time.perf_counter()
        if self.identity is not None and self.identity.works_in_sandbox:
            solved.limit = self.plan.config.timeout
        if self.cache is None or self.identity is None or solved.because is not None:
            await self._ask(seed, solved, place)
        else:
            repeat = 0 if self.shares else solved.key.repeat
            twin = self.plan.twin(solved.key.problem_idx)
            twin = twin if solved.limit is None else f"{twin} in {solved.limit:g} s"
            key = self.identity.solve_key(seed, repeat, twin=twin)
            await self.cache.answer(key, solved, lambda solved: self._ask(seed, solved, place))
        solved.solve_ms = (time.perf_counter() - clock) * 1000

    async def _seed(self, solved: Solved) -> SeedResult:
        environment, problem = self.plan.environment, solved.key.problem_idx
        solved.problem_id = environment.problem_id(problem)
        return await environment.seed(problem)

    async def _verified(self, solved: Solved, place: Workplace) -> Scored:
        """By the benchmark's own verifier; a plain one runs in a thread and delays no request."""
        if not self.plan.environment.judges_now:
            return await verified(self.plan, solved, place, self.sleep)
        async with self._turn:
            return await asyncio.to_thread(judge_now, self.plan, solved)

    async def _ask(self, seed: SeedResult, solved: Solved, place: Workplace) -> None:
        await self._in_time(seed, solved, place)
        if self.hide is not None:
            hide_in_answer(solved, self.hide, self.passed)

    async def _in_time(self, seed: SeedResult, solved: Solved, place: Workplace) -> None:
        if self.ready is not None:
            await self.ready()
        limit = self.plan.config.timeout
        deadline = place.deadline.limit = asyncio.timeout(limit)
        try:
            async with deadline:
                await self._tries(seed, solved, place)
        except TimeoutError as error:
            if not deadline.expired():
                ended(solved, FailureKind.SYSTEM, f"solver failed: {says(error)}")
                return
            text = f"no answer within {limit:g} s, retries included (benchmark `timeout`)"
            if place.worked_through(limit):
                await out_of_time(solved, place, text)
            else:
                ended(solved, FailureKind.SOLVE_TIMEOUT, text)

    async def _tries(self, seed: SeedResult, solved: Solved, place: Workplace) -> None:
        last = self.plan.config.max_system_retries
        while True:
            again, limit = solved.because is not None, place.deadline.limit
            begin_session(solved.key, again=again, limit=limit)
            try:
                result = await of_user(self.solver.solve, seed, await place.solving())
                answered(solved, of_solver(self.solver, result))
                await place.leave(solved)
            except GracefulError as error:
                solved.graceful = True
                ended(solved, FailureKind.MODEL_ERROR, says(error))
            except InfraError as error:
                solved.requests += error.requests
                if error.retryable and solved.tries < last:
                    lost(solved, place.ledger)
                    await place.close()
                    await self.sleep(retry_after(solved.tries))
                    solved.tries += 1
                    continue
                ended(solved, error.kind, str(error))
            except (TimeoutError, JournalError):
                raise
            except Exception as error:  # noqa: BLE001 - a user's solver may raise anything
                ended(solved, FailureKind.SYSTEM, f"solver failed: {says(error)}")
            return
