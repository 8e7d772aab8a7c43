"""The one door: a suite file, or its text, becomes a :class:`Suite`; everything wrong at once."""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path as FilePath
from typing import Any

from pydantic import BaseModel, ValidationError

from pytest_nel.config import matrix
from pytest_nel.config.composed import compose
from pytest_nel.config.dependencies import dependency_problems
from pytest_nel.config.interpolate import Path, Problem, expand, reference_problems
from pytest_nel.config.judge_problems import scoring_problems
from pytest_nel.config.metrics import (
    METRICS,
    AnyMetric,
    MetricConfig,
    ScoringConfig,
    metric_model,
    type_problems,
)
from pytest_nel.config.overrides import Override
from pytest_nel.config.problems import (
    Places,
    came,
    expected,
    kind,
    own_words,
    refuse,
    suggestion,
    taken_for_numbers,
)
from pytest_nel.config.schema import (
    BenchmarkConfig,
    ClusterConfig,
    OutputConfig,
    PluginSpec,
    RunConfig,
)
from pytest_nel.config.secrets import shown_secrets
from pytest_nel.config.tree import Composed

_RESERVED = {"", "default", "none"}

#: Keys of the reference system's schema that mean nothing here, and what to do instead. Saying so
#: beats calling them unknown: the file may be right for another program.
_LATER: Mapping[type[BaseModel], Mapping[str, str]] = {
    RunConfig: {
        "defaults": "a list of defaults is composed from files, so it cannot be set from elsewhere",
        "scoring": "how answers are judged is said in each benchmark: move it there",
    },
    BenchmarkConfig: {
        "context_window": (
            "nothing reads it: a model's limit is the server's, that of answers is max_tokens in "
            "`generation`"
        ),
        "fewshot": (
            "no benchmark of ours takes it by this name: give `params` the argument that the "
            "benchmark has for it"
        ),
        "instruction_template": (
            "prompts belong to the benchmark: change its `prompt`, or set `system_prompt` in the "
            "solver"
        ),
        "playbook": "a playbook is read from a suite file, so it cannot be set from elsewhere",
        "skip_failed": (
            "an attempt whose machinery failed is never a wrong answer here: say with "
            "`max_unscored` how many may lack a score"
        ),
    },
    OutputConfig: {
        "trajectories": "solvers here make no trajectories that could be enriched",
    },
    ClusterConfig: {
        "container_env": (
            "a local run has the variables of its shell: export them, or set them in the service "
            "that needs them"
        ),
        "gpus": "nothing reads it for a local run: say which GPUs in the service that needs them",
        "max_memory": "nothing limits it for a local run",
    },
    ScoringConfig: {
        "include_defaults": "a benchmark's own scorer always counts: leave it out",
    },
}
_ONLY_TYPES: Mapping[type[BaseModel], tuple[str, str]] = {
    ClusterConfig: (
        "local",
        (
            "is not supported: a run happens where pytest is started; in a job of a cluster, start "
            "it there, in parts by `shard_from` or --nel-shard"
        ),
    ),
}


@dataclass(frozen=True, slots=True)
class Suite:
    """A suite file that is right.

    Attributes:
        raw: What the file says, composed, references to variables unexpanded, keys beginning with
            ``_`` left out; this is what may be written to disk.
        config: The validated configuration, references expanded except those to keys.
        source: The file, for messages.
        places: Where each value of ``raw`` was written; None where it stands in no file.
    """

    raw: dict[str, Any]
    config: RunConfig
    source: str
    places: Places | None = None


def load_suite(
    path: str | FilePath,
    env: Mapping[str, str] | None = None,
    *,
    scorers: Collection[str] | None = None,
    overrides: Sequence[Override] = (),
) -> Suite:
    """Read, compose and validate a suite file.

    Args:
        path: The YAML file, UTF-8 with or without a byte order mark.
        env: Variables for ``${NAME}``; None means those of the process.
        scorers: Names that ``scoring.metrics`` may use; None leaves them unchecked.
        overrides: What a command line puts into it, in that order.

    Raises:
        ConfigError: It cannot be read, or something is wrong: one line for each thing.
    """
    composed = compose(path, env=env, overrides=overrides)
    return _checked(composed, str(path), env, scorers)


def parse_suite(
    text: str,
    where: str,
    env: Mapping[str, str] | None = None,
    *,
    scorers: Collection[str] | None = None,
    overrides: Sequence[Override] = (),
) -> Suite:
    """Validate the text of a suite; ``where`` is the name that messages give to it.

    Raises:
        ConfigError: As :func:`load_suite`.
    """
    composed = compose(where, text=text, env=env, overrides=overrides)
    return _checked(composed, where, env, scorers)


