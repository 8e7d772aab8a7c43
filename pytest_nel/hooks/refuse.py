"""Ways to distribute a run that make no sense, each refused with a line that says why."""

from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from pytest_nel.config.dependencies import asked
from pytest_nel.config.interpolate import expand
from pytest_nel.config.load import validate_suite
from pytest_nel.config.matrix import Compared, compared, entries
from pytest_nel.config.proxy import Proxy
from pytest_nel.config.schema import BenchmarkConfig, PluginSpec
from pytest_nel.core.errors import ConfigError
from pytest_nel.engine.past import Mode
from pytest_nel.engine.validated import validated
from pytest_nel.hooks.models import override, params_in, suite_args, suite_for, suite_of
from pytest_nel.hooks.state import Run
from pytest_nel.services import REGISTRY as SERVICES

_LIMITS = ("max_concurrent", "parallel")
_PLAIN = "popen"


def worker_count(config: pytest.Config) -> int:
    """How many workers xdist starts."""
    return len(_specs(config))


def _specs(config: pytest.Config) -> list[str]:
    from xdist.workermanage import parse_tx_spec_config  # noqa: PLC0415 - it may be missing

    return [str(spec) for spec in parse_tx_spec_config(config)]


def services_of(run: Run) -> dict[str, PluginSpec]:
    """The services of the suites named on the command line, else the model's that it names."""
    specs: dict[str, PluginSpec] = {}
    for suite in _suites(run):
        specs |= suite.config.services
    if not specs:
        specs = {
            name: PluginSpec(**spec)
            for name, spec in expand(suite_for("x", run.options)["services"]).items()
        }
    return specs


def compared_models(run: Run) -> list[Compared]:
    """The lists of models that the suites of the command line compare, in their order."""
    return compared((suite.config, suite.raw) for suite in _suites(run))


def sandboxes_of(run: Run) -> list[PluginSpec]:
    """Those that the benchmarks of the command line's suites name, else the option's."""
    found = [one.sandbox for suite in _suites(run) for one in suite.config.benchmarks]
    kind = run.options.get("sandbox")
    return found or ([] if kind is None else [PluginSpec(type=kind)])


def solvers_of(run: Run) -> list[PluginSpec]:
    """Those of the benchmarks of the command line's suites."""
    return [one.solver for suite in _suites(run) for one in suite.config.benchmarks]


def params_of(run: Run) -> list[Mapping[str, Any]]:
    """Those of the benchmarks of the command line's suites, references as they are written."""
    return [params for suite in _suites(run) for params in params_in(suite)]


def asked_services(run: Run) -> list[str]:
    """The services that a benchmark uses, in the order of the suites."""
    suites = list(_suites(run))
    if not suites:
        return list(services_of(run))
    found: dict[str, None] = {}
    for suite in suites:
        names = asked(
            suite.config.services, [one.model_dump() for one, _ in entries(suite.config, suite.raw)]
        )
        found |= dict.fromkeys(name for name in suite.config.services if name in names)
    return list(found)


def refuse(run: Run) -> None:
    """Raise where workers cannot do together what is asked of them.

    Raises:
        ConfigError: The line to show.
    """
    config = run.config
    if config.getoption("dist") == "each":
        msg = "--dist each would measure every attempt once per worker: use another mode"
        raise ConfigError(msg)
    for spec in _specs(config):
        _refuse_remote(spec)
    if run.mode is Mode.RESCORE:  # nobody is asked
        return
    workers = worker_count(config)
    for name, limit in _limits(run):
        _refuse_fewer(limit, workers, name)


def _refuse_fewer(limit: int, workers: int, name: str) -> None:
    """Each worker has at least one request at a time."""
    if limit < workers:
        msg = (
            f"{workers} workers cannot keep {name}, {limit}, since each has a request of its own "
            f"under way: use -n {limit} (with -n auto: --maxprocesses {limit}), or raise the limit"
        )
        raise ConfigError(msg)


def _refuse_remote(spec: str) -> None:
    """Workers share the run's directory, and the controller starts what they measure."""
    import execnet  # noqa: PLC0415 - xdist's, which may be missing

    try:
        parsed = execnet.XSpec(spec)
    except (ValueError, AttributeError):
        return  # xdist says what is wrong with it
    if parsed.popen and not (parsed.chdir or parsed.python or parsed.via):
        return
    msg = (
        f"--tx {spec}: workers write into one run directory and read the controller's paths, "
        f"so they run here, in this folder and with this Python: use -n N or --tx N*{_PLAIN}"
    )
    raise ConfigError(msg)


def _suites(run: Run) -> Iterator[Any]:
    for path in suite_args(run.config):
        suite = suite_of(path, run.config)
        if run.quick is None:
            suite = validate_suite(override(suite.raw, run.options), path.name)
        yield suite


def _limits(run: Run) -> Iterator[tuple[str, int]]:
    """Every limit that is known before anything is collected, with its name."""
    for suite in _suites(run):
        for bench in suite.config.benchmarks:
            yield f"max_concurrent of benchmark {bench.name}", bench.max_concurrent
    named = {str(arg).partition("::")[0] for arg in run.config.args}
    if any(not name.endswith(".nel.yaml") for name in named):
        given = run.options.get("max-concurrent")
        default = BenchmarkConfig.model_fields["max_concurrent"].default
        yield "max_concurrent", default if given is None else given
    for name, spec in services_of(run).items():
        model: Any = SERVICES.load(spec.type)  # Any: each plugin has its own Config
        config = validated(model.Config, spec.options, f"services.{name}")
        for option, limit in limits_of(config):
            yield f"{option} of service {name}", limit


def limits_of(config: Any) -> Iterator[tuple[str, int]]:  # Any: each plugin has its own Config
    """What limits the requests in flight at a service, by the option that says so."""
    found = {name: getattr(config, name, None) for name in _LIMITS}
    proxy = getattr(config, "proxy", None)
    if isinstance(proxy, Proxy):
        found["proxy.max_concurrent_upstream"] = proxy.max_concurrent_upstream
    yield from ((name, limit) for name, limit in found.items() if limit is not None)


def refuse_loop(config: pytest.Config) -> None:
    """A loop over failures would measure again and again.

    Raises:
        pytest.UsageError: It is asked for.
    """
    if config.getoption("looponfail", default=False):
        msg = (
            "-f/--looponfail would measure again with every changed file: run once; "
            "--nel-resume makes what has no score again"
        )
        raise pytest.UsageError(msg)
