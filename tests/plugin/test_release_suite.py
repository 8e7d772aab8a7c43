"""A release suite on a bad day: a server that dies twice, and a judge that babbles."""

import json
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.plugin.running import Ended, Nel, sums
from tests.plugin.test_deployments import SERVED, XDIST
from tests.support.endpoint import RunningEndpoint, running_endpoint

pytestmark = pytest.mark.skipif(
    sys.platform != "linux", reason="the stand-in server is tried there"
)

GRADER = Path(__file__).parents[1] / "support" / "grader.py"
FACTS = '''"""Answers are graded by a model."""

from pytest_nel import Benchmark

facts = Benchmark(name="facts", dataset={rows!r}, prompt="{{say}}", judge="simpleqa")
'''
SUITE = """services:
  steady: {{type: api, url: "{model}/chat/completions", protocol: chat_completions, model: s}}
  mortal:
    type: command
    command: exec {python} {served} {{port}} twice
    protocol: chat_completions
    max_restarts: 3
  judge:
    type: api
    url: "{judge}/chat/completions"
    protocol: chat_completions
    model: grader
matrix: {{model: [steady, mortal]}}
benchmarks:
  - {{name: bench_sums.py, repeats: 2, max_concurrent: 4, solver: {{type: simple, service: model}}}}
  - {{name: bench_more.py, repeats: 2, max_concurrent: 4, solver: {{type: simple, service: model}}}}
  - name: bench_facts.py
    repeats: 2
    max_concurrent: 4
    max_unscored: {allowed}
    solver: {{type: simple, service: model}}
    scoring: {{metrics: [{{name: grade, type: judge, service: judge, max_retries: 1}}]}}
"""
N = 10  # problems of each benchmark
NAMES = {f"{name}-{model}" for name in ("sums", "more", "facts") for model in ("steady", "mortal")}
GRADED = {"facts-steady", "facts-mortal"}
EVERY = Counter({(problem, repeat): 1 for problem in range(N) for repeat in range(2)})
BABBLED = [(3, 0), (3, 1)]  # the attempts of the fourth problem


@pytest.fixture(scope="module")
def grader() -> Iterator[RunningEndpoint]:
    """Of ten answers it finds no words for one, and needs to be asked twice about another."""
    with running_endpoint(script=str(GRADER)) as endpoint:
        yield endpoint


def prepare(nel: Nel) -> None:
    orders = {3: " !garbage", 6: " !shy"}
    rows = [
        {"id": f"q{i}", "say": f"no {i}: grade=CORRECT{orders.get(i, '')}", "target": "gold"}
        for i in range(N)
    ]
    nel.bench(sums(N))
    nel.bench(sums(N), file="bench_more.py", name="more")
    nel.write("bench_facts.py", FACTS.format(rows=rows))


def run(nel: Nel, judge: str, *args: str, allowed: int) -> Ended:
    text = SUITE.format(
        model=nel.url, judge=judge, python=sys.executable, served=SERVED, allowed=allowed
    )
    nel.write("my.nel.yaml", text)
    where = ("--nel-output-dir", "run", "--junitxml", "nel.xml")
    return nel.run("my.nel.yaml", *where, *args, model=False, timeout=120)


def results(nel: Nel, name: str) -> list[dict[str, Any]]:
    text = (nel.folder / "run" / name / "results.jsonl").read_text(encoding="utf-8")
    return [json.loads(line) for line in text.splitlines()]


def unscored(nel: Nel, name: str) -> list[tuple[int, int]]:
    rows = results(nel, name)
    return sorted((row["problem_idx"], row["repeat"]) for row in rows if row["reward"] is None)


def journal(nel: Nel, name: str, kind: str) -> Counter[tuple[int, int]]:
    """How often each attempt was written down as ``solved`` or ``scored``."""
    found: Counter[tuple[int, int]] = Counter()
    for path in (nel.folder / "run" / name / "journal").glob("*.jsonl"):
        for line in path.read_text(encoding="utf-8").splitlines():
            entry = json.loads(line)
            if entry["_type"] == kind:
                found[entry["problem_idx"], entry["repeat"]] += 1
    return found


