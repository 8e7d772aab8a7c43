"""The page about the run directory names exactly the keys that runs write."""

import asyncio
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pytest_nel.core.errors import GracefulError, InfraError, RunStopped
from pytest_nel.core.types import ModelResponse, SeedResult, SolveResult
from pytest_nel.engine.run import run_evaluation
from tests.unit.engine.parts import Sums, forty_two

PAGE = (Path(__file__).parents[3] / "docs/reference/run-directory.md").read_text(encoding="utf-8")
REPLY = ModelResponse(
    "<think>hm</think>0",
    model="m",
    finish_reason="stop",
    prompt_tokens=1,
    completion_tokens=1,
    total_tokens=2,
    reasoning_tokens=1,
    latency_ms=1.0,
    refusal="no",
    tool_calls=[{"id": "1"}],
    sampling={"temperature": 0.0},
)


class Eventful:
    """One answer of each kind."""

    async def solve(self, seed: SeedResult, sandbox: object) -> SolveResult:
        del sandbox
        assert seed.attempt is not None
        match seed.attempt.problem_idx:
            case 0:
                return SolveResult(REPLY.content, REPLY, trajectory=[{"step": 1}])
            case 1:
                return SolveResult("x" * 1_000_001, scoring_details={"own": 1}, reward=0.5)
            case 2:
                msg = "lost"
                raise InfraError(msg, retryable=False)
            case _:
                msg = "gave up"
                raise GracefulError(msg)


class Conversations(Sums):
    async def seed(self, idx: int) -> SeedResult:
        seed = await super().seed(idx)
        messages = [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "ho"}]
        return SeedResult(
            seed.prompt, seed.expected_answer, seed.metadata, [*messages], system="be brief"
        )


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    environment = Conversations(
        lambda response, expected: {
            "correct": response == expected,
            "extracted": response,
            "why": "same",
        }
    )
    further = {"metrics": [{"name": "exact_match", "type": "scorer"}]}
    asyncio.run(run_evaluation(environment, Eventful(), tmp_path / "run", scoring=further))
    return tmp_path / "run" / "sums"


def documented(heading: str) -> set[str]:
    section = PAGE.partition(f"## {heading}\n")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| (`[^|]+) \|", section, re.MULTILINE)
    assert rows, heading
    return {key for row in rows for key in re.findall(r"`(\w+)`", row)}


def objects(path: Path) -> Iterator[dict[str, Any]]:
    for line in path.read_text(encoding="utf-8").splitlines():
        yield json.loads(line)


@pytest.mark.parametrize("name", ["results.jsonl", "trajectories.jsonl"])
def test_the_keys_of_a_line_are_those_of_the_page(folder: Path, name: str) -> None:
    written = {key for row in objects(folder / name) for key in row}

    elsewhere = {"sandbox"} if name.startswith("results") else set()  # where one was used
    assert written == documented(name) - elsewhere


def test_the_keys_of_the_journal_are_those_of_the_page(folder: Path) -> None:
    written = {key for row in objects(folder / "journal" / "main.jsonl") for key in row}

    elsewhere = {"metadata", "alone", "cached", "because"}  # in tests/plugin
    elsewhere |= {"altered", "limit", "lost"}  # of sandboxes, secrets and failures
    assert documented("journal") - written == elsewhere
    assert written - documented("journal") == set()


def test_the_keys_of_the_bundle_are_those_of_the_page(folder: Path) -> None:
    (path,) = folder.glob("eval-*.json")
    bundle = json.loads(path.read_text(encoding="utf-8"))

    elsewhere = {"shard", "n_judge_failures", "n_judge_unreadable"}  # of parts; of judges
    assert set(bundle) == documented("The bundle") - elsewhere
    assert set(bundle["benchmark"]) == {"name", "samples", "repeats", "scores", "categories"}


def test_the_keys_of_the_scores_are_those_of_the_page(folder: Path) -> None:
    (path,) = folder.glob("eval-*.json")
    scores = json.loads(path.read_text(encoding="utf-8"))["benchmark"]["scores"]

    table = PAGE.partition("## Scores\n")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| (`[^|]+) \|", table, re.MULTILINE)
    listed = {key for row in rows for key in row.split(", ")}
    of_repeats = {"`pass^k`", "`avg@k`", "`maj@k`"}
    written = {f"`{re.sub('^scorer:.*', 'scorer:NAME', name)}`" for name in scores}
    assert {name.replace("@1", "@k") for name in written} == listed - of_repeats


@pytest.mark.parametrize("name", ["runtime_stats.json", "failure_analysis.json"])
def test_the_keys_of_a_file_are_those_of_the_page(folder: Path, name: str) -> None:
    written = json.loads((folder / name).read_text(encoding="utf-8"))

    rare = {"cost", "judges", "sandboxes", "tools"}  # where there are any
    elsewhere = rare if name.startswith("runtime") else set()
    assert set(written) == documented(name) - elsewhere


def test_the_files_are_those_of_the_page(folder: Path) -> None:
    drawn = PAGE.partition("```text")[2].partition("```")[0]
    below = drawn.partition("<benchmark>/")[2]

    written = {
        re.sub(r"^eval-.*", "eval-<UTC>-<benchmark>.json", path.name) for path in folder.iterdir()
    }

    listed = {name.partition("/")[0] for name in re.findall(r"── (\S+)", below)}
    assert written == listed - {
        *("artifacts", "earlier-<n>", "model_traffic.jsonl"),
        "<benchmark>_inspect.eval",  # by an exporter: tests/unit/exporters
    }


def test_a_run_without_failures_has_no_analysis(tmp_path: Path) -> None:
    class Right:
        async def solve(self, seed: SeedResult, sandbox: object) -> SolveResult:
            del seed, sandbox
            return SolveResult("42")

    asyncio.run(run_evaluation(forty_two(2), Right(), tmp_path / "run"))

    assert not (tmp_path / "run" / "ft" / "failure_analysis.json").exists()


def test_a_stopped_run_is_not_complete(tmp_path: Path) -> None:
    class Down:
        async def solve(self, seed: SeedResult, sandbox: object) -> SolveResult:
            del seed, sandbox
            msg = "down"
            raise InfraError(msg, retryable=False)

    with pytest.raises(RunStopped):
        asyncio.run(run_evaluation(forty_two(100), Down(), tmp_path / "run"))

    (path,) = (tmp_path / "run" / "ft").glob("eval-*.json")
    assert json.loads(path.read_text(encoding="utf-8"))["complete"] is False
