"""States in which a run may have been left: from each, the same line with --nel-resume goes on."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.plugin.running import Nel, sums
from tests.plugin.test_resume import RUN, again, first, outcomes
from tests.support.endpoint import RunningEndpoint, running_endpoint

FAILS = """services:
  model: {{type: command, protocol: chat_completions, command: "{command}"}}
benchmarks:
  - {{name: bench_sums.py, solver: {{type: simple, service: model}}}}
output: {{dir: run, timestamped: false}}
"""


def test_after_a_server_that_did_not_come_up(nel: Nel) -> None:
    nel.bench(sums(4))
    url, nel.url = nel.url, None
    nel.write("my.nel.yaml", FAILS.format(command="exit 3 # {port}"))
    failed = nel.run("my.nel.yaml", "--nel-resume")
    nel.url = url
    nel.suite("bench_sums.py:sums", tail="output: {dir: run, timestamped: false}\n")

    ended = nel.run("my.nel.yaml", "--nel-resume", model=False)

    assert failed.code == 7, failed.text
    assert (nel.folder / "run/logs").is_dir()
    assert ended.code == 0, ended.text
    assert len(outcomes(nel)) == 4


def test_after_a_missing_key_in_quick_mode(nel: Nel) -> None:
    nel.bench(sums(4))
    line = ["--nel-bench", "bench_sums.py", "--nel-output-dir", "run", "--nel-resume"]
    failed = nel.run(*line, "--nel-api-key-env", "NO_SUCH_KEY")

    ended = nel.run(*line)

    assert failed.code == 4, failed.text
    assert ended.code == 0, ended.text


@pytest.mark.parametrize("left", ["run.json", "suite.nel.yaml", "logs/server-model.log"])
def test_after_a_kill_before_anything_was_written(nel: Nel, left: str) -> None:
    nel.bench(sums(4))
    nel.write(f"run/{left}", "")

    ended = again(nel)

    assert len(outcomes(nel)) == 4, ended.text


DAMAGE = {
    "run.json": ["{", '{"targets": 5}', '{"run_id": "x"}', "[]"],
    "sums/plan.json": ["", "[]", '{"turn": "x"}', "{"],
}


@pytest.mark.parametrize(
    ("file", "text"), [(file, text) for file, texts in DAMAGE.items() for text in texts]
)
def test_a_damaged_file_is_named_in_one_line(nel: Nel, file: str, text: str) -> None:
    nel.bench(sums(4))
    first(nel)
    (nel.folder / "run" / file).write_text(text)

    ended = nel.run(*RUN, "--nel-resume")

    assert ended.code == 4, ended.text
    assert file in ended.text
    assert "Traceback" not in ended.text


def test_a_journal_that_is_a_file_is_named_in_one_line(nel: Nel) -> None:
    nel.bench(sums(4))
    nel.write("run/run.json", "")
    nel.write("run/sums/journal", "")

    ended = nel.run(*RUN, "--nel-resume")

    assert ended.code in {4, 7}, ended.text
    assert "journal" in ended.text
    assert "Traceback" not in ended.text


def test_a_run_is_not_begun_inside_another(nel: Nel) -> None:
    nel.bench(sums(4))
    first(nel)

    inside = nel.run("bench_sums.py", "--nel-output-dir", "run/inner")
    shard = nel.run("bench_sums.py", "--nel-output-dir", "run", "--nel-shard", "0/2")

    assert (inside.code, shard.code) == (4, 4), inside.text
    assert "lies in the directory of another run" in inside.err


def test_of_two_runs_that_begin_in_one_directory_one_is_refused(nel: Nel) -> None:
    nel.bench(sums(8))
    with running_endpoint(mode="echo", latency=0.3) as slow:
        nel.url = slow.url
        both = [nel.start(*RUN, "--nel-max-concurrent", "2") for _ in range(2)]
        texts = [process.communicate(timeout=60)[0] for process in both]
        asked = slow.stats()["requests"]

    assert sorted(process.returncode for process in both) == [0, 4], texts
    assert asked == 8
    assert any("another run" in text or "is not empty" in text for text in texts)


JUDGES = """
import asyncio
from pathlib import Path
from pytest_nel import ScorerInput, benchmark, scorer

ROWS = [{"say": str(i), "target": str(i)} for i in range(4)]


@benchmark(name="sums", dataset=ROWS, prompt="{say}")
@scorer
async def measured(sample: ScorerInput) -> object:
    Path("judging").touch()
    await asyncio.sleep(float(Path("seconds").read_text()))
    return sample.response == sample.target
