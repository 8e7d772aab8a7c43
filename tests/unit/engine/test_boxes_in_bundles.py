"""What a run without pytest says of its sandboxes, so that others can be held against it."""

from pathlib import Path

import pytest

from pytest_nel.core.types import VerifyResult
from pytest_nel.engine.run import run_evaluation
from pytest_nel.gate.comparable import compared
from tests.unit.engine.parts import Doubles, Sums


@pytest.mark.asyncio
async def test_the_bundle_says_what_answers_and_judgements_were_made_in(tmp_path: Path) -> None:
    bundles = [
        await run_evaluation(
            Sums(lambda response, expected: VerifyResult(float(response == expected))),
            Doubles(),
            tmp_path / memory,
            sandbox={"type": "local", "memory": memory},
        )
        for memory in ("2GiB", "1GiB")
    ]

    assert compared(*bundles).different == [
        f"sandbox: memory of {what} 2GiB in the baseline, 1GiB in the candidate"
        for what in ("answers", "judgements")
    ]
