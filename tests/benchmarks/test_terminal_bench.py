"""Tasks of Terminal-Bench become Harbor tasks, or are refused by name; and what must be named."""

import asyncio
import os
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest

from benchmarks.terminal_bench_hard import _TASKS as HARD
from benchmarks.terminal_bench_hard_aa_split import _TASKS as SPLIT
from pytest_nel.core.errors import ConfigError, DataError
from pytest_nel.datasets.terminal_bench import COMMIT, REPOSITORY
from pytest_nel.environments import resolve
from pytest_nel.environments.harbor import HarborEnvironment
from tests.contract.boxes import IMAGE, no_image
from tests.plugin.running import Nel

TASK = """instruction: |-
  Write "hello" into a file greeting.txt.
difficulty: easy
category: files
tags: [a, b]
parser_name: pytest
max_agent_timeout_sec: 77
max_test_timeout_sec: 33
"""
COMPOSE = """services:
  client:
    build: {dockerfile: Dockerfile}
    image: ${T_BENCH_TASK_DOCKER_CLIENT_IMAGE_NAME}
    command: ["sh", "-c", "sleep infinity"]
    environment: [TEST_DIR=/tests]
    volumes: ["${T_BENCH_TASK_LOGS_PATH}:/logs"]
"""


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A checkout with the task ``greet``; what is mapped goes beside it."""
    monkeypatch.setenv("NEL_CACHE_DIR", str(tmp_path / "cache"))
    for name in ("TERMINAL_BENCH_DIR", "NMP_REPO", "HARBOR_DATASETS_DIR"):
        monkeypatch.delenv(name, raising=False)
    registry = tmp_path / "registry.json"
    registry.write_text("[]")
    monkeypatch.setenv("HARBOR_REGISTRY", str(registry))
    monkeypatch.setenv("HARBOR_DATASETS_DIR", str(tmp_path / "sets"))
    write(tmp_path / "checkout" / "original-tasks" / "greet")
    return tmp_path / "checkout"


def write(folder: Path, **changed: str) -> Path:
    files = {
        "task.yaml": TASK,
        "docker-compose.yaml": COMPOSE,
        "Dockerfile": f"FROM {IMAGE}\nWORKDIR /app\nCOPY given.txt /app/given.txt\n",
        "given.txt": "given\n",
        "run-tests.sh": 'python3 "$TEST_DIR/test_outputs.py" && echo "== 1 passed in 0.01s =="\n',
        "solution.sh": "cat given.txt && printf hello > greeting.txt\n",
        "tests/test_outputs.py": "assert open('greeting.txt').read() == 'hello'\n",
        **changed,
    }
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder


def made(name: str, base: Path, **params: Any) -> HarborEnvironment:
    environment = resolve(name, base=base, params=params)
    assert isinstance(environment, HarborEnvironment)
    return environment


@pytest.mark.asyncio
async def test_a_task_is_mapped_once(checkout: Path, tmp_path: Path) -> None:
    environment = made("terminal-bench-v1", tmp_path, source_dir=str(checkout))
    again = made("terminal-bench-v1", tmp_path, source_dir=str(checkout / "original-tasks"))
    seed = await environment.seed(0)

    assert (environment.name, len(environment)) == ("terminal-bench-v1", 1)
    assert environment.fingerprint() == again.fingerprint()
    assert seed.prompt == 'Write "hello" into a file greeting.txt.'
    assert seed.verify_sandbox_spec is None  # judged where the agent worked
    assert seed.metadata["agent_timeout_sec"] == 77
    assert (seed.metadata["category"], seed.metadata["tags"]) == ("files", ["a", "b"])
    assert seed.sandbox_spec is not None
    context = str(seed.sandbox_spec.environment_dir)
    assert sorted(os.listdir(context)) == ["Dockerfile", "given.txt"]  # noqa: PTH208 - not async
    assert environment.lacks_solution() == []


def test_tasks_that_cannot_be_mapped_are_all_named(checkout: Path, tmp_path: Path) -> None:
    tasks = checkout / "original-tasks"
    write(tasks / "two", **{"docker-compose.yaml": "services: {a: {}, b: {}}\n"})
    write(tasks / "ports", **{"docker-compose.yaml": "services: {a: {ports: [1]}}\n"})
    write(tasks / "swe", **{"task.yaml": TASK.replace("pytest", "swebench")})

    environment = made("terminal-bench-v1", tmp_path, source_dir=str(checkout))
    with pytest.raises(ConfigError) as refused:
        environment.problems_chosen(range(4))

    said = str(refused.value)
    assert "3 of 4 tasks cannot be run" in said
    assert "task two: docker-compose.yaml has several services" in said
    assert "task ports: docker-compose.yaml asks for ports" in said
    assert "task swe: its tests are read by the parser 'swebench'" in said
    environment.problems_chosen([0])  # the others are nobody's trouble
    assert environment.problem_id(0) == "greet"


BEGINS = "echo '=== test session starts ==='"
SCRIPTS = {  # run-tests.sh, its reward, how test.sh ends
    "pytest passed, and the last command fails": ("echo '== 2 passed in 0.1s =='; false", "1", 0),
    "pytest failed, and the last command ends well": (
        "echo '=== 1 failed, 2 passed, 1 warning in 61.02s (0:01:01) ==='; true",
        *("0", 0),
    ),
    "a file cannot be collected": ("echo '1 error in 0.12s'; exit 2", "0", 0),
    "in colour": (r"printf '\e[31m== \e[1m1 failed\e[0m in 0.1s ==\e[0m'", "0", 0),
    "behind a bar without a newline": (
        r"for i in {1..30000}; do printf '\e[1m#\e[0m\r'; done; printf '1 passed in 0.1s\r\n'",
        *("1", 0),
    ),
    "a test's output has the summary of another": (
        f"{BEGINS}; {BEGINS}; echo '1 failed in 0.1s'; echo '1 passed, 1 xfailed in 0.1s'",
        *("1", 0),
    ),
    "the first of two fails": (
        "echo '1 failed, 1 passed in 0.1s'; echo '3 passed in 1s'",
        "0",
        0,
    ),
    "the first of two fails, with headings": (
        f"{BEGINS}; echo '== 1 error in 0.1s =='; {BEGINS}; echo '== 3 passed in 0.1s =='",
        *("0", 0),
    ),
    "the last of what began fails": (
        f"{BEGINS}; echo 'Killed'; {BEGINS}; {BEGINS}; echo '== 1 failed in 0.1s =='",
        *("0", 0),
    ),
    "with subtests": ("echo '== 1 passed, 2 subtests passed in 0.1s =='", "1", 0),
    "a subtest fails": ("echo '== 2 subtests failed, 1 passed in 0.1s =='", "0", 0),
    "its runner is missing": ("no-such-uv run pytest", None, 127),
    "it gives up before": ("echo 'cannot be installed'; exit 1", None, 127),
    "it ends well without any test": ("echo '== no tests ran in 0.01s =='", None, 127),
    "all are skipped": ("echo '== 3 skipped in 0.01s =='", None, 127),
    "it leaves something running": ("sleep 60 2>/dev/null & echo '== 1 passed in 0.1s =='", "1", 0),
}


def run_tests(
    checkout: Path, base: Path, script: str, logs: Path
) -> subprocess.CompletedProcess[bytes]:
    """What comes of a test.sh around this run-tests.sh that leaves its reward there."""
    write(checkout / "original-tasks" / "greet", **{"run-tests.sh": script})
    seed = asyncio.run(made("terminal-bench-v1", base, source_dir=str(checkout)).seed(0))
    assert seed.sandbox_spec is not None
    tests = Path(str(seed.sandbox_spec.environment_dir)).parent / "tests"
    judge = (tests / "test.sh").read_text().replace("/logs/verifier", str(logs))
    judge = judge.replace("/tests/", f"{tests}/")
    return subprocess.run(["bash", "-c", judge], check=False, capture_output=True, timeout=30)


@pytest.mark.parametrize("case", SCRIPTS)
def test_only_what_pytest_says_of_its_tests_is_a_reward(
    checkout: Path, tmp_path: Path, case: str
) -> None:
    script, reward, code = SCRIPTS[case]

    ran = run_tests(checkout, tmp_path, script, tmp_path)

    left = tmp_path / "reward.txt"
    assert (left.read_text().strip() if left.exists() else None) == reward
    assert ran.returncode == code, ran.stderr


@pytest.mark.parametrize("said", ["1 passed", "1 failed"])
def test_a_reward_that_cannot_be_written_is_none(checkout: Path, tmp_path: Path, said: str) -> None:
    ran = run_tests(checkout, tmp_path, f"echo '== {said} in 0.1s =='", tmp_path / "gone")

    assert ran.returncode == 127


@pytest.mark.asyncio
async def test_what_a_compose_file_says_is_done(checkout: Path, tmp_path: Path) -> None:
    folder = checkout / "original-tasks" / "greet"
    (folder / "Dockerfile").unlink()
    compose = """services:
  client:
    build:
      context: .
      dockerfile: Other
      args: {PY: "3.12"}
    command: sh -c "serve --port $$PORT && sleep infinity"
    working_dir: /srv
    environment: {PORT: 80, LOGS: "${T_BENCH_CONTAINER_LOGS_PATH}/x"}
