"""What a measuring pytest run records when a user's code or the disk fails it."""

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from pytest_nel.records.index import index_journals
from tests.plugin.truth import bench, bundle, lines, model, run
from tests.support.disks import small_disk
from tests.support.endpoint import RunningEndpoint, running_endpoint


@pytest.fixture(scope="module")
def endpoint() -> Iterator[RunningEndpoint]:
    with running_endpoint(mode="gold", right=0.5, unparsed=0.1, empty=0.1) as running:
        yield running


def with_body(path: Path, body: str) -> None:
    path.write_text(path.read_text().replace('"""Same text."""', body))


def test_terminal_exit_code_and_files_agree(tmp_path: Path, endpoint: RunningEndpoint) -> None:
    bench(tmp_path, 40)

    done = run(tmp_path, "bench_truth.py", *model(endpoint.url))

    rows = lines(tmp_path / "run" / "truth" / "results.jsonl")
    made = bundle(tmp_path / "run" / "truth")
    outcomes = Counter(row["outcome"] for row in rows)
    assert done.returncode == 0
    assert made["n_attempted"] == len(rows) == 40
    assert {name: made[f"n_{name}"] for name in outcomes} == outcomes
    assert f"{outcomes['correct']} passed" in done.stdout
    assert f"{outcomes['wrong']} wrong" in done.stdout
    checks = json.loads((tmp_path / "run" / "checks.json").read_text())
    assert checks["exit_code"] == 0
    assert [check["status"] for check in checks["checks"]] == ["passed"]


@pytest.mark.parametrize(
    ("body", "cause"),
    [
        ("raise KeyError('gone')", "KeyError: 'gone'"),
        ("import sys; sys.exit(3)", "SystemExit: 3"),
        ("return {'reward': float('nan')}", "must be a number from 0 to 1"),
        ("return None", "must be a number from 0 to 1"),
    ],
)
def test_a_scorer_that_fails_leaves_every_attempt_recorded_and_unscored(
    tmp_path: Path, endpoint: RunningEndpoint, body: str, cause: str
) -> None:
    with_body(bench(tmp_path, 3), body)

    done = run(tmp_path, "bench_truth.py", "--nel-no-selftest", *model(endpoint.url))

    rows = lines(tmp_path / "run" / "truth" / "results.jsonl")
    answered = [row for row in rows if row["model_response"]]
    made = bundle(tmp_path / "run" / "truth")
    assert done.returncode == 7
    assert {row["outcome"] for row in answered} == {"unscored"}
    assert all(cause in row["error"] for row in answered)
    assert len(rows) == made["n_attempted"] == 3
    assert made["benchmark"]["scores"]["runtime"]["model_errors"] == 0


def test_details_that_json_cannot_say_are_stored_strictly(
    tmp_path: Path, endpoint: RunningEndpoint
) -> None:
    odd = "return {'reward': 0.5, 'x': {1, 2}, 'y': float('nan'), 'z': '\\ud800', 'w': 1e999}"
    with_body(bench(tmp_path, 3), odd)

    given = ("--junitxml=j.xml", "--nel-no-selftest")
    done = run(tmp_path, "bench_truth.py", *given, *model(endpoint.url))

    rows = lines(tmp_path / "run" / "truth" / "results.jsonl")
    details = next(row["scoring_details"] for row in rows if row["model_response"])
    assert done.returncode == 0
    assert (details["x"], details["y"], details["z"], details["w"]) == (
        [1, 2],
        None,
        "\ufffd",
        None,
    )


