"""What people see: a header, live progress, one summary section."""

import contextlib
import json
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from pytest_nel.config.interpolate import getenv
from pytest_nel.hooks.gating import names_of_checks
from pytest_nel.hooks.outcome import LETTERS_UP_TO
from pytest_nel.hooks.refuse import compared_models
from pytest_nel.hooks.state import BenchmarkRun, Run, before_bracket
from pytest_nel.records.files import Derived
from pytest_nel.records.variants import variants
from pytest_nel.reports.gate import gate_lines
from pytest_nel.reports.github import annotations
from pytest_nel.reports.models import model_lines
from pytest_nel.reports.progress import Flow, Progress, progress_line
from pytest_nel.reports.summary import Line, check_lines, kept_lines, run_lines, shown_record
from pytest_nel.solvers import asks_model

_TTY_EVERY = 0.2
_SHOWN_AT_MOST = 50
_HUGE = 20_000


class Terminal:
    """Progress while items run, the summary when they are done."""

    def __init__(self, run: Run) -> None:
        self._run = run
        self._config = run.config
        self._parts: dict[str, Progress] = {}
        self._began = time.monotonic()
        self._next = 0.0
        self._live = False
        self._huge = False
        run.on_tick.append(self._refresh)
        run.on_note.append(self._say)

    # -- before ------------------------------------------------------------------------------

    @property
    def _reporter(self) -> Any:  # Any: pytest's TerminalReporter, whose module is private
        return self._config.pluginmanager.getplugin("terminalreporter")

    @property
    def _interval(self) -> float:
        tty = self._reporter is not None and self._reporter.isatty
        return _TTY_EVERY if tty else self._run.progress_interval

    def pytest_report_collectionfinish(self, items: Sequence[pytest.Item]) -> list[str]:
        """Say what will be measured, at what, with which limits."""
        run = self._run
        planned = [plan_line(run, bench) for bench in run.benchmarks.values()]
        self._huge = len(run.order) > _HUGE and self._config.option.durations is None
        if run.role == "single":
            verbose = self._config.get_verbosity() > 0
            tty = self._reporter is not None and self._reporter.isatty
            run.letters = verbose or (len(items) <= LETTERS_UP_TO and not tty)
            for bench in run.benchmarks.values():
                chosen = sum(key.benchmark == bench.plan.id for key in run.order)
                self._part(bench.plan.id, chosen, bench.plan.repeats)
        if planned and not self._config.option.collectonly:
            planned.append(self._where())
        return planned

    def pytest_report_header(self) -> list[str]:
        """With workers nobody here collects, so say it now."""
        told = self._run.role == "controller" and not self._config.option.collectonly
        return [self._where()] if told else []

    def _where(self) -> str:
        where = shown_path(self._run.directory, self._config)
        goes_on = self._run.mode is not None and self._run.turn > 1
        if goes_on:
            return f"nel: going on in {where}"
        nothing = " (no earlier run to go on with)" if self._run.mode is not None else ""
        return f"nel: results in {where}{nothing}"

    def _part(self, name: str, total: int = 0, repeats: int = 1) -> Progress:
        if name not in self._parts:
            self._parts[name] = Progress(name, total, time.monotonic(), repeats)
        return self._parts[name]

    # -- during ------------------------------------------------------------------------------

    @pytest.hookimpl(trylast=True)
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Count a measured attempt; show the count now and then."""
        nel = getattr(report, "nel", None)
        if nel is not None and report.when == "call" and "check" not in nel:
            part = self._part(nel["benchmark"], self._run.selected[before_bracket(report.nodeid)])
            part.add(nel["outcome"], nel["reward"], nel["tokens"])
            self._refresh()
        if self._huge and (nel is not None or report.when == "teardown"):
            self._slim(report)

    def _slim(self, report: pytest.TestReport) -> None:
        """Every reporter has seen it: of a hundred thousand reports only the outcome is kept."""
        report.user_properties = []
        report.nel = None  # type: ignore[attr-defined]  # ours; deleting it would unshare the dict
        reporter = self._reporter
        if reporter is not None and report.when == "teardown" and report.passed:
            reporter.stats.get("", []).clear()

    def _say(self, text: str) -> None:
        """Print a note as it comes: what it costs is not paid yet."""
        reporter = self._reporter
        if reporter is None or self._run.role == "worker" or self._config.get_verbosity() < 0:
            return
        with self._uncaptured():
            self._own_line(reporter)
            reporter.write_line(f"nel: {text}", yellow=True)

    def _refresh(self) -> None:
        now = time.monotonic()
        if now < self._next:
            return
        first = self._next == 0.0
        self._next = now + self._interval
        reporter = self._reporter
        if reporter is None or self._run.role == "worker" or self._config.get_verbosity() < 0:
            return
        text = progress_line(list(self._parts.values()), self._flow(), now)
        with self._uncaptured():
            if reporter.isatty and not self._run.letters:
                self._rewrite(reporter, text)
            elif not first and not reporter.isatty:
                self._own_line(reporter)
                reporter.write_line(text)

    def _own_line(self, reporter: Any) -> None:
        """Under ``-n`` pytest does not know that letters stand on the line."""
        reporter.ensure_newline()
        writer = self._config.get_terminal_writer()
        if writer.width_of_current_line and not self._live:
            writer.line()

    def _uncaptured(self) -> contextlib.AbstractContextManager[None]:
        """An item that waits is being captured: what we print then is not its output."""
        capture = self._config.pluginmanager.getplugin("capturemanager")
        if capture is None:
            return contextlib.nullcontext()
        disabled: contextlib.AbstractContextManager[None] = capture.global_and_fixture_disabled()
        return disabled

    def _rewrite(self, reporter: Any, text: str) -> None:
        if not self._live:
            reporter.ensure_newline()
            self._live = True
        width = max(20, self._config.get_terminal_writer().fullwidth - 1)
        reporter.write(f"\r\x1b[K{text[:width]}", flush=True)

    def _flow(self) -> Flow:
        engine, parts = self._run.engine, self._run.parts
        if self._run.role == "controller":
            return Flow(in_flight=None)
        if engine is None or parts is None:
            return Flow()
        stats = [client.stats for client in parts.clients]
        return Flow(
            in_flight=sum(stat.in_flight for stat in stats),
            retrying=sum(stat.waiting_retry for stat in stats),
            reason=next((stat.last_retry_reason for stat in stats if stat.waiting_retry), None),
            ahead=engine.ahead,
            tokens=sum(stat.prompt_tokens + stat.completion_tokens for stat in stats),
        )

    # -- after -------------------------------------------------------------------------------

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self) -> None:
        """Leave the live line on a line of its own; what is listed from now on has its word."""
        self._run.letters = True
        if self._live and self._reporter is not None:
            self._reporter.write("\r\x1b[K")
            self._live = False

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        """Print the summary section."""
        run = self._run
        if not run.derived:
            if run.stop is not None:
                terminalreporter.write_line(f"nel: {run.stop.text}", red=True)
            for note in run.notes:
                terminalreporter.write_line(f"nel: {note}")
            for line in [*check_lines(run.checks), *self._gate()]:
                terminalreporter.write_line(line.text, **line.markup)
            return
        terminalreporter.section("benchmarks")
        for line in self._lines():
            terminalreporter.write_line(line.text, **line.markup)
        if getenv("GITHUB_ACTIONS"):
            for text in annotations(run.checks):
                terminalreporter.write_line(text)

    @pytest.hookimpl(trylast=True)
    def pytest_collection_finish(self) -> None:
        """List the checks with the items, where those are listed."""
        reporter, run = self._reporter, self._run
        if not self._config.option.collectonly or reporter is None or run.role != "single":
            return
        level = self._config.get_verbosity()
        for name in names_of_checks(run) if level > -2 else ():
            reporter.write_line(name if level < 0 else f"<Check {name}>")

    def _lines(self) -> Iterator[Line]:
        run = self._run
        for derived in run.derived:
            yield from self._shown(derived)
        notes = [*kept_lines(run.kept), *(Line(note, {"yellow": True}) for note in run.notes)]
        results = [(derived.bundle, derived.problems) for derived in run.derived]
        yield from run_lines(results, run.checks, notes)
        yield from self._models()
        yield from self._gate()
        if run.stop is not None:
            yield Line(f"stopped: {run.stop.text}", {"red": True})
        elif run.interrupted:
            yield Line("interrupted: the same line with --nel-resume goes on", {"red": True})
        for text in run.exported:
            yield Line(run.redact(text))
        yield Line(f"results: {shown_path(run.directory, self._config)}")

    def _models(self) -> Iterator[Line]:
        """Compared with the first of the suite, not of the alphabet."""
        mine = [one for one in self._run.derived if one.plan["config"].get("variant")]
        if not mine:
            return
        try:
            yield from model_lines(variants(mine, compared_models(self._run)))
        except OSError as error:
            yield Line(f"models cannot be compared: {error}", {"yellow": True})

    def _gate(self) -> list[Line]:
        report = self._run.gating.report
        verbose = self._config.get_verbosity() > 0
        return [] if report is None else gate_lines(report, verbose=verbose)

    def _shown(self, derived: Derived) -> Iterator[Line]:
        wanted = self._run.options.get("show") or (
            "wrong" if self._config.get_verbosity() > 1 else None
        )
        if wanted is None:
            return
        outcomes = {"all": ("correct", "wrong", "unparsed", "unscored")}.get(wanted, (wanted,))
        path = derived.directory / "results.jsonl"
        shown = rest = 0
        for number, row in enumerate(_rows(path), start=1):
            if row["outcome"] not in outcomes:
                continue
            if shown == _SHOWN_AT_MOST:
                rest += 1
                continue
            shown += 1
            name = f"{derived.plan['benchmark']}[{row['problem_idx']}-r{row['repeat']}]"
            yield from shown_record(row, name)
            yield Line(f"  record:    {shown_path(path, self._config)} line {number}")
        if rest:
            yield Line(f"… and {rest:,} more: {shown_path(path, self._config)}")


def _rows(path: Path) -> Iterator[Mapping[str, Any]]:
    with path.open(encoding="utf-8") as file:
        for line in file:
            yield json.loads(line)


def shown_path(path: Path, config: pytest.Config) -> str:
    """Relative to where pytest was called, where that is shorter."""
    base = config.invocation_params.dir
    return str(path.relative_to(base)) if path.is_relative_to(base) else str(path)


def plan_line(run: Run, bench: BenchmarkRun) -> str:
    """``nel: capitals: 5 problems × 2, model m at http://… , C=32``."""
    plan = bench.plan
    size = plan.facts["dataset_size"]
    of = f" of {size:,}" if size != len(plan.problems) else ""
    text = f"nel: {plan.id}: {len(plan.problems):,}{of} problems × {plan.repeats}"
    spec = run.services.get(bench.service or "")
    if spec is None and not asks_model(plan.config.solver):
        return f"{text}, solver {plan.config.solver.type}, C={plan.config.max_concurrent}"
    if spec is None:
        return f"{text}, solver from fixture nel_solver"
    model, url = spec.options.get("model") or bench.service, spec.options.get("url")
    where = f" at {str(url).partition('?')[0]}" if url else f" served here ({spec.type})"
    return f"{text}, model {model}{where}, C={plan.config.max_concurrent}"
