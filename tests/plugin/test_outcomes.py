"""What an attempt is reported as, and the exit status that follows."""

import re

import pytest

from tests.plugin.running import Nel, rows, sums

pytestmark = pytest.mark.everywhere

ALL = rows("7", "8", "no idea", "crash")


def test_wrong_answers_leave_the_run_green(nel: Nel, how: list[str]) -> None:
    nel.bench(rows("7", "8", "no idea", "7"))

    ended = nel.run("bench_sums.py", *how)

    assert ended.code == 0, ended.text
    assert "2 passed, 1 unparsed, 1 wrong" in re.sub(
        r"(1 wrong), (1 unparsed)", r"\2, \1", ended.out
    )
    assert ended.outcomes() == {
        (0, 0): "correct",
        (1, 0): "wrong",
        (2, 0): "unparsed",
        (3, 0): "correct",
    }


def test_a_missing_score_is_exit_7_and_says_why(nel: Nel, how: list[str]) -> None:
    nel.bench(ALL)

    ended = nel.run("bench_sums.py", *how)

    assert ended.code == 7, ended.text
    assert "the scorer broke" in ended.out
    assert "FAILED bench_sums.py::sums::health" in ended.out
    row = next(row for row in ended.results() if row["problem_idx"] == 3)
    assert row["outcome"] == "unscored"
    assert row["reward"] is None
    assert ended.bundle()["n_scored"] == 3
    assert ended.bundle()["n_attempted"] == 4


def test_each_outcome_has_its_letter(nel: Nel) -> None:
    nel.bench(ALL)

    ended = nel.run("bench_sums.py")

    line = next(line for line in ended.out.splitlines() if line.startswith("bench_sums.py "))
    assert sorted(line.split()[1]) == sorted(".wuE")


def test_verbose_names_each_outcome(nel: Nel) -> None:
    nel.bench(ALL)

    ended = nel.run("bench_sums.py", "-v")

    for number, word in enumerate(("CORRECT", "WRONG", "UNPARSED", "UNSCORED")):
        assert re.search(rf"sums\[{number}-r0\] {word}", ended.out), ended.out


def test_strict_fails_wrong_and_unparsed_items(nel: Nel, how: list[str]) -> None:
    nel.bench(rows("7", "8", "no idea"))

    ended = nel.run("bench_sums.py", "--nel-strict", *how)

    assert ended.code == 1, ended.text
    assert "1 passed" in ended.out
    assert "2 failed" in ended.out
    assert "wrong: expected '7', extracted '8'" in ended.out
    assert "unparsed: no answer found" in ended.out


def test_partial_credit_is_counted_and_shown_as_wrong(nel: Nel) -> None:
    nel.bench(rows("half", "7"))

    ended = nel.run("bench_sums.py")

    assert ended.code == 0
    assert "1 passed, 1 wrong" in ended.out
    assert ended.bundle()["benchmark"]["scores"]["mean_reward"]["value"] == 0.75


def test_pass_at_is_the_reward_that_counts_as_correct(nel: Nel) -> None:
    nel.bench(rows("half", "7"), more="pass_at=0.5")

    ended = nel.run("bench_sums.py")

    assert "2 passed" in ended.out
    assert ended.bundle()["benchmark"]["scores"]["mean_reward"]["value"] == 0.75


def test_missing_scores_up_to_the_limit_are_allowed(nel: Nel) -> None:
    nel.bench(rows("7", "crash", "7"))

    ended = nel.run("bench_sums.py", "--nel-max-unscored", "1")

    assert ended.code == 0, ended.text
    assert "1 unscored" in ended.out
    assert "failed" not in ended.out.splitlines()[-1]


def test_one_missing_score_too_many_is_exit_7(nel: Nel) -> None:
    nel.bench(rows("crash", "crash", "7"))

    ended = nel.run("bench_sums.py", "--nel-max-unscored", "1")

    assert ended.code == 7, ended.text
    assert "2 of 3 attempts have no score (allowed: 1)" in ended.out


