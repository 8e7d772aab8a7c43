"""``run_evaluation()``: the same engine, without pytest."""

import asyncio
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.metadata import version
from pathlib import Path
from typing import Any

from pytest_nel.authoring.benchmark import Benchmark
from pytest_nel.config.schema import BenchmarkConfig, PluginSpec
from pytest_nel.config.secrets import secret_values
from pytest_nel.core.errors import ConfigError, RunStopped
from pytest_nel.core.protocols import EvalEnvironment, Solver
from pytest_nel.core.registry import unknown
from pytest_nel.core.sandbox import SandboxSpec
from pytest_nel.core.types import JsonObject
from pytest_nel.engine.fingerprint import (
    answering,
    fingerprint_with,
    in_sandbox,
    placed,
    reads_row,
)
from pytest_nel.engine.how import How, Writing
from pytest_nel.engine.identity import Identity
from pytest_nel.engine.judge import Judges
from pytest_nel.engine.judge_panel import (
    judge_identities,
    judge_prices,
    judges_with,
    plan_judges,
)
from pytest_nel.engine.judge_plan import with_rubrics
from pytest_nel.engine.past import Past
from pytest_nel.engine.plan import BenchmarkPlan, make_plan
from pytest_nel.engine.runtime import Parts
from pytest_nel.engine.sandboxes import Room
from pytest_nel.engine.session import Engine
from pytest_nel.engine.stale import Stale, changed, drop_stale, may_have_changed
from pytest_nel.engine.validated import validated
from pytest_nel.environments.builtin import BenchmarkEnvironment
from pytest_nel.environments.gym import GymEnvironment
from pytest_nel.http.secret import Secrets
from pytest_nel.records.claims import claim
from pytest_nel.records.files import derive, utc_now
from pytest_nel.records.index import index_journals
from pytest_nel.records.record import StepRecord
from pytest_nel.records.rundir import RunDirectory, RunFacts, next_turn, read_run, refuse_used

SETTINGS = (
    "repeats",
    "max_problems",
    "max_concurrent",
    "window",
    "timeout",
    "shuffle_seed",
    "max_system_retries",
    "scoring",
    "sandbox",
)


async def run_evaluation(
    benchmark: Benchmark | EvalEnvironment,
    solver: Solver,
    output_dir: str | Path,
    *,
    on_record: Callable[[StepRecord], None] | None = None,
    resume: bool = False,
    services: Mapping[str, Mapping[str, Any]] | None = None,
    **settings: Any,
) -> JsonObject:
    """Measure ``solver`` on ``benchmark`` and return the bundle; files go to ``output_dir``.

    Runs on the engine's own loop in a background thread, so it may be awaited on any loop.
    Cancelling it stops the run.

    Args:
        benchmark: A ``@benchmark`` value or an environment.
        solver: Answers the problems.
        output_dir: A new or empty directory for this run, or with ``resume`` its own.
        resume: Go on where an earlier call with this directory has ended: what is answered is
            not asked again.
        services: Services by name, as a suite describes them, for the judges of ``scoring``.
        on_record: Called with each record, in the order of the plan, in another thread.
        settings: Fields of a suite's benchmark entry: repeats, max_problems, max_concurrent,
            window, timeout, shuffle_seed, max_system_retries, scoring, sandbox. The others say what
            becomes of the result, and that is for the caller to say.

    Returns:
        The bundle, as written to ``eval-*.json``.

    Raises:
        ConfigError: Settings or data are wrong, or the directory holds another run.
        RunStopped: The endpoint refused or died; the files hold what was done.
    """
    stop = threading.Event()
    specs = {
        name: validated(PluginSpec, spec, f"run_evaluation: services.{name}")
        for name, spec in (services or {}).items()
    }
    run = _Run(Path(output_dir), on_record, stop, resume, specs)
    work = asyncio.ensure_future(asyncio.to_thread(run.measure, benchmark, solver, settings))
    try:
        return await asyncio.shield(work)
    except asyncio.CancelledError:
        stop.set()
        await asyncio.gather(work, return_exceptions=True)  # it closes what it has opened
        raise


