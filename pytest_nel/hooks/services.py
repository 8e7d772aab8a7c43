"""The deployments of a run, as its processes see them."""

from collections.abc import Iterator, Mapping

from pytest_nel.config.interpolate import resolve_secret
from pytest_nel.core.errors import UnknownName
from pytest_nel.core.types import Endpoint
from pytest_nel.engine.runtime import Parts
from pytest_nel.hooks.state import Run


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
        run.parts = Parts(
            run.services,
            log_dir=run.directory / "logs",
            given={name: _given(run, name) for name in run.endpoints},
            share=worker.share if worker else (0, 1),
            deploys=worker is None,
            secrets=run.secrets,
        )
    return run.parts


def say_warnings(run: Run) -> None:
    """Note what is to be known of the services that were started; each once."""
    if run.parts is not None:
        for line in run.parts.warnings:
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
