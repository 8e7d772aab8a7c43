"""From options to a suite: which model, and what the command line changes in a suite."""

import copy
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from pytest_nel.config.interpolate import escape, expand, getenv
from pytest_nel.config.load import Suite, load_suite
from pytest_nel.config.overrides import Override, read_override
from pytest_nel.config.quick import has_protocol, key_reference, quick_suite
from pytest_nel.config.schema import OutputConfig
from pytest_nel.core.errors import ConfigError, UnknownName
from pytest_nel.core.types import JsonObject
from pytest_nel.exporters.chosen import refuse_exports
from pytest_nel.hooks.options import Options
from pytest_nel.services import REGISTRY as SERVICES

NO_MODEL = (
    "no model: pass --nel-model-url URL and --nel-model-id ID (or set NEMO_MODEL_URL and "
    "NEMO_MODEL_ID), pass --nel-model demo, or define a session fixture nel_solver in conftest.py"
)
FIXTURE = "fixture"
"""Solver type of a benchmark whose solver comes from a user's fixture alone."""

_PER_BENCHMARK = {
    "repeats": "repeats",
    "max-problems": "max_problems",
    "max-concurrent": "max_concurrent",
    "window": "window",
    "shuffle-seed": "shuffle_seed",
    "max-unscored": "max_unscored",
    "strict": "strict",
}
_PER_BUDGET = {"max-cost": "max_cost", "max-total-tokens": "max_tokens", "max-time": "max_time"}
_PER_GENERATION = {"temperature": "temperature", "max-tokens": "max_tokens"}
OF_THE_MODEL = ("temperature", "max-tokens", "timeout", "api-key-env")
"""Options about how a model is asked: nobody sees them where no model is."""

_ELSEWHERE = ("model-url", "model-id", "api-key-env")
_MODEL = ("model", *_ELSEWHERE)


def suite_args(config: pytest.Config) -> list[Path]:
    """Suite files named on the command line."""
    names = (str(arg).partition("::")[0] for arg in config.args)
    base = config.invocation_params.dir
    return [base / name for name in names if name.endswith(".nel.yaml")]


def suite_of(path: Path, config: pytest.Config, **checked: Any) -> Suite:
    """A suite file of the command line, with what ``--nel-override`` puts into it.

    Args:
        path: The file.
        config: pytest's.
        **checked: As :func:`~pytest_nel.config.load.load_suite` takes it.

    Raises:
        ConfigError: Something is wrong with it.
    """
    return load_suite(path, overrides=overrides_of(config), **checked)


def params_in(suite: Suite) -> list[Mapping[str, Any]]:
    """The ``params`` of its benchmarks, references as they are written: some name secrets."""
    return [bench.get("params") or {} for bench in suite.raw["benchmarks"]]


def overrides_of(config: pytest.Config) -> list[Override]:
    """What ``--nel-override`` says, in the order of the command line."""
    texts: list[str] = config.getoption("nel_override", None) or []
    return [read_override(text) for text in texts]


def refuse_lost_overrides(config: pytest.Config, options: Options) -> None:
    """An override changes a suite file: without one it would be ignored.

    Raises:
        ConfigError: No suite file is named.
    """
    if "override" not in options.given:
        return
    if "bench" in options.given or not suite_args(config):
        msg = (
            f"--nel-override {overrides_of(config)[0].place.source.removeprefix('override ')}=…: "
            "it changes suite files that are named on the command line, and none is named"
        )
        raise ConfigError(msg)


def suite_output(config: pytest.Config) -> OutputConfig | None:
    """``output`` of the suites named on the command line; they must agree.

    Raises:
        pytest.UsageError: Two of them disagree, or one is wrong.
    """
    outputs = {}
    for path in suite_args(config):
        if not path.is_file():
            continue
        try:
            suite = suite_of(path, config)
            refuse_exports(suite)
            outputs[path.name] = suite.config.output
        except ConfigError as error:
            raise pytest.UsageError(str(error)) from None
    if len({output.model_dump_json() for output in outputs.values()}) > 1:
        msg = f"{', '.join(outputs)} have different `output` sections: run them one at a time"
        raise pytest.UsageError(msg)
    return next(iter(outputs.values()), None)


