"""The run's state: one object in ``config.stash``, no globals."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal, TypeAlias

import pytest

from pytest_nel.config.schema import BudgetConfig, PluginSpec
from pytest_nel.config.secrets import secret_values
from pytest_nel.core.sandbox import SandboxSpec
from pytest_nel.core.types import AttemptKey
from pytest_nel.engine.cached import CachedAnswers
from pytest_nel.engine.guard import StopReason
from pytest_nel.engine.gym_servers import GymServers
from pytest_nel.engine.past import Mode
from pytest_nel.engine.plan import BenchmarkPlan
from pytest_nel.engine.runtime import Parts
from pytest_nel.engine.session import Engine
from pytest_nel.gate.check import Check
from pytest_nel.gate.policy import Policy
from pytest_nel.gate.report import GateReport
from pytest_nel.hooks.control import Listener
from pytest_nel.hooks.options import Options
from pytest_nel.hooks.solvers import ConfiguredSolvers
from pytest_nel.http.secret import Secrets
from pytest_nel.records.files import Derived
from pytest_nel.records.gated import Gated
from pytest_nel.records.index import JournalIndex
from pytest_nel.records.rundir import RunDirectory, RunFacts
from pytest_nel.records.sides import StoredRun

Role: TypeAlias = Literal["single", "controller", "worker"]

ERROR_MARK = "pytest-nel: "
"""Begins every collection error of ours, so that the controller knows it again."""


@dataclass(slots=True)
class BenchmarkRun:
    """A collected benchmark.

    Attributes:
        plan: What is attempted.
        label: Its name in node ids.
        suite: Node id of the file it stands in.
        node: The collector its items hang on.
        service: Its service's name, or None where a fixture brings the solver.
        endpoint_type: chat or completions, as the benchmark wants.
        location: (path, line) shown in reports.
        brought: Whether a user's fixture answers it.
        boxes: The sandboxes that its problems ask for, once they are known.
        wraps: Whether that fixture gives to its solver the one that is configured.
        asks_model: Whether the fixture that brings its solver uses ``nel_model``.
        written: Its entry as a suite file says it, references unexpanded: what may reach the disk.
        hook: pytest's hooks as this file's conftest.py files see them, the same for every item.
    """

    plan: BenchmarkPlan
    label: str
    suite: str
    node: pytest.Collector
    service: str | None
    endpoint_type: str
    location: tuple[str, int]
    written: Mapping[str, Any]
    brought: bool = False
    wraps: bool = False
    asks_model: bool = False
    boxes: Sequence[SandboxSpec] = ()
    hook: Any = None

    def __post_init__(self) -> None:
        self.hook = self.node.ihook


@dataclass(slots=True)
class Worker:
    """What a worker got from the controller.

    Attributes:
        id: ``gw0``.
        shard: Which part of the items is ours.
        shards: How many parts there are.
        turn: Which turn of the run its journals belong to; higher than the run's own when it
            inherits a shard.
        only: Item indices to run, when a predecessor has done the others.
        listener: Hears what the controller says.
        share: (index, count) of the workers that divide the limits now.
        waited: Position of the attempt that a predecessor was waiting for when it died.
        adopted: The turn of what was taken over from a worker that is not replaced.
        stopped: The controller has said to stop.
        before: Those that have died and whose part this one goes on with.
    """

    id: str
    shard: int
    shards: int
    turn: int
    only: list[int] | None
    listener: Listener
    share: tuple[int, int] = (0, 1)
    waited: int | None = None
    adopted: int = 0
    stopped: bool = False
    before: Sequence[str] = ()

    def __post_init__(self) -> None:
        self.share = (self.shard, self.shards)


@dataclass(slots=True)
class Gating:
    """What a run is to be held against.

    Attributes:
        policy: Its rules; None where there are none.
        baseline: The run to compare with.
        allowed: Fields of the fingerprint that may differ.
        seen: Size and time of the baseline's files when the run began.
        report: What was decided, when the run is over.
        earlier: What a gate of an earlier session has decided, where this one has none.
    """

    policy: Policy | None = None
    baseline: StoredRun | None = None
    allowed: Sequence[str] = ()
    seen: Mapping[Path, tuple[int, int]] = field(default_factory=dict)
    report: GateReport | None = field(default=None, init=False)
    earlier: Gated | None = field(default=None, init=False)


@dataclass
class Run:
    """Everything the hooks share.

    Attributes:
        config: pytest's.
        options: Resolved options.
        role: single process, controller or worker.
        directory: The run's directory; a new run has nothing in it before it begins.
        run_facts: What run.json says.
        folder: The directory, held against other runs; None before this one begins.
        turn: How many times processes have begun to write into it, this time included; 0 where
            that is not known yet.
        mode: What becomes of earlier records; None where there are none to count.
        shard: Which part of the whole this run is.
        indexes: Journals that were there when this process began, by plan id.
        earlier: The same as they were before this session, where that is something else.
        notes: What a reader must know beside the numbers.
        unsaid: Those of a worker that its controller has not heard.
        kept: What became of attempts that an earlier process had begun.
        worker: Set in a worker.
        sync: When journals are put on the disk: ``second`` or ``record``.
        progress_interval: Seconds between progress lines where there is no terminal.
        reports: Formats of the reports that are written at the end.
        exports: Exporters that are given the results at the end, with their options.
        exported: Where the results have gone, a line each.
        services: Declared services by name, references expanded except those to keys.
        sandboxes: Those that the suites name.
        boxes: In the controller of workers, the sandboxes of all benchmarks.
        answering: There, their solvers.
        params: Those of the suites' benchmarks, references as they are written.
        written_services: The services with all references as they are written.
        benchmarks: By plan id, in collection order.
        names: Plan ids of the benchmarks that the session measures.
        order: The attempts of this process, in the order pytest will ask for them.
        selected: Attempts of the whole session, by node id without the bracket.
        engine: Running, or None.
        parts: Services and clients of this process.
        cache: Answers of other runs, opened where one is asked for.
        solvers: The configured solvers; what ``nel_solver`` returns by default.
        configured_asked: Whether the configured solvers were asked for: a fixture may wrap them.
        model_asked: Whether ``nel_model`` was made.
        on_stop: Called when a signal ends the run.
        on_note: Called with each note.
        on_tick: Called while an item waits.
        on_closed: Called when everything has been closed.
        endpoints: Endpoints the controller has started, as plain objects.
        gym: Servers of problems that this process has started or was told of.
        gym_urls: Where those are that the controller has started.
        letters: Whether items print letters; with many, progress lines stand instead.
        short_protocol: Whether items between siblings may skip pytest's own protocol.
        set_up: The collector whose set-up is in force.
        stop: Why the run gave up early.
        unbegun: It gave up before it took over what earlier sessions have left.
        ctrl_c: Ctrl-C came; what it raised may have been lost.
        interrupted: Ctrl-C ended the session.
        config_error: A collection error of ours was seen.
        derived: Files and bundles, when the run is over.
        checks: Decisions, when the run is over.
        gating: What the run is held against.
        budgets: What each suite may spend, by the node id of its file.
    """

    config: pytest.Config
    options: Options
    role: Role
    directory: Path
    run_facts: RunFacts
    folder: RunDirectory | None = None
    turn: int = 0
    mode: Mode | None = None
    shard: tuple[int, int] | None = None
    indexes: dict[str, JournalIndex] = field(default_factory=dict)
    earlier: dict[str, JournalIndex] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    unsaid: list[str] = field(default_factory=list)
    kept: Counter[str] = field(default_factory=Counter)
    worker: Worker | None = None
    sync: str = "second"
    progress_interval: float = 30.0
    reports: Sequence[str] = ()
    exports: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    exported: list[str] = field(default_factory=list)
    services: dict[str, PluginSpec] = field(default_factory=dict)
    sandboxes: dict[str, PluginSpec] = field(default_factory=dict)
    boxes: Sequence[PluginSpec] = ()
    answering: Sequence[PluginSpec] = ()
    params: list[Mapping[str, Any]] = field(default_factory=list)
    written_services: dict[str, Any] = field(default_factory=dict)
    benchmarks: dict[str, BenchmarkRun] = field(default_factory=dict)
    names: Sequence[str] = ()
    order: Sequence[AttemptKey] = ()
    selected: Counter[str] = field(default_factory=Counter)
    engine: Engine | None = None
    parts: Parts | None = None
    cache: CachedAnswers | None = None
    solvers: ConfiguredSolvers = field(default_factory=ConfiguredSolvers)
    configured_asked: bool = False
    model_asked: bool = False
    on_stop: list[Callable[[], None]] = field(default_factory=list)
    on_note: list[Callable[[str], None]] = field(default_factory=list)
    on_tick: list[Callable[[], None]] = field(default_factory=list)
    on_closed: list[Callable[[], None]] = field(default_factory=list)
    endpoints: dict[str, dict[str, Any]] = field(default_factory=dict)
    gym: GymServers | None = None
    gym_urls: dict[str, str] = field(default_factory=dict)
    letters: bool = True
    short_protocol: bool = False
    set_up: object = None
    stop: StopReason | None = None
    unbegun: bool = False
    ctrl_c: bool = False
    interrupted: bool = False
    config_error: bool = False
    derived: list[Derived] = field(default_factory=list)
    checks: list[Check] = field(default_factory=list)
    gating: Gating = field(default_factory=Gating)
    budgets: dict[str, BudgetConfig] = field(default_factory=dict)

    @property
    def id(self) -> str:
        """The run's id, the same in every process and for every resumption."""
        return self.run_facts.run_id

    @property
    def inherits(self) -> bool:
        """Whether this process goes on where another of the same session has died."""
        return self.worker is not None and self.worker.turn > self.turn

    @property
    def quick(self) -> str | None:
        """The benchmark of quick mode."""
        name: str | None = self.options.given.get("bench")
        return name

    def secrets(self) -> Secrets:
        """What nobody may see of what the suites say and of the environment, as they are now."""
        return _secrets_of(self.secret_values())

    def secret_values(self) -> frozenset[str]:
        """The same, as texts."""
        configs = [bench.plan.config for bench in self.benchmarks.values()]
        own = [spec for config in configs for spec in (config.sandbox, config.solver)]
        named = [*self.services.values(), *self.sandboxes.values()]
        every = [*named, *self.boxes, *self.answering, *own]
        return secret_values([*(spec.options for spec in every), *self.params])

    def redact(self, text: str) -> str:
        """A text for a file or the terminal, without secrets."""
        return self.secrets().out_of_line(text)

    def note(self, text: str) -> None:
        """Say something at once, and again at the end."""
        self.notes.append(text)
        self.unsaid.append(text)
        for call in self.on_note:
            call(text)

    def select(self, ids: Iterable[str]) -> None:
        """Note the node ids of the session's items; each attempt counts once."""
        self.selected = Counter(before_bracket(nodeid) for nodeid in set(ids))

    def facts(self) -> dict[str, Any]:
        """What every bundle says about the run."""
        return {
            "run_id": self.id,
            "timestamp": self.run_facts.timestamp,
            "turns": self.turn,
        }


@lru_cache(maxsize=4)
def _secrets_of(values: frozenset[str]) -> Secrets:
    return Secrets(values)  # made of regular expressions, and asked for with each failure


def before_bracket(nodeid: str) -> str:
    """``bench_capitals.py::capitals`` of ``bench_capitals.py::capitals[0-r0]``."""
    return nodeid.rpartition("[")[0]


run_key = pytest.StashKey[Run]()
