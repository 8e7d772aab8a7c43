"""Bundles and tables for tests, some as the reference system writes them."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pytest_nel.reports import REGISTRY
from pytest_nel.reports.bundles import find
from pytest_nel.reports.rows import table_of
from pytest_nel.reports.table import Metric, Row, Table


def reference(
    folder: Path,
    name: str,
    rewards: Sequence[float],
    *,
    scores: Mapping[str, Any] | None = None,
    stamp: str = "20260102T030405Z",
    model: str = "m",
) -> Path:
    """A benchmark directory of the reference system; binary bundles have no mean_reward."""
    folder.mkdir(parents=True, exist_ok=True)
    value = sum(rewards) / len(rewards)
    bundle = {
        "run_id": f"run-{stamp}",
        "config_hash": "sha256:1",
        "sdk_version": "0.5.0",
        "timestamp": "2026-01-02T03:04:05+00:00",
        "config": {"model": model, "benchmark": name, "repeats": 1},
        "benchmark": {
            "name": name,
            "samples": len(rewards),
            "repeats": 1,
            "scores": {"pass@1": {"value": value}} if scores is None else dict(scores),
        },
        "n_results": len(rewards),
    }
    path = folder / f"eval-{stamp}-{name}.json"
    path.write_text(json.dumps(bundle))
    rows = [
        {
            "problem_idx": idx,
            "repeat": 0,
            "reward": reward,
            "prompt": f"question {idx}",
            "model_response": f"answer {idx}",
            "extracted_answer": "x",
            "expected_answer": "y",
            "scoring_details": {},
            "metadata": {},
            "tokens": 3,
            "latency_ms": 2.0,
        }
        for idx, reward in enumerate(rewards)
    ]
    text = "".join(json.dumps(row) + "\n" for row in rows)
    (folder / "results.jsonl").write_text(text)
    return path


def table(*paths: Path, baseline: Path | None = None) -> Table:
    """The table of what lies there."""
    found, left_out = find(paths)
    before = find([baseline])[0] if baseline else []
    return table_of(found, before, version="1.2.3", notes=left_out)


def text(name: str, made: Table) -> str:
    """A whole report."""
    return "".join(REGISTRY.load(name)().pieces(made))


def row(name: str = "b", score: float | None = 0.5, **more: Any) -> Row:
    """A row of a table."""
    facts: dict[str, Any] = {"run": "r", "run_id": "r", "model": "m", "benchmark": name}
    facts |= {"headline": Metric("mean_reward", score), "samples": 10, "repeats": 1}
    return Row(**(facts | more))