def suite_for(bench: str, options: Options) -> JsonObject:
    """The raw suite of one benchmark given without a suite file.

    Raises:
        ConfigError: Model options are missing where needed, contradictory or malformed.
    """
    model, url = options.get("model"), options.get("model-url")
    if "model" in options.given:
        _refuse_beside_model(options.given)
        url = None
    elif "model-url" in options.given:
        model = None
    if model is not None and url is not None:
        msg = "nel_model serves a model here, nel_model_url names one elsewhere: choose one"
        raise ConfigError(msg)
    alone = [f"--nel-{name}" for name in ("model-id", "api-key-env") if name in options.given]
    if url is None and alone:
        msg = f"{' and '.join(alone)}: about a model elsewhere, so add --nel-model-url URL"
        raise ConfigError(msg)
    if model is None and url is None:
        solver = {"type": FIXTURE}
        raw: JsonObject = {
            "services": {},
            "benchmarks": [{"name": escape(bench), "solver": solver}],
        }
    else:
        raw = quick_suite(
            bench=bench,
            model=model or options.get("model-id"),
            url=url,
            key_env=_key_name(options) if url is not None else None,
            temperature=options.get("temperature", 0.0),
        )
    return override(raw, options, model=False)


def _key_name(options: Options) -> str | None:
    named: str | None = options.get("api-key-env")
    if named is not None:
        return named
    return next((name for name in ("NEMO_API_KEY", "NVIDIA_API_KEY") if getenv(name)), None)


def override(raw: Mapping[str, Any], options: Options, *, model: bool = True) -> JsonObject:
    """A raw suite with the command line's values in it; ini values fill what it leaves open.

    Args:
        raw: The suite as written.
        options: Resolved options.
        model: Whether model options may replace the suite's only service.

    Raises:
        ConfigError: A model option is given, but the suite has several services.
    """
    suite: JsonObject = copy.deepcopy(dict(raw))
    entries = [entry for entry in suite.get("benchmarks") or [] if isinstance(entry, dict)]
    for entry in entries:
        _put(entry, _PER_BENCHMARK, options)
        _put_sandbox(entry, options)
        solver = entry.get("solver")
        if isinstance(solver, dict) and solver.get("type") != FIXTURE:
            _put(solver, {"system-prompt": "system_prompt"}, options)
            for name in _asked(suite, solver):
                _put_generation((solver, entry), suite["services"][name], options)
    budget = suite.get("budget") or {}
    if isinstance(budget, dict):  # else it is refused as what it is
        _put(budget, _PER_BUDGET, options)
        suite |= {"budget": budget} if budget else {}
    services = [spec for spec in (suite.get("services") or {}).values() if isinstance(spec, dict)]
    for spec in services if options.get("timeout") is not None else ():
        if _takes(spec, "timeout"):
            _put(spec, {"timeout": "timeout"}, options)
    if model:
        _replace_model(suite, options)
    return suite


def _put_sandbox(entry: JsonObject, options: Options) -> None:
    """Another type of sandbox has none of the old one's options."""
    kind = options.get("sandbox")
    there = entry.get("sandbox")
    said = there.get("type") if isinstance(there, dict) else there
    if kind is None or said == kind or ("sandbox" not in options.given and there is not None):
        return
    entry["sandbox"] = {"type": kind}


def _takes(spec: JsonObject, option: str) -> bool:
    """Whether a service has an option; of an unknown type it is refused for that."""
    kind = spec.get("type")
    try:
        cls: Any = SERVICES.load(expand(kind)) if isinstance(kind, str) else None
    except (UnknownName, ImportError):
        return False
    return cls is not None and option in cls.Config.model_fields


def _asked(suite: JsonObject, solver: object) -> list[str]:
    """The services that a solver asks, of a matrix each; none where the suite is wrong there."""
    services = suite.get("services")
    name = solver.get("service") if isinstance(solver, dict) else None
    if not isinstance(services, dict) or not isinstance(name, str):
        return []
    matrix = suite.get("matrix")
    several = matrix.get(expand(name)) if isinstance(matrix, dict) else None
    names = several if isinstance(several, list) else [expand(name)]
    return [one for one in names if isinstance(one, str) and isinstance(services.get(one), dict)]


