"""Servers of ``gym://`` benchmarks that a run starts for itself: before it knows their size."""

import shutil
import tempfile
from collections.abc import Iterable, Mapping
from functools import partial
from pathlib import Path

from pytest_nel.authoring.benchmark import Benchmark
from pytest_nel.authoring.catalog import find
from pytest_nel.config.load import validate_suite
from pytest_nel.config.matrix import entries
from pytest_nel.config.schema import BenchmarkConfig, PluginSpec
from pytest_nel.core.errors import ConfigError
from pytest_nel.core.protocols import EvalEnvironment
from pytest_nel.engine.gym_servers import GymServers
from pytest_nel.engine.runtime import Parts
from pytest_nel.engine.sandboxes import ANSWERED_BY, NONE
from pytest_nel.environments import resolve
from pytest_nel.environments.verified_elsewhere import VerifiedElsewhere
from pytest_nel.hooks.models import override, suite_args, suite_of
from pytest_nel.hooks.resume import take
from pytest_nel.hooks.services import parts_of
from pytest_nel.hooks.state import BenchmarkRun, Run
from pytest_nel.services import REGISTRY as SERVICES

_SCHEME = "gym://"


def attach(run: Run, environment: EvalEnvironment, sandbox: PluginSpec) -> None:
    """Give an environment the server that it needs (blocking); most need none.

    Args:
        run: The run.
        environment: Of a benchmark that is planned.
        sandbox: The benchmark's entry says it.

    Raises:
        ConfigError: The server does not come up.
    """
    if getattr(environment, "managed", None) is not None:
        _servers(run).attach(environment, _log_dir(run), sandbox)


def start_servers(run: Run) -> None:
    """Start, before the workers, what the suites of the command line need.

    Raises:
        ConfigError: A name is wrong, or a server does not come up.
    """
    for path in suite_args(run.config):
        suite = suite_of(path, run.config)
        if run.quick is None:
            suite = validate_suite(override(suite.raw, run.options), path.name)
        base = path.parent if run.quick is None else run.config.invocation_params.dir
        for entry, _ in entries(suite.config, suite.raw):
            if entry.name.startswith(_SCHEME):
                environment = resolve(entry.name, base=base, params=dict(entry.params))
                attach(run, environment, entry.sandbox)


def with_verifier(
    environment: EvalEnvironment, entry: BenchmarkConfig, services: Mapping[str, PluginSpec]
) -> EvalEnvironment:
    """The environment, judged by the service that the entry names as its verifier.

    Raises:
        ConfigError: That service serves a benchmark that it cannot judge.
    """
    if entry.verifier is None:
        return environment
    spec = services[entry.verifier]
    _refuse_unserved(f"services.{entry.verifier}", spec)
    names = SERVICES.load(spec.type).answers_by
    judge = {name: spec.options[name] for name in names if spec.options.get(name) is not None}
    if isinstance(box := judge.get("sandbox"), Mapping):
        judge["sandbox"] = {name: box[name] for name in ("type", *ANSWERED_BY) if name in box}
    return VerifiedElsewhere(environment, judge, timeout=entry.timeout)


def _refuse_unserved(where: str, spec: PluginSpec) -> None:
    """Refuse what its server would refuse, before that is started, and in words of the suite."""
    name, box = spec.options.get("benchmark"), spec.options.get("sandbox") or {}
    if not isinstance(name, str) or "://" in name:
        return
    found = find(name, base=Path.cwd())
    if not isinstance(found, Benchmark):
        return
    if found.judge is not None:
        msg = (
            f"{where}.benchmark: answers of {found.name} are graded by a model, and this service "
            f"has none: say `server_cmd: nel serve SUITE -b {name} -p {{port}}` with a suite "
            "whose entry names a judge"
        )
        raise ConfigError(msg)
    if found.sandbox is not None and box.get("type", NONE) == NONE:
        msg = (
            f"{where}.sandbox: answers of {found.name} are judged in a sandbox: say where, such "
            "as `sandbox: {type: docker}`"
        )
        raise ConfigError(msg)


def point_verifiers(run: Run, benches: Iterable[BenchmarkRun]) -> None:
    """Tell environments where their verifiers are, started if need be (blocking).

    Raises:
        InfraError: One did not come up.
    """
    for bench in benches:
        environment, name = bench.plan.environment, bench.plan.config.verifier
        if name is not None and isinstance(environment, VerifiedElsewhere):
            parts = parts_of(run)
            environment.at(parts.endpoint(name).url, gone=partial(parts.gone, name))


def needed_servers(run: Run, benches: Iterable[BenchmarkRun]) -> list[str]:
    """The servers without which attempts get no score, as the run's parts know them."""
    if run.gym is None:
        return []
    watch(run, parts_of(run))
    return run.gym.needed(bench.plan.environment for bench in benches)


def watch(run: Run, parts: Parts) -> None:
    """Have the run's parts know when a server ends that was started here."""
    if run.gym is not None:
        parts.deployments.watched |= {key: partial(run.gym.gone, key) for key in run.gym.own}


def urls(run: Run) -> dict[str, str]:
    """Where the servers are that run, for workers."""
    return {} if run.gym is None else run.gym.urls


def _servers(run: Run) -> GymServers:
    if run.gym is None:
        run.gym = GymServers(
            run.secrets, given=run.gym_urls, starts=run.worker is None, told=partial(_told, run)
        )
        run.config.add_cleanup(run.gym.stop)  # whatever happens
    return run.gym


def _told(run: Run, key: str) -> str | None:
    """What a worker's controller says of a server; nothing before the worker measures."""
    return None if run.parts is None else run.parts.gone(key)


def _log_dir(run: Run) -> Path:
    """Where their logs go; what is only collected leaves nothing behind."""
    if run.worker is None and not run.config.option.collectonly:
        take(run)
    elif run.worker is None:
        folder = Path(tempfile.mkdtemp(prefix="nel-"))
        run.config.add_cleanup(lambda: shutil.rmtree(folder, ignore_errors=True))
        return folder
    return run.directory / "logs"
