"""Stored answers and judgements are taken as long as what made them is the same, and no longer."""

import sys
from pathlib import Path

import pytest

from tests.plugin.running import Ended, Nel, sums
from tests.plugin.test_resume import again, first, outcomes
from tests.support.endpoint import RunningEndpoint

SERVED = Path(__file__).parents[1] / "support" / "served.py"
SUITE = """services:
  mine: {{type: command, protocol: chat_completions, command: "{command}"{more}}}
benchmarks:
  - {{name: bench_sums.py, solver: {{type: simple, service: mine}}}}
output: {{dir: run, timestamped: false}}
"""
SOLVER = '''"""Answers without a model."""
import os
from dataclasses import dataclass
import pytest
from pytest_nel import SolveResult

@dataclass(slots=True)
class Settings:
    answer_key: str
    shots: list

@dataclass(slots=True)
class Fixed:
    settings: Settings

    async def solve(self, seed, sandbox):
        return SolveResult(response=self.settings.answer_key)

@pytest.fixture(scope="session")
def nel_solver():
    shots = [{"shot": i} for i in range(300)]
    shots[299]["shot"] = os.environ.get("LAST", "")
    return Fixed(Settings(os.environ.get("ANSWER", "1"), shots))
'''


def helped(nel: Nel, helper: str, file: str = "bench_sums.py") -> None:
    bench = nel.bench(sums(6), file=file)
    text = bench.read_text().replace("return numeric_match(sample)", helper)
    bench.write_text(text)


def test_comments_and_formatting_keep_judgements(nel: Nel, endpoint: RunningEndpoint) -> None:
    file = nel.bench(sums(6))
    first(nel)
    endpoint.reset()
    text = file.read_text().replace("ROWS = [", "ROWS = [  # of the first grade\n    ")
    file.write_text(f"# measured since spring\n\n{text}\n\n# the end\n")

    ended = again(nel)

    assert endpoint.stats()["requests"] == 0
    assert "6 taken as recorded" in ended.out


@pytest.mark.parametrize(
    "helper",
    [
        "from common.h import judge; return judge(sample)",
        "import common.h; return common.h.judge(sample)",
    ],
)
def test_a_helper_in_a_folder_beside_judges_again(
    nel: Nel, endpoint: RunningEndpoint, helper: str
) -> None:
    nel.untested()
    helped(nel, helper)
    judge = nel.write("lib/common/h.py", "def judge(sample):\n    return False\n")
    nel.env["PYTHONPATH"] = f"{nel.environ()['PYTHONPATH']}:{nel.folder / 'lib'}"
    first(nel)
    endpoint.reset()
    judge.write_text("def judge(sample):\n    return True\n")

    ended = again(nel)

    assert endpoint.stats()["requests"] == 0
    assert "6 judged from stored answers" in ended.out
    assert set(outcomes(nel).values()) == {"correct"}


@pytest.mark.parametrize("variable", ["ANSWER", "LAST"])
def test_what_a_solver_holds_in_slots_solves_again(nel: Nel, variable: str) -> None:
    nel.url = None
    nel.bench(sums(4))
    nel.write("conftest.py", SOLVER)
    first(nel)
    nel.env[variable] = "2"

    ended = again(nel)

    assert "begun afresh, since solver.settings" in ended.out


def served(nel: Nel, more: str = "", *args: str) -> Ended:
    """Run the suite; its server is started by it."""
    nel.url = None
    nel.bench(sums(4))
    command = f"exec {sys.executable} {SERVED} {{port}}"
    nel.write("my.nel.yaml", SUITE.format(command=command, more=f", {more}" if more else ""))
    ended = nel.run("my.nel.yaml", *args)
    assert ended.code == 0, ended.text
    return ended


def test_another_value_of_a_servers_variable_solves_again(nel: Nel) -> None:
    more = 'env: {CKPT: "${CKPT}", HF_TOKEN: "${HF_TOKEN}"}'
    nel.env |= {"CKPT": "one", "HF_TOKEN": "a"}
    served(nel, more)
    nel.env |= {"HF_TOKEN": "b"}
    same = served(nel, more, "--nel-resume")
    nel.env |= {"CKPT": "two"}

    other = served(nel, more, "--nel-resume")

    assert "4 taken as recorded" in same.out
    assert "begun afresh, since service.env" in other.out


def test_another_folder_of_a_server_solves_again(nel: Nel) -> None:
    (nel.folder / "a").mkdir()
    served(nel)

    other = served(nel, "cwd: a", "--nel-resume")

    assert "begun afresh, since service.cwd" in other.out
