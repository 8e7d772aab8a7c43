"""Sandboxes in whole runs: with one process and two, killed and gone on with, refused."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.plugin.running import Ended, Nel

BENCH = '''"""Writes numbers into files."""

from pytest_nel import ScorerInput, SandboxSpec, SeedResult, benchmark, scorer

ROWS = [{{"id": f"p{{i}}", "say": str(i), "target": str(i)}} for i in range(6)]


def seeded(row, idx):
    return SeedResult(row["say"], row["target"], {{}}, {places})


@benchmark(name="files", dataset=ROWS, seed_fn=seeded, sandbox="img")
@scorer
async def files(sample: ScorerInput) -> bool:
    """Reads the file there."""
    ran = await sample.sandbox.exec("cat answer.txt")
    return ran.stdout.strip() == sample.target
'''
CARRIED = (
    'sandbox_spec=SandboxSpec(image="img"), verify_sandbox_spec=SandboxSpec(image="fresh"), '
    'capture_cmd="tar -cf /output/workspace.tar -C /workspace .", '
    'apply_cmd="tar -xf /input/workspace.tar -C /workspace"'
)
LIVE = 'sandbox_spec=SandboxSpec(image="img")'
SOLVER = '''"""Answers by a file in the sandbox; dies once where the folder says so."""

import os
import signal
from pathlib import Path

import pytest

from pytest_nel import SolveResult

HERE = Path(__file__).parent


class Writes:
    async def solve(self, seed, sandbox):
        await sandbox.exec(f"echo {seed.prompt} > answer.txt")
        order = HERE / "die"
        if seed.prompt == "4" and order.exists():
            order.unlink()
            os.kill(os.getpid(), signal.SIGKILL)
        with (HERE / "solved.txt").open("a") as file:
            file.write(seed.prompt + "\\n")
        return SolveResult("done")


@pytest.fixture(scope="session")
def nel_solver():
    return Writes()
'''


@pytest.fixture
def boxed(nel: Nel) -> Nel:
    """A folder in which type ``temp`` is a sandbox, as a package of somebody's would add it."""
    facts = nel.folder / "site" / "boxes-1.0.dist-info"
    facts.mkdir(parents=True)
    (facts / "METADATA").write_text("Metadata-Version: 2.1\nName: boxes\nVersion: 1.0\n")
    row = "[pytest_nel.sandboxes]\ntemp = tests.support.temp_sandbox:TempBackend\n"
    (facts / "entry_points.txt").write_text(row)
    nel.env["PYTHONPATH"] = f"{Path(__file__).parents[2]}:{facts.parent}"
    nel.write("conftest.py", SOLVER)
    return nel


def written(nel: Nel, places: str, **options: Any) -> None:
    nel.write("bench_files.py", BENCH.format(places=places))
    said = json.dumps({"type": "temp", "log": str(nel.folder / "log.txt"), **options})
    nel.suite("bench_files.py", more=f"sandbox: {said}")


def events(nel: Nel) -> list[str]:
    return (nel.folder / "log.txt").read_text().splitlines()


def solved(nel: Nel) -> list[str]:
    return sorted((nel.folder / "solved.txt").read_text().split())


def stats(ended: Ended) -> dict[str, Any]:
    path = ended.run_dir / "files" / "runtime_stats.json"
    found: dict[str, Any] = json.loads(path.read_text())
    return found


def test_workspaces_are_carried_into_fresh_sandboxes(boxed: Nel, how: list[str]) -> None:
    written(boxed, CARRIED, concurrency=2)

    ended = boxed.run("my.nel.yaml", *how, model=False)

    assert ended.code == 0, ended.text
    assert set(ended.outcomes("files").values()) == {"correct"}
    log = events(boxed)
    begun = [line.split()[-1] for line in log if line.startswith("start ")]
    assert sorted(begun) == ["fresh"] * 6 + ["img"] * 6
    assert sum(line.startswith("stop ") for line in log) == 12
    assert {line for line in log if line.startswith("prepare")} == {"prepare img", "prepare fresh"}
    assert stats(ended)["sandboxes"]["started"] == 12
    assert ended.results("files")[0]["sandbox"]["verify"]["started"] == 1

    again = boxed.run("my.nel.yaml", "--nel-rescore", *how, model=False)

    assert again.code == 0, again.text
    assert set(again.outcomes("files").values()) == {"correct"}
    assert solved(boxed) == list("012345")  # nobody was asked again


