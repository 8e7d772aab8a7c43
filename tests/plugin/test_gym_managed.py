"""Servers that a run starts for benchmarks: in the sandbox of the entry, or of a module."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.plugin.running import Nel
from tests.plugin.test_gym_environments import judged, log, suite
from tests.support.endpoint import RunningEndpoint

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="looks for processes in /proc")


RUNS = '''"""An answer is a command, and what it prints counts."""

from pytest_nel import ScorerInput, SandboxSpec, benchmark, scorer

SAYS = ["echo $WORD", "echo six", "exit 3"]


@benchmark(
    name="runs",
    dataset=[{"say": say, "target": "seven"} for say in SAYS],
    prompt="{say}",
    gold="echo {target}",
    sandbox=SandboxSpec(),
)
@scorer
async def runs(sample: ScorerInput) -> object:
    """Runs it."""
    ran = await sample.sandbox.exec(sample.response)
    return {"reward": float(ran.stdout.strip() == sample.target), "extracted": ran.stdout.strip()}
'''


def test_the_sandbox_of_an_entry_reaches_the_server_of_its_benchmark(
    nel: Nel, how: list[str]
) -> None:
    nel.write("bench_runs.py", RUNS)
    box = 'sandbox: {type: local, concurrency: 2, container_env: {WORD: "host:SAID"}}'
    suite(nel, f"name: bench_runs.py, {box}", f'name: "gym://bench_runs.py", {box}')

    ended = nel.run("my.nel.yaml", *how, model=False, env={"SAID": "seven"})

    assert ended.code == 0, ended.text
    served = judged(ended, "gym_bench_runs.py-")
    assert served == judged(ended, "runs")
    found = {str(one[-1]): one[:3] for one in served.values()}
    assert found == {
        "echo $WORD": ("correct", 1.0, "seven"),
        "echo six": ("wrong", 0.0, "six"),
        "exit 3": ("wrong", 0.0, ""),
    }
    (told,) = (nel.folder / "run" / "logs").glob("server-*.yaml")
    assert "host:SAID" in told.read_text("utf-8")
    assert "isolate nothing" in log(nel)


def test_the_sandbox_of_a_service_reaches_the_benchmark_that_it_serves_as_verifier(
    nel: Nel, how: list[str]
) -> None:
    nel.write("bench_runs.py", RUNS)
    box = '{type: local, container_env: {WORD: "host:SAID"}}'
    suite(
        nel,
        "name: bench_runs.py, variant: direct, sandbox: box",
        "name: bench_runs.py, variant: served, sandbox: box, verifier: judges",
    )
    file = nel.folder / "my.nel.yaml"
    service = "judges: {type: gym, benchmark: bench_runs.py, sandbox: box}"
    more = f"sandboxes: {{box: {box}}}\nservices:\n  {service}\n"
    file.write_text(file.read_text("utf-8").replace("services:\n", more), encoding="utf-8")

    ended = nel.run("my.nel.yaml", *how, model=False, env={"SAID": "seven"})

    assert ended.code == 0, ended.text
    served = judged(ended, "runs-served")
    assert served == judged(ended, "runs-direct")
    assert {one[:2] for one in served.values()} == {("correct", 1.0), ("wrong", 0.0)}
    (told,) = (nel.folder / "run" / "logs").glob("server-judges*.yaml")
    assert "host:SAID" in told.read_text("utf-8")
    assert "seven" not in told.read_text("utf-8")


GRADED = '''"""Answers are graded by a model."""

from pytest_nel import Benchmark

graded = Benchmark(
    name="graded", dataset=[{"say": "1", "target": "1"}], prompt="{say}", judge="simpleqa"
)
'''


@pytest.mark.parametrize(
    ("service", "said"),
    [
        (
            "benchmark: bench_runs.py",
            "services.judges.sandbox: answers of runs are judged in a sandbox: say where, such",
        ),
        (
            "benchmark: bench_graded.py",
            "services.judges.benchmark: answers of graded are graded by a model, and this service",
        ),
        ("benchmark: bench_runs.py, sandbox: box", "no sandbox is called 'box'"),
        (
            "benchmark: bench_runs.py, sandbox: {type: local, memry: 1g}",
            "services.judges.sandbox.memry: unknown option",
        ),
    ],
)
def test_a_benchmark_that_a_service_cannot_judge_is_refused_before_anything_starts(
    nel: Nel, service: str, said: str
) -> None:
    nel.write("bench_runs.py", RUNS)
    nel.write("bench_graded.py", GRADED)
    suite(nel, "name: bench_runs.py, sandbox: {type: local}, verifier: judges")
    file = nel.folder / "my.nel.yaml"
    more = f"services:\n  judges: {{type: gym, {service}}}\n"
    file.write_text(file.read_text("utf-8").replace("services:\n", more), encoding="utf-8")

    ended = nel.run("my.nel.yaml", model=False)

    assert ended.code == 4, ended.text
    assert said in ended.text
    assert not (nel.folder / "run").exists()


def test_code_is_not_served_where_it_could_not_run_but_its_problems_are_written(nel: Nel) -> None:
    nel.write("bench_runs.py", RUNS)
    absent = {"DOCKER_HOST": f"unix://{nel.folder}/none.sock"}

    def ended(*words: str) -> tuple[int, str]:
        done = subprocess.run(
            [sys.executable, "-m", "pytest_nel.cli.main", "serve", "-b", "bench_runs.py", *words],
            cwd=nel.folder,
            env=nel.environ(absent),
            capture_output=True,
            encoding="utf-8",
            timeout=30,
            check=False,
        )
        return done.returncode, done.stdout + done.stderr

    without, no_docker = ended("-p0"), ended("-p0", "--sandbox", "docker")
    rows = ended("--export-data", "out")

    assert (without[0], no_docker[0]) == (4, 4)
    assert "--sandbox docker" in without[1]
    assert "none.sock" in no_docker[1]
    assert no_docker[1].count("\n") == 1, no_docker[1]
    assert rows == (0, f"{Path('out', 'runs.jsonl')}: 3 rows\n")


DIES = '''"""Ends in the middle of a judgement, once."""

import os
from pathlib import Path

from pytest_nel import ScorerInput, benchmark, numeric_match, scorer

ROWS = [{"say": str(i), "target": str(i)} for i in range(120)]


@benchmark(name="dies", dataset=ROWS, prompt="{say}")
@scorer
def dies(sample: ScorerInput) -> object:
    """Compares numbers."""
    if sample.response == "60" and not Path("died").exists():
        Path("died").touch()
        print("out of", "memory", os.environ["GYM_KEY"], flush=True)
        os._exit(9)
    return numeric_match(sample)
'''


def test_a_server_that_ends_in_mid_run_is_told_as_that_and_a_resumed_run_asks_what_is_missing(
    nel: Nel, endpoint: RunningEndpoint, how: list[str]
) -> None:
    nel.write("bench_dies.py", DIES)
    suite(nel, 'name: "gym://bench_dies.py", max_concurrent: 8')
    file = nel.folder / "my.nel.yaml"
    keyed = file.read_text("utf-8").replace("model: m}", "model: m, api_key: '${GYM_KEY}'}")
    file.write_text(keyed, encoding="utf-8")
    key = {"GYM_KEY": "a-key-of-some-length"}

    ended = nel.run("my.nel.yaml", *how, model=False, env=key)
    first = judged(ended, "gym_bench_dies.py-")
    asked = endpoint.stats()["requests"]
    again = nel.run("my.nel.yaml", "--nel-resume", *how, model=False, env=key)

    assert ended.code == 7, ended.text
    told = "benchmark gym@bench_dies.py: its server ended with status 9 before the run did; "
    assert f"stopped: {told}its last words: " in ended.out, ended.text
    assert "out of memory" in ended.out
    assert key["GYM_KEY"] not in ended.text
    assert "no answer" not in ended.out
    unscored = [one for one in first.values() if one[0] == "unscored"]
    assert 0 < len(unscored) < 60
    assert f"{len(unscored)} without a score: infra_error ×{len(unscored)}\n" in ended.out
    assert again.code == 0, again.text
    assert "counted no more" not in again.out
    assert {one[0] for one in judged(again, "gym_bench_dies.py-").values()} == {"correct"}
    assert endpoint.stats()["requests"] == 120 > asked, "nothing is asked twice"


OWN = '''"""A server of two problems, as a project may have one."""

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

SAYS = ["red", "blue"]


async def size(request: Request) -> JSONResponse:
    return JSONResponse({"size": len(SAYS)})


async def seed(request: Request) -> JSONResponse:
    said = SAYS[(await request.json())["idx"]]
    return JSONResponse({"prompt": said, "expected_answer": "red", "metadata": {"said": said}})


async def verify(request: Request) -> JSONResponse:
    body = await request.json()
    right = body["response"] == body["expected"] and body["metadata"]["said"] == "red"
    return JSONResponse({"reward": float(right), "extracted_answer": body["response"]})


app = Starlette(
    routes=[
        Route("/health", size),
        Route("/dataset_size", size),
        Route("/seed_session", seed, methods=["POST"]),
        Route("/verify", verify, methods=["POST"]),
    ]
)
'''


def test_a_module_is_served_and_a_plan_says_that_it_was_started_for_its_size(nel: Nel) -> None:
    nel.write("own_server.py", OWN)
    suite(nel, 'name: "gym://module:own_server"')

    plan = nel.run("my.nel.yaml", "--nel-dry-run", model=False)
    planned = (nel.folder / "run").exists()
    ended = nel.run("my.nel.yaml", model=False)

    assert (plan.code, planned, ended.code) == (0, False, 0), plan.text + ended.text
    assert "nothing was started but a server of problems, to ask for the size" in plan.out
    assert "2 attempts" in plan.out
    assert "logs/server-" in plan.out
    found = {str(one[-1]): one[:3] for one in judged(ended, "gym_own_server-").values()}
    assert found == {"red": ("correct", 1.0, "red"), "blue": ("wrong", 0.0, "blue")}
