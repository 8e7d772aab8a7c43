"""Under ``-n``: what workers are told, what they hand back, who runs what."""

import contextlib
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any

import pytest

from pytest_nel.config.dependencies import start_order
from pytest_nel.config.schema import PluginSpec
from pytest_nel.core.errors import InfraError, JournalError, NelError, RunStopped
from pytest_nel.engine.guard import StopReason
from pytest_nel.engine.runtime import Parts
from pytest_nel.gate.verdict import Exit
from pytest_nel.hooks.control import CONTROL, Adoption, Control
from pytest_nel.hooks.crash import (
    Attempt,
    attempt_of,
    cause_of,
    dress_crash,
    had_others,
    looks_like_an_attempt,
    record_death,
    was_alone,
)
from pytest_nel.hooks.desk import Desk
from pytest_nel.hooks.finish import Finish
from pytest_nel.hooks.gym import start_servers, urls, watch
from pytest_nel.hooks.outcome import LETTERS_UP_TO
from pytest_nel.hooks.refuse import (
    asked_services,
    params_of,
    refuse,
    sandboxes_of,
    services_of,
    solvers_of,
    worker_count,
)
from pytest_nel.hooks.resume import take
from pytest_nel.hooks.sandboxes import refuse_unusable
from pytest_nel.hooks.scheduling import ShardScheduling
from pytest_nel.hooks.services import deploys, is_late, say_warnings
from pytest_nel.hooks.state import ERROR_MARK, Run
from pytest_nel.hooks.trying import goes_on
from pytest_nel.records.record import StepRecord