def test_what_was_killed_is_gone_on_with(boxed: Nel) -> None:
    written(boxed, CARRIED, concurrency=1)
    boxed.write("die", "")

    killed = boxed.run("my.nel.yaml", "--nel-shuffle-seed", "none", model=False)
    kept = sorted((killed.run_dir / "files" / "artifacts").glob("*.tar"))
    kept[0].write_bytes(b"something else")
    before = len(events(boxed))
    ended = boxed.run("my.nel.yaml", "--nel-shuffle-seed", "none", "--nel-resume", model=False)

    assert killed.code == -9
    assert len(kept) >= 4
    assert ended.code == 0, ended.text
    assert set(ended.outcomes("files").values()) == {"correct"}
    assert solved(boxed) == list("012345")  # what was judged stays, whatever became of its file
    assert len([line for line in events(boxed)[before:] if line.startswith("start ")]) == 4


def test_workspaces_that_were_lost_are_made_again(boxed: Nel) -> None:
    written(boxed, CARRIED)
    first = boxed.run("my.nel.yaml", model=False)
    (first.run_dir / "files" / "artifacts" / "3-r0.tar").unlink()
    bench = (boxed.folder / "bench_files.py").read_text()
    boxed.write("bench_files.py", bench.replace(".strip()", ".strip(' \\n')"))  # judged anew

    ended = boxed.run("my.nel.yaml", "--nel-resume", model=False)

    assert ended.code == 0, ended.text
    assert set(ended.outcomes("files").values()) == {"correct"}
    assert solved(boxed) == sorted("0123453")


def test_rescoring_names_the_workspaces_that_are_gone(boxed: Nel, how: list[str]) -> None:
    written(boxed, CARRIED)
    first = boxed.run("my.nel.yaml", model=False)
    folder = first.run_dir / "files" / "artifacts"
    (folder / "3-r0.tar").unlink()
    (folder / "1-r0.tar").write_bytes(b"changed")

    ended = boxed.run("my.nel.yaml", "--nel-rescore", "-rs", *how, model=False)

    assert ended.code == 7, ended.text
    assert "4 judged from stored answers" in ended.text
    lost = next(line for line in ended.text.splitlines() if "2 not judged again" in line)
    assert "files[1-r0]" in lost
    assert "files[3-r0]" in lost
    assert "their earlier scores still stand" in lost
    assert (
        "its workspace, artifacts/3-r0.tar of the run's directory, is gone or changed"
        in " ".join(ended.text.split())
    )


def test_answers_judged_where_they_were_made_are_made_again(boxed: Nel) -> None:
    written(boxed, LIVE)
    boxed.run("my.nel.yaml", model=False)
    bench = (boxed.folder / "bench_files.py").read_text()
    boxed.write("bench_files.py", bench.replace(".strip()", ".strip(' \\n')"))  # judged anew

    ended = boxed.run("my.nel.yaml", "--nel-resume", model=False)
    rescored = boxed.run("my.nel.yaml", "--nel-rescore", "-rs", model=False)

    assert ended.code == 0, ended.text
    assert set(ended.outcomes("files").values()) == {"correct"}
    assert solved(boxed) == sorted("012345" * 2)
    assert "6 asked again: not all of what was judged may be written or kept" in ended.text
    assert "was judged in its own sandbox, which is gone" in " ".join(rescored.text.split())
    assert "6 not judged again, since not all of what was judged is written" in rescored.text


def test_a_run_without_the_sandbox_it_needs_is_refused(boxed: Nel, how: list[str]) -> None:
    boxed.write("bench_files.py", BENCH.format(places=""))

    without = boxed.run("bench_files.py", *how, model=False)
    wrong = boxed.run("bench_files.py", "--nel-sandbox", "temq", model=False)
    written(boxed, LIVE, unusable="no boxes on this machine: get some")
    unusable = boxed.run("my.nel.yaml", *how, model=False)

    assert without.code == 4, without.text
    assert "files: it runs code and has no sandbox" in without.text
    assert "`sandbox: {type: docker}`" in without.text
    assert "expected one of docker, local, temp, none, got 'temq'" in wrong.text
    assert unusable.code == 4, unusable.text
    assert "no boxes on this machine: get some" in unusable.text
    assert not boxed.folder.joinpath("solved.txt").exists()


