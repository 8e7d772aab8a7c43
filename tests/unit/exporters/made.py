"""Bundles to export, and what the real destinations are started and read with."""

import socket
from collections.abc import Iterable, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from pytest_nel.exporters.hidden import Hidden
from pytest_nel.exporters.protocol import Bundle
from pytest_nel.hooks.exports import bundles_of
from pytest_nel.reports.bundles import find
from tests.support.command import Done, environment, nel


def bundle_in(directory: Path, secrets: Iterable[str] = ()) -> Bundle:
    """The only bundle there."""
    found, _ = find([directory])
    (bundle,) = bundles_of(found, Hidden(secrets))
    return bundle


def needs(*modules: str) -> pytest.MarkDecorator:
    """Skip, and say why, where a destination's library is not installed."""
    missing = [name for name in modules if find_spec(name) is None]
    return pytest.mark.skipif(bool(missing), reason=f"needs {', '.join(missing)}")


def nel_export(*words: str | Path, env: Mapping[str, str] | None = None) -> Done:
    """``nel export`` in a process of its own: these libraries start threads and processes."""
    return nel("export", *words, env=environment(**(env or {})), timeout=120)


def free_port() -> int:
    """A port where nobody listens."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return int(taken.getsockname()[1])


BUNDLE: Mapping[str, Any] = {
    "timestamp": "2026-03-02T09:14:51Z",
    "config": {"repeats": 2, "solver": {"type": "simple"}, "max_concurrent": 8},
    "complete": True,
    "turns": 1,
}
SCORES: Mapping[str, Any] = {
    "mean_reward": {"value": 0.5, "ci_lower": 0.0, "ci_upper": 0.9},
    "pass@1": {"value": 0.25, "ci_lower": None, "ci_upper": None},
    "pass^2": {"value": None},
    "scorer:f1": {"value": 0.75, "n": 3},
    "summary": {"mean": 0.5},
    "rates": {"unscored": {"value": 0.25, "n": 1, "of": 4}},
    "runtime": {
        "total_steps": 4,
        "total_tokens": 0,
        "steps_without_usage": 4,
        "latency_percentiles_ms": {"p50": 7.5},
        "cost": {"total": 1.5, "currency": "EUR"},
    },
}


def with_scores(scores: Mapping[str, Any] = SCORES, **more: Any) -> dict[str, Any]:
    """What a bundle says beside its counts."""
    about = {"name": "mmlu", "samples": 2, "repeats": 2, "scores": scores}
    return {**BUNDLE, "benchmark": about, **more}
