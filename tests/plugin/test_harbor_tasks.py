"""Harbor tasks in real containers: the oracle solves all of ours, nobody else scores."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from tests.contract.boxes import IMAGE, no_image
from tests.plugin.running import Ended, Nel

pytestmark = pytest.mark.skipif(no_image() is not None, reason=str(no_image()))
TASKS = Path(__file__).parents[1] / "data" / "harbor_tasks"
NAMES = sorted(each.name for each in TASKS.iterdir())
ENTRY = """  - name: 'harbor://{tasks}'
    solver: {solver}
    params: {params}
    timeout: 120
    max_concurrent: 8
    sandbox: {sandbox}
"""
CHEATS = '''"""Does nothing for the first benchmark; in the second it writes itself a reward."""

import pytest

from pytest_nel import SolveResult

FORGE = """
mkdir -p /tests /logs/verifier
printf '#!/bin/bash\\necho 1 > /logs/verifier/reward.txt\\n' > /tests/test.sh
printf 'raise SystemExit(0)\\n' > /tests/check.py
echo 1 > /reward.txt
echo 1 > /logs/verifier/reward.txt
echo '{"reward": 1}' > /logs/verifier/reward.json
chmod 555 /tests /logs/verifier
bash -c 'while :; do
  mkdir -p /logs/verifier
  echo 1 > /logs/verifier/reward.txt
  echo 1 > /reward.txt
done' > /dev/null 2>&1 &
"""


class Cheats:
    async def solve(self, seed, sandbox):
        if seed.attempt.benchmark != "harbor_tasks":
            await sandbox.exec(FORGE, user=None)
        return SolveResult("done")


@pytest.fixture(scope="session")
def nel_solver():
    return Cheats()
'''


def entry(*, solver: str = "{type: oracle}", params: str = "{}", **box: Any) -> str:
    image = os.environ.get("NEL_HARBOR_TEST_IMAGE", IMAGE)
    sandbox = {"type": "docker", "image_template": image, "concurrency": 8, "memory": "1g", **box}
    return ENTRY.format(tasks=TASKS, solver=solver, params=params, sandbox=json.dumps(sandbox))


def run(nel: Nel, *entries: str) -> Ended:
    nel.write("my.nel.yaml", "services: {}\nbenchmarks:\n" + "".join(entries))
    return nel.run("my.nel.yaml", model=False, timeout=300)


def rewards(ended: Ended, benchmark: str = "harbor_tasks") -> dict[str, float | None]:
    return {row["problem_id"]: row["reward"] for row in ended.results(benchmark)}


def test_the_oracle_solves_every_task(nel: Nel) -> None:
    ended = run(nel, entry())

    assert ended.code == 0, ended.text
    assert rewards(ended) == dict.fromkeys(NAMES, 1.0)
    assert {row["tokens"] for row in ended.results("harbor_tasks")} == {0}  # it asks no model
    assert "unknown" not in ended.text


def test_nothing_done_and_rewards_forged_score_nothing(nel: Nel) -> None:
    nel.write("conftest.py", CHEATS)

    ended = run(nel, entry(), entry(params="{stateful: true}", network="none"))

    assert ended.code == 0, ended.text
    assert rewards(ended) == dict.fromkeys(NAMES, 0.0)
    assert rewards(ended, "harbor_tasks-2") == dict.fromkeys(NAMES, 0.0)
    kept = ended.results("harbor_tasks-2")
    assert {row["scoring_details"]["method"] for row in kept} == {"harbor"}


def test_an_image_says_where_a_task_is_done_and_no_other_image_is_made(nel: Nel) -> None:
    """Its WORKDIR needs a variable; the task after the limit has an image that cannot be built."""
    recipe = f"FROM {IMAGE}\nENV APP=/srv/app\nWORKDIR $APP\nWORKDIR in\nRUN echo x > there\n"
    for name, text in (("a", recipe), ("b", "FROM no-such-image-of-nobody:1\nRUN x\n")):
        nel.write(f"tasks/{name}/task.toml", "[environment]\nallow_internet = false\n")
        nel.write(f"tasks/{name}/instruction.md", "Do it.\n")
        nel.write(f"tasks/{name}/environment/Dockerfile", text)
        nel.write(f"tasks/{name}/solution/solve.sh", "cat there && pwd > made\n")
        nel.write(
            f"tasks/{name}/tests/test.sh",
            'cat there && [ "$(pwd) $(cat made)" = "/srv/app/in /srv/app/in" ]\n',
        )
    nel.write(
        "my.nel.yaml",
        "services: {}\nbenchmarks:\n  - {name: 'harbor://tasks', solver: {type: oracle}, "
        "timeout: 120, max_problems: 1, shuffle_seed: null, sandbox: {type: docker}}\n",
    )

    ended = nel.run("my.nel.yaml", model=False, timeout=120)

    assert ended.code == 0, ended.text
    assert rewards(ended, "tasks") == {"a": 1.0}


SPOILS = '''"""Breaks what is to judge it, as each task's instruction says."""

