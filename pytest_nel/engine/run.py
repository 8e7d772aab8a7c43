"""``run_evaluation()``: the same engine, without pytest."""

import asyncio
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from pytest_nel.authoring.benchmark import Benchmark
from pytest_nel.config.schema import BenchmarkConfig, PluginSpec
from pytest_nel.core.errors import ConfigError, RunStopped
from pytest_nel.core.protocols import EvalEnvironment, Solver
from pytest_nel.core.types import JsonObject
from pytest_nel.engine.plan import BenchmarkPlan, make_plan
from pytest_nel.engine.runtime import Parts
from pytest_nel.engine.session import Engine
from pytest_nel.environments.builtin import BenchmarkEnvironment
from pytest_nel.records.files import derive, utc_now, write_plan
from pytest_nel.records.record import StepRecord


async def run_evaluation(
    benchmark: Benchmark | EvalEnvironment,
    solver: Solver,
    output_dir: str | Path,
    *,
    on_record: Callable[[StepRecord], None] | None = None,
    **settings: Any,
) -> JsonObject:
    """Measure ``solver`` on ``benchmark`` and return the bundle; files go to ``output_dir``.

    Runs on the engine's own loop in a background thread, so it may be awaited on any loop.

    Args:
        benchmark: A ``@benchmark`` value or an environment.
        solver: Answers the problems.
        output_dir: A new or empty directory for this run.
        on_record: Called with each record, in the order of the plan.
        settings: Fields of a suite's benchmark entry: repeats, max_problems, max_concurrent,
            window, timeout, shuffle_seed, max_system_retries.

    Returns:
        The bundle, as written to ``eval-*.json``.

    Raises:
        ConfigError: Settings or data are wrong, or the directory holds another run.
        RunStopped: The endpoint refused or died; what was done is in the journal.
    """
    return await asyncio.to_thread(_run, benchmark, solver, Path(output_dir), on_record, settings)


def _run(
    benchmark: Benchmark | EvalEnvironment,
    solver: Solver,
    output_dir: Path,
    on_record: Callable[[StepRecord], None] | None,
    settings: JsonObject,
) -> JsonObject:
    refuse_used(output_dir)
    environment = _environment(benchmark)
    config = BenchmarkConfig(name=environment.name, solver=PluginSpec(type="custom"), **settings)
    run = {"run_id": output_dir.name, "timestamp": utc_now()}
    engine = Engine(output_dir, Parts({}, log_dir=output_dir / "logs"), meta=run)
    try:
        size = engine.loop.call(environment.dataset_size())
        plan = make_plan(config, environment, size, facts=dict(environment.fingerprint()))
        write_plan(output_dir / plan.id, plan.as_json())
        engine.add(plan, solver)
        for record in _records(engine, plan):
            if on_record is not None:
                on_record(record)
    finally:
        engine.close()
    return derive(output_dir / plan.id, run).bundle


def _records(engine: Engine, plan: BenchmarkPlan) -> Iterable[StepRecord]:
    keys = list(plan.keys())
    engine.start(keys, limit=2 * plan.config.max_concurrent, window=plan.window)
    for position in range(len(keys)):
        yield engine.result(position)
        if engine.stop_reason is not None:
            raise RunStopped(engine.stop_reason.text)


def _environment(benchmark: Benchmark | EvalEnvironment) -> EvalEnvironment:
    if isinstance(benchmark, EvalEnvironment):
        return benchmark
    return BenchmarkEnvironment(benchmark, base=Path.cwd())


def refuse_used(directory: Path) -> None:
    """Refuse a directory that is not empty.

    Raises:
        ConfigError: It holds something; the message says what to do.
    """
    if directory.is_dir() and any(directory.iterdir()):
        msg = (
            f"output directory {directory} is not empty: results are never overwritten; "
            "name a new directory or remove that one"
        )
        raise ConfigError(msg)