"""


def test_an_answer_is_safe_while_it_is_judged(nel: Nel, endpoint: RunningEndpoint) -> None:
    nel.write("bench_sums.py", JUDGES)
    nel.write("seconds", "60")
    process = nel.start(*RUN)
    until = time.monotonic() + 30
    while endpoint.stats()["ok"] < 4 and time.monotonic() < until:
        time.sleep(0.02)
    time.sleep(0.2)
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate()
    nel.write("seconds", "0")

    again(nel)

    assert endpoint.stats()["requests"] == 4
    assert set(outcomes(nel).values()) == {"correct"}


def test_a_run_that_is_refused_changes_nothing(nel: Nel) -> None:
    nel.bench(sums(4))
    first(nel)
    files = [path for path in nel.folder.glob("run/**/*") if path.is_file()]
    before = {path: path.read_bytes() for path in files}
    nel.write("conftest.py", "import pytest\n\n@pytest.fixture\ndef nel_solver():\n    return 1\n")

    ended = again(nel, code=4)

    assert "session" in ended.out
    assert before == {path: path.read_bytes() for path in files}


def test_what_a_suite_has_dropped_half_measured_does_not_pass(nel: Nel) -> None:
    nel.bench(sums(4))
    nel.bench(sums(6), file="bench_b.py", name="b")
    tail = "output: {dir: run, timestamped: false}\n"
    nel.suite("bench_sums.py:sums", "bench_b.py:b", tail=tail)
    nel.run("my.nel.yaml", "-k", "sums or b[1-", model=False)
    nel.suite("bench_sums.py:sums", tail=tail)

    ended = nel.run("my.nel.yaml", "--nel-resume", model=False)

    assert ended.code == 7, ended.text
    assert "my.nel.yaml::b::health: only 1 of 6" in ended.out


def test_files_of_another_command_line_are_another_suite(nel: Nel) -> None:
    nel.bench(sums(3), file="bench_a.py", name="a")
    nel.bench(sums(3), file="bench_b.py", name="b")
    both = ["bench_a.py", "bench_b.py", "--nel-output-dir", "run"]
    nel.run(*both)

    fewer = nel.run("bench_a.py", "--nel-output-dir", "run", "--nel-resume")
    nel.bench(sums(3), file="bench_c.py", name="c")
    other = nel.run("bench_b.py", "bench_c.py", "--nel-output-dir", "run", "--nel-resume")

    assert fewer.code == 0, fewer.text
    assert other.code == 4, other.text


def test_looking_at_quick_items_touches_nothing(nel: Nel) -> None:
    nel.bench(sums(3))
    quick = ["--nel-bench", "bench_sums.py", "--nel-output-dir", "run"]
    nel.run(*quick)
    before = {path: path.stat().st_mtime_ns for path in nel.folder.glob("run/**/*")}

    ended = nel.run(*quick, "--nel-resume", "--nel-temperature", "1.5", "--collect-only", "-q")

    assert "quick.nel.yaml::sums[0-r0]" in ended.out
    assert before == {path: path.stat().st_mtime_ns for path in nel.folder.glob("run/**/*")}


def test_many_benchmarks_with_many_journals_need_few_files(nel: Nel) -> None:
    for number in range(12):
        nel.bench(sums(2), file=f"bench_{number}.py", name=f"b{number}")
    names = [f"bench_{number}.py" for number in range(12)]
    nel.run(*names, "--nel-output-dir", "run")
    for path in Path(nel.folder).glob("run/*/journal/main.jsonl"):
        for turn in range(2, 12):
            path.with_name(f"main.{turn}.jsonl").write_bytes(path.read_bytes())
    limited = f"ulimit -n 110; exec {' '.join(nel.command(*names, '--nel-output-dir', 'run'))}"

    done = subprocess.run(
        ["sh", "-c", f"{limited} --nel-resume"],
        cwd=nel.folder,
        env=nel.environ(),
        capture_output=True,
        text=True,
        check=False,
    )

    assert sys.executable in limited
    assert done.returncode == 0, done.stdout + done.stderr
    assert "24 taken as recorded" in done.stdout


@pytest.mark.parametrize("lost", ["", None], ids=["empty", "gone"])
def test_without_its_run_json_a_run_is_known_by_its_plans(
    nel: Nel, endpoint: RunningEndpoint, lost: str | None
) -> None:
    nel.bench(sums(4))
    first(nel)
    path = nel.folder / "run/run.json"
    path.unlink()
    if lost is not None:
        path.write_text(lost)
    endpoint.reset()

    ended = again(nel)

    assert endpoint.stats()["requests"] == 0
    assert "4 taken as recorded" in ended.out


def test_without_its_plan_a_run_goes_on_with_its_journal(
    nel: Nel, endpoint: RunningEndpoint
) -> None:
    nel.bench(sums(4))
    first(nel)
    (nel.folder / "run/sums/plan.json").unlink()
    endpoint.reset()

    again(nel)

    assert endpoint.stats()["requests"] == 0
    assert len(outcomes(nel)) == 4


def test_with_no_earlier_run_the_header_says_so(nel: Nel) -> None:
    nel.bench(sums(2))

    ended = again(nel)

    assert "nel: results in run (no earlier run to go on with)" in ended.out


def test_a_run_that_is_refused_by_its_records_keeps_its_suite_file(nel: Nel) -> None:
    nel.bench(sums(4))
    first(nel)
    suite = nel.folder / "run/suite.nel.yaml"
    before = suite.read_bytes()

    again(nel, "--nel-only", "wrong", "--nel-model-id", "other", code=4)

    assert suite.read_bytes() == before
