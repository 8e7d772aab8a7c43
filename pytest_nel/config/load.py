"""The one door: a suite file, or its text, becomes a :class:`Suite`; everything wrong at once."""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path as FilePath
from typing import Any

from pydantic import BaseModel, ValidationError

from pytest_nel.config._document import Document, read_document
from pytest_nel.config.interpolate import Path, Problem, expand, reference_problems
from pytest_nel.config.metrics import (
    METRICS,
    AnyMetric,
    MetricConfig,
    ScoringConfig,
    metric_model,
    scoring_problems,
    type_problems,
)
from pytest_nel.config.problems import expected, got, kind, refuse, suggestion, text_of
from pytest_nel.config.schema import BenchmarkConfig, OutputConfig, RunConfig
from pytest_nel.core.errors import ConfigError

_RESERVED = {"", "default", "none"}

#: Keys of the reference system's schema that have no meaning here yet. Saying so beats calling
#: them unknown: the file may be right for another version.
_LATER: Mapping[type[BaseModel], frozenset[str]] = {
    RunConfig: frozenset({"cluster", "defaults", "sandboxes", "scoring"}),
    BenchmarkConfig: frozenset(
        {
            "context_window",
            "fewshot",
            "instruction_template",
            "playbook",
            "sandbox",
            "skip_failed",
            "verifier",
        }
    ),
    OutputConfig: frozenset({"export", "export_config", "report", "trajectories"}),
    ScoringConfig: frozenset({"include_defaults"}),
}


@dataclass(frozen=True, slots=True)
class Suite:
    """A suite file that is right.

    Attributes:
        raw: What the file says, references unexpanded, keys beginning with ``_`` left out; this
            is what may be written to disk.
        config: The validated configuration, references expanded except those to keys.
        source: The file, for messages.
    """

    raw: dict[str, Any]
    config: RunConfig
    source: str


def load_suite(
    path: str | FilePath,
    env: Mapping[str, str] | None = None,
    *,
    scorers: Collection[str] | None = None,
) -> Suite:
    """Read and validate a suite file.

    Args:
        path: The YAML file, UTF-8 with or without a byte order mark.
        env: Variables for ``${NAME}``; None means those of the process.
        scorers: Names that ``scoring.metrics`` may use; None leaves them unchecked.

    Raises:
        ConfigError: It cannot be read, or something is wrong: one line for each thing.
    """
    text = text_of(path, "suite")
    return parse_suite(text, str(path), env, scorers=scorers)


def parse_suite(
    text: str,
    where: str,
    env: Mapping[str, str] | None = None,
    *,
    scorers: Collection[str] | None = None,
) -> Suite:
    """Validate the text of a suite; ``where`` is the name that messages give to it.

    Raises:
        ConfigError: As :func:`load_suite`.
    """
    document = read_document(text)
    refuse(document.problems, document, where)
    if not isinstance(document.value, dict):
        what = "nothing" if document.value is None else kind(document.value)
        line = document.line(())
        msg = f"{where}:{line}: expected a mapping with services and benchmarks, got {what}"
        raise ConfigError(msg)
    suite = _validated(document.value, document, where, env)
    if scorers is not None:
        refuse(_unknown_scorers(suite.config, scorers), document, where)
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
    value: Mapping[str, Any], document: Document | None, where: str, env: Mapping[str, str] | None
) -> Suite:
    raw = {key: inner for key, inner in value.items() if not key.startswith("_")}
    refuse([*_not_yet(raw), *reference_problems(raw, env)], document, where)
    try:
        config = RunConfig.model_validate(expand(raw, env))
    except ValidationError as error:
        problems = [_from_pydantic(entry, raw) for entry in error.errors(include_url=False)]
        refuse(problems, document, where)
        raise  # never without problems; kept so that no error can vanish
    refuse([*_booleans(raw, config), *_cross_checks(config)], document, where)
    return Suite(raw=raw, config=config, source=where)


def _not_yet(raw: Mapping[str, Any]) -> Iterator[Problem]:
    for path, model, section in _sections(raw):
        for key in section:
            if key in _LATER.get(model, ()):
                yield Problem((*path, key), "not supported yet; leave it out")
        if model in METRICS.values():
            yield from type_problems(path, section)
    services = raw.get("services")
    for name, service in services.items() if isinstance(services, dict) else ():
        if isinstance(service, dict) and service.get("protocol") == "responses":
            message = (
                "protocol 'responses' is not supported yet: use chat_completions or completions"
            )
            yield Problem(("services", name, "protocol"), message)


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
    return Problem(path, f"expected {expected(error)}, got {got(path, raw)}")


def _unknown_key(path: Path, metric: type[BaseModel] | None) -> str:
    model: type[BaseModel] = RunConfig if len(path) == 1 else OutputConfig
    if path[0] == "benchmarks":
        model = metric or (BenchmarkConfig if len(path) == 3 else ScoringConfig)
    return "unknown key" + suggestion(str(path[-1]), model.model_fields)


def _booleans(raw: Mapping[str, Any], config: RunConfig) -> Iterator[Problem]:
    """Pydantic takes true for the number 1; ``repeats: true`` is a mistake all the same."""
    for path, model, section in _sections(raw):
        parsed: Any = config
        for part in path:
            parsed = parsed[part] if isinstance(part, int) else getattr(parsed, part)
        for key in model.model_fields:
            value = section.get(key)
            if isinstance(value, bool) and not isinstance(getattr(parsed, key), bool):
                yield Problem((*path, key), f"expected a number, got {str(value).lower()}")


def _cross_checks(config: RunConfig) -> Iterator[Problem]:
    for name in config.services:
        if name.strip().lower() in _RESERVED:
            message = f"the name {name!r} is reserved; name the service for what it is"
            yield Problem(("services", name), message)
    for index, benchmark in enumerate(config.benchmarks):
        service = benchmark.solver.options.get("service")
        if service is not None and service not in config.services:
            message = f"no service is called {service!r}{suggestion(str(service), config.services)}"
            yield Problem(("benchmarks", index, "solver", "service"), message)
        yield from _same_names(index, benchmark.scoring.metrics)
        where: Path = ("benchmarks", index, "scoring")
        yield from scoring_problems(where, benchmark.scoring, service, config.services)


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
