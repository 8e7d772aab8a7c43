"""Suite files and ``@benchmark`` values become items, one per problem and repeat."""

import contextlib
import gc
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pytest_nel.authoring.benchmark import Benchmark
from pytest_nel.authoring.catalog import blame
from pytest_nel.config.interpolate import expand
from pytest_nel.config.load import Suite, load_suite, validate_suite
from pytest_nel.config.matrix import entries
from pytest_nel.config.schema import BenchmarkConfig, BudgetConfig, PluginSpec
from pytest_nel.core.errors import ConfigError, NelError
from pytest_nel.core.protocols import EvalEnvironment
from pytest_nel.engine.judge_plan import with_rubrics
from pytest_nel.engine.loop import LoopThread
from pytest_nel.engine.plan import BenchmarkPlan, make_plan
from pytest_nel.engine.plugin_options import check_options
from pytest_nel.environments import resolve
from pytest_nel.hooks.gym import attach, with_verifier
from pytest_nel.hooks.item import AttemptItem
from pytest_nel.hooks.models import override, params_in, suite_for, suite_of
from pytest_nel.hooks.resume import QUICK_NODE
from pytest_nel.hooks.state import ERROR_MARK, BenchmarkRun, Run, run_key
from pytest_nel.hooks.trying import tested
from pytest_nel.records.plans import PLAN
from pytest_nel.scoring.catalog import SCORERS


class SuiteFile(pytest.File):
    """A ``*.nel.yaml`` file; its items are the attempts of its benchmarks."""

    def collect(self) -> Iterable[pytest.Item]:
        """Plan every benchmark of the suite, then yield its items."""
        run = self.config.stash[run_key]
        try:
            suite = self._load(run)
            _declare(run, suite)
            run.budgets[self.nodeid] = suite.config.budget
            for entry, raw in entries(suite.config, suite.raw):
                yield from self._benchmark(run, entry, raw, suite.config.services)
        except NelError as error:
            msg = f"{ERROR_MARK}{error}"
            raise self.CollectError(msg) from None

    def _load(self, run: Run) -> Suite:
        if run.quick is not None:  # it is our own, and nothing else is collected
            return load_suite(self.path, scorers=SCORERS)
        written = suite_of(self.path, self.config, scorers=SCORERS)
        if not self.session.isinitpath(self.path):
            _refuse_unnamed(self.path.name, run, written)
        changed = override(written.raw, run.options)
        if changed != written.raw:  # what the command line says stands in no line of the file
            written = validate_suite(changed, f"{self.path.name} with the command line's values")
        check_options(written)
        return written

    def _benchmark(
        self,
        run: Run,
        entry: BenchmarkConfig,
        written: Mapping[str, Any],
        services: Mapping[str, PluginSpec],
    ) -> Iterable[pytest.Item]:
        environment = resolve(
            entry.name, base=self._base(run), limit=None, params=dict(entry.params)
        )
        attach(run, environment, entry.sandbox)
        environment = with_verifier(environment, entry, services)
        location = (_relative(self), 0)  # pytest's own marks want a line
        return items_of(self, environment, entry, written=written, location=location)

    def _base(self, run: Run) -> Path:
        return base_of(self, run)


def _refuse_unnamed(name: str, run: Run, suite: Suite) -> None:
    """What must be known before collection is known only of suites on the command line."""
    if run.worker is not None:
        msg = (
            f"{name}: under -n a suite must be named on the command line, so that what it "
            "deploys is started once and its `output` counts"
        )
        raise ConfigError(msg)
    if "override" in run.options.given:
        msg = f"{name}: --nel-override changes suites that are named on the command line: name it"
        raise ConfigError(msg)
    if suite.config.output.model_fields_set:
        msg = (
            f"{name}: its `output` counts only where the suite is named on the command line: "
            "name it there, or leave `output` out"
        )
        raise ConfigError(msg)


def suite_file(file_path: Path, parent: pytest.Collector, run: Run) -> SuiteFile | None:
    """The collector of a suite file; those kept in run directories are no suites to run."""
    session = parent.session
    if not session.isinitpath(file_path) and any(file_path.parent.glob(f"*/{PLAN}")):
        return None
    nodeid = QUICK_NODE if run.quick is not None else None
    built: SuiteFile = SuiteFile.from_parent(parent, path=file_path, nodeid=nodeid)
    return built