def _checked(
    composed: Composed,
    where: str,
    env: Mapping[str, str] | None,
    scorers: Collection[str] | None,
) -> Suite:
    suite = _validated(composed.value, composed, where, env)
    if scorers is not None:
        refuse(_unknown_scorers(suite.config, scorers), composed, where)
    return suite


def validate_suite(
    raw: Mapping[str, Any], where: str, env: Mapping[str, str] | None = None
) -> Suite:
    """Validate a suite that stands in no file: plain values as :func:`load_suite` reads them.

    Raises:
        ConfigError: As :func:`load_suite`, but there is no line to name.
    """
    return _validated(raw, None, where, env)


def _validated(
    value: Mapping[str, Any], places: Places | None, where: str, env: Mapping[str, str] | None
) -> Suite:
    raw = _with_sandboxes({key: it for key, it in value.items() if not key.startswith("_")})
    refuse([*_not_yet(raw), *reference_problems(raw, env), *shown_secrets(raw)], places, where)
    try:
        config = RunConfig.model_validate(expand(raw, env))
    except ValidationError as error:
        problems = [_from_pydantic(entry, raw) for entry in error.errors(include_url=False)]
        refuse(problems, places, where)
        raise  # never without problems; kept so that no error can vanish
    refuse([*taken_for_numbers(raw, config), *_cross_checks(config)], places, where)
    return Suite(raw=raw, config=config, source=where, places=places)


def _with_sandboxes(raw: dict[str, Any]) -> dict[str, Any]:
    """The same with each name of a sandbox replaced by what it means."""
    named, entries, services = (raw.get(key) for key in ("sandboxes", "benchmarks", "services"))
    known = {"none": {"type": "none"}, **(named if isinstance(named, dict) else {})}

    def meant(entry: Any) -> Any:  # Any: of YAML
        return {**entry, "sandbox": known[entry["sandbox"]]} if _named(entry) in known else entry

    changed = dict(raw)
    if isinstance(entries, list):
        changed["benchmarks"] = [meant(entry) for entry in entries]
    if isinstance(services, dict):
        changed["services"] = {name: meant(service) for name, service in services.items()}
    return changed


def _named(entry: object) -> str | None:
    name = entry.get("sandbox") if isinstance(entry, dict) else None
    return name if isinstance(name, str) else None


def _not_yet(raw: Mapping[str, Any]) -> Iterator[Problem]:
    for path, model, section in _sections(raw):
        for key in section:
            if key in _LATER.get(model, {}):
                yield Problem((*path, key), _LATER[model][key])
        if model in _ONLY_TYPES:
            yield from _only_type(path, section.get("type"), *_ONLY_TYPES[model])
        if model in METRICS.values():
            yield from type_problems(path, section)
    yield from _unknown_sandboxes(raw)


def _unknown_sandboxes(raw: Mapping[str, Any]) -> Iterator[Problem]:
    """Names that are still names mean nothing."""
    sandboxes = raw.get("sandboxes")
    known = {"none", *(sandboxes if isinstance(sandboxes, dict) else ())}
    for path, model, section in _sections(raw):
        name = _named(section)
        if model is BenchmarkConfig and name is not None:
            message = f"no sandbox is called {name!r}{suggestion(name, known)}"
            yield Problem((*path, "sandbox"), message)


def _only_type(path: Path, kind: object, only: str, why: str) -> Iterator[Problem]:
    if isinstance(kind, str) and kind != only:
        yield Problem((*path, "type"), f"{kind!r} {why}")


def _sections(
    raw: Mapping[str, Any],
) -> Iterator[tuple[Path, type[BaseModel], Mapping[str, Any]]]:
    """The parts of a suite that a model of ours describes key by key."""
    yield (), RunConfig, raw
    benchmarks = raw.get("benchmarks")
    for index, entry in enumerate(benchmarks if isinstance(benchmarks, list) else ()):
        if isinstance(entry, dict):
            yield ("benchmarks", index), BenchmarkConfig, entry
            yield from _scoring(("benchmarks", index, "scoring"), entry.get("scoring"))
    if isinstance(raw.get("output"), dict):
        yield ("output",), OutputConfig, raw["output"]
    if isinstance(raw.get("cluster"), dict):
        yield ("cluster",), ClusterConfig, raw["cluster"]


def _scoring(
    path: Path, section: object
) -> Iterator[tuple[Path, type[BaseModel], Mapping[str, Any]]]:
    if not isinstance(section, dict):
        return
    yield path, ScoringConfig, section
    metrics = section.get("metrics")
    for index, entry in enumerate(metrics if isinstance(metrics, list) else ()):
        if isinstance(entry, dict):
            yield (*path, "metrics", index), metric_model(entry), entry


