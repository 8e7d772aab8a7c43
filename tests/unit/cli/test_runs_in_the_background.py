"""``nel eval run`` notes itself; in the background it goes on, is stopped, killed and resumed."""

import json
import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from pytest_nel.cluster.runs import RunEntry, RunStore
from tests.plugin.running import Nel, rows
from tests.support.command import Done
from tests.support.endpoint import RunningEndpoint, running_endpoint
from tests.support.processes import gone, until

ANSWERS = Path(__file__).parents[2] / "plugin" / "answers.py"
SECRET = "sk-do-not-write-me-down"  # noqa: S105 - it opens nothing


@pytest.fixture(scope="module")
def slow() -> Iterator[RunningEndpoint]:
    """Answers after a tenth of a second."""
    with running_endpoint(script=str(ANSWERS), latency=0.1) as endpoint:
        yield endpoint


class Shell:
    """A folder with a benchmark of 60 problems, and the command."""

    def __init__(self, folder: Path, url: str) -> None:
        self.folder = folder
        self.nel = Nel(folder, url, env={"XDG_DATA_HOME": str(folder / "data")})
        self.nel.write("pytest.ini", "[pytest]\n")
        self.nel.bench(rows(*map(str, range(60))))
        self.model = ("--model-url", url, "--model-id", "m", "--max-concurrent", "1")

    def __call__(self, *words: str, **env: str) -> Done:
        return self.nel.nel("eval", *words, env=env)

    def begin(self) -> RunEntry:
        """Start the benchmark in the background, and wait for some answers."""
        done = self("run", "-b", "bench_sums.py", *self.model, "-o", "out", "--background")
        assert done.returncode == 0, done.stdout + done.stderr
        entry = self.entry()
        assert f"run {entry.run_id} has begun (process {entry.pid})" in done.stdout
        assert until(lambda: self.scored() >= 3)
        return entry

    def entry(self) -> RunEntry:
        """The only run in the store."""
        (entry,) = RunStore(self.folder / "data" / "nel" / "runs").list().entries
        return entry

    def scored(self) -> int:
        """Attempts with a score so far."""
        journals = (self.folder / "out" / "sums" / "journal").glob("*.jsonl")
        return sum(path.read_text().count('"_type":"scored"') for path in journals)


@pytest.fixture
def shell(tmp_path: Path, slow: RunningEndpoint) -> Iterator[Shell]:
    made = Shell(tmp_path, slow.url)
    yield made
    for entry in RunStore(tmp_path / "data" / "nel" / "runs").list().entries:
        if entry.state == "running":
            os.kill(entry.pid, signal.SIGKILL)


def test_a_run_in_the_background_is_stopped_and_resumed(shell: Shell) -> None:
    entry = shell.begin()

    stopped = shell("stop", "-r", entry.run_id[:12])
    status = json.loads(shell("status", "--json").stdout)
    resumed = shell("resume", "--max-concurrent", "20", "--", "-p", "no:cacheprovider")

    assert (stopped.returncode, resumed.returncode) == (0, 0)
    assert "has ended (exit status 7: nel eval resume goes on)" in stopped.stdout
    assert (status["state"], status["exit_code"], status["run_id"]) == ("ended", 7, entry.run_id)
    assert 3 <= status["benchmarks"][0]["scored"] < 60
    assert "60/60" in resumed.stdout
    log = next((shell.folder / "out" / "logs").glob("nel-*.log")).read_text()
    assert "SIGTERM received" in log
    assert shell.entry().command[-3:] == ("--", "-p", "no:cacheprovider")
    assert shell.entry().log is None


def test_a_killed_run_has_died_and_is_resumed(shell: Shell) -> None:
    entry = shell.begin()
    os.kill(entry.pid, signal.SIGKILL)
    assert gone([entry.pid])

    died = json.loads(shell("status", "--json").stdout)["state"]
    again = shell("resume", "--max-concurrent", "20", "--background")
    followed = shell("logs", "-f")

    assert (died, again.returncode) == ("died", 0)
    assert "60/60" in followed.stdout
    assert until(lambda: shell.entry().exit_code == 0)
    assert shell.entry().run_id == entry.run_id


def test_what_cannot_begin_in_the_background_is_said_at_once(shell: Shell) -> None:
    done = shell("run", "-b", "nothing.py", *shell.model, "-n", "many", "--background")

    assert done.returncode == 4
    assert "expected an integer >= 1, got 'many'" in done.stderr
    assert not list((shell.folder / "data").rglob("*.log"))


def test_a_store_that_cannot_be_written_does_not_fail_a_run(shell: Shell) -> None:
    (shell.folder / "data").write_text("a file, and no folder")

    done = shell(
        "run", "-b", "bench_sums.py", *shell.model, "--max-problems", "2", NEMO_API_KEY=SECRET
    )
    behind = shell("run", "-b", "bench_sums.py", *shell.model, "--background")

    assert done.returncode == 0
    assert done.stderr.count("this run cannot be noted") == 1
    assert behind.returncode == 4
    assert "--background needs a place for its log" in behind.stderr


def test_a_run_notes_itself_without_its_key(shell: Shell) -> None:
    done = shell(
        *("run", "-b", "bench_sums.py", *shell.model[:4], "--max-problems", "2"),
        *("--system-prompt", f"Never say {SECRET}"),
        *("--", "-p", "xdist", "-n2", f"--override-ini=xdist_api_key={SECRET}"),
        NEMO_API_KEY=SECRET,
    )

    assert done.returncode == 0, done.stdout + done.stderr
    entry = shell.entry()
    assert (done.returncode, entry.exit_code, entry.state) == (0, 0, "ended")
    assert Path(entry.directory).parent == shell.folder / "eval_results"
    assert "--override-ini=xdist_api_key=***" in entry.command
    assert "--system-prompt=Never say ***" in entry.command
    assert not any(SECRET in path.read_text() for path in (shell.folder / "data").rglob("*.json"))
