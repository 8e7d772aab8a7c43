"""Makes a benchmark ready to be served: its data loaded, its judge reached, all closed after."""

import logging
import os
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from pytest_nel.config.schema import BenchmarkConfig, PluginSpec
from pytest_nel.config.secrets import secret_values
from pytest_nel.core.errors import ConfigError
from pytest_nel.core.protocols import EvalEnvironment
from pytest_nel.core.sandbox import SandboxSpec
from pytest_nel.engine.cycle import Lifecycle
from pytest_nel.engine.judge_panel import judges_with, plan_judges
from pytest_nel.engine.judge_plan import with_rubrics
from pytest_nel.engine.loop import LoopThread
from pytest_nel.engine.plan import BenchmarkPlan, make_plan
from pytest_nel.engine.runtime import Parts
from pytest_nel.engine.sandboxes import NONE, Sandboxes
from pytest_nel.environments import resolve
from pytest_nel.http.secret import Secrets
from pytest_nel.serve.served import Scorers, Served, refuse_workspace

_LOG = logging.getLogger(__name__)


@contextmanager
def ready(
    config: BenchmarkConfig,
    services: Mapping[str, PluginSpec],
    *,
    base: Path,
    loop: LoopThread,
    threads: int = 1,
    note: Callable[[str], None] = _LOG.warning,
) -> Iterator[Served]:
    """A benchmark, ready to seed and to judge for a block (blocking).

    Args:
        config: Its entry of a suite; of ``scoring`` counts what grades an attempt.
        services: Those of the suite; the ones that judge are started.
        base: The folder that relative files are relative to.
        loop: Where everything runs.
        threads: Plain scorers that may run at once.
        note: Told what a user should know of its sandbox.

    Raises:
        ConfigError: The benchmark, its data, its judge or its sandbox cannot be used.
        InfraError: A service did not come up, or answers are judged by more than a request has.
    """
    if config.verifier is not None:
        msg = (
            f"benchmark {config.name}: its answers are judged by the service {config.verifier!r}: "
            "let the trainer ask that server itself, or leave verifier out"
        )
        raise ConfigError(msg)
    environment = resolve(config.name, base=base, params=dict(config.params))
    entry = with_rubrics(config, base)
    with serving(entry, environment, services, loop=loop, threads=threads, note=note) as served:
        yield served


@contextmanager
def serving(
    config: BenchmarkConfig,
    environment: EvalEnvironment,
    services: Mapping[str, PluginSpec],
    *,
    loop: LoopThread,
    threads: int = 1,
    note: Callable[[str], None] = _LOG.warning,
) -> Iterator[Served]:
    """The same of an environment that is there; it is closed in the end."""
    plan, size = planned(config, environment, loop)
    secrets = _secrets([*(spec.options for spec in services.values()), config.params])
    with tempfile.TemporaryDirectory(prefix="nel-serve-") as folder:
        parts = Parts(services, log_dir=Path(folder, "logs"), secrets=secrets)
        scorers = Scorers(threads)
        try:
            cycle = _cycle(plan, parts.sandboxes, loop, note)
            scorers = Scorers(threads, cycle)
            plan_judges(plan, parts)
            judges = judges_with(plan, parts, services)
            parts.open(loop, None)
            loop.call(environment.prepare())
            served = Served(
                *(plan, size),
                score=scorers.score,
                judges=judges,
                sandbox=None if cycle.room is None else cycle.room.facts(),
                redact=parts.redact,
            )
            if cycle.room is not None:  # all look at a workspace, or none: the first tells
                refuse_workspace(served.name, loop.call(served.seed(0)))
            yield served
        finally:
            scorers.close()
            loop.call(_closed(parts, environment))
            parts.stop_services()


@contextmanager
def problems(config: BenchmarkConfig, *, base: Path, loop: LoopThread) -> Iterator[Served]:
    """A benchmark for a block, only to seed: that takes no judge and no sandbox (blocking).

    Raises:
        ConfigError: The benchmark or its data cannot be used.
    """
    environment = resolve(config.name, base=base, params=dict(config.params))
    scorers = Scorers()
    try:
        size = loop.call(environment.dataset_size())
        loop.call(environment.prepare())
        yield Served(make_plan(config, environment, size), size, score=scorers.score)
    finally:
        scorers.close()
        loop.call(environment.close())


def _cycle(
    plan: BenchmarkPlan, sandboxes: Sandboxes, loop: LoopThread, note: Callable[[str], None]
) -> Lifecycle:
    """Where its scorers run code, seen to work; none for plain ones, which can use none.

    Raises:
        ConfigError: It cannot be used here, an image cannot be had, or an option is about what
            only a solver leaves.
    """
    environment = plan.environment
    if environment.judges_now:
        return Lifecycle(visits=False)
    sandboxes.run_id = f"serve-{os.getpid()}"
    room = sandboxes.room(plan.config.sandbox)
    if room is not None:
        for name in filter(room.option, ("stateful", "capture_cmd")):
            msg = (
                f"benchmark {environment.name}: sandbox: {name}: what was done in the sandbox of "
                "an answer does not reach a server: leave it out"
            )
            raise ConfigError(msg)
        for line in room.warnings:
            note(line)
        specs: Sequence[SandboxSpec] | None = loop.call(environment.sandbox_specs())
        loop.call(room.open_for(environment, specs or ()))
    return Lifecycle(room, needed=environment.needs_sandbox)


def planned(
    config: BenchmarkConfig, environment: EvalEnvironment, loop: LoopThread
) -> tuple[BenchmarkPlan, int]:
    """The benchmark with what decides a reward, and its size.

    Raises:
        ConfigError: It has no rows, or it cannot be judged here.
    """
    if environment.judge_preset is not None and not config.scoring.judges:
        msg = (
            f"benchmark {environment.name}: its answers are graded by a model: name one by "
            "--judge-url URL --judge-model ID (and --judge-api-key-env NAME), or serve it from a "
            "suite whose `scoring` names a judge: nel serve SUITE -b NAME"
        )
        raise ConfigError(msg)
    if environment.needs_sandbox and config.sandbox.type == NONE:
        msg = (
            f"benchmark {environment.name}: its answers are judged in a sandbox: say which by "
            "--sandbox docker, or serve it from a suite whose entry has `sandbox: {type: docker}`"
        )
        raise ConfigError(msg)
    size = loop.call(environment.dataset_size())
    plan = make_plan(config, environment, size)
    grades = tuple(one for one in plan.judges if one.name == plan.primary)
    return replace(plan, judges=grades), size  # of further judges nobody asks here


def _secrets(entries: Iterable[Mapping[str, Any]]) -> Callable[[], Secrets]:
    found = Secrets(secret_values(entries))
    return lambda: found


async def _closed(parts: Parts, environment: EvalEnvironment) -> None:
    await parts.close_async()
    await environment.close()
