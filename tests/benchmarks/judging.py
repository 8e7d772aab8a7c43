"""Judging responses to rows of a built-in benchmark, by the way that a run takes."""

import csv
import json
import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from pytest_nel import Benchmark, SeedResult, VerifyResult
from pytest_nel.engine.loop import LoopThread
from pytest_nel.environments.builtin import BenchmarkEnvironment
from pytest_nel.environments.selftest import Found, selftest

ROOT = Path(__file__).parents[2]
Row = dict[str, Any]


class Problem(NamedTuple):
    """A row of a benchmark as a problem of an environment."""

    environment: BenchmarkEnvironment
    seed: SeedResult

    def judge(self, response: str) -> VerifyResult:
        """What a run would say of that response."""
        seed = self.seed
        return self.environment.verify_now(response, seed.expected_answer, seed.metadata)

    def verdict(self, response: str) -> str:
        """The same in a word: right, wrong or unparsed; a fraction as a number."""
        result = self.judge(response)
        if not result.parsed:
            assert result.reward == 0
            return "unparsed"
        return {0.0: "wrong", 1.0: "right"}.get(result.reward, f"{result.reward:.3f}")


def environment(benchmark: Benchmark, rows: Sequence[Row]) -> BenchmarkEnvironment:
    """The benchmark on rows of ours, in the shape that the hub has them."""
    return BenchmarkEnvironment(replace(benchmark, dataset=list(rows)))


def problem(benchmark: Benchmark, row: Row) -> Problem:
    """One row as a problem."""
    made = environment(benchmark, [row])
    return Problem(made, made.seed_now(0))


def problems(benchmark: Benchmark, rows: Sequence[Row]) -> list[Problem]:
    """All rows as problems."""
    made = environment(benchmark, rows)
    return [Problem(made, made.seed_now(idx)) for idx in range(len(made))]


def tried(benchmark: Benchmark, rows: Sequence[Row]) -> Found:
    """What the self-test says."""
    made = environment(benchmark, rows)
    return selftest(made, range(len(made)), LoopThread().call)


def data(name: str) -> Path:
    """A file of the data folder of this machine; the test is skipped without it."""
    default = Path(os.environ.get("NEL_SHARED", ROOT.parent / "shared")) / "data"
    file = Path(os.environ.get("NEL_TEST_DATA", default)) / name
    if not file.is_file():
        pytest.skip(f"{file} is not here: the rows are not part of the project")
    return file


def json_lines(name: str) -> list[Row]:
    """The rows of a ``.jsonl`` file of the data folder."""
    return [json.loads(line) for line in data(name).read_text(encoding="utf-8").splitlines()]


def csv_rows(name: str) -> list[Row]:
    """The rows of a ``.csv`` file of the data folder."""
    with data(name).open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))