@pytest.mark.parametrize(
    ("says", "args", "code", "status"),
    [
        (["7", "8"], [], 0, "passed"),
        (["7", "8"], ["--nel-strict"], 1, "passed"),
        (["7", "crash"], [], 7, "failed"),
        (["!401 who are you", "7"], [], 4, "failed"),
    ],
    ids=["go", "no-go", "incomplete", "usage"],
)
def test_the_checks_file_says_what_the_exit_status_says(
    nel: Nel, says: list[str], args: list[str], code: int, status: str
) -> None:
    nel.bench(rows(*says))

    ended = nel.run("bench_sums.py", *args)

    assert ended.code == code, ended.text
    assert ended.checks()["exit_code"] == code
    assert [(check["id"], check["status"]) for check in ended.checks()["checks"]] == [
        ("bench_sums.py::sums::health", status)
    ]


@pytest.mark.parametrize(
    ("test", "says", "code"),
    [
        ("assert True", ["8"], 0),
        ("assert False", ["7"], 1),
        ("assert False", ["crash"], 1),
        ("assert True", ["crash"], 7),
    ],
    ids=["green", "ordinary", "both", "unscored"],
)
def test_ordinary_tests_and_benchmarks_share_a_session(
    nel: Nel, test: str, says: list[str], code: int
) -> None:
    nel.bench(rows(*says))
    nel.write("test_it.py", f"def test_it():\n    {test}\n")

    ended = nel.run("test_it.py", "bench_sums.py", "-p", "xdist", "-n0")

    assert ended.code == code, ended.text
    assert ended.checks()["exit_code"] == code
    assert ended.bundle()["n_attempted"] == 1


def test_ordinary_tests_alone_leave_no_trace(nel: Nel) -> None:
    nel.write("test_it.py", "def test_it():\n    pass\n")

    ended = nel.run("test_it.py")

    assert ended.code == 0
    assert "benchmarks" not in ended.out
    assert nel.runs() == []


def test_every_repeat_of_a_problem_is_an_item(nel: Nel) -> None:
    nel.bench(sums(4))

    ended = nel.run("bench_sums.py", "--nel-repeats", "3", "-v")

    assert ended.code == 0, ended.text
    shown = set(re.findall(r"bench_sums\.py::sums\[(\d-r\d)\]", ended.out))
    assert shown == {f"{problem}-r{repeat}" for problem in range(4) for repeat in range(3)}
    assert ended.bundle()["n_scored"] == 12
    assert ended.bundle()["benchmark"]["scores"]["mean_reward"]["value"] == 0.75


def test_results_stand_in_the_order_of_the_plan(nel: Nel) -> None:
    nel.bench(sums(6))

    ended = nel.run("bench_sums.py", "--nel-repeats", "2", "--nel-shuffle-seed", "none")

    order = [(row["problem_idx"], row["repeat"]) for row in ended.results()]
    assert order == [(problem, repeat) for problem in range(6) for repeat in range(2)]


def test_a_failure_text_is_short_however_long_the_reply(nel: Nel) -> None:
    nel.bench(rows("8" + " x" * 50_000))

    ended = nel.run("bench_sums.py", "--nel-strict")

    assert ended.code == 1
    assert len(ended.out) < 6000


SKIPS = """
import pytest


def pytest_collection_modifyitems(items):
    for item in items:
        item.add_marker(pytest.mark.skip)
"""


def test_a_run_whose_every_attempt_is_skipped_by_others_has_measured_nothing(
    nel: Nel, how: list[str]
) -> None:
    nel.bench(rows("7", "7"))
    nel.write("conftest.py", SKIPS)

    ended = nel.run("bench_sums.py", *how)

    assert ended.code == 7, ended.text
    assert "nothing was measured: every attempt was skipped before it began" in ended.out
