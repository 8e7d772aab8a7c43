"""Benchmarks behind HTTP in whole runs: servers that the run starts, and one that is there."""

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest

from tests.plugin.running import ROOT, Ended, Nel, sums
from tests.support.endpoint import running_endpoint
from tests.support.processes import gone, until

GRADER = ROOT / "tests" / "support" / "grader.py"
NATIVE = ROOT / "tests" / "support" / "native_gym.py"
pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="looks for processes in /proc")


def suite(nel: Nel, *entries: str) -> None:
    """A suite of benchmarks that the mock endpoint answers."""
    listed = "".join(
        f"  - {{{entry}, solver: {{type: simple, service: m}}}}\n" for entry in entries
    )
    nel.write(
        "my.nel.yaml",
        f'services:\n  m: {{type: api, url: "{nel.url}/chat/completions", '
        f"protocol: chat_completions, model: m}}\nbenchmarks:\n{listed}"
        "output: {dir: run, timestamped: false}\n",
    )


def judged(ended: Ended, folder: str) -> dict[int, tuple[object, ...]]:
    """What was made of each problem."""
    (file,) = (ended.folder / "run").glob(f"{folder}*/results.jsonl")
    rows = [json.loads(line) for line in file.read_text("utf-8").split("\n") if line]
    facts = ("outcome", "reward", "extracted_answer", "expected_answer", "model_response")
    return {row["problem_idx"]: tuple(row[name] for name in facts) for row in rows}


def log(nel: Nel) -> str:
    """What the only server has printed."""
    (file,) = (nel.folder / "run" / "logs").glob("server-*.log")
    return file.read_text(encoding="utf-8")


@contextmanager
def serving(
    nel: Nel, *words: str, env: dict[str, str] | None = None, stop: int | None = signal.SIGTERM
) -> Iterator[str]:
    """``nel serve`` as a process, its number in the file ``pid``; what it says once it serves.

    It is told to end by ``stop``; None: it has been, and a second signal could end it at once.
    """
    process = subprocess.Popen(
        [sys.executable, "-m", "pytest_nel.cli.main", "serve", *words],
        cwd=nel.folder,
        env=nel.environ(env),
        stdout=subprocess.PIPE,
        encoding="utf-8",
    )
    assert process.stdout is not None
    nel.write("pid", str(process.pid))
    try:
        yield process.stdout.readline()
        if stop is not None:
            process.send_signal(stop)
        assert process.wait(15) == 0
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


def test_a_benchmark_is_served_once_a_run_and_measured_as_without_a_server(
    nel: Nel, how: list[str]
) -> None:
    nel.bench(sums(9))
    suite(nel, "name: bench_sums.py", 'name: "gym://bench_sums.py"')

    ended = nel.run("my.nel.yaml", *how, model=False)
    again = nel.run("my.nel.yaml", "--nel-resume", model=False)

    assert ended.code == again.code == 0, ended.text + again.text
    served = judged(ended, "gym_bench_sums.py-")
    assert served == judged(ended, "sums")
    assert {one[0] for one in served.values()} == {"correct", "wrong"}
    assert "0 asked" not in ended.out
    plan = json.loads(next((nel.folder / "run").glob("gym_*/plan.json")).read_text())
    assert plan["environment"] == "gym@bench_sums.py"
    assert plan["fingerprint"]["benchmark"] == "sums"
    served_log = log(nel)
    assert served_log.count("serving sums (9 problems)") == 2, served_log  # once for each run


