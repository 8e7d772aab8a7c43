"""What attempts will take, judged by a stored run."""

import json
from pathlib import Path
from typing import Any

import pytest

from pytest_nel.records.estimate import Each, each_of, estimate
from pytest_nel.records.sides import stored_run
from tests.support.stored import write_run

PRICES = {"prompt": 1_000_000.0, "completion": 2_000_000.0, "currency": "EUR"}  # 1 and 2 a token


def run_with(folder: Path, **runtime: Any) -> Each:
    """A stored run of four attempts with these facts about its time and tokens."""
    path = write_run(folder, [1.0, 1.0, 0.0, None])
    (bundle,) = (path / "mmlu").glob("eval-*.json")
    found = json.loads(bundle.read_text(encoding="utf-8"))
    found["benchmark"]["scores"]["runtime"] = {"total_steps": 4, **runtime}
    bundle.write_text(json.dumps(found), encoding="utf-8")
    each = each_of(stored_run(path), "mmlu")
    assert each is not None
    return each


def test_attempts_that_failed_do_not_make_answers_look_short(tmp_path: Path) -> None:
    each = run_with(
        tmp_path,
        total_prompt_tokens=300,
        total_completion_tokens=60,
        steps_without_usage=0,
        steps_with_usage=3,
    )

    assert (each.seen, each.prompt_tokens, each.completion_tokens) == (3, 100.0, 20.0)


def test_tokens_and_cost_grow_with_attempts() -> None:
    found = estimate(Each(3, 100.0, 20.0, 2.0), 10, 4, PRICES, {})

    assert found.tokens == 1200
    assert found.cost == pytest.approx(10 * (100 + 40))
    assert found.seconds == 6.0  # three rounds of four


def test_judges_are_counted_with_their_own_prices(tmp_path: Path) -> None:
    each = run_with(
        tmp_path,
        total_prompt_tokens=300,
        total_completion_tokens=60,
        steps_with_usage=3,
        judges={"grader": {"prompt_tokens": 600, "completion_tokens": 30}},
    )

    found = estimate(each, 10, 4, PRICES, {"grader": PRICES})

    assert found.tokens == 10 * (120 + 210)
    assert found.cost == pytest.approx(10 * (140 + 220))


@pytest.mark.parametrize("judges", [{"new": PRICES}, {"grader": {}}])
def test_a_judge_that_is_not_known_leaves_the_cost_open(judges: dict[str, Any]) -> None:
    each = Each(3, 100.0, 20.0, 2.0, {"grader": (200.0, 10.0)})

    assert estimate(each, 10, 4, PRICES, judges).cost is None


@pytest.mark.parametrize("gap", ["replies_without_usage", "cached_replies"])
def test_a_judge_that_does_not_say_all_of_its_tokens_is_not_known(tmp_path: Path, gap: str) -> None:
    took = {"prompt_tokens": 600, "completion_tokens": 30, gap: 1}
    each = run_with(
        tmp_path,
        total_prompt_tokens=300,
        total_completion_tokens=60,
        steps_with_usage=3,
        judges={"grader": took},
    )

    found = estimate(each, 10, 4, PRICES, {"grader": PRICES})

    assert (found.tokens, found.cost) == (None, None)
