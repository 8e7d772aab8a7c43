"""HumanEval in real containers: right solutions are right, broken ones wrong, whatever the size."""

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from tests.benchmarks.judging import data
from tests.contract.boxes import IMAGE, no_image

pytestmark = [
    pytest.mark.skipif("no_image() is not None", reason=str(no_image())),
    pytest.mark.slow,
]

ROWS = [
    {
        "task_id": f"own/{number}",
        "prompt": f'import math\n\n\ndef f{number}(x):\n    """{words}"""\n',
        "entry_point": f"f{number}",
        "canonical_solution": f"    return {body}\n",
        "test": f"def check(candidate):\n    assert candidate({given}) == {wanted}\n",
    }
    for number, (words, body, given, wanted) in enumerate(
        (
            ("Twice x.", "2 * x", "21", "42"),
            ("The square root.", "math.sqrt(x)", "2.25", "1.5"),
            ("Without the first.", "x[1:]", "[1, 2]", "[2]"),
            ("Its letters, each once.", "set(x)", "'abca'", "{'a', 'b', 'c'}"),
            ("How often.", "{y: x.count(y) for y in x}", "['a', 'a']", "{'a': 2}"),
            ("x and its negative.", "(x, -x)", "3", "(3, -3)"),
        )
    )
]
SOLVER = """
    import json
    import pytest
    from pytest_nel import SolveResult

    ROWS = [json.loads(line) for line in open("rows.jsonl", encoding="utf-8")]

    class Both:
        uses_sandbox = False

        async def solve(self, seed, sandbox):
            row = next(row for row in ROWS if row["prompt"] in seed.prompt)
            broken = "    return None\\n"
            body = broken if seed.attempt.repeat else row["canonical_solution"]
            return SolveResult("```python\\n" + row["prompt"] + body + "```")

    @pytest.fixture(scope="session")
    def nel_solver():
        return Both()
"""
VALIDATED = f"""
    from pytest_nel import SandboxSpec, ScorerInput, benchmark, code_sandbox, scorer

    @benchmark(
        name="own",
        dataset="rows.jsonl",
        prompt="{{prompt}}",
        target_field="canonical_solution",
        gold="```python\\n{{prompt}}{{target}}```",
        sandbox=SandboxSpec(image="{IMAGE}"),
    )
    @scorer
    async def own(sample: ScorerInput) -> object:
        return await code_sandbox(sample)
"""
SUITE = f"""
    services:
      nobody:
        type: api
        url: "http://127.0.0.1:9/v1/chat/completions"
        protocol: chat_completions
        model: m
    benchmarks:
      - name: humaneval
        repeats: 2
        solver: {{type: simple, service: nobody}}
        sandbox: {{type: docker, image_template: "{IMAGE}", concurrency: 8}}
"""

SERVED = f"""
    sandboxes:
      box: {{type: docker, image_template: "{IMAGE}", concurrency: 4}}
    services:
      nobody:
        type: api
        url: "http://127.0.0.1:9/v1/chat/completions"
        protocol: chat_completions
        model: m
      judges: {{type: gym, benchmark: humaneval, sandbox: box}}
    benchmarks:
      - name: "gym://humaneval"
        repeats: 2
        solver: {{type: simple, service: nobody}}
        sandbox: box
      - name: humaneval
        repeats: 2
        solver: {{type: simple, service: nobody}}
        verifier: judges
"""


def measured(
    pytester: pytest.Pytester, rows: list[dict[str, Any]], *options: str, suite: str = SUITE
) -> tuple[pytest.RunResult, list[dict[str, Any]]]:
    """The run's end, and its results."""
    lines = "".join(json.dumps(row) + "\n" for row in rows)
    folder = pytester.path / "data"
    folder.mkdir()
    (folder / "datasets.yaml").write_text("openai/openai_humaneval: rows.jsonl\n")
    for place in (folder, pytester.path):
        (place / "rows.jsonl").write_text(lines, encoding="utf-8")
    pytester.makeconftest(SOLVER)
    pytester.makefile(".nel.yaml", suite=suite)
    done = pytester.runpytest_subprocess("-p", "nel", "suite.nel.yaml", *options)
    found = Path(pytester.path).glob("eval_results/*/*humaneval*/results.jsonl")
    return done, [json.loads(line) for path in found for line in path.read_text().splitlines()]


@pytest.mark.parametrize("options", [(), ("-n", "2")], ids=["plain", "n2"])
def test_right_solutions_are_right_and_broken_ones_wrong(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, options: tuple[str, ...]
) -> None:
    monkeypatch.setenv("NEL_DATA_DIR", str(pytester.path / "data"))

    done, results = measured(pytester, ROWS, *options)

    assert done.ret == 0
    assert {(row["repeat"], row["reward"]) for row in results} == {(0, 1.0), (1, 0.0)}
    assert len(results) == 2 * len(ROWS)


def test_served_by_a_run_they_are_judged_as_directly(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NEL_DATA_DIR", str(pytester.path / "data"))

    done, results = measured(pytester, ROWS[:2], suite=SERVED)

    assert done.ret == 0
    assert {(row["repeat"], row["reward"]) for row in results} == {(0, 1.0), (1, 0.0)}
    assert len(results) == 2 * 2 * 2, "by the environment of a server, and by a verifier"


def test_nel_validate_tries_gold_answers_in_a_sandbox(pytester: pytest.Pytester) -> None:
    lines = "".join(json.dumps(row) + "\n" for row in ROWS)
    (pytester.path / "rows.jsonl").write_text(lines, encoding="utf-8")
    pytester.makepyfile(bench_own=VALIDATED)

    done = pytester.run("nel", "validate", "bench_own.py", "--sandbox", "docker", "--json")

    facts = json.loads(done.stdout.str())
    assert done.ret == 0
    assert facts["selftest"] == "passed"
    assert {row["reward"] for row in facts["trials"] if row["kind"] == "gold"} == {1.0}


def test_every_gold_solution_is_right_and_every_broken_one_wrong(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = data("HumanEval.jsonl.gz")
    monkeypatch.setenv("NEL_DATA_DIR", str(pytester.path / "data"))
    rows = [json.loads(line) for line in gzip.decompress(file.read_bytes()).splitlines()]

    done, results = measured(pytester, rows)

    assert done.ret == 0
    assert {(row["repeat"], row["reward"]) for row in results} == {(0, 1.0), (1, 0.0)}
    assert len(results) == 2 * 164