def health(nel: Nel) -> dict[str, tuple[str, int, str]]:
    """Status, wished exit code and reason of each benchmark's check."""
    made = json.loads((nel.folder / "run" / "checks.json").read_text(encoding="utf-8"))
    return {
        each["id"].split("::")[1]: (each["status"], each["exit_code"], each["reason"])
        for each in made["checks"]
    }


def test_a_suite_survives_a_server_that_dies_twice_and_a_judge_that_babbles(
    nel: Nel, endpoint: RunningEndpoint, grader: RunningEndpoint, how: list[str]
) -> None:
    prepare(nel)

    first = run(nel, grader.url, *how, allowed=0)
    deaths = (nel.folder / "served.deaths").read_bytes()
    log = (nel.folder / "run/logs/server-mortal.log").read_text(encoding="utf-8")
    written = {name: (journal(nel, name, "solved"), journal(nel, name, "scored")) for name in NAMES}
    unhealthy = {name: said for name, said in health(nel).items() if said[0] != "passed"}

    assert first.code == 7, first.text
    assert (deaths, log.count("started"), log.count("is ready again")) == (b"xx", 3, 2)
    assert written == dict.fromkeys(NAMES, (EVERY, EVERY))
    assert {name: Counter(attempts(nel, name)) for name in NAMES} == dict.fromkeys(NAMES, EVERY)
    assert {name: unscored(nel, name) for name in NAMES} == {
        name: BABBLED if name in GRADED else [] for name in NAMES
    }
    assert endpoint.stats()["requests"] == 3 * 2 * N
    why = "2 of 20 attempts have no score (allowed: 0); judges gave no verdict 2 times, 2 of them"
    assert unhealthy == dict.fromkeys(GRADED, ("failed", 7, f"{why} in unreadable replies"))
    assert "92 passed, 24 wrong, 4 unscored, 2 check failed" in first.out
    cases = [
        case for case in first.junit().iter("testcase") if "health" not in str(case.get("name"))
    ]
    assert (len(cases), sum(case.find("failure") is not None for case in cases)) == (120, 4)
    for name in GRADED:
        assert f"{name}: 2 without a score: judge_error ×2" in first.out
        assert reasons(nel, name) == {"judge_error": 2}


def test_a_resumed_release_suite_asks_only_the_judge_about_what_has_no_score(
    nel: Nel, endpoint: RunningEndpoint, grader: RunningEndpoint
) -> None:
    prepare(nel)
    first = run(nel, grader.url, allowed=2)
    endpoint.reset()
    grader.reset()

    same = run(nel, grader.url, *XDIST, "--nel-resume", allowed=2)
    about, again = grader.bodies(), grader.stats()["requests"]
    left = unscored(nel, "facts-mortal")
    with running_endpoint(answer='{"reasoning": "read", "grade": "INCORRECT"}') as sober:
        healed = run(nel, sober.url, "--nel-resume", allowed=0)
        asked = len(sober.bodies())

    assert (first.code, same.code, healed.code) == (0, 0, 0), first.text + same.text + healed.text
    assert "92 passed, 24 wrong" in first.out
    assert all("no 3: grade=CORRECT !garbage" in body for body in about)
    assert (again, asked, endpoint.stats()["requests"]) == (2 * 4, 4, 0)  # once and once more
    assert left == BABBLED
    for name in NAMES:
        assert journal(nel, name, "solved") == EVERY, name
    for name in GRADED:
        rewards = {(r["problem_idx"], r["repeat"]): r["reward"] for r in results(nel, name)}
        assert rewards == {each: 0.0 if each in BABBLED else 1.0 for each in EVERY}


def attempts(nel: Nel, name: str) -> list[tuple[int, int]]:
    """As results.jsonl has them."""
    return [(row["problem_idx"], row["repeat"]) for row in results(nel, name)]


def reasons(nel: Nel, name: str) -> dict[str, int]:
    """How many attempts have no score, by the kind of failure."""
    text = (nel.folder / "run" / name / "failure_analysis.json").read_text(encoding="utf-8")
    kinds = json.loads(text)["categories"]
    return {kind: said["n_unscored"] for kind, said in kinds.items() if said["n_unscored"]}