def test_types_that_are_not_there_yet_are_refused_with_the_reason(boxed: Nel) -> None:
    written(boxed, LIVE)
    suite = boxed.folder / "my.nel.yaml"
    suite.write_text(suite.read_text().replace('"temp"', '"apptainer"'))

    ended = boxed.run("my.nel.yaml", model=False)

    assert "benchmarks[0].sandbox.type: 'apptainer' is not there yet" in ended.text


def test_a_plan_shows_sandboxes_and_images(boxed: Nel) -> None:
    written(boxed, CARRIED, concurrency=3)

    ended = boxed.run("my.nel.yaml", "--nel-dry-run", model=False)

    assert "sandbox of files (temp, 3 at once): img, fresh" in ended.out
    assert not (boxed.folder / "log.txt").exists()


def test_the_command_line_gives_a_sandbox_where_there_is_no_suite(boxed: Nel) -> None:
    boxed.write("bench_files.py", BENCH.format(places=""))
    text = (boxed.folder / "bench_files.py").read_text()
    boxed.write("bench_files.py", text.replace("cat answer.txt", "cat image.txt"))

    ended = boxed.run("bench_files.py", "--nel-sandbox", "temp", model=False)

    assert set(ended.outcomes("files").values()) == {"wrong"}  # the sandbox is fresh
    assert ended.results("files")[0]["sandbox"]["verify"]["started"] == 1
    assert ended.code == 0, ended.text


def test_a_solver_may_take_sandboxes_beside_its_own(boxed: Nel) -> None:
    written(boxed, CARRIED, concurrency=2)
    suite = boxed.folder / "my.nel.yaml"
    log = json.dumps(str(boxed.folder / "other.txt"))
    suite.write_text(f"{suite.read_text()}sandboxes: {{other: {{type: temp, log: {log}}}}}\n")
    solver = SOLVER.replace("def nel_solver():", "def nel_solver(nel_sandboxes):").replace(
        "return Writes()", "return Writes(nel_sandboxes)"
    )
    solver = solver.replace(
        "class Writes:\n",
        "class Writes:\n    def __init__(self, rooms):\n        self.rooms = rooms\n\n"
        "    def fingerprint(self):\n        return {'names': sorted(self.rooms)}\n\n",
    ).replace(
        'return SolveResult("done")',
        'async with self.rooms["other"].sandbox(name="mine") as box:\n'
        '            return SolveResult((await box.exec("echo done")).stdout)',
    )
    boxed.write("conftest.py", solver)

    ended = boxed.run("my.nel.yaml", model=False)

    assert ended.code == 0, ended.text
    assert {row["model_response"] for row in ended.results("files")} == {"done\n"}
    other = (boxed.folder / "other.txt").read_text().splitlines()
    assert (other[0], other[-1]) == ("open", "close")
    assert other.count("stop mine") == 6


def test_what_sandboxes_are_given_of_the_environment_is_in_nothing_that_is_written(
    boxed: Nel,
) -> None:
    boxed.env["PLAIN_DSN"] = "user-of-it:tr0ub4dor"
    says = ', pre_agent_cmd="echo dsn=$PLAIN_DSN >&2; exit 3"'
    written(boxed, CARRIED + says, container_env={"DSN": "host:PLAIN_DSN"})

    ended = boxed.run("my.nel.yaml", model=False)

    assert ended.code == 0, ended.text
    texts = {path: path.read_bytes() for path in ended.run_dir.rglob("*") if path.is_file()}
    assert [path for path, text in texts.items() if b"tr0ub4dor" in text] == []
    assert "exit 3: dsn=" in ended.results("files")[0]["sandbox"]["solve"]["pre_agent_cmd"]
    assert "tr0ub4dor" not in ended.text


def test_runs_in_sandboxes_with_other_limits_are_not_compared(boxed: Nel) -> None:
    boxed.write("bench_files.py", BENCH.format(places='sandbox_spec=SandboxSpec(image="")'))
    for memory in ("2GiB", "1GiB"):
        box = f"{{type: local, concurrency: 2, memory: {memory}}}"
        boxed.suite("bench_files.py", more=f"sandbox: {box}")
        ended = boxed.run("my.nel.yaml", "--nel-output-dir", memory, model=False)
        assert ended.code == 0, ended.text

    done = boxed.nel("compare", "2GiB", "1GiB")

    assert done.returncode == 4, done.stdout + done.stderr
    for what in ("answers", "judgements"):
        line = f"sandbox: memory of {what} 2GiB in the baseline, 1GiB in the candidate"
        assert line in done.stderr