def test_a_native_server_is_found_without_a_health_page_and_ended_with_its_children(
    nel: Nel, how: list[str]
) -> None:
    says = ["red", "blue", "busy", "broken"]
    rows = [
        {
            "responses_create_params": {"input": [{"role": "user", "content": text}]},
            "accepted": ["red", "busy"],
            "uuid": text,
        }
        for text in says
    ]
    nel.write("rows.jsonl", "".join(json.dumps(row) + "\n" for row in rows))
    command = f"exec {sys.executable} {NATIVE}"
    suite(nel, f'name: "gym://cmd:{command}", params: {{data: rows.jsonl}}, max_unscored: 1')

    ended = nel.run("my.nel.yaml", *how, model=False)

    found = {str(one[-1]): one[:3] for one in judged(ended, "gym-native_rows-").values()}
    assert found == {
        "red": ("correct", 1.0, "red"),
        "blue": ("wrong", 0.0, "blue"),
        "busy": ("correct", 1.0, "busy"),
        "broken": ("unscored", None, None),
    }
    pids = [int(pid) for pid in re.findall(r"^started (\d+)", log(nel), re.MULTILINE)]
    assert len(pids) == 2
    assert gone(pids)


def test_a_server_that_does_not_come_up_is_a_mistake_with_its_last_words(
    nel: Nel, how: list[str]
) -> None:
    suite(nel, 'name: "gym://cmd:echo no such port; exit 3"')

    ended = nel.run("my.nel.yaml", *how, model=False)

    assert ended.code == 4, ended.text
    assert "no such port" in ended.text
    assert "status 3" in ended.text


def test_a_server_that_is_there_asks_for_its_token_and_one_that_is_gone_is_a_mistake(
    nel: Nel,
) -> None:
    nel.bench(sums(6))
    token = {"GYM_TOKEN": "a-token-of-some-length"}

    with serving(nel, "-b", "bench_sums.py", "-p0", "--token-env=GYM_TOKEN", env=token) as said:
        found = re.fullmatch(r"serving sums \(6 problems\) at http://(.+)\n", said)
        assert found, said
        name = f'name: "gym://{found[1]}"'
        suite(nel, name)
        refused = nel.run("my.nel.yaml", model=False, env=token)
        suite(nel, f"{name}, params: {{api_key: '${{GYM_TOKEN}}'}}")
        ended = nel.run("my.nel.yaml", model=False, env=token)
    gone_now = nel.run("my.nel.yaml", "--nel-output-dir=other", model=False, env=token)

    assert refused.code == gone_now.code == 4
    assert "params: {api_key: ${NAME}}" in refused.text
    assert "nel serve -b NAME -p PORT" in gone_now.text
    assert ended.code == 0, ended.text
    assert len(judged(ended, "gym_127")) == 6
    written = [path for path in (nel.folder / "run").rglob("*") if path.is_file()]
    assert not [path for path in written if token["GYM_TOKEN"] in path.read_text("utf-8")]


FACTS = '''"""Answers are graded by a model."""

from pytest_nel import Benchmark

SAYS = ["grade=CORRECT", "grade=INCORRECT", "!garbage"]
facts = Benchmark(
    name="facts",
    dataset=[{"say": say, "target": "gold"} for say in SAYS],
    prompt="{say}",
    judge="simpleqa",
)
'''


ACCEPTED = '''"""Its own scorer finds nothing right."""

from pytest_nel import Benchmark

facts = Benchmark(
    name="facts",
    dataset=[{"say": say, "target": "none", "accepted": ["red"]} for say in ["red", "blue"]],
    prompt="{say}",
)
'''


def test_a_verifier_judges_in_place_of_the_scorer(nel: Nel, how: list[str]) -> None:
    nel.write("bench_facts.py", ACCEPTED)
    suite(nel, "name: bench_facts.py, verifier: judges")
    file = nel.folder / "my.nel.yaml"
    command = f"PORT={{port}} exec {sys.executable} {NATIVE}"
    gym = f'services:\n  judges: {{type: gym, server_cmd: "{command}"}}\n'
    file.write_text(file.read_text("utf-8").replace("services:\n", gym), encoding="utf-8")

    ended = nel.run("my.nel.yaml", *how, model=False)

    assert ended.code == 0, ended.text
    found = {str(one[-1]): one[:3] for one in judged(ended, "facts").values()}
    assert found == {"red": ("correct", 1.0, "red"), "blue": ("wrong", 0.0, "blue")}
    pids = [int(pid) for pid in re.findall(r"^started (\d+)", log(nel), re.MULTILINE)]
    assert len(pids) == 2, "it is started once"
    assert gone(pids)


