"""Models that judge, in whole runs: what is asked, recorded, counted, resumed."""

import json
import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.plugin.running import Ended, Nel
from tests.support.endpoint import RunningEndpoint, running_endpoint

GRADER = Path(__file__).parents[1] / "support" / "grader.py"
BENCH = '''"""Answers are graded by a model."""

from pytest_nel import Benchmark

facts = Benchmark(
    name="facts",
    dataset={rows!r},
    prompt="{{say}}",
    {judge}
)
'''
SUITE = """services:
  model: {{type: api, url: "{model}/chat/completions", protocol: chat_completions, model: m}}
  judge:
    type: api
    url: "{judge}/chat/completions"
    protocol: chat_completions
    model: grader
    max_retries: 0
    prices: {{prompt: 1000, completion: 2000}}
benchmarks:
  - name: bench_facts.py
    solver: {{type: simple, service: model}}
    max_unscored: 99
    shuffle_seed: null
{scoring}"""
GRADE = """    scoring:
      metrics:
        - {name: grade, type: judge, service: judge, timeout: 10%s}
"""
RUN = ("my.nel.yaml", "--nel-output-dir", "run")


@pytest.fixture(scope="module")
def shared_grader() -> Iterator[RunningEndpoint]:
    with running_endpoint(script=str(GRADER)) as endpoint:
        yield endpoint


@pytest.fixture
def grader(shared_grader: RunningEndpoint) -> RunningEndpoint:
    shared_grader.reset()
    return shared_grader


def bench(nel: Nel, *says: str, judge: str = 'judge="simpleqa",') -> None:
    rows = [{"id": f"q{i}", "say": say, "target": "gold"} for i, say in enumerate(says)]
    nel.write("bench_facts.py", BENCH.format(rows=rows, judge=judge))


def suite(nel: Nel, grader: RunningEndpoint, scoring: str = GRADE % "") -> None:
    text = SUITE.format(model=nel.url, judge=grader.url, scoring=scoring)
    nel.write("my.nel.yaml", text)


def results(nel: Nel) -> list[dict[str, Any]]:
    text = (nel.folder / "run/facts/results.jsonl").read_text(encoding="utf-8")
    return [json.loads(line) for line in text.splitlines()]


def bundle(nel: Nel) -> dict[str, Any]:
    (path,) = (nel.folder / "run/facts").glob("eval-*.json")
    found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return found


def run(nel: Nel, *args: str) -> Ended:
    return nel.run(*RUN, *args, model=False)


def test_a_benchmark_with_only_a_judge_is_graded_recorded_and_paid_apart(
    nel: Nel, endpoint: RunningEndpoint, grader: RunningEndpoint, how: list[str]
) -> None:
    bench(
        nel, "grade=CORRECT", "grade=INCORRECT", "no idea", "!garbage", "!503", "!shy grade=CORRECT"
    )
    suite(nel, grader)

    ended = run(nel, *how)

    assert ended.code == 0, ended.text
    outcomes = [row["outcome"] for row in results(nel)]
    assert outcomes == ["correct", "wrong", "wrong", "unscored", "unscored", "correct"]
    garbage, outage = results(nel)[3:5]
    assert {garbage["failure_category"], outage["failure_category"]} == {"judge_error"}
    assert "none of 3 replies holds a verdict" in garbage["error"]
    assert "503" in outage["error"]
    details = results(nel)[0]["scoring_details"]["scorer:grade"]
    assert details["verdict"] == "CORRECT"
    assert details["reasoning"] == "graded"
    assert details["spent"]["judge"]["calls"] == 1
    made = bundle(nel)
    assert (made["n_scored"], made["n_judge_failures"], made["n_judge_unreadable"]) == (4, 2, 1)
    metric = made["benchmark"]["scores"]["scorer:grade"]
    assert metric["verdicts"] == {"CORRECT": 2, "INCORRECT": 1, "NOT_ATTEMPTED": 1}
    assert metric["accuracy_given_attempted"] == round(2 / 3, 6)
    took = made["benchmark"]["scores"]["runtime"]["judges"]["judge"]
    assert (took["calls"], took["unreadable_replies"]) == (3 + 3 + 2, 3 + 1)
    assert took["cost"]["total"] > 0
    assert made["benchmark"]["scores"]["runtime"]["total_tokens"] < took["total_tokens"]
    assert (
        "judges gave no verdict 2 times, 1 of them in unreadable replies"
        in (nel.folder / "run/checks.json").read_text()
    )
    assert endpoint.stats()["requests"] == 6


def test_a_resumed_run_asks_judges_for_what_is_missing_and_no_model(
    nel: Nel, endpoint: RunningEndpoint, grader: RunningEndpoint
) -> None:
    bench(nel, "grade=5", "grade=4 !shy", "grade=3", judge='judge="generic",')
    suite(nel, grader, GRADE % ", max_retries: 0")
    assert run(nel).code == 0
    assert [row["reward"] for row in results(nel)] == [1.0, None, 0.5]
    endpoint.reset()
    grader.reset()

    suite(nel, grader, GRADE % ", max_retries: 1")
    again = run(nel, "--nel-resume")
    asked = grader.stats()["requests"]
    nel.write("kind.txt", "Be kind.")
    suite(nel, grader, GRADE % ", max_retries: 1, rubric_file: kind.txt")
    other = run(nel, "--nel-resume")

    assert [row["reward"] for row in results(nel)] == [1.0, 0.75, 0.5]
    assert asked == 2, again.text
    assert grader.stats()["requests"] == 2 + 4, other.text
    assert "Be kind." in grader.bodies()[-1]
    assert f"rubric_file: {nel.folder}/kind.txt" in (nel.folder / "run/suite.nel.yaml").read_text()
    assert endpoint.stats()["requests"] == 0


