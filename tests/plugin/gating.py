"""A benchmark whose answers are good or bad as the environment says, with a baseline of it."""

import json
import shutil

import pytest

from tests.plugin.running import Ended, Nel
from tests.support.endpoint import RunningEndpoint

BENCH = """
from pytest_nel import benchmark, exact_match, scorer

ROWS = [
    {{"id": f"p{{i}}", "q": f"{say} {{i}}", "target": f"n{{i}}", "category": "ab"[i % 2]}}
    for i in range({count})
]


@benchmark(name="echo", dataset=ROWS, prompt="{{q}}")
@scorer
def echo(sample):
    return exact_match(sample)
"""


SOLVER = '''
import os

import pytest
from pytest_nel import InfraError, SolveResult


class Echo:
    """Right, but for the first BAD problems; no answer at all for the first LOST."""

    async def solve(self, seed, sandbox):
        number = int(seed.prompt.split()[-1])
        if number < int(os.environ.get("LOST", "0")):
            raise InfraError("lost", retryable=False)
        return SolveResult("wrong" if number < int(os.environ.get("BAD", "0")) else f"n{number}")

    def fingerprint(self):
        return {"version": 1}


@pytest.fixture(scope="session")
def nel_solver():
    return Echo()
'''


POLICY = """version: 1
defaults: {tier: critical, metric: mean_reward, max_drop: 0.05}
benchmarks:
  echo: {}
"""


@pytest.fixture(scope="session")
def measured_once(
    tmp_path_factory: pytest.TempPathFactory, shared_endpoint: RunningEndpoint
) -> Nel:
    """What ``measured`` copies, since measuring it takes longer than most tests of it."""
    folder = tmp_path_factory.mktemp("measured")
    (folder / "pytest.ini").write_text("[pytest]\n", encoding="utf-8")
    nel = Nel(folder, shared_endpoint.url)
    nel.write("bench_echo.py", BENCH.format(say="say", count=100))
    nel.write("conftest.py", SOLVER)
    nel.write("gate.yaml", POLICY)
    assert run(nel, "base").code == 0
    return nel


@pytest.fixture
def measured(nel: Nel, measured_once: Nel) -> Nel:
    """A folder with a policy and a baseline whose 100 answers are all right."""
    shutil.copytree(measured_once.folder, nel.folder, dirs_exist_ok=True)
    return nel


def run(nel: Nel, out: str, *args: str, env: dict[str, str] | None = None) -> Ended:
    where = ["bench_echo.py", "--nel-output-dir", out]
    return nel.run(*where, *args, model=False, env=env)


def gated(nel: Nel, *args: str, env: dict[str, str] | None = None) -> Ended:
    return run(nel, "mine", "--nel-policy", "gate.yaml", "--nel-baseline", "base", *args, env=env)


def checks(nel: Nel) -> dict[str, object]:
    found: dict[str, object] = json.loads((nel.folder / "mine" / "checks.json").read_text())
    return found


def asked_nothing(nel: Nel, ended: Ended) -> bool:
    return ended.code == 4 and not (nel.folder / "mine").exists() and "Traceback" not in ended.text