def python_items(
    collector: pytest.Module, value: Benchmark | type[EvalEnvironment], run: Run
) -> list[pytest.Item]:
    """Items of a benchmark found in the Python module where it is written."""
    name = value.name
    try:
        raw = suite_for(f"{collector.path}:{name}", run.options)
        written = raw["benchmarks"][0]
        if raw["services"]:
            suite = validate_suite(raw, "command line")
            _declare(run, suite)
            entry = suite.config.benchmarks[0]
        else:
            entry = BenchmarkConfig.model_validate(expand(written))
        run.budgets[collector.nodeid] = BudgetConfig.model_validate(raw.get("budget") or {})
        environment = _environment(value, collector.path.parent)
        location = (_relative(collector), getattr(value, "line", None) or 0)
        return [
            *items_of(collector, environment, entry, written=written, location=location, label=name)
        ]
    except NelError as error:
        msg = f"{ERROR_MARK}{error}"
        raise collector.CollectError(msg) from None


def ended_report(collector: pytest.Collector, error: SystemExit) -> pytest.CollectReport:
    """What is reported of a benchmark file that ends the process while it is imported."""
    said = f"{ERROR_MARK}{blame(error, collector.path)} (while importing this benchmark file)"
    return pytest.CollectReport(collector.nodeid, "failed", said, [])


def _environment(value: Benchmark | type[EvalEnvironment], base: Path) -> EvalEnvironment:
    from pytest_nel.environments.builtin import BenchmarkEnvironment  # noqa: PLC0415

    return BenchmarkEnvironment(value, base=base) if isinstance(value, Benchmark) else value()


def items_of(
    node: pytest.Collector,
    environment: EvalEnvironment,
    entry: BenchmarkConfig,
    *,
    written: Mapping[str, Any],
    location: tuple[str, int],
    label: str | None = None,
) -> list[AttemptItem]:
    """Plan one benchmark and make its items, in the plan's order."""
    run = node.config.stash[run_key]
    loop = LoopThread("nel-plan")
    try:
        plan = make_plan(
            with_rubrics(entry.settled(), base_of(node, run)),
            environment,
            loop.call(environment.dataset_size()),
            taken=frozenset(run.benchmarks),
            shard=run.shard,
            facts=dict(environment.fingerprint()),
        )
        plan = tested(run, _held(run, plan, label), loop)
    finally:
        loop.close()
    bench = BenchmarkRun(
        plan=plan,
        label=label or plan.id,
        suite=node.nodeid,
        node=node,
        service=entry.solver.options.get("service"),
        endpoint_type=getattr(environment, "endpoint_type", "chat"),
        location=location,
        written=written,
    )
    run.benchmarks[plan.id] = bench
    with _collector_paused():
        return [AttemptItem.for_attempt(bench, key) for key in plan.keys()]  # noqa: SIM118


def base_of(node: pytest.Collector, run: Run) -> Path:
    """The folder that a suite's files are relative to."""
    return run.config.invocation_params.dir if run.quick is not None else node.path.parent


def _held(run: Run, plan: BenchmarkPlan, label: str | None) -> BenchmarkPlan:
    """The plan with its ``min_score``: the command line's, its entry's, else the benchmark's.

    What names all variants gives way to what names one of them.
    """
    least = plan.config.min_score
    if least is None:
        least = plan.environment.min_score
    for names in ({*plan.names, label}, {plan.id}):
        for name, value in run.options.get("min", []):
            least = value if name in names else least
    if least == plan.config.min_score:
        return plan
    return replace(plan, config=plan.config.model_copy(update={"min_score": least}))


@contextlib.contextmanager
def _collector_paused() -> Iterator[None]:
    """A hundred thousand items are no garbage: looking through them again and again costs 2 s."""
    was = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was:
            gc.enable()


def _declare(run: Run, suite: Suite) -> None:
    for name, spec in suite.config.services.items():
        if run.services.setdefault(name, spec) != spec:
            msg = f"service {name!r} is described differently by another file of this run"
            raise ConfigError(msg)
        run.written_services.setdefault(name, suite.raw["services"][name])
    for name, spec in suite.config.sandboxes.items():
        if run.sandboxes.setdefault(name, spec) != spec:
            msg = f"sandbox {name!r} is described differently by another file of this run"
            raise ConfigError(msg)
    run.params += params_in(suite)


def _relative(node: pytest.Collector) -> str:
    path, root = node.path, node.config.rootpath
    return str(path.relative_to(root)) if path.is_relative_to(root) else str(path)
