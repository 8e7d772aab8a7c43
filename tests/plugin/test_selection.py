"""pytest's own ways to choose and to stop work on benchmarks as on tests."""

import pytest

from tests.plugin.running import Nel, rows, sums
from tests.support.endpoint import RunningEndpoint


@pytest.mark.parametrize(
    ("args", "left"),
    [
        (["-k", "sums and 1-r0"], {(1, 0)}),
        (["bench_sums.py::sums[2-r1]"], {(2, 1)}),
        (["--deselect", "bench_sums.py::sums[0-r0]", "--deselect", "bench_sums.py::sums[1-r0]"],
         {(2, 0), (0, 1), (1, 1), (2, 1)}),
        (["-k", "r1"], {(0, 1), (1, 1), (2, 1)}),
    ],
    ids=["k", "nodeid", "deselect", "repeat"],
)  # fmt: skip
def test_only_what_is_selected_is_asked(
    nel: Nel, endpoint: RunningEndpoint, args: list[str], left: set[tuple[int, int]]
) -> None:
    nel.bench(sums(3))
    files = [] if "::" in args[0] else ["bench_sums.py"]

    ended = nel.run(*files, *args, "--nel-repeats", "2")

    assert ended.code == 0, ended.text
    assert set(ended.outcomes()) == left
    assert endpoint.stats()["requests"] == len(left)
    assert f"sums: evaluated {len(left)} of 6" in ended.out


def test_only_what_is_selected_is_asked_by_workers(nel: Nel, endpoint: RunningEndpoint) -> None:
    nel.bench(sums(9))

    ended = nel.run("bench_sums.py", "-k", "1-r0 or 5-r0 or 8-r0", "-p", "xdist", "-n2")

    assert ended.code == 0, ended.text
    assert set(ended.outcomes()) == {(1, 0), (5, 0), (8, 0)}
    assert endpoint.stats()["requests"] == 3


def test_last_failed_repeats_what_had_no_score(nel: Nel, endpoint: RunningEndpoint) -> None:
    nel.bench(rows("7", "crash", "8"))
    first = nel.run("bench_sums.py", "--nel-output-dir", "first")
    assert first.code == 7, first.text
    endpoint.reset()

    ended = nel.run("bench_sums.py", "--lf")

    assert ended.code == 7, ended.text
    assert "rerun previous 1 failure" in ended.out
    assert set(ended.outcomes()) == {(1, 0)}
    assert endpoint.stats()["requests"] == 1


@pytest.mark.parametrize("args", [["-x"], ["--maxfail", "2"]], ids=["x", "maxfail"])
def test_the_first_failures_stop_the_run_and_little_is_paid_for_nothing(
    nel: Nel, endpoint: RunningEndpoint, args: list[str]
) -> None:
    nel.bench([*rows(*["crash"] * 2), *sums(98)])

    ended = nel.run(
        "bench_sums.py", *args, "--nel-shuffle-seed", "none", "--nel-max-concurrent", "4"
    )

    assert ended.code == 7, ended.text
    assert f"stopping after {args[-1].replace('-x', '1')} failures" in ended.out
    assert endpoint.stats()["requests"] <= 12
    assert "of 100" in ended.out


def test_the_first_failure_stops_the_workers_too(nel: Nel) -> None:
    nel.bench([*rows("crash", "crash"), *sums(998)])

    ended = nel.run(
        "bench_sums.py", "-x", "--nel-shuffle-seed", "none", "--nel-max-concurrent", "2",
        "-p", "xdist", "-n2",
    )  # fmt: skip

    assert ended.code == 7, ended.text
    assert ended.bundle()["n_attempted"] < 1000
    assert ended.checks()["exit_code"] == 7


@pytest.mark.parametrize("plugin", ["terminal", "cacheprovider", "junitxml", "logging"])
def test_runs_without_a_plugin_of_pytest(nel: Nel, plugin: str) -> None:
    nel.bench(sums(4))

    ended = nel.run("bench_sums.py", "-p", f"no:{plugin}")

    assert ended.code == 0, ended.text
    assert ended.bundle()["n_scored"] == 4
    assert bool(ended.out) == (plugin != "terminal")


def test_runs_beside_the_other_plugins_and_with_n0(nel: Nel) -> None:
    nel.write("pytest.ini", "[pytest]\nasyncio_mode = auto\nfilterwarnings = error\n")
    nel.bench(sums(4))
    nel.write("test_it.py", "async def test_it():\n    pass\n")

    ended = nel.run("bench_sums.py", "test_it.py", "-n0", "-o",
                    "asyncio_default_fixture_loop_scope=function", autoload=True)  # fmt: skip

    assert ended.code == 0, ended.text
    assert ended.bundle()["n_scored"] == 4
    assert "4 passed" in ended.out  # three right answers and the test


def test_many_items_selected_by_keyword_report_as_few_do(nel: Nel) -> None:
    nel.bench(sums(600))

    ended = nel.run("bench_sums.py", "-k", "r0")

    assert ended.code == 0, ended.text
    assert ended.bundle()["n_correct"] == 400
    assert "400 passed, 200 wrong" in ended.out


def test_stepwise_goes_on_where_it_stopped(nel: Nel) -> None:
    nel.bench(rows("7", "crash", "8"))
    args = ("bench_sums.py", "--sw", "--nel-shuffle-seed", "none")
    first = nel.run(*args, "--nel-output-dir", "first")

    second = nel.run(*args)

    assert (first.code, second.code) == (2, 2), first.text + second.text
    assert "skipping 1 already passed" in second.out
    assert (0, 0) not in second.outcomes()


@pytest.mark.parametrize("option", ["--setup-plan", "--setup-only"])
def test_looking_at_the_set_up_asks_nothing(
    nel: Nel, endpoint: RunningEndpoint, option: str
) -> None:
    nel.bench(sums(3))

    ended = nel.run("bench_sums.py", option)

    assert ended.code == 0, ended.text
    assert endpoint.stats()["requests"] == 0
    assert nel.runs() == []


def test_many_failed_items_are_named_with_their_outcome(nel: Nel) -> None:
    nel.bench(sums(240))

    ended = nel.run("bench_sums.py", "--nel-strict")

    assert ended.code == 1
    assert ended.out.count("\nWRONG bench_sums.py::sums[") == 80
    assert "80 failed, 160 passed" in ended.out