import pytest

from pytest_nel import SolveResult


class Spoils:
    async def solve(self, seed, sandbox):
        await sandbox.exec(seed.prompt)
        return SolveResult("done")


@pytest.fixture(scope="session")
def nel_solver():
    return Spoils()
'''
SPOILED = {  # what the agent does, what the tests are, whether they are judged where it worked
    "bash-is-gone": ("rm /bin/bash", "test -e answer", True),
    "hangs": ("printf 'while :; do :; done' > prog", "bash prog", False),
    "logs-are-a-file": (
        "echo 'rm -rf /logs; echo x > /logs' > prog",
        "bash prog; echo 1 > /logs/verifier/reward.txt",
        False,
    ),
    "no-program": ("true", "./prog", False),
    "odd-reward": ("echo odd > answer", "cat answer > /logs/verifier/reward.txt", False),
    "pipes": (
        "echo 0 > answer; echo 'cd /etc; rm passwd group; mkfifo passwd group' > prog",
        "bash prog; cp answer /logs/verifier/reward.txt",
        False,
    ),
    "reward-is-a-loop": (
        "echo ln -s reward.txt /logs/verifier/reward.txt > prog",
        "bash prog; echo 1 > /logs/verifier/reward.txt",
        True,
    ),
    "root-has-no-name": ("sed -i s/root:x:0/root:x:1000/ /etc/passwd", "test -e answer", True),
    "shell-is-gone": ("rm /bin/sh", "test -e answer", True),
    "unsound": ("true", "sleep 60", True),
    "user-is-gone": ("sed -i /nobody/d /etc/passwd", "test -e answer", True),
}
SOLVE = "echo 1 > answer; printf 'exit 0' > prog; chmod 755 prog\n"
TOML = """[environment]
workdir = "/srv"
[verifier]
timeout_sec = 2
{user}
[metadata]
stateful = {stateful}
"""


def test_an_agent_that_breaks_its_tests_is_wrong_and_not_unscored(nel: Nel) -> None:
    nel.write("conftest.py", SPOILS)
    for name, (does, tests, stateful) in SPOILED.items():
        user = 'user = "nobody"' if name == "user-is-gone" else ""
        nel.write(f"tasks/{name}/task.toml", TOML.format(user=user, stateful=str(stateful).lower()))
        nel.write(f"tasks/{name}/instruction.md", does + "\n")
        nel.write(f"tasks/{name}/solution/solve.sh", SOLVE)
        nel.write(f"tasks/{name}/tests/test.sh", tests + "\n")
        nel.write(f"tasks/{name}/environment/Dockerfile", f"FROM {IMAGE}\n")
    sandbox = '{type: docker, network: bridge, concurrency: 4, memory: "512m"}'
    nel.write(
        "my.nel.yaml",
        "services: {}\nbenchmarks:\n  - {name: 'harbor://tasks', solver: {type: oracle}, "
        f"timeout: 60, max_concurrent: 4, sandbox: {sandbox}}}\n",
    )

    ended = nel.run("my.nel.yaml", model=False, timeout=300)

    rows = {row["problem_id"]: row for row in ended.results("tasks")}
    said = {name: (row["outcome"], row["reward"]) for name, row in rows.items()}
    assert said == {
        name: ("unscored", None) if name == "unsound" else ("wrong", 0.0) for name in SPOILED
    }, ended.text
