"""Makes a pytest session a nel run: registers the hooks, settles the run directory."""

import os
import shutil
import tempfile
import time
from pathlib import Path

import pytest

from pytest_nel.config.interpolate import getenv
from pytest_nel.config.snapshot import write_suite
from pytest_nel.core.errors import ConfigError, NelError
from pytest_nel.engine.past import Mode
from pytest_nel.hooks import fixtures, outcome, protocol
from pytest_nel.hooks.control import Listener
from pytest_nel.hooks.dry_run import DryRun
from pytest_nel.hooks.exits import Exits
from pytest_nel.hooks.finish import Finish
from pytest_nel.hooks.gating import gating_of
from pytest_nel.hooks.junit import Junit
from pytest_nel.hooks.masking import Masking
from pytest_nel.hooks.models import (
    NO_MODEL,
    refuse_lost_overrides,
    suite_for,
    suite_output,
)
from pytest_nel.hooks.only import Only
from pytest_nel.hooks.options import Options, resolve
from pytest_nel.hooks.reports import refuse_unknown_formats
from pytest_nel.hooks.resume import choose, mode_of, shard_of, take, targets
from pytest_nel.hooks.signals import Signals
from pytest_nel.hooks.snapshot import SUITE_FILE, header
from pytest_nel.hooks.state import Role, Run, Worker, run_key
from pytest_nel.hooks.terminal import Terminal
from pytest_nel.hooks.warned import Warned
from pytest_nel.hooks.xdist import Distribution
from pytest_nel.records.files import utc_now
from pytest_nel.records.rundir import RunFacts


def activate(config: pytest.Config) -> Run:
    """Register our hooks once and return the run's state.

    Raises:
        pytest.UsageError: An option contradicts another or cannot be used here.
    """
    if run_key in config.stash:
        return config.stash[run_key]
    options = resolve(config, getenv)
    beside = [name for name in ("estimate-from", "plan-file") if name in options.given]
    if beside and "dry-run" not in options.given:
        msg = f"--nel-{beside[0]} belongs to a plan: add --nel-dry-run"
        raise pytest.UsageError(msg)
    role = _role(config)
    run = _worker_run(config, options) if role == "worker" else _new_run(config, options, role)
    config.stash[run_key] = run
    try:
        run.gating = gating_of(options, config.invocation_params.dir, run.directory)
    except NelError as error:
        raise pytest.UsageError(str(error)) from None
    _register(run)
    if run.quick is not None and role != "worker":
        _begin_quick(run)
    return run


def _register(run: Run) -> None:
    finish, signals, masking = Finish(run), Signals(run), Masking(run)
    signals.install()
    masking.install()
    Warned(run).install()
    plugins: dict[str, object] = {
        "signals": signals,
        "fixtures": fixtures,
        "outcome": outcome,
        "protocol": protocol,
        "short-protocol": protocol.ShortProtocol(),
        "finish": finish,
        "terminal": Terminal(run),
        "junit": Junit(run),
        "exits": Exits(run),
    }
    if run.options.given.get("dry-run"):
        plugins["dry-run"] = DryRun(run)
    if run.options.given.get("only"):
        plugins["only"] = Only(run)
    if run.role == "controller":
        plugins["distribution"] = Distribution(run, finish)
    plugins["masking"] = masking  # the last one registered is the first to see a report
    for name, plugin in plugins.items():
        run.config.pluginmanager.register(plugin, f"nel-{name}")


def _role(config: pytest.Config) -> Role:
    if hasattr(config, "workerinput"):
        return "worker"
    distributed = config.getoption("dist", "no") != "no" and config.getoption("tx", None)
    return "controller" if distributed else "single"


def _new_run(config: pytest.Config, options: Options, role: Role) -> Run:
    try:
        refuse_lost_overrides(config, options)
        output = suite_output(config)
        refuse_unknown_formats([] if output is None else output.report)
    except NelError as error:
        raise pytest.UsageError(str(error)) from None
    run_id = f"{time.strftime('%Y%m%dT%H%M%SZ', time.gmtime())}-{os.urandom(2).hex()}"
    try:
        shard = shard_of(config, options)
        facts = RunFacts(run_id, utc_now(), targets(config, options), shard)
        directory, facts = choose(config, options, output, facts)
        run = Run(config, options, role, directory, facts, shard=shard, mode=mode_of(options))
        if run.mode is not None and directory.is_dir() and not config.option.collectonly:
            take(run)
    except NelError as error:
        raise pytest.UsageError(str(error)) from None
    if output is not None:
        run.progress_interval = output.progress_interval
        run.sync = output.journal_sync
        run.reports = output.report
        run.exports = {name: output.export_config.get(name, {}) for name in output.export}
    run.sync = options.get("journal-sync", run.sync)
    return run


def _worker_run(config: pytest.Config, options: Options) -> Run:
    given = config.workerinput.get("nel")  # type: ignore[attr-defined]  # xdist sets it
    if given is None:
        msg = (
            "benchmarks were found by a worker, but the controller does not know this as a "
            "measuring run: name the files on the command line or add -p nel"
        )
        raise pytest.UsageError(msg)
    shard = given["part"] and tuple(given["part"])
    facts = RunFacts(given["run_id"], given["timestamp"], given["targets"], shard)
    run = Run(config, options, "worker", Path(given["directory"]), facts, shard=shard)
    run.turn, run.sync = given["turn"], given["sync"]
    run.mode = Mode(given["mode"]) if given["mode"] else None
    worker_id: str = config.workerinput["workerid"]  # type: ignore[attr-defined]
    run.worker = Worker(
        worker_id,
        given["shard"],
        given["shards"],
        given["own_turn"],
        given["only"],
        Listener(run.directory),
    )
    run.worker.before = given["before"]
    run.endpoints = given["endpoints"]
    run.gym_urls = given["gym"]
    return run


def _begin_quick(run: Run) -> None:
    """Write the suite file of quick mode and collect that instead of the command line's paths."""
    config = run.config
    if config.args_source == config.ArgsSource.ARGS:
        msg = "--nel-bench runs one benchmark: give it without files, or name the files alone"
        raise pytest.UsageError(msg)
    try:
        raw = suite_for(str(run.quick), run.options)
        if not raw["services"] and run.mode is not Mode.RESCORE:
            raise ConfigError(NO_MODEL)
        folder = run.directory
        if config.option.collectonly:  # a run that is there stays as it is
            folder = Path(tempfile.mkdtemp(prefix="nel-"))
            config.add_cleanup(lambda: shutil.rmtree(folder, ignore_errors=True))
        else:
            take(run)
        path = folder / SUITE_FILE
        write_suite(raw, path, header=header(run))
    except NelError as error:
        raise pytest.UsageError(str(error)) from None
    config.args[:] = [str(path)]
