"""What tests of Harbor tasks are told by this machine is in nothing that is kept of them."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from pytest_nel.core.errors import ScorerError
from pytest_nel.core.sandbox import ExecResult
from pytest_nel.environments import resolve
from tests.unit.datasets.test_harbor_folders import task

pytestmark = pytest.mark.asyncio
DSN, PLAIN, HOME = "correct-horse-battery", "postgres://me:pw@db/x", "/srv/models/cache"
TOML = """[environment]
docker_image = "img:1"
[verifier.env]
DSN = "dsn=${NEL_T_DSN}"
DB = "${NEL_T_DB}"
PLACE = "${NEL_T_HOME}"
MODE = "${NEL_T_MODE:-thorough-mode}"
"""


class Prints:
    """A sandbox in which the tests print what they were told, and leave it as their report."""

    has_users = True
    name = workdir = "/w"

    def __init__(self, code: int = 0, *, timed_out: bool = False) -> None:
        self.code = code
        self.timed_out = timed_out
        self.said = ""

    async def exec(self, *_: Any, **given: Any) -> ExecResult:
        env: Mapping[str, str] = given.get("env") or {}
        if not env:
            return ExecResult()
        self.said = " ".join(env.values())
        said = self.said.encode()
        return ExecResult(said, said, self.code, timed_out=self.timed_out)

    async def upload(self, *_: object) -> None:
        pass

    async def read(self, path: str, **_: object) -> bytes:
        if path.endswith("report.json"):
            return f'{{"env": "{self.said}"}}'.encode()
        if path.endswith("reward.json") and self.code == 0:
            return f'{{"reward": 1, "why": "{self.said}"}}'.encode()
        raise FileNotFoundError(path)


async def verdict(base: Path, box: Any) -> str:
    task(base / "set" / "a", TOML)
    environment = resolve("harbor://set", base=base, params={})
    made = await environment.verify("", "", box, task_name="a")
    assert made.reward == 1.0
    return str(dict(made.scoring_details))


@pytest.fixture(autouse=True)
def told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NEL_T_DSN", DSN)
    monkeypatch.setenv("NEL_T_DB", PLAIN)
    monkeypatch.setenv("NEL_T_HOME", HOME)


async def test_what_tests_print_of_this_machines_variables_is_not_kept(tmp_path: Path) -> None:
    kept = await verdict(tmp_path, Prints())

    assert kept.count("dsn=[API key]") == 5  # both streams, the summary, the report, the rewards
    assert DSN not in kept
    assert PLAIN not in kept
    assert HOME in kept  # a folder is no secret
    assert "thorough-mode" in kept  # the task's own text


@pytest.mark.parametrize("box", [Prints(127), Prints(-1, timed_out=True)])
async def test_what_a_failure_of_tests_quotes_has_none_of_it_either(
    tmp_path: Path, box: Prints
) -> None:
    with pytest.raises(ScorerError) as raised:
        await verdict(tmp_path, box)

    assert "dsn=[API key]" in str(raised.value)
    assert DSN not in str(raised.value)


async def test_what_tests_are_told_counts_and_what_is_secret_of_it_does_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    more = 'HOW = "${NEL_T_API_KEY}"\nDB_PASSWORD = "${NEL_T_WORD}"\n'
    task(tmp_path / "set" / "a", TOML + more)
    environment = resolve("harbor://set", base=tmp_path, params={})

    async def mark(**changed: str) -> object:
        with monkeypatch.context() as patch:
            for name, value in changed.items():
                patch.setenv(name, value)
            return (await environment.seed(0)).metadata["verifier_env"]

    plain = await mark()

    assert str(plain).startswith("sha256:")
    assert await mark(NEL_T_MODE="short") != plain
    assert await mark(NEL_T_HOME="/elsewhere") != plain
    assert await mark(NEL_T_DB="postgres://me:pw@other/x") != plain
    assert await mark(NEL_T_DB="postgres://me:other@db/x") == plain
    assert await mark(NEL_T_WORD="1234", NEL_T_API_KEY="1234") == plain


async def test_a_variable_of_one_tasks_tests_changes_judging_for_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    task(tmp_path / "set" / "a", TOML)
    task(tmp_path / "set" / "b", '[environment]\ndocker_image = "img:1"\n')
    environment = resolve("harbor://set", base=tmp_path, params={})
    fewer = resolve("harbor://set", base=tmp_path, params={"num_examples": 1})
    judging, one, other = (
        environment.judging(),
        await environment.seed(0),
        await environment.seed(1),
    )

    monkeypatch.setenv("NEL_T_MODE", "short")

    assert environment.judging() == judging == fewer.judging()
    assert (await environment.seed(0)).metadata != one.metadata
    assert (await environment.seed(1)).metadata == other.metadata
    assert "verifier_env" not in other.metadata
