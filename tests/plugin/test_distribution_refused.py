"""Ways to distribute a run that make no sense are refused with a line that says why."""

import pytest

from tests.plugin.running import Nel, rows, sums
from tests.support.endpoint import RunningEndpoint

XDIST = ("-p", "xdist")


@pytest.mark.parametrize(
    ("args", "says"),
    [
        (["-n2", "--dist", "each"], "--dist each would measure every attempt once per worker"),
        (["--dist", "each", "--tx", "2*popen"], "--dist each would measure every attempt"),
        (["--dist", "load", "--tx", "ssh=nowhere"], "--tx ssh=nowhere: workers write into one"),
        (["--dist", "load", "--tx", "socket=127.0.0.1:1"], "--tx socket=127.0.0.1:1: workers"),
        (["--dist", "load", "--tx", "popen//chdir=there"], "--tx popen//chdir=there: workers"),
        (["--dist", "load", "--tx", "popen//python=py"], "--tx popen//python=py: workers"),
        (["-n8", "--nel-max-concurrent", "4"], "8 workers cannot keep max_concurrent, 4"),
        (["-n33"], "33 workers cannot keep max_concurrent, 32"),
    ],
)
def test_what_makes_no_sense_is_refused(
    nel: Nel, endpoint: RunningEndpoint, args: list[str], says: str
) -> None:
    nel.bench(sums(3))

    ended = nel.run("bench_sums.py", *XDIST, *args)

    assert ended.code == 4, ended.text
    assert says in ended.text
    assert "Traceback" not in ended.text
    assert "INTERNALERROR" not in ended.text
    assert endpoint.stats()["requests"] == 0
    assert nel.runs() == []


def test_the_loop_over_failures_is_refused(nel: Nel, endpoint: RunningEndpoint) -> None:
    nel.bench(sums(3))

    ended = nel.run("bench_sums.py", *XDIST, "-p", "xdist.looponfail", "-f")

    assert ended.code == 4, ended.text
    assert "-f/--looponfail would measure again with every changed file" in ended.text
    assert endpoint.stats()["requests"] == 0


def test_the_loop_over_failures_is_left_alone_where_nothing_is_measured(nel: Nel) -> None:
    nel.write("test_it.py", "def test_a():\n    pass\n")

    ended = nel.run("test_it.py", *XDIST, "-n2", model=False)

    assert ended.code == 0, ended.text


def test_a_suite_with_a_limit_below_the_number_of_workers_is_refused(
    nel: Nel, endpoint: RunningEndpoint
) -> None:
    nel.suite("bench_sums.py", more="max_concurrent: 2")
    nel.bench(sums(3))

    ended = nel.run("my.nel.yaml", *XDIST, "-n3", model=False)

    assert ended.code == 4, ended.text
    assert "3 workers cannot keep max_concurrent of benchmark bench_sums.py, 2" in ended.text
    assert "use -n 2" in ended.text
    assert endpoint.stats()["requests"] == 0


def test_a_file_beside_a_suite_has_a_limit_of_its_own(nel: Nel, endpoint: RunningEndpoint) -> None:
    nel.suite("bench_sums.py", more="max_concurrent: 64")
    nel.bench(sums(3))

    ended = nel.run("my.nel.yaml", "bench_sums.py", *XDIST, "-n40", model=False)

    assert ended.code == 4, ended.text
    assert "40 workers cannot keep max_concurrent, 32" in ended.text
    assert endpoint.stats()["requests"] == 0


def test_a_service_with_a_limit_below_the_number_of_workers_is_refused(
    nel: Nel, endpoint: RunningEndpoint
) -> None:
    suite = nel.suite("bench_sums.py")
    text = suite.read_text(encoding="utf-8")
    suite.write_text(text.replace("model: m}", "model: m, max_concurrent: 2}"), encoding="utf-8")
    nel.bench(sums(3))

    ended = nel.run("my.nel.yaml", *XDIST, "-n3", model=False)

    assert ended.code == 4, ended.text
    assert "3 workers cannot keep max_concurrent of service model, 2" in ended.text
    assert endpoint.stats()["requests"] == 0


@pytest.mark.parametrize(
    "args",
    [
        ["-n0"],
        ["-n", "auto", "--maxprocesses", "2"],
        ["-n", "logical", "--maxprocesses", "2"],
        ["-n3", "--maxprocesses", "2"],
        ["--dist", "load", "--tx", "2*popen"],
        ["-n2", "--dist", "loadgroup"],
        ["-d", "--tx", "popen", "--tx", "popen"],
    ],
)
def test_ways_that_make_sense_measure_everything_once(
    nel: Nel, endpoint: RunningEndpoint, args: list[str]
) -> None:
    nel.bench(rows("7", "8", "7"))

    ended = nel.run("bench_sums.py", *XDIST, *args)

    assert ended.code == 0, ended.text
    assert "2 passed, 1 wrong" in ended.out
    assert endpoint.stats()["requests"] == 3


def test_more_workers_than_a_proxy_block_lets_through_are_refused(nel: Nel) -> None:
    nel.bench(sums(3))
    path = nel.suite("bench_sums.py")
    block = "model: m, proxy: {max_concurrent_upstream: 1}}"
    path.write_text(path.read_text().replace("model: m}", block))

    ended = nel.run("my.nel.yaml", "-p", "xdist", "-n2", model=False)

    assert ended.code == 4, ended.text
    assert "cannot keep proxy.max_concurrent_upstream of service model, 1" in ended.text
