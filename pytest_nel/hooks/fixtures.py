"""Fixtures that a conftest.py may override for the benchmarks below it."""

from collections.abc import Iterator, Mapping

import pytest

from pytest_nel.core.errors import ConfigError
from pytest_nel.core.protocols import Solver
from pytest_nel.core.types import Endpoint
from pytest_nel.engine.loop import LoopThread
from pytest_nel.engine.runtime import Parts
from pytest_nel.engine.sandboxes import Room
from pytest_nel.hooks.sandboxes import RunSandboxes
from pytest_nel.hooks.services import RunningServices
from pytest_nel.hooks.state import Run, run_key
from pytest_nel.http.client import ModelClient
from pytest_nel.interceptors.proxy import AdapterProxy


@pytest.fixture(scope="session")
def nel_solver(pytestconfig: pytest.Config) -> Solver:
    """Answer problems as the suite or the command line configures; override to bring your own."""
    run = pytestconfig.stash[run_key]
    run.configured_asked = True
    return run.solvers


@pytest.fixture(scope="session")
def nel_model(pytestconfig: pytest.Config) -> ModelClient:
    """The client of the run's only model endpoint, for solvers of your own."""
    parts, name, _ = _only_model(pytestconfig.stash[run_key], "nel_model")
    return parts.client(name)


@pytest.fixture(scope="session")
def nel_adapter(pytestconfig: pytest.Config) -> Iterator[AdapterProxy]:
    """The run's only model behind URLs, ``nel_adapter.url_for(seed.attempt)``, for agents.

    It passes the interceptors and the limit of its service, and adds its key.
    """
    parts, name, loop = _only_model(pytestconfig.stash[run_key], "nel_adapter")
    adapter = parts.adapter(name)
    loop.call(adapter.start())
    yield adapter
    loop.call(adapter.stop())


_NO_MODELS = ("gym", "nat")


def _only_model(run: Run, fixture: str) -> tuple[Parts, str, LoopThread]:
    """What a fixture needs that asks the run's only model.

    Raises:
        ConfigError: There is none, or there are several.
    """
    models = [
        name
        for name, spec in run.services.items()
        if name not in _only_judges(run) and spec.type not in _NO_MODELS
    ]
    if run.engine is None or run.parts is None or len(models) != 1:
        names = ", ".join(models) or "none"
        msg = f"{fixture} needs a run with one model service; this one has: {names}"
        raise ConfigError(msg)
    run.model_asked = True
    run.parts.endpoint(models[0])  # now: a solver of the user's own may look where it is
    return run.parts, models[0], run.engine.loop


@pytest.fixture(scope="session")
def nel_judge(pytestconfig: pytest.Config) -> ModelClient:
    """The client of the run's only judging service, for solvers and fixtures of your own."""
    run = pytestconfig.stash[run_key]
    judges = _judging(run)
    if run.engine is None or run.parts is None or len(judges) != 1:
        names = ", ".join(sorted(judges)) or "none"
        msg = f"nel_judge needs a run with one service that judges; this one has: {names}"
        raise ConfigError(msg)
    (name,) = judges
    run.parts.endpoint(name)  # now: whoever gets the client may look where it is
    return run.parts.client(name)


def _judging(run: Run) -> set[str]:
    """The services that judge."""
    plans = [bench.plan for bench in run.benchmarks.values()]
    return {name for plan in plans for spec in plan.judges for name in spec.judges}


def _only_judges(run: Run) -> set[str]:
    """The services that metrics ask, and no solver."""
    plans = [bench.plan for bench in run.benchmarks.values()]
    asked = {name for plan in plans for spec in plan.judges for name in spec.services()}
    return asked - {str(bench.service) for bench in run.benchmarks.values()}


@pytest.fixture(scope="session")
def nel_sandboxes(pytestconfig: pytest.Config) -> Mapping[str, Room]:
    """Where the run's sandboxes are made, by their names in ``sandboxes`` and by benchmark.

    On the engine's loop, ``async with nel_sandboxes["box"].sandbox(spec) as sandbox`` starts one.
    """
    run = pytestconfig.stash[run_key]
    if run.engine is None:
        msg = "nel_sandboxes needs a run that measures something"
        raise ConfigError(msg)
    return RunSandboxes(run)


@pytest.fixture(scope="session")
def nel_services(pytestconfig: pytest.Config) -> Iterator[Mapping[str, Endpoint]]:
    """The run's services by name, each a running endpoint: a look-up starts what is not started."""
    run = pytestconfig.stash[run_key]
    yield RunningServices(run)
    if run.engine is None and run.parts is not None:  # else the engine ends them
        run.parts.stop_services()