def _from_pydantic(error: Mapping[str, Any], raw: Any) -> Problem:
    path: Path = tuple(error["loc"])
    kind_of_metric = None
    if path[3:4] == ("metrics",) and len(path) > 5:  # pydantic names the type after the index
        kind_of_metric = METRICS.get(str(path[5]))
        path = (*path[:5], *path[6:])
    if error["type"] == "missing":
        return Problem(path, "required, but missing")
    if error["type"] == "extra_forbidden":
        return Problem(path, _unknown_key(path, kind_of_metric))
    if error["type"] == "value_error" and kind_of_metric is not None:
        return Problem(path, str(error["ctx"]["error"]))
    if error["type"] == "value_error" and not own_words(error).startswith("expected "):
        return Problem(path, own_words(error))
    return Problem(path, f"expected {expected(error)}, got {came(error, path, raw)}")


def _unknown_key(path: Path, metric: type[BaseModel] | None) -> str:
    sections: dict[str, type[BaseModel]] = {"output": OutputConfig, "cluster": ClusterConfig}
    model = RunConfig if len(path) == 1 else sections.get(str(path[0]), RunConfig)
    if path[0] == "benchmarks":
        model = metric or (BenchmarkConfig if len(path) == 3 else ScoringConfig)
    return "unknown key" + suggestion(str(path[-1]), model.model_fields)


def _cross_checks(config: RunConfig) -> Iterator[Problem]:
    for name in config.services:
        if name.strip().lower() in _RESERVED:
            message = f"the name {name!r} is reserved; name the service for what it is"
            yield Problem(("services", name), message)
    yield from dependency_problems(config.services)
    for index, benchmark in enumerate(config.benchmarks):
        service = benchmark.solver.options.get("service")
        named = {**config.services, **config.matrix}
        yield from _there(("benchmarks", index, "solver", "service"), service, named)
        yield from _same_names(index, benchmark.scoring.metrics)
        yield from _none_has_none(("benchmarks", index, "sandbox"), benchmark.sandbox)
        yield from _verifier(index, benchmark.verifier, config.services)
        if benchmark.solver.type == "tool_calling":
            resource = benchmark.solver.options.get("resource_service")
            path: Path = ("benchmarks", index, "solver", "resource_service")
            yield from _there(path, resource, config.services)
        where: Path = ("benchmarks", index, "scoring")
        for each in config.matrix.get(str(service), [service]):
            yield from scoring_problems(where, benchmark.scoring, each, config.services)
    for name, sandbox in config.sandboxes.items():
        yield from _none_has_none(("sandboxes", name), sandbox)
    yield from matrix.problems(config)


def _none_has_none(path: Path, sandbox: PluginSpec) -> Iterator[Problem]:
    """No sandbox, no options."""
    for name in sandbox.options if sandbox.type == "none" else ():
        yield Problem((*path, name), "unknown key: type none has no options")


def _verifier(
    index: int, name: str | None, services: Mapping[str, PluginSpec]
) -> Iterator[Problem]:
    path: Path = ("benchmarks", index, "verifier")
    yield from _there(path, name, services)
    if name is not None and name in services and services[name].type != "gym":
        message = f"expected a service of type gym, and {name!r} is one of type"
        yield Problem(path, f"{message} {services[name].type}")


def _there(path: Path, name: object, services: Collection[str]) -> Iterator[Problem]:
    """The name of a service, if any."""
    if not isinstance(name, str | None):
        yield Problem(path, f"expected text, the name of a service, got {kind(name)}")
    elif name is not None and name not in services:
        yield Problem(path, f"no service is called {name!r}{suggestion(name, services)}")


def _same_names(index: int, metrics: Iterable[AnyMetric]) -> Iterator[Problem]:
    seen: Counter[str] = Counter()
    for at, metric in enumerate(metrics):
        seen[metric.name] += 1
        if seen[metric.name] > 1:
            path: Path = ("benchmarks", index, "scoring", "metrics", at, "name")
            message = (
                f"two metrics are called {metric.name!r}: give this one a name of its own, and "
                "its scorer under `scorer`"
            )
            yield Problem(path, message)


def _unknown_scorers(config: RunConfig, known: Collection[str]) -> Iterator[Problem]:
    for index, benchmark in enumerate(config.benchmarks):
        for at, metric in enumerate(benchmark.scoring.metrics):
            if isinstance(metric, MetricConfig) and metric.uses not in known:
                key = "name" if metric.scorer is None else "scorer"
                message = f"no scorer is called {metric.uses!r}{suggestion(metric.uses, known)}"
                path: Path = ("benchmarks", index, "scoring", "metrics", at, key)
                yield Problem(path, message)
