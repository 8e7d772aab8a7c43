"""What a session may spend, and when that is spent."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_nel.config.schema import BudgetConfig
from pytest_nel.core.errors import RunStopped
from pytest_nel.engine.budget import Budget

EACH = {"prompt_tokens": 10, "completion_tokens": 5}
PRICES = {"prompt": 100_000.0, "completion": 200_000.0, "currency": "EUR"}  # 2 an answer


def test_money_is_spent_by_the_prices_of_prompts_and_completions() -> None:
    budget = Budget("s", BudgetConfig(max_cost=4))

    budget.spend(EACH, PRICES)
    budget.check()
    budget.spend(EACH, PRICES)

    with pytest.raises(RunStopped, match="budget of s is spent: max_cost 4, used 4"):
        budget.check()
    assert budget.left_out


def test_tokens_of_prompts_and_completions_are_spent() -> None:
    budget = Budget("s", BudgetConfig(max_tokens=16))

    budget.spend(EACH, None)
    budget.check()
    budget.spend(EACH, None)

    with pytest.raises(RunStopped, match="max_tokens 16, used 30"):
        budget.check()


def test_time_is_spent_by_itself() -> None:
    now = [100.0]
    budget = Budget("s", BudgetConfig(max_time=60), clock=lambda: now[0])

    budget.check()
    now[0] = 160.0

    with pytest.raises(RunStopped, match="max_time 60 s"):
        budget.check()


@pytest.mark.parametrize("model", [None, {}, {"prompt_tokens": 5, "completion_tokens": None}])
def test_where_tokens_are_unknown_a_limit_on_them_cannot_be_kept(
    model: dict[str, object] | None,
) -> None:
    limited, timed = Budget("s", BudgetConfig(max_cost=9)), Budget("t", BudgetConfig(max_time=9))

    limited.spend(model, PRICES)
    timed.spend(model, PRICES)

    timed.check()
    with pytest.raises(RunStopped, match="cannot be kept: an answer came without its tokens"):
        limited.check()


def test_what_went_beyond_a_budget_or_is_unknown_is_said_though_nothing_was_left_out() -> None:
    now = [0.0]
    exact, beyond, unknown, late = (
        Budget("s", limits, clock=lambda: now[0])
        for limits in (
            BudgetConfig(max_tokens=15),
            BudgetConfig(max_tokens=14),
            BudgetConfig(max_tokens=99),
            BudgetConfig(max_time=60),
        )
    )

    for budget in (exact, beyond, unknown, late):
        budget.check()
    now[0] = 61.0
    for budget in (exact, beyond, late):
        budget.spend(EACH, None)
    unknown.spend({}, None)
    now[0] = 70.0

    start = "the budget of s "
    assert exact.account is None
    assert beyond.account == f"{start}was exceeded by what was under way: max_tokens 14, used 15"
    assert unknown.account == f"{start}could not be kept: an answer came without its tokens"
    assert late.account == f"{start}was exceeded by what was under way: max_time 60 s, used 61.0 s"


@given(st.integers(1, 9), st.integers(1, 10_000))
def test_processes_together_exceed_it_by_their_last_answers_only(parts: int, limit: int) -> None:
    budgets = [Budget("s", BudgetConfig(max_tokens=limit), parts=parts) for _ in range(parts)]

    spent = 0
    for budget in budgets:
        while budget.spent is None:
            budget.spend(EACH, None)
            spent += 15

    assert limit <= spent < limit + 15 * parts


def test_time_is_counted_from_the_first_attempt_on() -> None:
    now = [100.0]
    budget = Budget("late", BudgetConfig(max_time=60), clock=lambda: now[0])

    now[0] = 500.0  # others were measured before
    budget.check()
    now[0] = 559.0
    budget.check()
    now[0] = 560.0

    with pytest.raises(RunStopped, match="max_time"):
        budget.check()
