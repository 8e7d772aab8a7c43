"""The one door: a suite file, or its text, becomes a :class:`Suite`; everything wrong at once."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path as FilePath
from typing import Any

from pydantic import BaseModel, ValidationError

from pytest_nel.config._document import Document, read_document
from pytest_nel.config.interpolate import Path, Problem, expand, reference_problems
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
            "scoring",
            "skip_failed",
            "verifier",
        }
    ),
    OutputConfig: frozenset({"export", "export_config", "report", "trajectories"}),
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


def load_suite(path: str | FilePath, env: Mapping[str, str] | None = None) -> Suite:
    """Read and validate a suite file.

    Args:
        path: The YAML file, UTF-8 with or without a byte order mark.
        env: Variables for ``${NAME}``; None means those of the process.

    Raises:
        ConfigError: It cannot be read, or something is wrong: one line for each thing.
    """
    text = text_of(path, "suite")
    return parse_suite(text, str(path), env)


def parse_suite(text: str, where: str, env: Mapping[str, str] | None = None) -> Suite:
    """Validate the text of a suite; ``where`` is the name that messages give to it.

    Raises:
        ConfigError: As :func:`load_suite`.
    """
    document = read_document(text)
    refuse(document.problems, document, where)
    if not isinstance(document.value, dict):
        got = "nothing" if document.value is None else kind(document.value)
        line = document.line(())
        msg = f"{where}:{line}: expected a mapping with services and benchmarks, got {got}"
        raise ConfigError(msg)
    return _validated(document.value, document, where, env)


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
            if key in _LATER[model]:
                yield Problem((*path, key), "not supported yet; leave it out")
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
    if isinstance(raw.get("output"), dict):
        yield ("output",), OutputConfig, raw["output"]


def _from_pydantic(error: Mapping[str, Any], raw: Any) -> Problem:
    path: Path = tuple(error["loc"])
    if error["type"] == "missing":
        return Problem(path, "required, but missing")
    if error["type"] == "extra_forbidden":
        return Problem(path, _unknown_key(path))
    return Problem(path, f"expected {expected(error)}, got {got(path, raw)}")


def _unknown_key(path: Path) -> str:
    models: dict[str | int, type[BaseModel]] = {"benchmarks": BenchmarkConfig}
    model = RunConfig if len(path) == 1 else models.get(path[0], OutputConfig)
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
