"""A disk that is full: one clear line, nothing recorded is damaged, and the run goes on later."""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from pytest_nel.records.index import index_journals
from tests.chaos.accounts import answered, journals
from tests.plugin.truth import bench, lines, model, run
from tests.support.disks import SmallDisk, small_disk
from tests.support.endpoint import RunningEndpoint, running_endpoint

PROBLEMS, AT_ONCE = 400, 8
FULL = "No space left on device"


@pytest.fixture(name="disk")
def made_disk(tmp_path: Path) -> Iterator[SmallDisk]:
    """A file system of 128 kB."""
    with small_disk(tmp_path / "disk", "128k") as disk:
        yield disk


@pytest.fixture
def log(tmp_path: Path) -> Path:
    """Where the endpoint writes down what it has answered."""
    return tmp_path / "log.jsonl"


@pytest.fixture
def endpoint(log: Path) -> Iterator[RunningEndpoint]:
    with running_endpoint(mode="gold", latency=0.005, log=str(log)) as running:
        yield running


def options(endpoint: RunningEndpoint, disk: SmallDisk) -> list[str]:
    where = ["--nel-output-dir", str(disk.path / "run"), "--nel-resume"]
    return [*model(endpoint.url), *where, "--nel-max-concurrent", str(AT_ONCE)]


@pytest.mark.parametrize("workers", [[], ["-n2"]], ids=["plain", "n2"])
def test_a_full_disk_stops_the_run_and_room_lets_it_finish(
    tmp_path: Path, disk: SmallDisk, endpoint: RunningEndpoint, log: Path, workers: list[str]
) -> None:
    bench(tmp_path, PROBLEMS)
    line = ["bench_truth.py", *workers, *options(endpoint, disk)]
    folder = disk.path / "run" / "truth"

    stopped = run(tmp_path, *line)
    index = index_journals(folder / "journal")
    recorded = {row["prompt"] for row in _solved(folder)}
    before = len(answered(log))
    disk.resize("64m")
    finished = run(tmp_path, *line)

    text = stopped.stdout + stopped.stderr
    reasons = [one for one in text.splitlines() if FULL in one]
    assert stopped.returncode == 7, text
    assert len(reasons) == 1
    assert "the journal cannot be written" in reasons[0]
    assert "Traceback" not in text
    assert index.problems == []
    assert before - len(recorded) <= AT_ONCE + 2  # in flight, and one a process that did not fit
    assert finished.returncode == 0, finished.stdout + finished.stderr
    assert len(lines(folder / "results.jsonl")) == PROBLEMS
    assert set(journals(folder).scored.values()) == {1}
    twice = {prompt for prompt, n in Counter(one.prompt for one in answered(log)).items() if n > 1}
    assert not twice & recorded


@pytest.mark.parametrize("workers", [[], ["-n2"]], ids=["plain", "n2"])
def test_a_disk_that_is_still_full_says_so_again(
    tmp_path: Path, disk: SmallDisk, endpoint: RunningEndpoint, workers: list[str]
) -> None:
    bench(tmp_path, PROBLEMS)
    line = ["bench_truth.py", *workers, *options(endpoint, disk)]
    run(tmp_path, *line)
    kept = _bytes(disk.path / "run" / "truth" / "journal")
    filler = disk.path / "filler"
    with filler.open("wb") as file:
        while disk.free():
            file.write(b"x" * 4096)
            file.flush()
    asked = endpoint.stats()["requests"]

    again = run(tmp_path, *line)
    filler.unlink()
    disk.resize("64m")
    finished = run(tmp_path, *line)

    text = again.stdout + again.stderr
    assert again.returncode == 7, text
    assert FULL in text
    assert "Traceback" not in text
    assert endpoint.stats()["requests"] >= asked
    now = _bytes(disk.path / "run" / "truth" / "journal")
    assert all(now[name].startswith(content) for name, content in kept.items())
    assert finished.returncode == 0, finished.stdout + finished.stderr
    assert len(lines(disk.path / "run" / "truth" / "results.jsonl")) == PROBLEMS


def test_a_disk_that_fills_while_results_are_derived(
    tmp_path: Path, endpoint: RunningEndpoint
) -> None:
    bench(tmp_path, PROBLEMS)
    with small_disk(tmp_path / "disk", "64m") as disk:
        line = ["bench_truth.py", *options(endpoint, disk)]
        folder = disk.path / "run" / "truth"
        run(tmp_path, *line)
        used = sum(path.stat().st_size for path in folder.rglob("*.jsonl"))
        before = (folder / "results.jsonl").read_bytes()
        disk.resize(f"{used // 1024 + 64}k")
        asked = endpoint.stats()["requests"]

        full = run(tmp_path, *line)
        during = (folder / "results.jsonl").read_bytes()
        disk.resize("64m")
        finished = run(tmp_path, *line)

        text = full.stdout + full.stderr
        assert full.returncode == 7, text
        assert f"results cannot be written: [Errno 28] {FULL}" in text
        assert "Traceback" not in text
        assert during == before
        assert finished.returncode == 0, finished.stdout + finished.stderr
        assert (folder / "results.jsonl").read_bytes() == before
        assert endpoint.stats()["requests"] == asked


def _solved(folder: Path) -> list[dict[str, str]]:
    rows = (row for path in folder.glob("journal/*.jsonl") for row in lines(path))
    return [row for row in rows if row["_type"] == "solved"]


def _bytes(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}