def _put_generation(before: Sequence[JsonObject], service: JsonObject, options: Options) -> None:
    """Sampling parameters belong to the service, so that ``nel_model`` sends them as well.

    The command line's stand before those of ``before``: solver and benchmark; ini values only
    fill what nobody says.
    """
    levels = [level.get("generation") or {} for level in before]
    served = service.get("generation") or {}
    if not all(isinstance(level, dict) for level in [*levels, served]):
        return  # refused as what they are
    changed = dict(served)
    _put(changed, _PER_GENERATION, options)
    for option, key in _PER_GENERATION.items():
        for level in levels:
            if option in options.given and level.get(key) is not None:
                level[key] = options.given[option]
    if changed:
        service["generation"] = changed


def _put(target: JsonObject, names: Mapping[str, str], options: Options) -> None:
    for option, key in names.items():
        if option in options.given:
            target[key] = _value(option, options.given[option])
        elif option in options.fallback and key not in target:
            target[key] = _value(option, options.fallback[option])


def _value(option: str, value: object) -> object:
    if option == "shuffle-seed":
        return None if value == "none" else value
    return escape(value) if isinstance(value, str) else value  # no ${NAME}: it is literal text


def _replace_model(suite: JsonObject, options: Options) -> None:
    given = [name for name in _MODEL if name in options.given]
    if not given:
        return
    entries = [entry for entry in suite.get("benchmarks") or [] if isinstance(entry, dict)]
    asked = [name for entry in entries for name in _asked(suite, entry.get("solver"))]
    names = list(dict.fromkeys(asked)) or list(suite.get("services") or {})
    if len(names) != 1:
        flags = ", ".join(f"--nel-{name}" for name in given)
        msg = (
            f"{flags}: the suite asks {len(names)} services ({', '.join(names)}), so it is not "
            "clear which one is meant: use --nel-override services.NAME.url=… or change the suite"
        )
        raise ConfigError(msg)
    old = suite["services"][names[0]]
    if isinstance(old, dict):  # else it is refused as what it is
        suite["services"][names[0]] = _replaced(old, {name: options.given[name] for name in given})


def _replaced(old: Mapping[str, Any], given: Mapping[str, str]) -> JsonObject:
    """A raw service with the command line's model in it.

    What the suite says may hold references and stays as it is; the command line's text is literal.
    """
    here = old.get("type") != "api"
    if set(given) - {"api-key-env"}:  # another model or place has prices of its own
        old = {name: value for name, value in old.items() if name != "prices"}
    if "model" in given:
        _refuse_beside_model(given)
        fresh = _service(model=given["model"], url=None, key_env=None)
        kept = old if here else _only(old, "generation", "timeout", "max_retries")
        return {**kept, **fresh}
    if here and "model-url" not in given:
        flags = " and ".join(f"--nel-{name}" for name in given)
        msg = f"{flags}: the suite serves its model here: add --nel-model-url, or use --nel-model"
        raise ConfigError(msg)
    key = given.get("api-key-env")
    changed: JsonObject = {} if key is None else {"api_key": key_reference(key)}
    if "model-id" in given:
        changed["model"] = escape(given["model-id"])
    if "model-url" not in given:
        return {**old, **changed}
    url, said = given["model-url"], None if here else old.get("protocol")
    wanted = given.get("model-id") or (None if here else "as the suite says")
    fresh = _service(model=wanted, url=url, protocol=None if has_protocol(url) else said)
    if here:
        return {**_only(old, "generation", "timeout", "max_retries"), **fresh, **changed}
    kept = {name: value for name, value in old.items() if name != "api_key"}  # of the old host
    return {**kept, **_only(fresh, "url", "protocol"), **changed}


def _only(service: Mapping[str, Any], *names: str) -> JsonObject:
    return {name: service[name] for name in names if name in service}


def _service(**model: Any) -> JsonObject:
    raw = quick_suite(bench="x", temperature=None, **model)
    service: JsonObject = raw["services"]["model"]
    return {name: value for name, value in service.items() if value != {}}


def _refuse_beside_model(given: Mapping[str, Any]) -> None:
    """``--nel-model`` serves a model here: what describes one elsewhere contradicts it."""
    others = [f"--nel-{name}" for name in _ELSEWHERE if name in given]
    if others:
        msg = (
            f"--nel-model serves a model here, {' and '.join(others)} "
            f"{'are' if len(others) > 1 else 'is'} about one elsewhere: choose one"
        )
        raise ConfigError(msg)
