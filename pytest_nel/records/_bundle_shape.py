"""What a bundle must look like for its numbers to be trusted."""

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

_MOST = 10_000_000  # attempts of a benchmark, or tokens of each; beyond it a number is damage
_COUNTS = (
    *("n_results", "n_planned", "n_total", "n_attempted", "n_scored", "n_correct", "n_wrong"),
    *("n_unparsed", "n_unscored", "n_truncated", "n_empty", "n_made_again"),
    *("n_judge_failures", "n_judge_unreadable"),
)
_Path: TypeAlias = tuple[str, ...]
_Fits: TypeAlias = Callable[[Any], bool]
_RUNTIME: _Path = ("benchmark", "scores", "runtime")


def _object(value: Any) -> bool:
    return isinstance(value, dict)


def _objects(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(one, dict) for one in value)


def _count(value: Any) -> bool:
    return type(value) is int and 0 <= value <= _MOST


def _repeats(value: Any) -> bool:
    return type(value) is int and 1 <= value <= 100_000


def _number(value: Any) -> bool:
    return type(value) in (int, float) and 0 <= value < 1e300


def _shard(value: Any) -> bool:
    return isinstance(value, list) and len(value) == 2 and all(type(one) is int for one in value)


_SHAPES: Mapping[_Path, tuple[str, _Fits]] = {
    ("config",): ("an object", _object),
    ("fingerprint",): ("an object", _object),
    ("fingerprint", "answering"): ("an object", _object),
    ("fingerprint", "judged_in"): ("an object", _object),
    ("fingerprint", "versions"): ("an object", _object),
    ("fingerprint", "sampling"): ("a list of objects", _objects),
    ("benchmark", "repeats"): ("a whole number from 1 to 100,000", _repeats),
    ("benchmark", "samples"): ("a count", _count),
    ("benchmark", "scores"): ("an object", _object),
    _RUNTIME: ("an object", _object),
    (*_RUNTIME, "latency_percentiles_ms"): ("an object", _object),
    (*_RUNTIME, "latency_percentiles_ms", "p95"): ("a number", _number),
    (*_RUNTIME, "total_tokens"): ("a number", _number),
    (*_RUNTIME, "steps_without_usage"): ("a count", _count),
    (*_RUNTIME, "cost"): ("an object", _object),
    (*_RUNTIME, "cost", "total"): ("a number", _number),
    (*_RUNTIME, "cost", "n_unknown"): ("a count", _count),
    ("turns",): ("a count", _count),
    ("shard",): ("two numbers", _shard),
    **{(name,): ("a count", _count) for name in _COUNTS},
}


def trouble_of(bundle: object) -> str | None:
    """Why an object is no bundle, or a damaged one; None for a sound one.

    Keys may be missing, since bundles of the reference system have fewer than ours.
    """
    if not isinstance(bundle, dict):
        return f"expected an object, got {type(bundle).__name__}"
    benchmark = bundle.get("benchmark")
    if not isinstance(benchmark, dict) or not isinstance(benchmark.get("name"), str):
        return "benchmark.name: expected text"
    for path, (wanted, fits) in _SHAPES.items():
        value: Any = bundle
        for name in path:  # what encloses it has been looked at before
            value = None if value is None else value.get(name)
        if value is not None and not fits(value):
            return f"{'.'.join(path)}: expected {wanted}, got {value!r}"[:200]
    return _contradiction(bundle)


def _contradiction(bundle: Mapping[str, Any]) -> str | None:
    for fewer, more in (
        ("n_scored", "n_attempted"),
        ("n_attempted", "n_planned"),
        ("n_planned", "n_total"),
    ):
        one, other = bundle.get(fewer), bundle.get(more)
        if one is not None and other is not None and one > other:
            return f"{fewer} is {one:,} and {more} {other:,}"
    if "n_planned" in bundle and not bundle.get("fingerprint"):  # one of ours always has it
        return "its fingerprint is missing"
    return None