class Distribution:
    """The controller's side; also what the scheduler asks when a worker has died."""

    def __init__(self, run: Run, finish: Finish) -> None:
        self._run = run
        self._finish = finish
        self._parts: Parts | None = None
        self._desk: Desk | None = None
        self._scheduler: ShardScheduling | None = None
        self._seats: dict[int, str] = {}  # shard → the worker that has it
        self._held: dict[int, list[str]] = {}  # shard → all that have had it, in order
        self._last_turn = 0
        self._orphans: list[int] = []
        self._deaths = 0
        self._dead: list[str] = []
        self._control = Control()
        self._over = False  # nobody listens any more
        self._unbegun: pytest.Session | None = None  # the session, where no worker was started
        self._running: set[str] = set()
        self._reported: set[str] = set()
        self._blamed: dict[str, tuple[Attempt, StepRecord]] = {}
        run.on_stop.append(self._spread_stop)

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionstart(self, session: pytest.Session) -> None:
        """Start deployments before the workers exist; each is started once."""
        run = self._run
        try:
            refuse(run)
            if session.config.option.collectonly:
                return
            take(run)
            (run.directory / CONTROL).unlink(missing_ok=True)  # of a session that was killed
            run.services, run.boxes = services_of(run), sandboxes_of(run)  # they name secrets
            run.answering, run.params = solvers_of(run), params_of(run)
            refuse_unusable(run, run.boxes)
            start_servers(run)
            self._start(run.services)
        except (InfraError, RunStopped) as error:  # with the same line it may come up next time
            raise self._not_begun(session, str(error)) from None
        except NelError as error:
            raise pytest.UsageError(str(error)) from None

    def _not_begun(self, session: pytest.Session, why: str) -> BaseException:
        """What to raise where no worker is to be started: pytest says no word of its own.

        It ends without a summary, so what is to be known is said here, and the exit status is
        set when all is over.
        """
        run = self._run
        run.stop = run.stop or StopReason(why, fatal=False)
        self._unbegun = session
        reporter: Any = run.config.pluginmanager.getplugin("terminalreporter")
        if reporter is not None:
            reporter.write_line(f"nel: {run.stop.text}", red=True)
        return session.Failed("nothing was measured")

    def _start(self, services: dict[str, PluginSpec]) -> None:
        run = self._run
        parts = self._parts = run.parts = Parts(
            services, log_dir=run.directory / "logs", secrets=run.secrets
        )
        names = start_order(services, asked_services(run))
        for name in names:
            parts.plan_limit(name, 1)  # each has GPUs of its own, whenever it is started
        watch(run, parts)
        self._desk = Desk(run.directory, parts, [*services, *urls(run)])
        self._desk.open()
        for name in () if is_late(run) else names:
            if deploys(services[name]):
                facts = asdict(parts.endpoint(name))
                facts.pop("api_key")  # workers read it themselves: see hooks.services
                facts["generation"] = dict(facts["generation"])
                run.endpoints[name] = facts
        say_warnings(run)

    def pytest_configure_node(self, node: Any) -> None:
        """Hand over the run; a replacement worker gets its predecessor's shard."""
        run = self._run
        count = worker_count(node.config)
        only = None
        if len(self._seats) < count:
            shard = len(self._seats)
        else:
            shard = self._orphans.pop(0)
            only = self._scheduler.left(shard) if self._scheduler else None
        self._seats[shard] = node.gateway.id
        before = list(self._held.setdefault(shard, []))
        self._held[shard].append(node.gateway.id)
        node.workerinput["nel"] = {
            "run_id": run.id,
            "directory": str(run.directory),
            "timestamp": run.run_facts.timestamp,
            "targets": list(run.run_facts.targets),
            "part": None if run.shard is None else list(run.shard),
            "turn": run.turn,
            "own_turn": run.turn if only is None else self._next_turn(),
            "mode": None if run.mode is None else str(run.mode),
            "sync": run.sync,
            "shard": shard,
            "shards": count,
            "only": only,
            "before": before,
            "endpoints": run.endpoints,
            "gym": urls(run),
        }

    def _next_turn(self) -> int:
        """Whoever inherits writes after all that were before it."""
        self._last_turn = max(self._last_turn, self._run.turn) + 1
        return self._last_turn

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """What a worker refuses nobody measures, as without workers: others may not know of it."""
        if report.failed and ERROR_MARK in str(report.longrepr) and not goes_on(self._run.config):
            session: Any = self._run.config.pluginmanager.getplugin("dsession")
            session.shouldstop = session.shouldstop or "error during collection"

    def pytest_xdist_node_collection_finished(self, ids: Sequence[str]) -> None:
        """Every worker tells the same ids: now it is known what is selected."""
        self._run.select(ids)
        verbose = self._run.config.get_verbosity() > 0
        self._run.letters = verbose or len(ids) <= LETTERS_UP_TO

    def pytest_xdist_make_scheduler(self, config: pytest.Config) -> ShardScheduling:
        """Shards, whatever ``--dist`` says: looking ahead needs to know what is ours."""
        self._scheduler = ShardScheduling(worker_count(config), self)
        return self._scheduler

    # -- deaths ------------------------------------------------------------------------------

    @pytest.hookimpl(tryfirst=True)
    def pytest_testnodedown(self, node: Any, error: object) -> None:
        """Take over what a worker says at its end; note the shard of one that died."""
        output = getattr(node, "workeroutput", None) or {}
        if error:
            self._orphans.append(node.workerinput["nel"]["shard"])
            self._deaths += 1
            self._dead.append(node.gateway.id)
        elif "nel" in output:
            self._finish.take_over(output["nel"])
        self._spread_stop()

    def blame(self, node: Any, pending: Mapping[int, str]) -> int | None:
        """The first item, when it is certain that it has killed its worker."""
        run, worker = self._run, node.gateway.id
        index, nodeid = next(iter(pending.items()))
        try:
            attempt = attempt_of(run, nodeid)
            if attempt is None:
                ordinary = nodeid in self._running and not looks_like_an_attempt(nodeid)
                return index if ordinary and not had_others(run, worker) else None
            if not was_alone(run, worker, attempt):
                return None
            record = record_death(run, attempt, self._next_turn(), cause_of(node))
        except (OSError, JournalError) as error:
            self._give_up(f"results cannot be written: {error}")
            return None
        self._blamed[nodeid] = (attempt, record)
        return index

    def done(self, nodeid: str) -> bool:
        """Whether an item's call has been reported, and so counts."""
        if nodeid not in self._reported:
            return False
        if nodeid in self._running:  # the rest of its reports died with its worker
            self.pytest_runtest_logfinish(nodeid)
            self._finish.pytest_runtest_logfinish()
        return True

    def replaced(self) -> bool:
        """Whether xdist will start another worker for the one that died just now."""
        from xdist.dsession import (  # noqa: PLC0415 - it may be missing
            get_default_max_worker_restart,
        )

        most = get_default_max_worker_restart(self._run.config)
        return most is None or self._deaths <= most

    def hand_over(self, shares: Mapping[Any, Sequence[int]]) -> None:
        """Let workers know before they get the items: they look ahead, and use more of a limit."""
        adopt = {
            node.gateway.id: Adoption(self._next_turn(), list(share))
            for node, share in shares.items()
        }
        live = [self._seats[shard] for shard in sorted(self._seats)]
        live = [name for name in live if name not in self._dead]
        self._say(Control(self._control.stop, live, {**self._control.adopt, **adopt}))

    @pytest.hookimpl(tryfirst=True)
    def pytest_handlecrashitem(self, crashitem: str, report: pytest.TestReport) -> None:
        """The attempt that is to blame has a record: report it like any other without a score."""
        if crashitem in self._blamed:
            dress_crash(report, *self._blamed[crashitem])

    # -- the end -----------------------------------------------------------------------------

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        """Note what runs somewhere."""
        self._running.add(nodeid)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """When the session is to stop, tell the workers: their queues already hold everything."""
        if report.when == "call" and hasattr(report, "nel"):
            self._reported.add(report.nodeid)
        self._spread_stop()

    def pytest_runtest_logfinish(self, nodeid: str) -> None:
        """It runs no more."""
        self._running.discard(nodeid)

    def _spread_stop(self) -> None:
        session: Any = self._run.config.pluginmanager.getplugin("dsession")
        stopping = self._run.stop is not None or getattr(session, "shouldstop", False)
        if stopping and not self._control.stop:
            self._say(replace(self._control, stop=True))

    def _say(self, control: Control) -> None:
        self._control = control
        if self._over or not self._run.directory.is_dir():
            return
        try:
            control.write(self._run.directory)
        except OSError as error:
            self._give_up(f"results cannot be written: {error}")

    def _give_up(self, text: str) -> None:
        self._run.stop = self._run.stop or StopReason(text, fatal=False)

    @pytest.hookimpl(tryfirst=True)
    def pytest_keyboard_interrupt(self, excinfo: pytest.ExceptionInfo[BaseException]) -> None:
        """Interrupted: workers stop, too, and write what they have before we read it."""
        del excinfo
        self._say(replace(self._control, stop=True))

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self) -> None:
        """Runs before the bundles are made: wait for the workers, end the deployments."""
        session: Any = self._run.config.pluginmanager.getplugin("dsession")
        if self._desk is not None:
            self._desk.end()
        manager = getattr(session, "nodemanager", None)
        if manager is not None:
            with contextlib.suppress(OSError):  # a worker has closed its end just now
                manager.teardown_nodes()
        self._over = True
        say_warnings(self._run)
        (self._run.directory / CONTROL).unlink(missing_ok=True)
        self._note_orphans()
        self.pytest_unconfigure()

    def _note_orphans(self) -> None:
        orphans = self._scheduler.orphans if self._scheduler is not None else 0
        if orphans and self._dead and not self.replaced():
            self._give_up(
                f"{orphans} items were not run: {', '.join(self._dead)} died and had no "
                "successor (--max-worker-restart), and no other worker could take them; "
                "--nel-resume goes on"
            )

    def pytest_unconfigure(self) -> None:
        """End the deployments; a session that did not begin does not finish, so here."""
        if self._parts is not None:
            self._parts.stop_services()
        if self._desk is not None:
            self._desk.close()
        if self._unbegun is not None:
            self._unbegun.exitstatus = Exit.INCOMPLETE
