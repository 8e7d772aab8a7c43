"""A ``nel_solver`` in a conftest.py answers for the benchmarks below it."""

import pytest

from tests.plugin.running import Nel, rows
from tests.support.endpoint import RunningEndpoint

FIXED = '''"""Answers without a model."""
import pytest
from pytest_nel import ModelResponse, SolveResult

class Fixed:
    """Always says the same."""

    def __init__(self, text):
        self.text = text

    async def solve(self, seed, sandbox):
        return SolveResult(response=self.text)

@pytest.fixture(scope="session")
def nel_solver():
    return Fixed("{text}")
'''


def test_a_solver_of_ones_own_needs_no_model(
    nel: Nel, endpoint: RunningEndpoint, how: list[str]
) -> None:
    nel.bench(rows("8", "9"))
    nel.write("conftest.py", FIXED.format(text="7"))

    ended = nel.run("bench_sums.py", *how, model=False)

    assert ended.code == 0, ended.text
    assert "2 passed" in ended.out
    assert endpoint.stats()["requests"] == 0


def test_the_nearest_conftest_wins(nel: Nel) -> None:
    nel.write("conftest.py", FIXED.format(text="7"))
    nel.write("low/conftest.py", FIXED.format(text="8"))
    nel.bench(rows("7"), file="bench_a.py", name="a")
    nel.bench(rows("7"), file="low/bench_b.py", name="b")
    nel.bench(rows("7"), file="zoo/bench_c.py", name="c")

    ended = nel.run(model=False)

    assert ended.code == 0, ended.text
    answers = [ended.results(name)[0]["model_response"] for name in "abc"]
    assert answers == ["7", "8", "7"]


def test_other_benchmarks_keep_the_model(nel: Nel, endpoint: RunningEndpoint) -> None:
    nel.write("low/conftest.py", FIXED.format(text="8"))
    nel.bench(rows("7"), file="bench_a.py", name="a")
    nel.bench(rows("7"), file="low/bench_b.py", name="b")

    ended = nel.run()

    assert ended.code == 0, ended.text
    assert ended.results("a")[0]["outcome"] == "correct"
    assert ended.results("b")[0]["model_response"] == "8"
    assert endpoint.stats()["requests"] == 1


def test_a_solver_may_depend_on_fixtures_and_on_the_model(
    nel: Nel, endpoint: RunningEndpoint
) -> None:
    nel.bench(rows("7", "8"))
    nel.write(
        "conftest.py",
        '''"""Asks the model, then says something else."""
import pytest
from pytest_nel import SolveResult

@pytest.fixture(scope="session")
def prefix(tmp_path_factory):
    return "it is "

class Two:
    def __init__(self, model, prefix):
        self.model, self.prefix = model, prefix

    async def solve(self, seed, sandbox):
        reply = await self.model.chat([{"role": "user", "content": seed.prompt}])
        return SolveResult(response=self.prefix + reply.content, model_response=reply)

@pytest.fixture(scope="session")
def nel_solver(nel_model, prefix):
    return Two(nel_model, prefix)
''',
    )

    ended = nel.run("bench_sums.py")

    assert ended.code == 0, ended.text
    assert sorted(row["model_response"] for row in ended.results()) == ["it is 7", "it is 8"]
    assert endpoint.stats()["requests"] == 2
    assert all(row["tokens"] for row in ended.results())


def test_a_solver_is_opened_and_closed_on_the_loop_that_solves(nel: Nel) -> None:
    nel.bench(rows("7", "8"))
    nel.write(
        "conftest.py",
        '''"""Notes which loop it lives on."""
import asyncio
import pytest
from pytest_nel import SolveResult

class Noting:
    async def open(self):
        self.loop = asyncio.get_running_loop()

    async def solve(self, seed, sandbox):
        same = asyncio.get_running_loop() is self.loop
        return SolveResult(response="7" if same else "0")

    async def close(self):
        same = asyncio.get_running_loop() is self.loop
        with open("closed.txt", "a") as file:
            file.write(f"closed {same}\\n")

@pytest.fixture(scope="session")
def nel_solver():
    return Noting()
''',
    )

    ended = nel.run("bench_sums.py", model=False)

    assert ended.code == 0, ended.text
    assert "2 passed" in ended.out
    assert (nel.folder / "closed.txt").read_text() == "closed True\n"


def test_a_solver_of_two_benchmarks_is_opened_and_closed_once(nel: Nel) -> None:
    nel.bench(rows("7"), file="bench_a.py", name="a")
    nel.bench(rows("7"), file="bench_b.py", name="b")
    text = FIXED.format(text="7").replace(
        "    async def solve",
        """    def __eq__(self, other):
        return True  # what is equal need not be the same

    async def open(self):
        print("OPENED")

    async def close(self):
        print("CLOSED")

    async def solve""",
    )
    nel.write("conftest.py", text)

    ended = nel.run("-s", model=False)

    assert ended.code == 0, ended.text
    assert (ended.out.count("OPENED"), ended.out.count("CLOSED")) == (1, 1)


