"""Of tests that leave no reward, only an exit code of their own says something of the work."""

from pathlib import Path
from typing import Any

import pytest

from pytest_nel.core.errors import NotJudged
from pytest_nel.core.sandbox import ExecResult, WrongPath
from pytest_nel.datasets.harbor_task import read_task
from pytest_nel.environments._harbor_verify import Verifying, judged
from tests.unit.datasets.test_harbor_folders import task

pytestmark = pytest.mark.asyncio


class Ends:
    """A sandbox in which the tests end so, and leave nothing."""

    has_users = True
    name = workdir = "/w"

    def __init__(self, code: int) -> None:
        self.code = code

    async def exec(self, command: list[str], *_: Any, **__: Any) -> ExecResult:
        return ExecResult(return_code=self.code if "/tests/test.sh" in command else 0)

    async def upload(self, *_: object) -> None: ...

    async def read(self, path: str, **_: object) -> bytes:
        raise FileNotFoundError(path)


def how(folder: Path) -> Verifying:
    made = task(folder / "a", '[environment]\ndocker_image = "img:1"\n')
    return Verifying(read_task(made), "root", {})


@pytest.mark.parametrize(("code", "reward"), [(0, 1.0), (1, 0.0), (5, 0.0), (128, 0.0)])
async def test_tests_that_end_by_themselves_are_judged_by_their_exit_code(
    tmp_path: Path, code: int, reward: float
) -> None:
    result: Any = await judged(how(tmp_path), Ends(code))  # type: ignore[arg-type]

    assert result.reward == reward
    assert result.scoring_details["reward_source"] == "exit_code"


@pytest.mark.parametrize(
    ("code", "said"),
    [(137, "ended by signal 9 .exit 137."), (143, "signal 15"), (127, "a program is missing")],
)
async def test_tests_that_a_signal_ends_say_nothing_of_the_work(
    tmp_path: Path, code: int, said: str
) -> None:
    with pytest.raises(NotJudged, match=said):
        await judged(how(tmp_path), Ends(code))  # type: ignore[arg-type]


async def test_who_puts_something_in_the_way_of_the_tests_may_be_to_blame(tmp_path: Path) -> None:
    class InTheWay(Ends):
        async def upload(self, *_: object) -> None:
            msg = "/tests leads nowhere"
            raise WrongPath(msg)

    with pytest.raises(NotJudged, match="could not be put in their place: /tests leads nowhere"):
        await judged(how(tmp_path), InTheWay(0))  # type: ignore[arg-type]
