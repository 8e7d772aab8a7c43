"""What a bundle says, flat: its metrics as numbers, its settings as texts, its key."""

import json
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any

from pytest_nel.core.keys import digest
from pytest_nel.core.types import JsonObject
from pytest_nel.exporters.protocol import Bundle
from pytest_nel.gate.comparable import timeout_of
from pytest_nel.records.judged import number

_BOUNDS = ("ci_lower", "ci_upper")
_COUNTED = ("total_tokens", "total_prompt_tokens", "total_completion_tokens", "tokens_per_second")
_LOOSE = {
    *("max_concurrent", "window", "timeout", "max_system_retries", "max_unscored"),
    *("max_judge_failures", "strict", "min_score", "evidence", "budget", "name"),
}
"""Settings that determine no answer, and may change when a run is resumed; ``timeout`` does where
the solver works in a sandbox."""


def key_of(bundle: Bundle) -> str:
    """32 hex digits: the same for every export of a run's benchmark, also after it was resumed."""
    content = bundle.content
    run = content.get("run_id") or [content.get("timestamp"), content.get("config_hash")]
    return digest([run, bundle.benchmark, content.get("shard")]).partition(":")[2][:32]


def began(bundle: Bundle) -> datetime:
    """When the run began; when the bundle was written, where it does not say."""
    try:
        when = datetime.fromisoformat(str(bundle.content.get("timestamp")))
    except ValueError:
        when = datetime.fromtimestamp(bundle.path.stat().st_mtime, tz=UTC)
    return when if when.tzinfo is not None else when.replace(tzinfo=UTC)


def model_of(bundle: Bundle) -> str | None:
    """The model's name, of several all; None where the bundle does not say."""
    fingerprint = _mapping(bundle.content, "fingerprint")
    config = _mapping(bundle.content, "config")
    models = fingerprint.get("models")
    if isinstance(models, list) and any(models):
        return ", ".join(str(model) for model in models if model)
    said = (fingerprint.get("model"), config.get("model"), bundle.content.get("model"))
    return next((model for model in said if isinstance(model, str) and model), None)


def metrics_of(bundle: Bundle) -> dict[str, float]:
    """Every number, under names such as ``pass@1`` and ``pass@1/ci_lower``; unknown is left out."""
    benchmark = bundle.content["benchmark"]
    scores = _mapping(benchmark, "scores")
    found = dict(_of_scores(scores, ""))
    found |= dict(_of_scores(_mapping(scores, "rates"), "rate/"))
    found |= dict(_of_runtime(_mapping(scores, "runtime")))
    for name, said in _mapping(benchmark, "categories").items():
        if isinstance(said, Mapping):
            _put(found, f"category/{name}/mean_reward", said.get("mean_reward"))
    for name, value in {**bundle.content, "n_problems": benchmark.get("samples")}.items():
        if name.startswith("n_"):
            _put(found, name, value)
    return found


def settings_of(bundle: Bundle) -> dict[str, str]:
    """What determines the answers, under dotted names; null is left out."""
    fingerprint = _mapping(bundle.content, "fingerprint")
    config = _mapping(bundle.content, "config")
    said: JsonObject = {"benchmark": bundle.benchmark, "model": model_of(bundle)}
    said |= {
        name: fingerprint.get(name) for name in ("dataset", "revision", "dataset_size", "scorer")
    }
    said |= {name: value for name, value in config.items() if name not in {*_LOOSE, "model"}}
    if (seconds := timeout_of(bundle.content)) is not None:
        said["timeout"] = seconds
    return dict(_flat(said, ""))


def facts_of(bundle: Bundle) -> dict[str, str]:
    """Which run it was and how much of it there is; all of it may change with a resumption."""
    content = bundle.content
    facts = {"run": bundle.run, "benchmark": bundle.benchmark, "model": model_of(bundle)}
    names = ("run_id", "timestamp", "sdk_version", "config_hash", "complete", "evaluated", "turns")
    facts |= {name: content.get(name) for name in names}
    return {name: _text(value) for name, value in facts.items() if value is not None}


def _of_scores(scores: Mapping[str, Any], before: str) -> Iterator[tuple[str, float]]:
    for name, said in scores.items():
        if not isinstance(said, Mapping) or (value := number(said.get("value"))) is None:
            continue
        yield f"{before}{name}", value
        for bound in _BOUNDS:
            if (limit := number(said.get(bound))) is not None:
                yield f"{before}{name}/{bound}", limit


def _of_runtime(runtime: Mapping[str, Any]) -> Iterator[tuple[str, float]]:
    unknown = bool(runtime.get("steps_without_usage")) and not runtime.get("total_tokens")
    for name, value in runtime.items():
        if unknown and name in {*_COUNTED, "total_reasoning_tokens"}:
            continue  # no server has said any: that is not 0
        if (known := number(value)) is not None:
            yield f"runtime/{name}", known
    for name, value in _mapping(runtime, "latency_percentiles_ms").items():
        if (known := number(value)) is not None:
            yield f"runtime/latency_ms/{name}", known
    if (total := number(_mapping(runtime, "cost").get("total"))) is not None:
        yield "runtime/cost/total", total


def _put(found: dict[str, float], name: str, value: object) -> None:
    if (known := number(value)) is not None:
        found[name] = known


def _mapping(value: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    found = value.get(name)
    return found if isinstance(found, Mapping) else {}


def _flat(value: Mapping[str, Any], before: str) -> Iterator[tuple[str, str]]:
    for name, inner in value.items():
        if isinstance(inner, Mapping):
            yield from _flat(inner, f"{before}{name}.")
        elif inner is not None and inner != []:
            yield f"{before}{name}", _text(inner)


def _text(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
