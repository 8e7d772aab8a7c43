"""The deployments of a run, as its processes see them."""

from collections.abc import Iterable, Iterator, Mapping

import pytest

from pytest_nel.config.interpolate import resolve_secret
from pytest_nel.config.schema import PluginSpec
from pytest_nel.core.errors import RunStopped, UnknownName
from pytest_nel.core.types import Endpoint
from pytest_nel.engine.past import Mode
from pytest_nel.engine.runtime import Parts
from pytest_nel.hooks.desk import AskedController
from pytest_nel.hooks.state import BenchmarkRun, Run
from pytest_nel.services import REGISTRY as SERVICES


class RunningServices(Mapping[str, Endpoint]):
    """Name → endpoint of a run's services; one that is looked up is started if it is not yet."""

    def __init__(self, run: Run) -> None:
        self._run = run

    def __getitem__(self, name: str) -> Endpoint:
        try:
            return parts_of(self._run).endpoint(name)
        except UnknownName as error:
            if name in self._run.services:
                raise  # its type is unknown
            raise KeyError(str(error)) from None
        except RunStopped as stopped:  # a signal came while it was started for a test
            pytest.skip(f"not run: {stopped}")

    def __iter__(self) -> Iterator[str]:
        return iter(self._run.services)

    def __len__(self) -> int:
        return len(self._run.services)

    def __contains__(self, name: object) -> bool:
        return name in self._run.services


def parts_of(run: Run) -> Parts:
    """The parts of this process, made on first use; a worker gets what the controller started."""
    if run.parts is None:
        worker = run.worker
        parts = run.parts = Parts(
            run.services,
            log_dir=run.directory / "logs",
            given={name: _given(run, name) for name in run.endpoints},
            share=worker.share if worker else (0, 1),
            deploys=worker is None,
            secrets=run.secrets,
        )
        parts.sandboxes.run_id = run.id
        # One sweeps for all, and who comes in the place of one that has died.
        parts.sandboxes.sweeps = worker is None or worker.shard == 0 or bool(worker.before)
        parts.deployments.late = is_late(run)
        if worker is not None:
            parts.deployments.elsewhere = AskedController(run.directory, worker.id)
    return run.parts


def is_late(run: Run) -> bool:
    """Whether deployments wait for the first who asks them something.

    A run that begins needs them, and is told at once of one that does not come up; one that goes
    on may need none.
    """
    return run.mode is not None


def needed(run: Run, benches: Iterable[BenchmarkRun]) -> list[str]:
    """The deployments without which attempts get no score.

    Those are of solvers and the tools of their models, of verifiers and primary judges.
    """
    found: dict[str | None, None] = {}
    for bench in benches:
        plan = bench.plan
        if run.mode is not Mode.RESCORE:
            found |= {bench.service: None, plan.config.solver.options.get("resource_service"): None}
        found[plan.config.verifier] = None
        judges = [spec for spec in plan.judges if spec.name == plan.primary]
        found |= {name: None for spec in judges for name in spec.services()}
    services = run.services
    return [name for name in found if name and name in services and deploys(services[name])]


def deploys(spec: PluginSpec) -> bool:
    """Whether something is started for a service."""
    return SERVICES.load(spec.type).deploys


def say_warnings(run: Run) -> None:
    """Note what is to be known of the services that were started; each once."""
    if run.parts is not None:
        for line in run.parts.deployments.warnings:
            if line not in run.notes:
                run.note(line)


def _given(run: Run, name: str) -> Endpoint:
    """An endpoint that the controller started; its key does not travel, the reference is ours."""
    spec = run.services.get(name)
    reference = None if spec is None else spec.options.get("api_key")
    key = None
    if reference is not None:
        key = resolve_secret(reference, where=f"services.{name}.api_key")
    return Endpoint(**run.endpoints[name], api_key=key)