def test_a_process_that_is_killed_while_a_judge_thinks_loses_only_the_verdicts(
    nel: Nel, endpoint: RunningEndpoint, grader: RunningEndpoint
) -> None:
    bench(nel, "grade=5", "grade=3", "grade=1", judge='judge="generic",')
    with running_endpoint(rate_hang=1.0) as slow:
        suite(nel, slow)
        with subprocess.Popen(
            nel.command(*RUN, model=False),
            cwd=nel.folder,
            env=nel.environ(),
            stdout=subprocess.DEVNULL,
            start_new_session=True,
        ) as process:
            slow.wait_in_flight(3)
            os.killpg(process.pid, signal.SIGKILL)
    assert endpoint.stats()["requests"] == 3
    suite(nel, grader)

    resumed = run(nel, "--nel-resume")
    first = [row["reward"] for row in results(nel)]
    suite(nel, grader, GRADE % ", max_score: 9")
    rescored = run(nel, "--nel-rescore")

    assert resumed.code == rescored.code == 0, resumed.text + rescored.text
    assert first == [1.0, 0.5, 0.0]
    assert [row["reward"] for row in results(nel)] == [0.5, 0.25, 0.0]
    assert endpoint.stats()["requests"] == 3


def test_stored_answers_are_judged_as_long_as_the_budget_lasts(
    nel: Nel, endpoint: RunningEndpoint, grader: RunningEndpoint
) -> None:
    one = "    max_concurrent: 1\n" + GRADE
    bench(nel, *["grade=4 !shy"] * 15, "grade=4", judge='judge="generic",')
    suite(nel, grader, one % ", max_retries: 0")
    assert run(nel).code == 0
    suite(nel, grader, one % ", max_retries: 1")
    endpoint.reset()
    grader.reset()

    little = run(nel, "--nel-resume", "--nel-max-total-tokens", "1")
    asked = grader.stats()["requests"]
    rest = run(nel, "--nel-resume")
    grader.reset()
    again = run(nel, "--nel-rescore", "--nel-max-total-tokens", "1")

    assert little.code == again.code == 7, little.text + again.text
    assert "is spent: max_tokens 1," in little.out
    assert "is spent: max_tokens 1," in again.out
    assert 0 < asked < 16  # of 32: what was under way is finished
    assert 0 < grader.stats()["requests"] < 16
    assert rest.code == 0, rest.text
    assert endpoint.stats()["requests"] == 0


def without_schema(grader: RunningEndpoint) -> int:
    return sum("response_format" not in body for body in grader.bodies())


def test_a_judge_by_way_of_interceptors_is_asked_without_a_schema_and_found_again(
    nel: Nel, grader: RunningEndpoint
) -> None:
    bench(nel, "grade=5 !schema", "grade=4 !schema", "!schema !garbage", judge='judge="generic",')
    suite(nel, grader)
    caching = "{interceptors: [{name: caching, config: {cache_dir: cache}}]}"
    text = (nel.folder / "my.nel.yaml").read_text(encoding="utf-8")
    text = text.replace("    model: grader\n", f"    model: grader\n    proxy: {caching}\n")
    nel.write("my.nel.yaml", text)

    ended = run(nel)
    first = [row["reward"] for row in results(nel)]
    grader.reset()
    resumed = run(nel, "--nel-resume")
    anew = without_schema(grader)
    grader.reset()
    again = run(nel, "--nel-rescore")

    assert ended.code == resumed.code == again.code == 0, ended.text + again.text
    assert first == [row["reward"] for row in results(nel)] == [1.0, 0.75, None]
    assert anew == 3  # what could not be read is asked for anew
    assert without_schema(grader) == 0  # a refusal is not kept, all else is
    took = bundle(nel)["benchmark"]["scores"]["runtime"]["judges"]["judge"]
    assert (took["cached_replies"], took["total_tokens"]) == (2 + 3, 0)


def test_a_missing_or_selfish_judge_is_refused_before_anything_is_asked(
    nel: Nel, endpoint: RunningEndpoint, grader: RunningEndpoint
) -> None:
    bench(nel, "grade=CORRECT")
    suite(nel, grader, "")
    none = run(nel)
    suite(nel, grader, (GRADE % "").replace("service: judge", "service: model"))
    itself = run(nel)

    assert none.code == itself.code == 4
    assert "- {name: grade, type: judge, service: NAME}" in none.text
    assert "service 'model' would judge its own answers" in itself.text
    assert endpoint.stats()["requests"] == grader.stats()["requests"] == 0


OWN_SOLVER = """
import pytest
from pytest_nel import SolveResult

class Names:
    def __init__(self, model, judge):
        self.said = f"grade=5 {model.endpoint.model} {judge.endpoint.model}"

    async def solve(self, seed, sandbox):
        return SolveResult(self.said)

@pytest.fixture(scope="session")
def nel_solver(nel_model, nel_judge):
    return Names(nel_model, nel_judge)
"""


def test_a_solver_of_ones_own_has_the_model_and_the_judge_apart(
    nel: Nel, grader: RunningEndpoint
) -> None:
    nel.write("conftest.py", OWN_SOLVER)
    bench(nel, "anything", judge='judge="generic",')
    suite(nel, grader)

    ended = run(nel)

    assert ended.code == 0, ended.text
    assert [row["model_response"] for row in results(nel)] == ["grade=5 m grader"]
    assert [row["reward"] for row in results(nel)] == [1.0]