"""
    write(folder, **{"docker-compose.yaml": compose, "Other": "FROM a\nARG PY=3.9\nRUN x $PY\n"})
    (folder / "Dockerfile").unlink()

    seed = await made("terminal-bench-v1", tmp_path, source_dir=str(checkout)).seed(0)

    spec = seed.sandbox_spec
    assert spec is not None
    assert spec.env == {"PORT": "80", "LOGS": "/logs/x"}
    assert spec.workdir == "/srv"
    assert spec.entrypoint == "sh -c 'serve --port $PORT && sleep infinity'"
    recipe = Path(str(spec.environment_dir), "Dockerfile")
    assert await asyncio.to_thread(recipe.read_text) == 'FROM a\nARG PY="3.12"\nRUN x $PY\n'


@pytest.mark.parametrize(
    ("service", "said"),
    [
        ("volumes: [./data:/data]", "has volumes: ./data:/data"),
        ("environment: [HOME]", "has environment: HOME"),
        ("environment: {A: '${HOME}'}", "has environment.A: ${HOME}"),
        ("build: ./inner", "has build.context: ./inner"),
        ("build: {target: last}", "has build.target: last"),
        ("build: {args: {NONE: '1'}}", "has build.args.NONE, for which Dockerfile has no line"),
        ("build: {dockerfile: Gone}", "there is no Gone"),
        ("command: [a, '${X}']", "has command: ${X}"),
    ],
)
def test_what_a_compose_file_says_and_cannot_be_done_is_refused(
    checkout: Path, tmp_path: Path, service: str, said: str
) -> None:
    compose = f"services:\n  client:\n    {service}\n"
    write(checkout / "original-tasks" / "greet", **{"docker-compose.yaml": compose})

    environment = made("terminal-bench-v1", tmp_path, source_dir=str(checkout))

    with pytest.raises(ConfigError, match=re.escape(said)):
        environment.problems_chosen([0])


@pytest.mark.parametrize(
    ("name", "params", "said"),
    [
        ("terminal-bench-v1", {"source_url": "https://x"}, "which commit is meant is for you"),
        ("terminal-bench-v1", {"source_ref": "main"}, "expected a commit of 40 hex digits"),
        ("terminal-bench-v1", {"source_dir": "/nowhere"}, "there is no folder /nowhere"),
        ("terminal-bench-hard-aa-split", {"unsolvable": "oom"}, "expected a list of tasks' names"),
        ("nmp_harbor", {"start_cmd": "x"}, "set NMP_REPO"),
        ("nmp_harbor", {"nmp_repo": "/nowhere"}, "add params: {start_cmd: COMMAND}"),
    ],
)
def test_what_nobody_here_knows_must_be_named(
    checkout: Path, tmp_path: Path, name: str, params: dict[str, Any], said: str
) -> None:
    assert checkout.is_dir()

    with pytest.raises(ConfigError, match=re.escape(said)):
        made(name, tmp_path, **params)


def test_a_limit_of_problems_counts(checkout: Path, tmp_path: Path) -> None:
    write(checkout / "original-tasks" / "other")
    more: dict[str, dict[str, Any]] = {
        "terminal-bench-v1": {},
        "terminal-bench-hard": {"task_names": ["greet", "other"]},
        "terminal-bench-hard-aa-split": {"task_names": ["greet", "other"], "unsolvable": ["other"]},
    }

    for name, params in more.items():
        source = {"source_dir": str(checkout), **params}
        assert len(resolve(name, base=tmp_path, limit=1, params=source)) == 1
        two = {**source, "num_examples": 2}
        assert len(resolve(name, base=tmp_path, limit=1, params=two)) == 1
        assert len(resolve(name, base=tmp_path, params=two)) == 2


@pytest.mark.parametrize("more", [{}, {"num_examples": 1}])
def test_an_unsolvable_task_that_there_is_not_is_refused(
    checkout: Path, tmp_path: Path, more: dict[str, Any]
) -> None:
    write(checkout / "original-tasks" / "other")
    source = {"source_dir": str(checkout), "task_names": ["greet", "other"], **more}

    with pytest.raises(ConfigError, match=r"params\.unsolvable names no tasks of it: grete"):
        made("terminal-bench-hard-aa-split", tmp_path, unsolvable=["grete", "other"], **source)


@pytest.mark.parametrize(
    ("name", "params", "said"),
    [
        ("terminal-bench-hard", {"dataset": "d", "source_dir": "s"}, "dataset and source_dir"),
        (
            "terminal-bench-hard-aa-split",
            {"dataset": "d", "source_ref": "s", "unsolvable": []},
            "dataset and source_ref",
        ),
        ("nmp_harbor", {"stateful": False}, "params.stateful: false"),
        ("nmp_harbor", {"keep_processes": ["one"]}, 'params.keep_processes: ["one"]'),
    ],
)
def test_params_that_contradict_each_other_are_refused(
    checkout: Path, tmp_path: Path, name: str, params: dict[str, Any], said: str
) -> None:
    more = {"nmp_repo": str(checkout), "start_cmd": "x"} if name == "nmp_harbor" else {}
    names = {} if name == "nmp_harbor" else {"task_names": ["greet"]}

    with pytest.raises(ConfigError, match=re.escape(said)):
        made(name, tmp_path, **params, **more, **names)


@pytest.mark.parametrize("name", ["", "-hard", "-hard-aa-split"])
def test_a_commit_is_pinned(
    checkout: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    assert checkout.is_dir()
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")

    with pytest.raises(DataError, match=rf"{REPOSITORY} at {COMMIT} .*HF_HUB_OFFLINE forbids"):
        made(f"terminal-bench{name or '-v1'}", tmp_path)


@pytest.mark.asyncio
async def test_the_hard_sets_are_lists_of_tasks(checkout: Path, tmp_path: Path) -> None:
    tasks = checkout / "original-tasks"
    for name in {*HARD, *SPLIT}:
        write(tasks / name)
    source: dict[str, Any] = {"source_dir": str(checkout)}

    hard = made("terminal-bench-hard", tmp_path, **source)
    split = made("terminal-bench-hard-aa-split", tmp_path, **source)
    categories = [(await split.seed(idx)).metadata["category"] for idx in range(44)]

    assert (len(hard), hard.another_size, len(split), split.another_size) == (47, None, 44, None)
    assert len({hard.problem_id(idx) for idx in range(47)}) == 47
    assert categories.count("unsolvable") == 4


@pytest.mark.asyncio
async def test_the_hard_sets_may_be_named(checkout: Path, tmp_path: Path) -> None:
    write(checkout / "original-tasks" / "other")
    source: dict[str, Any] = {"source_dir": str(checkout), "task_names": ["greet", "other"]}

    hard = made("terminal-bench-hard", tmp_path, **source)
    split = made("terminal-bench-hard-aa-split", tmp_path, **source, unsolvable=["other"])
    categories = [(await split.seed(idx)).metadata["category"] for idx in range(2)]

    assert "2 tasks were loaded, and the published set has 47" in str(hard.another_size)
    assert categories == ["solvable", "unsolvable"]


@pytest.mark.asyncio
async def test_the_platforms_tasks_run_beside_its_api(checkout: Path, tmp_path: Path) -> None:
    tasks = checkout / "tests" / "agentic-use" / "one"
    (tasks / "tests").mkdir(parents=True)
    (tasks / "tests" / "test.sh").write_text("exit 0\n")
    (tasks / "instruction.md").write_text("Use it.\n")
    (tasks / "task.toml").write_text('[environment]\ndocker_image = "nmp-harbor:latest"\n')

    seed = await made("nmp_harbor", tmp_path, nmp_repo=str(checkout), start_cmd="api").seed(0)

    assert seed.sandbox_spec is not None
    assert (seed.sandbox_spec.entrypoint, seed.verify_sandbox_spec) == ("api", None)
    assert "8080/health/ready" in str(seed.pre_agent_cmd)
    assert seed.pre_agent_required  # without the API nothing of the agent would be measured


@pytest.mark.skipif(no_image() is not None, reason=str(no_image()))
def test_a_mapped_task_is_built_solved_and_judged(checkout: Path, tmp_path: Path) -> None:
    entry = (
        f"services: {{}}\nbenchmarks:\n  - {{name: terminal-bench-v1, solver: {{type: oracle}}, "
        f"timeout: 120, params: {{source_dir: {checkout}}}, "
        "sandbox: {type: docker, network: bridge}}\n"
    )
    nel = Nel(tmp_path / "run", None, {"NEL_CACHE_DIR": str(tmp_path / "cache")})
    nel.write("my.nel.yaml", entry)
    nel.write("pytest.ini", "[pytest]\n")

    ended = nel.run("my.nel.yaml", timeout=300)

    assert ended.code == 0, ended.text
    (row,) = ended.results("terminal-bench-v1")
    assert (row["problem_id"], row["reward"]) == ("greet", 1.0), row
