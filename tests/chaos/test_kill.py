"""A run that is killed at any moment leaves every finished attempt, once."""

import json
import random
from pathlib import Path

import pytest

from pytest_nel.records.files import derive
from tests.plugin.truth import bench, kill, lines, model, start, wait_for_lines
from tests.support.endpoint import running_endpoint

RUN = {"run_id": "r", "timestamp": "2026-01-01T00:00:00Z"}


@pytest.mark.parametrize("workers", [0, 2])
def test_every_finished_attempt_survives_a_kill(tmp_path: Path, workers: int) -> None:
    moment = random.Random(workers).randint(20, 120)
    bench(tmp_path, 2000)
    with running_endpoint(latency=0.02, mode="gold", right=0.6, unparsed=0.1) as endpoint:
        options = ["-n", str(workers)] if workers else []
        process = start(tmp_path, "bench_truth.py", *options, *model(endpoint.url))
        wait_for_lines(tmp_path, "run/truth/journal/*.jsonl", b'"_type":"scored"', moment)
        kill(process)
        paid = endpoint.stats()["ok"]
    folder = tmp_path / "run" / "truth"
    finished = {
        (row["problem_idx"], row["repeat"])
        for path in (folder / "journal").glob("*.jsonl")
        for row in map(json.loads, path.read_text().splitlines(keepends=False))
        if row["_type"] == "scored"
    }

    made = derive(folder, RUN)

    keys = [(row["problem_idx"], row["repeat"]) for row in lines(folder / "results.jsonl")]
    assert len(keys) == len(set(keys)) == made.bundle["n_attempted"]
    assert set(keys) == finished
    assert moment <= len(keys) <= paid
    assert made.missing == 2000 - len(keys)
    assert made.problems == []
