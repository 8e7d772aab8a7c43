"""Under ``-n``: each worker measures its own shard, and the numbers are those of one process."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from tests.plugin.running import Nel, rows, sums
from tests.support.endpoint import RunningEndpoint

pytestmark = pytest.mark.everywhere

TIMES = {"latency_ms"}
XDIST = ("-p", "xdist")


def comparable(path: Path) -> list[dict[str, Any]]:
    """Rows without what depends on the clock."""
    lines = path.read_text(encoding="utf-8").split("\n")
    found = [json.loads(line) for line in lines if line]
    return [{name: value for name, value in row.items() if name not in TIMES} for row in found]


def test_workers_get_the_same_results_and_pay_for_each_attempt_once(
    nel: Nel, endpoint: RunningEndpoint
) -> None:
    nel.bench(sums(200))
    one = nel.run("bench_sums.py", "--nel-repeats", "2", "--nel-output-dir", "one")
    alone = endpoint.stats()
    endpoint.reset()

    two = nel.run("bench_sums.py", "--nel-repeats", "2", "--nel-output-dir", "two", *XDIST, "-n2")

    assert (one.code, two.code) == (0, 0), one.text + two.text
    first, second = (nel.folder / name / "sums" for name in ("one", "two"))
    assert comparable(first / "results.jsonl") == comparable(second / "results.jsonl")
    assert alone["requests"] == endpoint.stats()["requests"] == 400
    assert alone["distinct"] == endpoint.stats()["distinct"]
    scores = [
        json.loads(next(path.glob("eval-*.json")).read_text())["benchmark"]["scores"]
        for path in (first, second)
    ]
    assert scores[0]["mean_reward"] == scores[1]["mean_reward"]
    counts = re.compile(r"(\d+) passed, (\d+) wrong")
    assert counts.findall(one.out) == counts.findall(two.out) == [("268", "132")]


def test_distinct_problems_are_never_paid_twice(nel: Nel, endpoint: RunningEndpoint) -> None:
    nel.bench(sums(400))

    ended = nel.run("bench_sums.py", *XDIST, "-n2")

    assert ended.code == 0, ended.text
    assert endpoint.stats()["paid_twice"] == 0
    assert endpoint.stats()["requests"] == 400
    journals = sorted((ended.run_dir / "sums/journal").iterdir())
    assert [path.stem for path in journals] == ["gw0", "gw1"]
    lines = [path.read_text(encoding="utf-8").count('"scored"') for path in journals]
    assert abs(lines[0] - lines[1]) <= 0.1 * sum(lines)


@pytest.mark.parametrize("dist", ["load", "loadfile", "loadscope", "worksteal", "no"])
def test_results_do_not_depend_on_the_distribution_asked_for(
    nel: Nel, endpoint: RunningEndpoint, dist: str
) -> None:
    nel.bench(sums(30))

    ended = nel.run("bench_sums.py", *XDIST, "-n2", "--dist", dist)

    assert ended.code == 0, ended.text
    assert "20 passed, 10 wrong" in ended.out
    assert endpoint.stats()["requests"] == 30


def test_dist_each_is_refused(nel: Nel, endpoint: RunningEndpoint) -> None:
    nel.bench(sums(3))

    ended = nel.run("bench_sums.py", *XDIST, "-n2", "--dist", "each")

    assert ended.code == 4, ended.text
    assert "--dist each would measure every attempt once per worker" in ended.text
    assert "INTERNALERROR" not in ended.text
    assert endpoint.stats()["requests"] == 0


def test_workers_share_the_limit_of_the_endpoint(nel: Nel) -> None:
    from tests.support.endpoint import running_endpoint

    nel.bench(sums(60))
    with running_endpoint(mode="echo", latency=0.05) as endpoint:
        nel.url = endpoint.url
        ended = nel.run("bench_sums.py", *XDIST, "-n2", "--nel-max-concurrent", "6")

        assert ended.code == 0, ended.text
        assert endpoint.stats()["max_in_flight"] <= 6


def test_more_workers_than_attempts(nel: Nel) -> None:
    nel.bench(rows("7"))

    ended = nel.run("bench_sums.py", *XDIST, "-n3")

    assert ended.code == 0, ended.text
    assert "1 passed" in ended.out


def test_ordinary_tests_are_distributed_beside_benchmarks(nel: Nel) -> None:
    nel.bench(sums(9))
    nel.write("test_it.py", "def test_a():\n    pass\n\ndef test_b():\n    assert False\n")

    ended = nel.run("bench_sums.py", "test_it.py", *XDIST, "-n2")

    assert ended.code == 1, ended.text
    assert ended.bundle()["n_scored"] == 9
    assert ended.checks()["exit_code"] == 1


def test_quick_mode_with_workers(nel: Nel) -> None:
    nel.bench(sums(9))

    ended = nel.run("--nel-bench", "bench_sums.py", *XDIST, "-n2")

    assert ended.code == 0, ended.text
    assert ended.bundle()["n_scored"] == 9
    assert ended.checks()["checks"][0]["status"] == "passed"


def test_data_that_differs_between_workers_is_refused(nel: Nel) -> None:
    bench = nel.bench([])
    text = bench.read_text(encoding="utf-8").replace(
        "ROWS = []",
        "import os, random\nrng = random.Random(os.getpid())\n"
        "ROWS = [{'say': str(rng.random()), 'target': '7'} for _ in range(rng.randint(5, 500))]",
    )
    bench.write_text(text, encoding="utf-8")

    ended = nel.run("bench_sums.py", *XDIST, "-n2")

    assert ended.code in {3, 4}, ended.text
    assert "the same" in ended.text
    assert "Traceback" not in ended.text


def test_a_worker_that_dies_takes_no_result_with_it(nel: Nel) -> None:
    nel.untested()
    bench = nel.bench(sums(60))
    text = bench.read_text(encoding="utf-8").replace(
        '    if sample.response == "crash":',
        '    if sample.target == "31":\n        import os\n        os._exit(1)\n'
        '    if sample.response == "crash":',
    )
    bench.write_text(text, encoding="utf-8")

    ended = nel.run("bench_sums.py", *XDIST, "-n2", timeout=90)

    assert ended.code == 7, ended.text
    assert ended.bundle()["n_scored"] == 59
    assert "sums[30-r0]: the process that judged this answer died (exit status 1)" in ended.out
    assert {key for key, outcome in ended.outcomes().items() if outcome == "unscored"} == {(30, 0)}
    assert ended.checks()["exit_code"] == 7


def test_an_ordinary_test_that_kills_its_worker_is_a_failed_test(nel: Nel) -> None:
    nel.bench(sums(9))
    nel.write("test_it.py", "import os\n\ndef test_a():\n    os._exit(1)\n")

    ended = nel.run("bench_sums.py", "test_it.py", *XDIST, "-n2", timeout=90)

    assert ended.code == 1, ended.text
    assert ended.bundle()["n_scored"] == 9
    assert ended.checks()["checks"][0]["status"] == "passed"
