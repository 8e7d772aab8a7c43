"""An attempt that kills its worker is found, is the only one blamed, and costs no other."""

import pytest

from tests.plugin.deadly import (
    XDIST,
    asked,
    deadly_scorer,
    deadly_solver,
    ended_of,
    failures,
    kill_worker,
    lines,
    unscored,
    wait_until,
)
from tests.plugin.running import Ended, Nel, sums
from tests.support.endpoint import RunningEndpoint, running_endpoint

pytestmark = pytest.mark.everywhere

AGAIN = 2 * 32  # attempts that may be under way in both workers when one dies


def run(nel: Nel, *args: str, model: bool = False) -> Ended:
    return nel.run("bench_sums.py", *XDIST, "-n2", "--junitxml", "nel.xml", *args, model=model)


@pytest.mark.parametrize(
    ("at", "how", "says"),
    [(0, "kill", "SIGKILL"), (57, "exit", "exit status 3"), (119, "segfault", "SIGSEGV")],
)
def test_the_attempt_whose_solver_kills_is_the_only_one_blamed(
    nel: Nel, at: int, how: str, says: str
) -> None:
    deadly_solver(nel, 120, {(at, 0): how})

    ended = run(nel)

    assert ended.code == 7, ended.text
    assert unscored(ended) == {(at, 0): f"the process that made this attempt died ({says})"}
    assert ended.bundle()["n_scored"] == 119
    assert failures(ended) == [f"sums[{at}-r0]"]
    assert "1 unscored" in ended.out
    assert ended.checks()["exit_code"] == 7
    assert all(row["reward"] is not None for row in ended.results() if row["problem_idx"] != at)


@pytest.mark.parametrize("at", [1, 30, 60])
def test_the_attempt_whose_scorer_kills_is_the_only_one_blamed_and_its_answer_stays(
    nel: Nel, at: int
) -> None:
    deadly_scorer(nel, 60, str(at))

    ended = run(nel, model=True)

    assert ended.code == 7, ended.text
    text = "the process that judged this answer died (SIGKILL)"
    assert unscored(ended) == {(at - 1, 0): text}
    assert ended.bundle()["n_scored"] == 59
    assert failures(ended) == [f"sums[{at - 1}-r0]"]
    (row,) = [row for row in ended.results() if row["outcome"] == "unscored"]
    assert row["model_response"] == str(at if at % 3 else -at)


def test_two_killers_in_one_shard_are_both_found(nel: Nel) -> None:
    deadly_solver(nel, 100, {(20, 0): "kill", (22, 0): "exit"})

    ended = run(nel)

    assert ended.code == 7, ended.text
    assert set(unscored(ended)) == {(20, 0), (22, 0)}
    assert ended.bundle()["n_scored"] == 98
    assert sorted(failures(ended)) == ["sums[20-r0]", "sums[22-r0]"]


def test_of_the_repeats_of_a_problem_only_the_one_that_kills_is_blamed(nel: Nel) -> None:
    deadly_solver(nel, 30, {(11, 1): "kill"})

    ended = run(nel, "--nel-repeats", "3")

    assert ended.code == 7, ended.text
    assert set(unscored(ended)) == {(11, 1)}
    assert ended.bundle()["n_scored"] == 89


def test_a_killer_that_may_have_no_score_fails_nothing(nel: Nel) -> None:
    deadly_solver(nel, 40, {(10, 0): "kill"})

    ended = run(nel, "--nel-max-unscored", "1")

    assert ended.code == 0, ended.text
    assert set(unscored(ended)) == {(10, 0)}
    assert failures(ended) == []


def test_what_a_dead_worker_has_finished_is_not_made_again(nel: Nel) -> None:
    deadly_solver(nel, 200, {(150, 0): "kill"})

    ended = run(nel)

    assert ended.code == 7, ended.text
    counts = asked(nel)
    assert set(counts) == {(idx, 0) for idx in range(200)}
    again = {key: count for key, count in counts.items() if count > 1}
    assert len(again) <= AGAIN
    assert max(counts.values()) <= 3


def test_a_killer_is_tried_again_by_resume_and_found_again(nel: Nel) -> None:
    deadly_solver(nel, 40, {(10, 0): "kill"})
    first = run(nel)

    again = run(nel, "--nel-resume")

    assert (first.code, again.code) == (7, 7), again.text
    assert set(unscored(again)) == {(10, 0)}
    assert again.bundle()["n_scored"] == 39


def test_a_killer_that_was_mended_is_made_by_resume_and_nothing_else(nel: Nel) -> None:
    deadly_solver(nel, 40, {(10, 0): "kill"})
    first = run(nel)
    (nel.folder / "asked.txt").unlink()
    deadly_solver(nel, 40)

    again = run(nel, "--nel-resume")

    assert (first.code, again.code) == (7, 0), again.text
    assert asked(nel) == {(10, 0): 1}
    assert again.bundle()["n_scored"] == 40
    assert "changed" not in again.out


def test_a_killing_scorer_that_was_mended_costs_no_second_answer(
    nel: Nel, endpoint: RunningEndpoint
) -> None:
    deadly_scorer(nel, 40, "7")
    first = run(nel, model=True)
    endpoint.reset()
    nel.bench(sums(40))

    again = run(nel, "--nel-resume", model=True)

    assert (first.code, again.code) == (7, 0), again.text
    assert endpoint.stats()["requests"] == 0
    assert again.bundle()["n_scored"] == 40


def test_a_scorer_that_kills_while_stored_answers_are_judged_again_is_found(
    nel: Nel, endpoint: RunningEndpoint
) -> None:
    nel.bench(sums(40))
    first = run(nel, model=True)
    deadly_scorer(nel, 40, "7")
    endpoint.reset()

    again = run(nel, "--nel-rescore", model=False)

    assert (first.code, again.code) == (0, 7), again.text
    assert set(unscored(again)) == {(6, 0)}
    assert again.bundle()["n_scored"] == 39
    assert endpoint.stats()["requests"] == 0


def test_a_worker_killed_from_outside_costs_nobody_a_score(nel: Nel) -> None:
    nel.bench(sums(300))
    with running_endpoint(mode="echo", latency=0.05) as endpoint:
        nel.url = endpoint.url
        process = nel.start("bench_sums.py", *XDIST, "-n2", "--nel-max-concurrent", "8")
        wait_until(lambda: len(lines(nel, "scored")) > 60)

        kill_worker(process)

        ended = ended_of(nel, process)
        stats = endpoint.stats()
    assert ended.code in {0, 1}, ended.text
    assert ended.bundle()["n_unscored"] == 0
    assert ended.bundle()["n_attempted"] == 300
    assert stats["distinct"] == 300
    assert stats["requests"] <= 300 + 8
    assert stats["max_in_flight"] <= 8


def test_replacements_that_die_at_once_blame_nobody_and_come_to_an_end(nel: Nel) -> None:
    deadly_solver(nel, 40, {(3, 0): "kill"})
    conftest = nel.folder / "conftest.py"
    text = conftest.read_text(encoding="utf-8")
    conftest.write_text(
        text + "\nif ASKED.exists() and os.environ.get('PYTEST_XDIST_WORKER'):\n    os._exit(9)\n",
        encoding="utf-8",
    )

    ended = run(nel, "--max-worker-restart", "2")

    assert ended.code == 7, ended.text
    assert ended.bundle()["n_unscored"] <= 1
    assert set(unscored(ended)) <= {(3, 0)}
