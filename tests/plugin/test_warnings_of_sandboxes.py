"""What goes wrong with sandboxes is said although every attempt is right."""

import pytest

from tests.plugin.running import Nel, rows

LEAVES = '''"""Answers, and leaves a container behind."""
import logging
import threading

import pytest
from pytest_nel import SolveResult


class Leaves:
    async def solve(self, seed, sandbox):
        say = logging.getLogger("pytest_nel.sandboxes.docker").warning
        beside = threading.Thread(target=say, args=("the daemon hangs on %s", "one-of-mine"))
        beside.start()
        beside.join()
        return SolveResult("7")


@pytest.fixture(scope="session")
def nel_solver():
    return Leaves()
'''


@pytest.mark.parametrize("how", [[], ["-p", "xdist", "-n2"]], ids=["plain", "n2"])
def test_a_container_that_is_left_is_named_in_runs_that_pass(nel: Nel, how: list[str]) -> None:
    nel.bench(rows("7", "7"))
    nel.write("conftest.py", LEAVES)

    ended = nel.run("bench_sums.py", *how, model=False)

    lines = [line for line in ended.out.splitlines() if "hangs on one-of-mine" in line]
    assert ended.code == 0, ended.text
    assert lines[-1] == "the daemon hangs on one-of-mine"
    assert lines.count(lines[-1]) == 1
