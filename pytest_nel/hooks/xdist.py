"""Under ``-n``: what workers are told, what they hand back, who runs what."""

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import pytest

from pytest_nel.config.interpolate import expand
from pytest_nel.config.load import load_suite, validate_suite
from pytest_nel.config.schema import PluginSpec
from pytest_nel.core.errors import NelError
from pytest_nel.engine.runtime import Parts
from pytest_nel.hooks.finish import Finish
from pytest_nel.hooks.models import override, suite_args, suite_for
from pytest_nel.hooks.outcome import LETTERS_UP_TO
from pytest_nel.hooks.resume import take
from pytest_nel.hooks.scheduling import ShardScheduling
from pytest_nel.hooks.state import Run
from pytest_nel.services import REGISTRY as SERVICES


class Distribution:
    """The controller's side."""

    def __init__(self, run: Run, finish: Finish) -> None:
        self._run = run
        self._finish = finish
        self._parts: Parts | None = None
        self._scheduler: ShardScheduling | None = None
        self._given = 0
        self._last_turn = 0
        self._orphans: list[int] = []

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionstart(self, session: pytest.Session) -> None:
        """Start deployments before the workers exist; each is started once."""
        run = self._run
        if session.config.getoption("dist") == "each":
            msg = "--dist each would measure every attempt once per worker: use another mode"
            raise pytest.UsageError(msg)
        if session.config.option.collectonly:
            return
        try:
            take(run)
            run.stop_file.unlink(missing_ok=True)  # of a run that was killed while it stopped
            self._start(self._services())
        except NelError as error:
            raise pytest.UsageError(str(error)) from None

    def _services(self) -> dict[str, PluginSpec]:
        run = self._run
        specs: dict[str, PluginSpec] = {}
        for path in suite_args(run.config):
            suite = load_suite(path)
            if run.quick is None:
                suite = validate_suite(override(suite.raw, run.options), path.name)
            specs |= suite.config.services
        if not specs:
            specs = {
                name: PluginSpec(**spec)
                for name, spec in expand(suite_for("x", run.options)["services"]).items()
            }
        return specs

    def _start(self, services: dict[str, PluginSpec]) -> None:
        run = self._run
        parts = self._parts = run.parts = Parts(services, log_dir=run.directory / "logs")
        for name, spec in services.items():
            if SERVICES.load(spec.type).deploys:
                facts = asdict(parts.endpoint(name))
                facts.pop("api_key")  # workers read it themselves: see hooks.services
                facts["generation"] = dict(facts["generation"])
                run.endpoints[name] = facts

    def pytest_configure_node(self, node: Any) -> None:
        """Hand over the run; a replacement worker gets its predecessor's shard."""
        run = self._run
        count = len(node.config.getoption("tx"))
        only = None
        if self._given < count:
            shard = self._given
            self._given += 1
        else:
            shard = self._orphans.pop(0) if self._orphans else 0
            only = self._scheduler.left(shard) if self._scheduler else None
        node.workerinput["nel"] = {
            "run_id": run.id,
            "directory": str(run.directory),
            "timestamp": run.run_facts.timestamp,
            "targets": list(run.run_facts.targets),
            "part": None if run.shard is None else list(run.shard),
            "turn": run.turn,
            "own_turn": self._turn(only),
            "mode": None if run.mode is None else str(run.mode),
            "sync": run.sync,
            "shard": shard,
            "shards": count,
            "only": only,
            "endpoints": run.endpoints,
        }

    def _turn(self, only: list[int] | None) -> int:
        """A worker that inherits a shard writes after all that were before it."""
        if only is not None:
            self._last_turn = max(self._last_turn, self._run.turn) + 1
            return self._last_turn
        return self._run.turn

    def pytest_xdist_node_collection_finished(self, ids: Sequence[str]) -> None:
        """Every worker tells the same ids: now it is known what is selected."""
        self._run.select(ids)
        verbose = self._run.config.get_verbosity() > 0
        self._run.letters = verbose or len(ids) <= LETTERS_UP_TO

    def pytest_xdist_make_scheduler(self, config: pytest.Config) -> ShardScheduling:
        """Shards, whatever ``--dist`` says: looking ahead needs to know what is ours."""
        self._scheduler = ShardScheduling(config, len(config.getoption("tx")))
        return self._scheduler

    def pytest_testnodedown(self, node: Any, error: object) -> None:
        """Take over what a worker says at its end; note the shard of one that died."""
        if error:
            self._orphans.append(node.workerinput["nel"]["shard"])
        output = getattr(node, "workeroutput", None) or {}
        if "nel" in output:
            self._finish.take_over(output["nel"])
        self._spread_stop()

    def pytest_runtest_logreport(self) -> None:
        """When the session is to stop, tell the workers: their queues already hold everything."""
        self._spread_stop()

    def _spread_stop(self) -> None:
        session: Any = self._run.config.pluginmanager.getplugin("dsession")
        stopping = self._run.stop is not None or getattr(session, "shouldstop", False)
        if stopping and self._run.directory.is_dir():
            self._run.stop_file.touch()

    @pytest.hookimpl(tryfirst=True)
    def pytest_keyboard_interrupt(self, excinfo: pytest.ExceptionInfo[BaseException]) -> None:
        """Interrupted: workers stop, too, and write what they have before we read it."""
        del excinfo
        if self._run.directory.is_dir():
            self._run.stop_file.touch()

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self) -> None:
        """Runs before the bundles are made: wait for the workers, end the deployments."""
        session: Any = self._run.config.pluginmanager.getplugin("dsession")
        manager = getattr(session, "nodemanager", None)
        if manager is not None:
            manager.teardown_nodes()
        self._run.stop_file.unlink(missing_ok=True)
        self.pytest_unconfigure()

    def pytest_unconfigure(self) -> None:
        """End the deployments; a session that did not begin does not finish, so here."""
        if self._parts is not None:
            self._parts.stop_services()
