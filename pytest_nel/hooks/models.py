"""From options to a suite: which model, and what the command line changes in a suite."""

import copy
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from pytest_nel.config.interpolate import escape, getenv
from pytest_nel.config.load import load_suite
from pytest_nel.config.quick import QuickOptions, quick_suite
from pytest_nel.config.schema import OutputConfig
from pytest_nel.core.errors import ConfigError
from pytest_nel.core.types import JsonObject
from pytest_nel.hooks.options import Options

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
_PER_GENERATION = {"temperature": "temperature", "max-tokens": "max_tokens"}
_MODEL = ("model", "model-url", "model-id", "api-key-env")


def suite_args(config: pytest.Config) -> list[Path]:
    """Suite files named on the command line."""
    names = (str(arg).partition("::")[0] for arg in config.args)
    base = config.invocation_params.dir
    return [base / name for name in names if name.endswith(".nel.yaml")]


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
            outputs[path.name] = load_suite(path).config.output
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
    if model is not None and "model" in options.given and "model-url" not in options.given:
        url = None
    if model is not None and url is not None:
        msg = "--nel-model serves a model here, --nel-model-url names one elsewhere: choose one"
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
            options=QuickOptions(),
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
        solver = entry.get("solver")
        if isinstance(solver, dict) and solver.get("type") != FIXTURE:
            _put(solver, {"system-prompt": "system_prompt"}, options)
            generation = dict(solver.get("generation") or {})
            _put(generation, _PER_GENERATION, options)
            if generation:
                solver["generation"] = generation
    services = [spec for spec in (suite.get("services") or {}).values() if isinstance(spec, dict)]
    for spec in services:
        _put(spec, {"timeout": "timeout"}, options)
    if model:
        _replace_model(suite, options)
    return suite


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
    names = list(suite.get("services") or {})
    if len(names) != 1:
        flags = ", ".join(f"--nel-{name}" for name in given)
        msg = (
            f"{flags}: the suite has {len(names)} services ({', '.join(names)}), so it is not "
            "clear which one is meant: change the suite"
        )
        raise ConfigError(msg)
    old = suite["services"][names[0]]
    quick = quick_suite(
        bench="x",
        model=options.given.get("model") or options.given.get("model-id") or old.get("model"),
        url=None if "model" in options.given else options.given.get("model-url") or old.get("url"),
        key_env=options.given.get("api-key-env"),
        options=QuickOptions(temperature=None),
    )
    fresh = quick["services"]["model"]
    kept = {"generation", "timeout", "max_concurrent", "max_retries"}
    if "model-url" not in options.given:
        kept |= {"api_key", "connect_timeout", "read_timeout"}
    if fresh["type"] != old.get("type"):
        kept = {"generation", "timeout"}
    inherited = {key: value for key, value in old.items() if key in kept}
    suite["services"][names[0]] = {**inherited, **{k: v for k, v in fresh.items() if v != {}}}
