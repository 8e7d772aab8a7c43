"""The sandboxes of a run: refused where one is missing, made ready before the first attempt."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, wait
from typing import Any

from pytest_nel.config.schema import PluginSpec
from pytest_nel.core.errors import ConfigError, RunStopped
from pytest_nel.core.locks import one_at_a_time
from pytest_nel.core.sandbox import SandboxSpec
from pytest_nel.core.types import JsonObject
from pytest_nel.engine.fingerprint import needs_sandbox
from pytest_nel.engine.loop import LoopThread
from pytest_nel.engine.past import Mode
from pytest_nel.engine.sandboxes import NONE, Room, Sandboxes, backend_of
from pytest_nel.engine.validated import validated
from pytest_nel.hooks.control import Listener
from pytest_nel.hooks.models import FIXTURE
from pytest_nel.hooks.services import parts_of
from pytest_nel.hooks.sharing import TOLD, told_to_stop
from pytest_nel.hooks.state import BenchmarkRun, Run

_SIZE = re.compile(r"([0-9]+)([bkmgt]?)(?:i?b)?", re.IGNORECASE)
_LOOK = 0.2
"""Seconds between two looks at whether the run is to end."""


class RunSandboxes(Mapping[str, Room]):
    """The rooms of a run by the names of ``sandboxes``, and by benchmark."""

    def __init__(self, run: Run) -> None:
        self._run = run

    def __getitem__(self, name: str) -> Room:
        room = parts_of(self._run).sandboxes.room(self._specs()[name])
        if room is None:
            raise KeyError(name)
        return room

    def __iter__(self) -> Iterator[str]:
        return iter(name for name, spec in self._specs().items() if spec.type != NONE)

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def _specs(self) -> Mapping[str, PluginSpec]:
        own = {bench.label: bench.plan.config.sandbox for bench in self._run.benchmarks.values()}
        return {**own, **self._run.sandboxes}


def refuse_without_sandbox(run: Run) -> None:
    """Refuse benchmarks and solvers whose code has nowhere to run, before anything is asked.

    Raises:
        ConfigError: There are some; the message shows the line to add.
    """
    lines = [
        f"{bench.suite}: {bench.plan.id}: it runs code and has no sandbox for that: add "
        "`sandbox: {type: docker}` to its entry in the suite, or --nel-sandbox docker"
        for bench in run.benchmarks.values()
        if bench.plan.environment.needs_sandbox and bench.plan.config.sandbox.type == NONE
    ]
    lines += [
        f"{bench.suite}: {bench.plan.id}: its solver {bench.plan.config.solver.type} works in a "
        "sandbox and has none: add `sandbox: {type: docker}` to its entry in the suite, or "
        "--nel-sandbox docker"
        for bench in run.benchmarks.values()
        if run.mode is not Mode.RESCORE
        and bench.plan.config.sandbox.type == NONE
        and bench.plan.config.solver.type != FIXTURE
        and needs_sandbox(bench.plan.config.solver.model_dump())
    ]
    if lines:
        raise ConfigError("\n".join(lines))


def make_ready(run: Run, benches: Sequence[BenchmarkRun], loop: LoopThread) -> None:
    """See whether the sandboxes can be made here, and get images: one process at a time.

    Raises:
        ConfigError: They cannot, an image cannot be had, or no problem tells which it wants.
        RunStopped: The run is to end; what is on its way is not waited for.
    """
    sandboxes = parts_of(run).sandboxes
    for bench in benches:
        room = sandboxes.room(bench.plan.config.sandbox)
        if room is None:
            continue
        for line in [*room.warnings, *too_small(bench)]:
            if line not in run.notes:
                run.note(line)
        specs = loop.call(bench.plan.environment.sandbox_specs())
        bench.boxes = specs or ()
        loop.call(room.refuse_template(bench.plan.environment, bench.plan.problems))
        with one_at_a_time(run.directory):
            opening = room.open_for(bench.plan.environment, bench.boxes)
            waited(loop.submit(opening), lambda: _stopped(run))


def waited(opening: "Future[None]", stopped: Callable[[], str | None]) -> None:
    """Wait for what may take minutes, as images do, as long as it is wanted (blocking).

    Args:
        opening: Cancelled when it is not wanted any more.
        stopped: Why it is not, or None.

    Raises:
        RunStopped: It is not wanted any more.
    """
    while not wait([opening], _LOOK).done:
        if (why := stopped()) is not None:
            opening.cancel()
            raise RunStopped(why)
    opening.result()


def _stopped(run: Run) -> str | None:
    """Why the run is to end: a signal, or its controller's word."""
    if run.stop is None and run.worker is not None:
        said = Listener(run.directory).news(now=True)  # one that has heard nothing yet
        return TOLD if said is not None and said.stop else None
    return told_to_stop(run)


def too_small(bench: BenchmarkRun) -> list[str]:
    """What a benchmark's problems ask for and its sandbox does not have."""
    spec = bench.plan.config.sandbox
    if spec.type == NONE:
        return []
    kind: Any = backend_of(spec.type)  # Any: each plugin has its own Config
    config = validated(kind.Config, spec.options, "sandbox")
    memory, cpus = getattr(config, "memory", None), getattr(config, "cpus", None)
    return list(bench.plan.environment.sandbox_warnings(_bytes(memory), cpus))


def _bytes(said: object) -> int | None:
    """Of ``4g`` or ``4GiB``, both of which mean powers of 1024 to their backends."""
    match = _SIZE.fullmatch(str(said))
    return None if match is None else int(match[1]) * 1024 ** "bkmgt".index(match[2].lower() or "b")


def refuse_unusable(run: Run, specs: Sequence[PluginSpec]) -> None:
    """For the controller of workers: say once that there is no Docker, before they start.

    Raises:
        ConfigError: The sandboxes of a suite cannot be made here.
    """
    wanted = [spec for spec in specs if spec.type != NONE]
    if not wanted:
        return
    sandboxes, loop = Sandboxes((0, 1), run.secrets), LoopThread("nel-sandboxes")
    sandboxes.run_id = run.id
    try:
        for spec in wanted:
            room = sandboxes.room(spec)
            if room is not None:
                loop.call(room.open())
        loop.call(sandboxes.close())
    finally:
        loop.close()


def sandbox_facts(run: Run, bench: BenchmarkRun) -> JsonObject | None:
    """What determines what runs in a benchmark's sandbox; None where it has none."""
    room = parts_of(run).sandboxes.room(bench.plan.config.sandbox)
    return None if room is None else room.facts_for(bench.plan.environment, bench.boxes)


def images_of(specs: Sequence[SandboxSpec], default: str | None) -> list[str]:
    """The images that a plan shows; a folder stands for the one that is made of it."""
    found = (spec.image or spec.environment_dir or default for spec in specs)
    return list(dict.fromkeys(str(each) for each in found if each))
