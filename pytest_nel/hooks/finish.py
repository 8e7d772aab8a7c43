"""The end of a session: engine down, bundles written, checks decided, exit status set."""

import contextlib
from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from importlib.metadata import version
from typing import Any

import pytest

from pytest_nel.core.errors import ConfigError, NelError
from pytest_nel.engine.guard import StopReason
from pytest_nel.gate.check import Check
from pytest_nel.gate.health import Session, health
from pytest_nel.gate.verdict import Exit, worst
from pytest_nel.hooks.crash import nodeid_of
from pytest_nel.hooks.engine import end
from pytest_nel.hooks.exports import export_results
from pytest_nel.hooks.gating import decide, lenient, unmeasured, write_markdown
from pytest_nel.hooks.reports import write_reports
from pytest_nel.hooks.snapshot import SUITE_FILE
from pytest_nel.hooks.state import ERROR_MARK, Run, before_bracket
from pytest_nel.records.conclude import check_id, thresholds, whole_of, write_checks
from pytest_nel.records.files import Derived, derive
from pytest_nel.records.gated import content_of
from pytest_nel.records.plans import planned, read_plan

_LOOKING = ("setuponly", "setupplan", "nel_dry_run")


class Finish:
    """Counts reports as they come; decides when the session is over."""

    def __init__(self, run: Run) -> None:
        self._run = run
        self._failed: Counter[str] = Counter()
        self._explained = 0  # failures pytest counts that have a code of their own
        self._seen = 0
        self._measured: dict[str, str] = {}  # node id → outcome
        self._uncollected = False  # whether a file could not be collected
        self._empty = False  # whether all that was collected is a shard without a problem

    def pytest_exception_interact(
        self, node: pytest.Item | pytest.Collector, call: pytest.CallInfo[Any], report: Any
    ) -> None:
        """A mistake that a decorator found while the file was imported is one line, too."""
        error = call.excinfo.value if call.excinfo is not None else None
        if isinstance(node, pytest.Collector) and isinstance(error, NelError):
            report.longrepr = f"{ERROR_MARK}{error}"

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """Tell collection errors of ours, a mistake of the user and exit 4, from ordinary ones."""
        if not report.failed:
            return
        self._uncollected = True
        if ERROR_MARK in str(report.longrepr):
            self._run.config_error = True
            self._explained += 1
        else:
            self._failed["ordinary"] += 1

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Sort failures: ordinary tests, strictness, attempts without a score."""
        nel = getattr(report, "nel", None)
        if nel is not None and "check" in nel:
            return
        if str(report.when) == "???" or (nel is not None and "crashed" in nel):
            self._seen += 1  # xdist's report of a worker that died: nothing else follows
        if nel is not None and report.when == "call":
            self._measured[report.nodeid] = nel["outcome"]
            self._hear(nel.pop("notes", ()))
        if not report.failed or hasattr(report, "wasxfail"):
            return
        if nel is None:
            self._failed["ordinary"] += 1
        elif nel["outcome"] == "unscored":
            self._failed["unscored"] += 1
            self._explained += 1
        else:
            self._failed["strict"] += 1

    def pytest_runtest_logfinish(self) -> None:
        """An item has reported everything."""
        self._seen += 1

    def pytest_keyboard_interrupt(self, excinfo: pytest.ExceptionInfo[BaseException]) -> None:
        """Send nothing more, at once; the rest waits for the end of the session."""
        del excinfo
        self._run.interrupted = True
        if self._run.engine is not None:
            self._run.engine.stop("interrupted")

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session, exitstatus: int) -> None:
        """Close, derive, decide."""
        run = self._run
        end(run)
        self._note_empty()
        if run.role == "worker":
            self._hand_over(session)
            return
        if run.parts is not None:
            said = "" if run.stop is None else run.stop.text
            run.notes += [line for line in run.parts.deployments.troubles if line not in said]
        if not session.config.option.collectonly:
            self._note_unbegun(session)
            self._derive(session)
            self._decide()
        self._tidy()
        nothing_to_do = exitstatus == Exit.NOTHING and self._empty
        code = self._code(session, Exit.GO if nothing_to_do else int(exitstatus))
        session.exitstatus = code
        if run.derived or run.checks:
            self._report_checks(session, code)
            write_reports(run)
        export_results(run)
        if run.folder is not None:
            run.folder.release()

    def _note_empty(self) -> None:
        """With more shards than problems some have nothing to do, and that is no mistake."""
        run = self._run
        if run.shard is None or not run.benchmarks:
            return
        index, count = run.shard
        empty = [name for name, bench in run.benchmarks.items() if not bench.plan.problems]
        run.notes += [f"shard {index}/{count} of {name} is empty" for name in empty]
        self._empty = len(empty) == len(run.benchmarks)

    def _note_unbegun(self, session: pytest.Session) -> None:
        """Where something else skips every attempt, nothing is measured: that is no success."""
        run = self._run
        only_looks = any(session.config.getoption(name, default=False) for name in _LOOKING)
        if not run.names or not self._ended(session) or only_looks:
            return
        if not _begun(run):
            run.unbegun = True
            run.stop = StopReason(
                "nothing was measured: every attempt was skipped before it began, by a mark or a "
                "hook of somebody else's",
                fatal=False,
            )

    def _hand_over(self, session: pytest.Session) -> None:
        stop = self._run.stop
        output: dict[str, Any] = session.config.workeroutput  # type: ignore[attr-defined]
        output["nel"] = {
            "stop": None if stop is None else [stop.text, stop.fatal],
            "notes": list(self._run.notes),
            "kept": dict(self._run.kept),
            "names": list(self._run.names),
            "empty": self._empty,
        }

    def _hear(self, notes: Iterable[str]) -> None:
        """What another process says, once."""
        for note in notes:
            if note not in self._run.notes:
                self._run.note(note)

    def take_over(self, given: dict[str, Any]) -> None:
        """What a worker handed over when it ended."""
        self._run.notes += [note for note in given["notes"] if note not in self._run.notes]
        self._run.kept.update(given["kept"])
        self._run.names = list(dict.fromkeys([*self._run.names, *given["names"]]))
        self._empty = self._empty or given["empty"]
        if given["stop"] is not None and self._run.stop is None:
            text, fatal = given["stop"]
            self._run.stop = StopReason(text, fatal)

    def _tidy(self) -> None:
        """Leave no folder of a run that never began; one that holds anything else stays."""
        run = self._run
        if run.derived or planned(run.directory):  # it began, even if no result could be written
            return
        if run.mode is None and run.quick is not None:
            (run.directory / SUITE_FILE).unlink(missing_ok=True)
        if run.folder is not None:
            run.folder.discard()
        with contextlib.suppress(OSError):  # not there, or not empty
            run.directory.rmdir()

    def _derive(self, session: pytest.Session) -> None:
        run = self._run
        gave_up = run.unbegun or (run.stop is not None and run.stop.fatal) or self._uncollected
        if run.mode is not None and gave_up and not self._measured:
            return  # nothing was begun: what is there stays as it is
        facts = run.facts() | {
            "sdk_version": version("pytest-nel"),
            "complete": self._ended(session),
        }
        for directory in planned(run.directory):
            try:
                derived = derive(directory, facts)
            except OSError as error:  # a full disk: the journals are what counts
                run.stop = run.stop or _unwritten(error)
                continue
            run.derived.append(derived)
            run.checks.append(self._health(derived, session))

    def _decide(self) -> None:
        """Thresholds and gates: what the scores come to, also where there are none."""
        run = self._run
        if not run.derived and (run.stop is not None or run.config_error):
            return  # why nothing was measured is said, and has its code
        try:
            run.checks += [*thresholds(run.derived), *unmeasured(run), *decide(run)]
        except ConfigError as error:
            run.stop = run.stop or StopReason(str(error), fatal=True)
        except OSError as error:
            run.stop = run.stop or StopReason(f"results cannot be read: {error}", fatal=False)
        lenient(run)

    def _ended(self, session: pytest.Session) -> bool:
        stopped = session.shouldstop or session.shouldfail or self._run.stop
        return not stopped and (session.exitstatus in {0, 1} or self._nothing_left(session))

    def _nothing_left(self, session: pytest.Session) -> bool:
        """Whether ``--nel-only`` has found no attempt to make again: that is no mistake."""
        return session.exitstatus == Exit.NOTHING and bool(self._run.options.given.get("only"))

    def _health(self, derived: Derived, session: pytest.Session) -> Check:
        plan = derived.plan
        limit = plan["config"]["max_unscored"]
        now = whole_of(derived.bundle)
        if plan.get("turn") == self._run.turn:
            nodeid = nodeid_of(plan)
            mine = Counter(
                outcome for one, outcome in self._measured.items() if before_bracket(one) == nodeid
            )
            readable = min(mine.total(), derived.bundle["n_attempted"])
            now = Session(
                self._ended(session), self._run.selected[nodeid], readable, mine["unscored"]
            )
        elif self._nothing_left(session):
            now = replace(now, selected=0)
        judges = plan["config"].get("max_judge_failures")
        return health(check_id(plan), derived.bundle, limit=limit, session=now, judges=judges)

    def _code(self, session: pytest.Session, exitstatus: int) -> int:
        run = self._run
        codes = {int(check.code) for check in run.checks}
        codes |= set() if run.gating.earlier is None else run.gating.earlier.codes
        if self._failed["ordinary"] or self._failed["strict"]:
            codes.add(Exit.NO_GO)
        if session.testsfailed > self._explained:  # another plugin counts failures of its own
            codes.add(Exit.NO_GO)
        if run.stop is not None:
            codes.add(Exit.USAGE if run.stop.fatal else Exit.INCOMPLETE)
        elif run.config_error:
            codes.add(Exit.USAGE)
        elif exitstatus == Exit.INTERRUPTED and not self._stopped_by_failures(session):
            codes.add(Exit.INTERRUPTED)
        if exitstatus not in {Exit.GO, Exit.NO_GO, Exit.INTERRUPTED}:
            codes |= set() if self._nothing_left(session) else {exitstatus}
        ran = self._ended(session) and not session.config.option.collectonly
        if ran and self._seen < session.testscollected:
            codes.add(Exit.INTERNAL)
        return worst(codes or {Exit.GO})

    def _stopped_by_failures(self, session: pytest.Session) -> bool:
        """Whether ``-x`` under xdist ended the session: it says interrupted, nobody was."""
        return bool(session.config.getoption("maxfail")) and sum(self._failed.values()) > 0

    def _report_checks(self, session: pytest.Session, code: int) -> None:
        run = self._run
        try:
            report = run.gating.report
            earlier = run.gating.earlier
            gate = None if earlier is None else earlier.content
            gate = gate if report is None else content_of(report, run.directory)
            if run.derived:
                write_checks(run.directory, run.checks, code, gate)
        except OSError as error:
            run.stop = run.stop or _unwritten(error)
        try:
            write_markdown(run)
        except OSError as error:
            run.note(f"the Markdown report cannot be written: {error}")
        log = _reporters(session.config)
        for check in run.checks:
            log(report=_check_report(check))


def _begun(run: Run) -> bool:
    """Whether a process of this session has come so far as to plan a benchmark."""
    try:
        return any(read_plan(one).get("turn") == run.turn for one in planned(run.directory))
    except ConfigError:  # whoever derives says what is wrong with it
        return True


def _reporters(config: pytest.Config) -> Any:  # Any: pluggy's hook caller
    """Who prints and writes reports; not who would stop the run or note items for the next."""
    manager = config.pluginmanager
    noting = [manager.getplugin(name) for name in ("session", "lfplugin", "stepwiseplugin")]
    return manager.subset_hook_caller(
        "pytest_runtest_logreport", [plugin for plugin in noting if plugin is not None]
    )


def _unwritten(error: OSError) -> StopReason:
    return StopReason(f"results cannot be written: {error}", fatal=False)


def _check_report(check: Check) -> pytest.TestReport:
    outcome: Any = {"passed": "passed", "failed": "failed", "open": "skipped"}[check.status]
    path, _, name = check.id.partition("::")
    longrepr: Any = {"passed": None, "failed": check.reason}.get(
        check.status, (path, None, f"Skipped: {check.reason}")
    )
    report = pytest.TestReport(
        check.id, (path, None, name), {name: 1}, outcome, longrepr, "call", user_properties=[]
    )
    report.nel = {"check": check.as_json()}  # type: ignore[attr-defined]  # ours
    return report
