"""How many attempts run at once: never more than asked for, never longer than their own time."""

import pytest

from tests.plugin.running import Nel, rows, sums
from tests.support.endpoint import running_endpoint

COUNTING = '''"""Notes how many attempts of each benchmark run at once."""
import asyncio
import pytest
from pytest_nel import SolveResult

class Counting:
    def __init__(self):
        self.running, self.most = {}, {}

    async def solve(self, seed, sandbox):
        name = seed.attempt.benchmark
        self.running[name] = self.running.get(name, 0) + 1
        self.most[name] = max(self.most.get(name, 0), self.running[name])
        await asyncio.sleep(0.02)
        self.running[name] -= 1
        return SolveResult(response="7")

@pytest.fixture(scope="session")
def nel_solver():
    solver = Counting()
    yield solver
    print("MOST", *sorted(solver.most.items()))
'''


def test_the_time_of_an_attempt_does_not_run_while_it_waits_for_its_turn(nel: Nel) -> None:
    nel.bench(sums(24))
    with running_endpoint(mode="echo", latency=0.2) as endpoint:
        nel.url = endpoint.url
        suite = nel.suite("bench_sums.py", more="timeout: 1.2, max_concurrent: 16")
        text = suite.read_text().replace("model: m}", "model: m, max_concurrent: 2}")
        suite.write_text(text)

        ended = nel.run("my.nel.yaml", model=False)

    assert ended.bundle()["n_unscored"] == 0, ended.text
    assert ended.code == 0, ended.text


def test_a_solver_of_ones_own_is_held_to_c_with_a_model_url_too(nel: Nel) -> None:
    nel.bench(rows(*"7" * 30))
    nel.write("conftest.py", COUNTING)

    ended = nel.run("bench_sums.py", "--nel-max-concurrent", "3", "-s")

    assert ended.code == 0, ended.text
    assert "MOST ('sums', 3)" in ended.out


def test_each_benchmark_is_held_to_its_own_c(nel: Nel) -> None:
    nel.bench(rows(*"7" * 20), file="bench_a.py", name="a")
    nel.bench(rows(*"7" * 60), file="bench_b.py", name="b")
    nel.write("conftest.py", COUNTING)
    entries = "".join(
        f"  - {{name: bench_{name}.py, max_concurrent: {limit},"
        " solver: {type: simple, service: model}}\n"
        for name, limit in (("a", 2), ("b", 9))
    )
    nel.suite(tail=entries)

    ended = nel.run("my.nel.yaml", "-s", model=False)

    assert ended.code == 0, ended.text
    assert "MOST ('a', 2) ('b', 9)" in ended.out


@pytest.mark.parametrize("first", ["a", "b"])
def test_a_smaller_c_holds_beside_a_larger_one_at_the_same_service(nel: Nel, first: str) -> None:
    """Whichever comes first: 1 at a time for a, 8 for b: a alone takes 12 times the latency."""
    nel.bench(rows(*"7" * 12), file="bench_a.py", name="a")
    nel.bench(rows(*"7" * 8), file="bench_b.py", name="b")
    limits = {"a": 1, "b": 8}
    with running_endpoint(mode="echo", latency=0.05) as endpoint:
        nel.url = endpoint.url
        entries = "".join(
            f"  - {{name: bench_{name}.py, max_concurrent: {limits[name]},"
            " solver: {type: simple, service: model}}\n"
            for name in sorted(limits, reverse=first == "b")
        )
        nel.suite(tail=entries)

        ended = nel.run("my.nel.yaml", model=False)

    assert ended.code == 0, ended.text
    assert ended.bundle("a")["benchmark"]["scores"]["runtime"]["elapsed_seconds"] >= 0.55