def test_a_judge_of_the_command_line_grades_what_is_served(nel: Nel) -> None:
    nel.write("bench_facts.py", FACTS)
    words = ("-b", "bench_facts.py", "-p0")
    refused = subprocess.run(
        [sys.executable, "-m", "pytest_nel.cli.main", "serve", *words],
        cwd=nel.folder,
        env=nel.environ(),
        capture_output=True,
        encoding="utf-8",
        timeout=30,
        check=False,
    )

    with running_endpoint(script=str(GRADER)) as grader:
        judge = ("--judge-url", grader.url, "--judge-model", "m")
        with serving(nel, *words, *judge) as said:
            suite(nel, f'name: "gym://{said.split("//")[1].strip()}", max_unscored: 1')
            ended = nel.run("my.nel.yaml", model=False)

    assert refused.returncode == 4
    assert "--judge-url URL --judge-model ID" in refused.stderr
    assert ended.code == 0, ended.text
    found = {str(one[-1]): one[:2] for one in judged(ended, "gym_127").values()}
    assert found == {
        "grade=CORRECT": ("correct", 1.0),
        "grade=INCORRECT": ("wrong", 0.0),
        "!garbage": ("unscored", None),
    }
    text = next((nel.folder / "run").glob("gym_127*/results.jsonl")).read_text("utf-8")
    assert "judge_error" in text


SLOW = '''"""Takes its time, and says when it has begun."""

import time
from pathlib import Path

from pytest_nel import ScorerInput, benchmark, scorer


@benchmark(name="slow", dataset=[{"say": "1", "target": "1"}], prompt="{say}")
@scorer
def slow(sample: ScorerInput) -> object:
    """Always right."""
    Path("begun").touch()
    time.sleep(1)
    return True
'''


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_server_that_is_told_to_end_answers_what_it_was_asked(nel: Nel, number: int) -> None:
    nel.write("bench_slow.py", SLOW)
    body = {"response": "1", "expected": "1", "metadata": {"problem_idx": 0}}

    with serving(nel, "-b", "bench_slow.py", "-p0", stop=None) as said:
        url = said.split(" at ")[1].strip()
        with ThreadPoolExecutor(1) as pool:
            asked = pool.submit(httpx.post, f"{url}/verify", json=body, timeout=20)
            assert until((nel.folder / "begun").exists)
            told = nel.folder / "pid"
            os.kill(int(told.read_text()), number)
            reply = asked.result()

    assert (reply.status_code, reply.json()["reward"]) == (200, 1.0)


def test_rows_are_exported_and_the_command_ends(nel: Nel) -> None:
    nel.bench(sums(3))

    done = subprocess.run(
        [
            *(sys.executable, "-m", "pytest_nel.cli.main", "serve", "-b", "bench_sums.py"),
            *("--export-data", "out"),
        ],
        cwd=nel.folder,
        env=nel.environ(),
        capture_output=True,
        encoding="utf-8",
        timeout=30,
        check=False,
    )

    assert (done.returncode, done.stdout) == (0, f"{Path('out', 'sums.jsonl')}: 3 rows\n")
    text = (nel.folder / "out" / "sums.jsonl").read_text(encoding="utf-8")
    rows = [json.loads(line) for line in text.splitlines()]
    assert [row["uuid"] for row in rows] == ["sums-0", "sums-1", "sums-2"]
    assert rows[2]["expected_answer"] == "3"
    assert rows[2]["responses_create_params"] == {"input": [{"role": "user", "content": "-3"}]}
