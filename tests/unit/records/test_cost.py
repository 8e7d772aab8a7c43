"""Tokens and money."""

from typing import Any

import pytest

from pytest_nel.core.errors import ConfigError
from pytest_nel.records.plans import read_plan, write_plan
from pytest_nel.records.record import total_tokens
from tests.unit.records.attempts import attempt, scores_of

PRICES = {"prompt": 2.0, "completion": 8.0, "currency": "EUR"}


def used(prompt: int | None, completion: int | None, **more: Any) -> dict[str, Any]:
    tokens = {"prompt_tokens": prompt, "completion_tokens": completion}
    return {"has_model": True, "latency_ms": 1.0, **tokens, **more}


def cost(*replies: dict[str, Any]) -> dict[str, Any]:
    pairs = [attempt(number, solved=solved) for number, solved in enumerate(replies)]
    found: dict[str, Any] = scores_of(pairs, prices=PRICES)["runtime"]["cost"]
    return found


def test_tokens_cost_what_they_cost_per_million() -> None:
    assert cost(used(1_000_000, 500_000), used(0, 125)) == {
        "total": 6.001,
        "prompt": 2.0,
        "completion": 4.001,
        "currency": "EUR",
        "n_unknown": 0,
        "n_made_again": 0,
    }


def test_tries_that_came_to_nothing_cost_what_was_answered_in_them() -> None:
    lost = [{"prompt_tokens": 500_000, "completion_tokens": 0}, {}]
    ended = used(500_000, 0, error_kind="server_error")

    found = cost(used(1_000_000, 0, lost=lost), ended)

    assert (found["total"], found["n_unknown"]) == (4.0, 2)  # a try's, and the last request's


def test_the_cache_costs_nothing_now() -> None:
    assert cost(used(1_000_000, 0, cached=True), used(500_000, 0))["total"] == 1.0


def test_what_is_unknown_is_counted_and_not_guessed() -> None:
    found = cost(used(500_000, 0), used(None, None), used(500_000, None), {})

    assert (found["total"], found["n_unknown"]) == (2.0, 3)


def test_an_answer_that_took_anothers_place_was_not_the_only_one_paid() -> None:
    assert cost(used(1, 1, because="wrong"))["n_made_again"] == 1


def test_without_prices_there_is_no_cost() -> None:
    assert "cost" not in scores_of([attempt(0, solved=used(1, 1))])["runtime"]


@pytest.mark.parametrize("parts", [(10, None), (None, 10), (None, None)])
def test_with_one_part_unknown_the_total_is_unknown_too(
    parts: tuple[int | None, int | None],
) -> None:
    pair = attempt(0, solved=used(*parts))

    found = scores_of([pair])["runtime"]

    assert total_tokens(pair[0]) is None
    assert (found["total_tokens"], found["steps_without_usage"]) == (0, 1)
    assert found["total_prompt_tokens"] == (parts[0] or 0)


def test_tokens_have_percentiles() -> None:
    pairs = [attempt(n, solved=used(10, n)) for n in range(101)]

    found = scores_of(pairs)["runtime"]["token_percentiles"]

    assert found == {
        "completion": {"p50": 50.0, "p90": 90.0, "p95": 95.0, "p99": 99.0},
        "total": {"p50": 60.0, "p90": 100.0, "p95": 105.0, "p99": 109.0},
    }


def test_a_count_beyond_all_reason_breaks_nothing() -> None:
    found = scores_of([attempt(0, solved=used(10**400, 10**400))])["runtime"]

    assert found["total_tokens"] == 2 * 10**400
    assert found["token_percentiles"]["total"]["p50"] == 2.0**53


@pytest.mark.parametrize("prices", [[], {"prompt": 1, "completion": "2", "currency": "USD"}, 3])
def test_damaged_prices_in_a_plan_are_named(tmp_path: Any, prices: object) -> None:
    facts = {"benchmark": "b", "problems": [], "repeats": 1, "config": {}, "fingerprint": {}}
    write_plan(tmp_path, {**facts, "prices": prices})

    with pytest.raises(ConfigError, match="damaged: prices: expected prompt, completion"):
        read_plan(tmp_path)