def test_a_fixture_is_torn_down_once_at_the_end(nel: Nel) -> None:
    nel.bench(rows("7"), file="bench_a.py", name="a")
    nel.bench(rows("7"), file="bench_b.py", name="b")
    text = FIXED.format(text="7").replace(
        'return Fixed("7")', 'print("UP")\n    yield Fixed("7")\n    print("DOWN")'
    )
    nel.write("conftest.py", text)

    ended = nel.run("-s", model=False)

    assert ended.code == 0, ended.text
    assert ended.out.count("UP") == 1
    assert ended.out.count("DOWN") == 1


def test_the_solver_is_part_of_the_fingerprint(nel: Nel) -> None:
    nel.bench(rows("7"))
    plain = nel.run("bench_sums.py", "--nel-output-dir", "plain")
    nel.write("conftest.py", FIXED.format(text="7"))

    own = nel.run("bench_sums.py")

    import json

    assert plain.code == 0, plain.text
    before = json.loads((nel.folder / "plain/sums/plan.json").read_text())["fingerprint"]
    after = json.loads((own.run_dir / "sums/plan.json").read_text())["fingerprint"]
    assert {name for name in before if before[name] != after[name]} == {
        "solver",
        "model",
        "answering",
    }
    assert after["model"] is None


def test_a_solver_that_raises_leaves_attempts_without_a_score(nel: Nel) -> None:
    nel.bench(rows("7", "8"))
    text = FIXED.format(text="7").replace(
        "return SolveResult(response=self.text)", 'raise KeyError("no such tool")'
    )
    nel.write("conftest.py", text)

    ended = nel.run("bench_sums.py", model=False)

    assert ended.code == 7, ended.text
    assert "no such tool" in ended.out
    assert set(ended.outcomes().values()) == {"unscored"}


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ('(scope="session")', "", 'declare it with @pytest.fixture(scope="session")'),
        ('(scope="session")', '(scope="module")', "scope 'module'"),
        ('return Fixed("7")', "return 7", "nel_solver"),
        ('return Fixed("7")', "return Fixed", "nel_solver"),
        ('return Fixed("7")', 'raise OSError("no licence server")', "no licence server"),
    ],
    ids=["function", "module", "number", "class", "raises"],
)  # fmt: skip
def test_a_wrong_fixture_is_one_clear_line(nel: Nel, old: str, new: str, says: str) -> None:
    nel.bench(rows("7", "8"))
    nel.write("conftest.py", FIXED.format(text="7").replace(old, new))

    ended = nel.run("bench_sums.py", model=False)

    assert ended.code == 4, ended.text
    assert says in ended.text
    assert "Traceback" not in ended.text
    assert "pytest_nel/hooks" not in ended.text
    assert nel.runs() == []


def test_a_skipped_fixture_is_no_measurement(nel: Nel) -> None:
    nel.bench(rows("7", "8"))
    text = FIXED.format(text="7").replace('return Fixed("7")', 'pytest.skip("no tools here")')
    nel.write("conftest.py", text)

    ended = nel.run("bench_sums.py", model=False)

    assert ended.code == 7, ended.text
    assert "fixture nel_solver was skipped: no tools here" in ended.out


@pytest.mark.parametrize(
    "end",
    [
        'pytest.skip("not today")',
        'pytest.fail("not today")',
        'raise BaseExceptionGroup("not today", [SystemExit(1)])',
    ],
)
def test_a_solver_that_skips_or_fails_leaves_attempts_without_a_score(nel: Nel, end: str) -> None:
    nel.bench(rows("7", "8"))
    nel.write(
        "conftest.py", FIXED.format(text="7").replace("return SolveResult(response=self.text)", end)
    )

    ended = nel.run("bench_sums.py", model=False, timeout=30)

    assert ended.code == 7, ended.text
    assert "not today" in ended.out
    assert list(ended.outcomes().values()) == ["unscored", "unscored"]


def test_a_scorer_that_skips_leaves_the_attempt_without_a_score(nel: Nel) -> None:
    nel.bench(rows("7", "crash"))
    bench = nel.folder / "bench_sums.py"
    text = bench.read_text().replace(
        'raise RuntimeError("the scorer broke")', 'import pytest; pytest.skip("not today")'
    )
    bench.write_text(text)

    ended = nel.run("bench_sums.py")

    assert ended.code == 7, ended.text
    assert sorted(ended.outcomes().values()) == ["correct", "unscored"]
