"""Whatever a user's code raises, the attempt has a record and the run goes on."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from pytest_nel.core.errors import InfraError, RunStopped
from pytest_nel.core.types import ScorerInput, VerifyResult
from tests.unit.engine.parts import Doubles, Says, Sums, attempted, sums

pytestmark = pytest.mark.asyncio


@pytest.mark.parametrize(
    ("raised", "said"),
    [
        (ValueError("bug"), "ValueError: bug"),
        (SystemExit(3), "sys.exit(3)"),
        (asyncio.CancelledError(), "cancelled, and not by pytest-nel"),
        (TimeoutError("own"), "TimeoutError: own"),
        (RecursionError("deep"), "RecursionError: deep"),
        (RunStopped("enough"), "RunStopped: enough"),
        (KeyboardInterrupt("odd"), "KeyboardInterrupt: odd"),
        (pytest.skip.Exception("not today"), "not today"),
        (pytest.fail.Exception("never"), "never"),
        (BaseExceptionGroup("two", [SystemExit(1), KeyError("x")]), "BaseExceptionGroup: two"),
    ],
    ids=repr,
)
async def test_whatever_a_solver_raises_is_recorded(
    tmp_path: Path, raised: BaseException, said: str
) -> None:
    record = await attempted(tmp_path, Says(raised))

    assert (record.scored.outcome, record.scored.failure) == ("unscored", "system")
    assert said in str(record.scored.error)


@pytest.mark.parametrize(
    "raised",
    [
        KeyError("gone"),
        SystemExit(2),
        InfraError("down"),
        pytest.skip.Exception("not today"),
        BaseExceptionGroup("two", [SystemExit(1)]),
    ],
    ids=repr,
)
async def test_whatever_a_verifier_raises_is_recorded(
    tmp_path: Path, raised: BaseException
) -> None:
    def fails(*_: object) -> VerifyResult:
        raise raised

    async def afails(_: ScorerInput) -> bool:
        raise raised

    ways: list[Any] = [sums(fails), sums(afails), Sums(fails)]
    records = [
        await attempted(tmp_path / str(number), Says("0"), way) for number, way in enumerate(ways)
    ]

    assert {record.scored.outcome for record in records} == {"unscored"}
    assert {record.scored.reward for record in records} == {None}


async def test_ctrl_c_in_a_plain_scorer_reaches_whoever_waits(tmp_path: Path) -> None:
    def scorer(_: ScorerInput) -> bool:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        await attempted(tmp_path, Says("0"), sums(scorer))


async def test_a_solver_or_environment_that_skips_before_it_awaits_is_recorded(
    tmp_path: Path,
) -> None:
    class Skips(Sums):
        def solve(self, *_: object) -> Any:
            pytest.skip("no solver today")

        def problem_id(self, idx: int) -> str:
            del idx
            pytest.skip("no name today")

    solver = await attempted(tmp_path / "0", Skips(lambda *_: VerifyResult(0.0)))
    seed = await attempted(tmp_path / "1", Doubles(), Skips(lambda *_: VerifyResult(0.0)))

    assert "no solver today" in str(solver.scored.error)
    assert "seed failed: UserCodeEnded: Skipped: no name today" in str(seed.scored.error)
    assert {solver.scored.outcome, seed.scored.outcome} == {"unscored"}