@dataclass(frozen=True, slots=True)
class _Run:
    """One call of :func:`run_evaluation`, in its thread."""

    directory: Path
    on_record: Callable[[StepRecord], None] | None
    cancelled: threading.Event
    resume: bool
    services: Mapping[str, PluginSpec]

    def measure(
        self, benchmark: Benchmark | EvalEnvironment, solver: Solver, settings: JsonObject
    ) -> JsonObject:
        for name in settings:
            if name not in SETTINGS:
                error = unknown("setting of run_evaluation", name, list(SETTINGS))
                raise error
        environment = _environment(benchmark)
        mine = RunFacts(self.directory.name, utc_now(), [environment.name])
        there = read_run(self.directory) if self.resume else None
        if there is None:
            refuse_used(self.directory)
        elif not there.same_suite(mine):
            msg = f"{self.directory} holds a run of {', '.join(there.targets)}: name another one"
            raise ConfigError(msg)
        run = there or mine
        folder = RunDirectory(self.directory)
        folder.take(run)
        try:
            return self._measure(environment, solver, settings, run)
        except ConfigError:
            folder.discard()  # nothing was measured
            raise
        finally:
            folder.release()

    def _measure(
        self, environment: EvalEnvironment, solver: Solver, settings: JsonObject, run: RunFacts
    ) -> JsonObject:
        given = {**settings, "solver": PluginSpec(type="custom"), "name": environment.name}
        config: BenchmarkConfig = validated(BenchmarkConfig, given, "run_evaluation")
        turn = next_turn(self.directory)
        facts: JsonObject = {"run_id": run.run_id, "timestamp": run.timestamp, "turns": turn}
        config = with_rubrics(config, Path.cwd())
        keys = environment.keys if isinstance(environment, GymEnvironment) else {}
        told = (spec.options for spec in self.services.values())
        entries: list[Mapping[str, Any]] = [*told, config.sandbox.options, keys]
        parts = Parts(
            self.services,
            log_dir=self.directory / "logs",
            secrets=lambda: Secrets(secret_values(entries)),
        )
        engine = Engine(self.directory, parts, writing=Writing(turn=turn, meta=facts))
        try:
            size = engine.loop.call(environment.dataset_size())
            plan = make_plan(config, environment, size, facts=dict(environment.fingerprint()))
            plan_judges(plan, parts)
            room, boxes = self._ready(plan, engine, run.run_id)
            judges = judges_with(plan, parts, self.services)
            identity = _identity(plan, solver, judges, (room, boxes))
            who = fingerprint_with(identity) | judge_identities(plan, judges)
            plan = replace(plan, facts={**plan.facts, **who})
            prices = judge_prices(plan, self.services)
            self._claim(engine, plan, identity, {"turn": turn, **prices})
            stopped = self._take_all(engine, plan, solver, (identity, judges))
        finally:
            engine.close()
        if stopped is None and engine.stop_reason is not None:
            stopped = RunStopped(engine.stop_reason.text)
        facts |= {"sdk_version": version("pytest-nel"), "complete": stopped is None}
        return self._derived(plan.id, facts, stopped)

    def _ready(
        self, plan: BenchmarkPlan, engine: Engine, run_id: str
    ) -> tuple[Room | None, Sequence[SandboxSpec]]:
        """Where it runs code, and what its problems ask for."""
        specs: Sequence[SandboxSpec] = ()
        engine.parts.sandboxes.run_id = run_id
        room = engine.parts.sandboxes.room(plan.config.sandbox)
        if room is not None:
            found = engine.loop.call(plan.environment.sandbox_specs())
            specs = found or ()
            engine.loop.call(room.refuse_template(plan.environment, plan.problems))
            engine.loop.call(room.open_for(plan.environment, specs))
        elif plan.environment.needs_sandbox:
            msg = f"{plan.id} runs code: give it a sandbox, such as sandbox={{'type': 'docker'}}"
            raise ConfigError(msg)
        return room, specs

    def _claim(
        self, engine: Engine, plan: BenchmarkPlan, identity: Identity, more: JsonObject
    ) -> None:
        directory, turn = self.directory / plan.id, more["turn"]
        written = {**plan.as_json(), "reads_row": identity.reads_row, **more}

        def look_through(old: JsonObject) -> None:
            if may_have_changed(old, written):
                index, other = index_journals(directory / "journal"), bool(changed(old, written))
                stale = Stale(plan, identity, index, changed=other)
                drop_stale(engine, stale, plan, directory, turn)

        claim(directory, written, afresh=True, look_through=look_through)

    def _take_all(
        self, engine: Engine, plan: BenchmarkPlan, solver: Solver, by: tuple[Identity, Judges]
    ) -> RunStopped | None:
        keys, (identity, judges) = list(plan.keys()), by
        try:
            past = None
            if self.resume:
                past = Past(index_journals(self.directory / plan.id / "journal"))
            engine.add(plan, solver, How(identity=identity, past=past, judges=judges))
            # a solver need not use our client, so here the attempts themselves are held to C
            engine.start(keys, limit=plan.config.max_concurrent, window=plan.window)
            for position in range(len(keys)):
                self._look(engine)
                record = engine.result(position, lambda: self._look(engine))
                if self.on_record is not None:
                    self.on_record(record)
        except RunStopped as stopped:
            return stopped
        return None

    def _look(self, engine: Engine) -> None:
        if self.cancelled.is_set():
            engine.stop("cancelled by its caller")

    def _derived(self, name: str, facts: JsonObject, stopped: RunStopped | None) -> JsonObject:
        try:
            derived = derive(self.directory / name, facts)
        except OSError as error:
            raise (stopped or RunStopped(f"results cannot be written: {error}")) from error
        if stopped is not None:
            raise stopped
        return derived.bundle


def _identity(
    plan: BenchmarkPlan,
    solver: Solver,
    judges: Judges,
    where: tuple[Room | None, Sequence[SandboxSpec]],
) -> Identity:
    room, boxes = where
    box = None if room is None else room.facts_for(plan.environment, boxes)
    judging = {**plan.judging(), **({"judges": judges.facts} if judges else {})}
    works, visits = in_sandbox(solver), not plan.environment.judges_now
    return Identity(
        placed(answering(solver), box if works else None),
        placed(judging, box if visits else None),
        reads_row=reads_row(solver),
        works_in_sandbox=works and box is not None,
        judges_in_sandbox=visits and box is not None,
        images=None if room is None else room.images_of(plan.environment),
    )


def _environment(benchmark: Benchmark | EvalEnvironment) -> EvalEnvironment:
    if not isinstance(benchmark, EvalEnvironment):
        return BenchmarkEnvironment(benchmark, base=Path.cwd())
    if not benchmark.name:
        benchmark.name = type(benchmark).__name__
    return benchmark
