"""Which exit code stands, and when a run counts as measured."""

import itertools
from typing import Any

import pytest

from pytest_nel.gate.health import Session, health
from pytest_nel.gate.verdict import Exit, worst

ORDER = [4, 3, 2, 1, 7, 6, 5, 0]


@pytest.mark.parametrize(("one", "two"), list(itertools.combinations(ORDER, 2)))
def test_the_worse_of_two_codes_stands(one: int, two: int) -> None:
    assert worst([one, two]) == worst([two, one]) == one


def test_nothing_wrong_is_go() -> None:
    assert worst([]) == Exit.GO


def test_a_code_of_somebody_elses_stands_before_all() -> None:
    assert worst([4, 42, 0]) == 42


def bundle(unscored: int, attempted: int = 10, planned: int = 10) -> dict[str, Any]:
    return {"n_unscored": unscored, "n_attempted": attempted, "n_planned": planned}


@pytest.mark.parametrize(
    ("unscored", "limit", "ended", "status", "code"),
    [
        (0, 0, True, "passed", Exit.GO),
        (1, 0, True, "failed", Exit.INCOMPLETE),
        (2, 2, True, "passed", Exit.GO),
        (3, 2, True, "failed", Exit.INCOMPLETE),
        (0, 0, False, "open", Exit.INCOMPLETE),
        (1, 0, False, "failed", Exit.INCOMPLETE),
    ],
)
def test_missing_scores_above_the_limit_make_a_run_incomplete(
    unscored: int, limit: int, *, ended: bool, status: str, code: Exit
) -> None:
    check = health(
        "s::b::health",
        bundle(unscored),
        limit=limit,
        session=Session(ended=ended, selected=10, recorded=10),
    )

    assert (check.status, check.code) == (status, code)
    assert check.as_json() == {
        "id": "s::b::health",
        "status": status,
        "reason": check.reason,
        "exit_code": int(code),
    }


def test_the_reason_names_the_numbers() -> None:
    check = health("x", bundle(3), limit=2, session=Session(ended=True, selected=10, recorded=10))

    assert check.reason == "3 of 10 attempts have no score (allowed: 2)"


def test_an_early_end_says_how_far_it_came() -> None:
    check = health(
        "x", bundle(0, attempted=4), limit=0, session=Session(ended=False, selected=10, recorded=4)
    )

    assert check.reason == "the run ended after 4 of 10 attempts"


def test_selected_attempts_that_left_no_record_make_a_run_incomplete() -> None:
    check = health(
        "x", bundle(0, attempted=9), limit=0, session=Session(ended=True, selected=5, recorded=4)
    )

    assert (check.status, check.code) == ("open", Exit.INCOMPLETE)
    assert check.reason == "only 4 of 5 selected attempts were recorded"


def test_attempts_nobody_selected_are_not_missed() -> None:
    check = health(
        "x", bundle(0, attempted=4), limit=0, session=Session(ended=True, selected=4, recorded=4)
    )

    assert (check.status, check.code) == ("passed", Exit.GO)


def test_second_tries_that_failed_make_a_run_incomplete_though_the_first_stand() -> None:
    session = Session(ended=True, selected=4, recorded=4, unscored=4)

    check = health("x", bundle(0), limit=0, session=session)

    assert (check.status, check.code) == ("failed", Exit.INCOMPLETE)
    assert check.reason == "4 were made again and have no score; the earlier ones stand"


def test_a_score_of_attempts_made_again_for_their_outcome_decides_nothing() -> None:
    session = Session(ended=True, selected=10, recorded=10)

    check = health("x", bundle(0) | {"n_made_again": 2}, limit=0, session=session)

    assert (check.status, check.code) == ("open", Exit.INCONCLUSIVE)


def test_a_benchmark_without_any_score_is_incomplete_whatever_may_be_missing() -> None:
    found = health(
        "s::b::health",
        {"n_unscored": 4, "n_attempted": 4, "n_planned": 4},
        limit=20,
        session=Session(ended=True, selected=4, recorded=4, unscored=4),
    )

    assert (found.status, found.code) == ("failed", Exit.INCOMPLETE)
    assert found.reason == "none of 4 attempts has a score"


@pytest.mark.parametrize(("most", "status"), [(None, "passed"), (3, "passed"), (2, "failed")])
def test_verdicts_of_judges_may_be_missing_as_far_as_the_suite_says(
    most: int | None, status: str
) -> None:
    bundle = {"n_unscored": 0, "n_attempted": 4, "n_planned": 4, "n_judge_failures": 3}

    found = health(
        "s::b::health",
        bundle,
        limit=0,
        session=Session(ended=True, selected=4, recorded=4),
        judges=most,
    )

    assert found.status == status
    assert "judges gave no verdict 3 times" in found.reason