def test_a_garbage_line_in_a_journal_is_said_in_the_summary(
    tmp_path: Path, endpoint: RunningEndpoint
) -> None:
    path = bench(tmp_path, 3)
    spoil = """
import glob
for name in glob.glob("run/truth/journal/*.jsonl"):
    with open(name, "a") as file:
        file.write("not json\\n")
"""
    path.write_text(
        f"{path.read_text()}\n\ndef test_spoil():{spoil.replace(chr(10), chr(10) + '    ')}"
    )

    done = run(tmp_path, "bench_truth.py", *model(endpoint.url))

    assert "journal: " in done.stdout
    assert "damaged (no checksum" in done.stdout
    assert bundle(tmp_path / "run" / "truth")["n_attempted"] == 3


@pytest.fixture(name="small_disk")
def made_small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 128 kB."""
    with small_disk(tmp_path / "disk", "128k") as disk:
        yield disk.path


@pytest.mark.parametrize("workers", [[], ["-n2"]], ids=["plain", "n2"])
def test_a_full_disk_ends_the_run_in_one_clear_line(
    tmp_path: Path, small_disk: Path, workers: list[str], endpoint: RunningEndpoint
) -> None:
    bench(tmp_path, 1000)
    options = ["--nel-model-url", endpoint.url, "--nel-model-id", "m"]

    done = run(
        tmp_path, "bench_truth.py", *workers, *options, "--nel-output-dir", str(small_disk / "run")
    )

    index = index_journals(small_disk / "run" / "truth" / "journal")
    text = done.stdout + done.stderr
    assert "the journal cannot be written: No space left on device" in text
    assert "Traceback" not in text
    assert "INTERNALERROR" not in text
    assert done.returncode == 7
    assert index.problems == []
    assert len(index) > 50


COUNTING = """
import asyncio
import pytest
from pytest_nel import SolveResult


class Counts:
    running = most = 0

    async def solve(self, seed, sandbox):
        self.running += 1
        self.most = max(self.most, self.running)
        await asyncio.sleep(0.01)
        self.running -= 1
        return SolveResult("0")


@pytest.fixture(scope="session")
def nel_solver():
    solver = Counts()
    yield solver
    print(f"at once: {solver.most}")
"""


def test_a_users_own_solver_is_held_to_the_limit_too(tmp_path: Path) -> None:
    bench(tmp_path, 30)
    (tmp_path / "conftest.py").write_text(COUNTING)
    options = ["-s", "--nel-max-concurrent", "3", "--nel-output-dir", "run"]

    done = run(tmp_path, "bench_truth.py", *options)

    assert "at once: 3\n" in done.stdout, done.stdout + done.stderr


SUMS = """
from pytest_nel import benchmark, scorer


@benchmark(name="sums", dataset=[{"q": "1+1", "target": "2"}, {"q": "1+2", "target": "3"}],
           prompt="{q}")
@scorer
def sums(sample):
    return sample.response == sample.target
"""
ASYNC_TEST = """
import asyncio
import pytest
from mine import sums
from pytest_nel import SolveResult, run_evaluation


class Two:
    async def solve(self, seed, sandbox):
        await asyncio.sleep(0)
        return SolveResult("2")


MARK
async def test_my_model(tmp_path):
    loop = asyncio.get_running_loop()
    for name in ("one", "two"):
        bundle = await run_evaluation(sums, Two(), tmp_path / name)
        assert bundle["benchmark"]["scores"]["mean_reward"]["value"] == 0.5
    assert asyncio.get_running_loop() is loop
"""


@pytest.mark.parametrize(("mode", "mark"), [("strict", "@pytest.mark.asyncio"), ("auto", "")])
def test_a_users_async_test_may_measure_on_its_own_loop(
    tmp_path: Path, mode: str, mark: str
) -> None:
    (tmp_path / "mine.py").write_text(SUMS)
    (tmp_path / "test_mine.py").write_text(ASYNC_TEST.replace("MARK", mark))
    scope = ["-o", "asyncio_default_fixture_loop_scope=function"]

    done = run(tmp_path, f"--asyncio-mode={mode}", *scope, "-W", "error", "test_mine.py")

    assert "1 passed" in done.stdout, done.stdout + done.stderr
    assert done.returncode == 0
