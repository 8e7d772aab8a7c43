"""Tokens of answers: 0 where no model was asked, unknown where one said nothing of them."""

from pathlib import Path

import pytest

from pytest_nel.config.schema import BudgetConfig, PluginSpec
from pytest_nel.core.sandbox import Sandbox
from pytest_nel.core.types import ModelResponse, SeedResult, SolveResult
from pytest_nel.engine.budget import Budget, Purse
from pytest_nel.engine.cached import facts_of
from pytest_nel.records.record import Solved, StepRecord
from pytest_nel.records.runtime import runtime
from pytest_nel.records.tally import Tally
from pytest_nel.solvers import asks_model
from tests.unit.engine.parts import KEY, Doubles, Says, attempted

pytestmark = pytest.mark.asyncio


class AsksNone(Doubles):
    """A solver that says of all its answers that no model was asked."""

    asks_model = False


class AsksSome(Doubles):
    """The same, with a model that says nothing of its tokens."""

    asks_model = False

    async def solve(self, seed: SeedResult, sandbox: Sandbox) -> SolveResult:
        made = await super().solve(seed, sandbox)
        return SolveResult(made.response, ModelResponse(made.response))


def tallied(record: StepRecord) -> Tally:
    tally = Tally.of(1)
    tally.add(record.solved.as_json(), record.scored.as_json(KEY))
    return tally


@pytest.mark.parametrize("solver", [AsksNone(), Says(SolveResult("0", no_model=True))])
async def test_an_answer_for_which_no_model_was_asked_has_no_tokens(
    tmp_path: Path, solver: object
) -> None:
    record = await attempted(tmp_path, solver)

    tally = tallied(record)

    stats = runtime(tally)
    assert record.tokens == 0
    assert (stats["total_tokens"], stats["steps_without_usage"]) == (0, 0)
    assert tally.paid_unknown == 0


@pytest.mark.parametrize("solver", [Doubles(), AsksSome(), Says(SolveResult("0"))])
async def test_tokens_stay_unknown_where_nobody_says_that_no_model_was_asked(
    tmp_path: Path, solver: object
) -> None:
    record = await attempted(tmp_path, solver)

    tally = tallied(record)

    stats = runtime(tally)
    assert record.tokens is None
    assert (stats["total_tokens"], stats["steps_without_usage"]) == (0, 1)
    assert tally.paid_unknown == 1


async def test_that_no_model_was_asked_survives_journal_and_cache(tmp_path: Path) -> None:
    record = await attempted(tmp_path, AsksNone())

    again = Solved.from_json(record.solved.as_json(), "sums")

    assert again.no_model
    assert facts_of(again)["no_model"] is True


async def test_a_budget_of_tokens_is_kept_by_answers_without_a_model(tmp_path: Path) -> None:
    budget = Budget("suite", BudgetConfig(max_tokens=1))
    record = await attempted(tmp_path, AsksNone())

    Purse([budget]).spend(record.solved)

    assert budget.spent is None


async def test_the_oracle_asks_no_model() -> None:
    assert not asks_model(PluginSpec(type="oracle"))
