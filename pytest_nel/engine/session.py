"""The engine of one process: look-ahead over an order of attempts, for pytest and without it."""

import asyncio
import contextlib
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from pytest_nel.config.secrets import passed_values
from pytest_nel.core.errors import JournalError, RunStopped
from pytest_nel.core.protocols import EvalEnvironment, Solver
from pytest_nel.core.types import AttemptKey
from pytest_nel.engine.artifacts import Artifacts
from pytest_nel.engine.attempt import AttemptRunner, Pending
from pytest_nel.engine.cycle import Lifecycle
from pytest_nel.engine.guard import Guard, StopReason
from pytest_nel.engine.how import How, Writing
from pytest_nel.engine.lookahead import LookAhead
from pytest_nel.engine.loop import LoopThread
from pytest_nel.engine.past import Past
from pytest_nel.engine.plan import BenchmarkPlan
from pytest_nel.engine.runtime import Parts, closed
from pytest_nel.http.secret import REAL_KEY, Secrets
from pytest_nel.records.journal import JournalWriter
from pytest_nel.records.record import StepRecord
from pytest_nel.records.workspaces import FOLDER

MAX_CONSECUTIVE_UNSCORED = 20


class Engine:
    """Runs attempts ahead of whoever asks for them, writes the journals, closes everything.

    Args:
        run_dir: The run's directory; each benchmark has a folder in it.
        parts: Services and clients; closed here.
        writing: How its journals are written; may be set until the first :meth:`add`.
        max_consecutive: Unscored attempts in a row after which the run stops.

    Attributes:
        needs: Services without which no attempt gets a score: when one is gone the run stops.
    """

    def __init__(
        self,
        run_dir: Path,
        parts: Parts,
        *,
        writing: Writing | None = None,
        max_consecutive: int = MAX_CONSECUTIVE_UNSCORED,
    ) -> None:
        self._run_dir = run_dir
        self.writing = writing or Writing()
        self.parts = parts
        self.needs: Collection[str] = ()
        parts.give_up = self._not_there
        self.loop = LoopThread()
        self.guard = Guard(max_consecutive)
        self._runners: dict[str, AttemptRunner] = {}
        self._at_once: dict[str, int] = {}
        self._prepared: list[EvalEnvironment] = []
        self._rooms: dict[str, asyncio.Semaphore] = {}
        self._ended: list[JournalWriter] = []  # journals of turns before this process's last
        self._ahead: LookAhead[AttemptKey, Pending] | None = None
        self._told: str | None = None

    def add(self, plan: BenchmarkPlan, solver: Solver, how: How | None = None) -> None:
        """Make a benchmark known; opens the solver and the benchmark's journal.

        Args:
            plan: The benchmark.
            solver: Answers it.
            how: Everything that may be left out.
        """
        how = how or How()
        self.parts.open(self.loop, solver)
        self.prepare(plan.environment)
        journal = self.writing.open(self._run_dir / plan.id, plan.id)
        self._runners[plan.id] = AttemptRunner(
            plan,
            solver,
            journal,
            self.guard,
            how.identity,
            how.past,
            how.cache,
            how.shares,
            how.purse,
        )
        self._runners[plan.id].judges = how.judges
        self._runners[plan.id].ready = how.ready
        self._runners[plan.id].redact = self.parts.redact
        self._runners[plan.id].cycle = cycle = self._cycle(plan)
        if cycle.room is not None:
            self._runners[plan.id].hide = self.parts.hide
            self._runners[plan.id].passed = _passed(plan)
        if how.at_once is not None:
            self._at_once[plan.id] = how.at_once

    def _cycle(self, plan: BenchmarkPlan) -> Lifecycle:
        return Lifecycle(
            self.parts.sandboxes.room(plan.config.sandbox),
            Artifacts(self._run_dir / plan.id / FOLDER),
            needed=plan.environment.needs_sandbox,
            visits=not plan.environment.judges_now,
        )

    def prepare(self, environment: EvalEnvironment) -> None:
        """Let an environment prepare itself, once (blocking)."""
        if not any(one is environment for one in self._prepared):
            self._prepared.append(environment)
            self.loop.call(environment.prepare())

    def start(
        self,
        order: Sequence[AttemptKey],
        *,
        limit: int,
        window: int,
        alone: Collection[int] = frozenset(),
    ) -> None:
        """Begin with the first of ``order``.

        Args:
            order: The attempts, as they will be asked for.
            limit: Attempts that run at once.
            window: Attempts that may be begun and not yet asked for.
            alone: Positions of suspects: a process died while they were made.
        """
        if len(self._at_once) > 1 or any(room < limit for room in self._at_once.values()):
            self._rooms = {name: asyncio.Semaphore(room) for name, room in self._at_once.items()}
        self._ahead = LookAhead(order, self._attempt, limit=limit, window=window, alone=alone)
        if self._told is not None:
            self._ahead.stop(self._told)
        self.loop.call(self._ahead.open())

    def take_over(
        self,
        keys: Sequence[AttemptKey],
        *,
        turn: int,
        pasts: Mapping[str, Past],
        alone: Collection[int] = frozenset(),
    ) -> int:
        """Make the attempts of a process that has died, after all that were asked for so far.

        May be called once, after :meth:`start`, by the thread that asks.

        Args:
            keys: Its attempts that are left, in the order in which they will be asked for.
            turn: What is written from now on counts after all of a lower turn.
            pasts: What is written about each benchmark by now.
            alone: Indices into ``keys`` of the suspects.

        Returns:
            The position of the first of them.

        Raises:
            RunStopped: It could not be started.
            JournalError: The disk does not take what is written.
        """
        ahead = self._started()
        self.writing = replace(self.writing, turn=turn)
        for name, runner in self._runners.items():
            self._ended.append(runner.journal)  # what the loop writes just now still goes there
            runner.journal = self.writing.open(self._run_dir / name, name)
            if name in pasts:
                mine = frozenset(key for key in keys if key.benchmark == name)
                runner.taken_over = (mine, pasts[name])
        for journal in self._ended:
            journal.flush()
        return ahead.extend(keys, alone)

    def divide(
        self, share: tuple[int, int], at_once: Mapping[str, int], *, limit: int, window: int
    ) -> None:
        """Use more of the limits that several processes divide: fewer of them are left.

        Args:
            share: (index, count) of the processes that there are now.
            at_once: As :attr:`How.at_once`, by benchmark.
            limit: As for :meth:`start`.
            window: As for :meth:`start`.
        """
        loop = self.loop.start()
        for client, room in self.parts.divide(*share):
            loop.call_soon_threadsafe(client.limiter.set_ceiling, room)
        for slots, more in self.parts.sandboxes.divide(share):
            for _ in range(more):
                loop.call_soon_threadsafe(slots.release)
        for name, semaphore in self._rooms.items():
            for _ in range(at_once[name] - self._at_once[name]):
                loop.call_soon_threadsafe(semaphore.release)
        self._at_once.update(at_once)
        if self._ahead is not None:
            self._ahead.set_limit(limit, window)

    def result(self, position: int, tick: Callable[[], None] | None = None) -> StepRecord:
        """The record of the attempt at ``position`` of the order; judged here if need be.

        Raises:
            RunStopped: The run ended before that attempt was done.
        """
        ahead = self._started()
        self._heed_guard()
        pending = ahead.result(position, lambda: self._wait(tick))
        runner = self._runners[_key(pending).benchmark]
        try:
            record = runner.finish(pending)
            runner.journal.sync()
        except JournalError as error:
            self.guard.give_up(str(error))
            raise
        finally:
            ahead.release()
            self._heed_guard()
        return record

    def _started(self) -> LookAhead[AttemptKey, Pending]:
        if self._ahead is None:
            msg = "the engine has not been started"
            raise RunStopped(msg)
        return self._ahead

    def _wait(self, tick: Callable[[], None] | None) -> None:
        """While one attempt is awaited, others are written."""
        for journal in self._journals():
            try:
                journal.sync()
            except JournalError as error:
                self.guard.give_up(str(error))
        self._heed_guard()
        if tick is not None:
            tick()

    def stop(self, reason: str) -> None:
        """Send nothing new from now on; before :meth:`start`, send nothing at all.

        What waits for its turn at the endpoint is not sent either; it waits until :meth:`close`.
        """
        self._told = self._told or reason
        for client in self.parts.clients:
            client.limiter.stop()
        if self._ahead is not None:
            self._ahead.stop(reason)

    def stop_soon(self, reason: str) -> None:
        """:meth:`stop` from a signal handler, which must not wait for a lock: the loop does it."""
        self._told = self._told or reason
        loop = self.loop.loop
        if loop is not None:
            with contextlib.suppress(RuntimeError):  # closed: nothing is sent any more
                loop.call_soon_threadsafe(self.stop, reason)

    @property
    def kept(self) -> Counter[str]:
        """What became of attempts that an earlier process had begun."""
        total: Counter[str] = Counter()
        for past in self._pasts():
            total += past.counts
        return total

    @property
    def spent(self) -> list[str]:
        """Budgets for whose sake attempts were left out, or that were not kept."""
        budgets = {id(one): one for each in self._runners.values() for one in each.purse.budgets}
        return [said for one in budgets.values() if (said := one.account) is not None]

    @property
    def stop_reason(self) -> StopReason | None:
        """Why the engine itself gave up, or None."""
        return self.guard.reason

    @property
    def ahead(self) -> int:
        """Attempts done and not yet asked for."""
        return self._ahead.ahead if self._ahead is not None else 0

    def close(self) -> None:
        """Grant what is in flight a short grace, close everything; safe to call twice."""
        try:
            if self.loop.loop is not None:
                with contextlib.suppress(TimeoutError):
                    self.loop.call(self._close_async(), timeout=60 if self.parts.sandboxes else 10)
                self.loop.close()
        finally:
            for journal in self._journals():
                try:
                    journal.close()
                except JournalError as error:
                    self.guard.give_up(str(error))
            for past in self._pasts():
                past.close()
            self.parts.stop_services()

    def _journals(self) -> Iterator[JournalWriter]:
        yield from self._ended
        for runner in self._runners.values():
            yield runner.journal

    def _pasts(self) -> Iterator[Past]:
        for runner in self._runners.values():
            if runner.past is not None:
                yield runner.past
            if runner.taken_over is not None:
                yield runner.taken_over[1]

    async def _close_async(self) -> None:
        if self._ahead is not None:
            await self._ahead.close()
        for runner in self._runners.values():
            await closed(runner.plan.environment)
        await self.parts.close_async()

    async def _attempt(self, key: AttemptKey) -> Pending:
        runner = self._runners[key.benchmark]
        room = self._rooms.get(key.benchmark)
        alone = self._ahead is not None and self._ahead.running_alone
        try:
            if room is None:
                return await runner.attempt(key, alone=alone)
            async with room:  # outside the attempt: this wait is not on its clock
                self._check_stopped()
                return await runner.attempt(key, alone=alone)
        except JournalError as error:
            self.guard.give_up(str(error))
            raise
        finally:
            self._heed_guard()  # now: nobody waits for what cannot help
            asyncio.get_running_loop().call_soon(self._flush, runner.journal)

    def _check_stopped(self) -> None:
        if self._ahead is not None and self._ahead.stopped is not None:
            raise RunStopped(self._ahead.stopped)

    def _flush(self, journal: JournalWriter) -> None:
        try:
            journal.flush()
        except JournalError as error:
            self.guard.give_up(str(error))
            self._heed_guard()

    def _not_there(self, reason: StopReason) -> None:
        self.guard.stop(reason)
        self._heed_guard()

    def _heed_guard(self) -> None:
        for gone in filter(None, map(self.parts.gone, self.needs)):
            self.guard.give_up(gone)
        if self.guard.reason is not None:
            self.stop(self.guard.reason.text)


def _passed(plan: BenchmarkPlan) -> Callable[[str], str]:
    """Takes secrets out that sandboxes of a benchmark are given; short ones may be words."""
    values = passed_values((plan.config.sandbox.options, plan.config.solver.options))
    return Secrets(value for value in values if len(value) >= REAL_KEY).out_of_line


def _key(pending: Pending) -> AttemptKey:
    return pending.solved.key if isinstance(pending, StepRecord) else pending.key
