"""A suite's values arrive as its file says them, and in its snapshot as well."""

import json
from pathlib import Path

import pytest

from tests.plugin.running import Nel, rows

ODD = ["123e4567", "1e3", "0o17", "010", "yes", "1:30", "1_000", "+.inf", "~", "=", ""]
CLASS = '''"""Writes down what it is given."""

import json
from pathlib import Path

from pytest_nel import EvalEnvironment, SeedResult, VerifyResult


class Params(EvalEnvironment):
    """One problem, right whatever the reply is."""

    name = "params"

    def __init__(self, **given: object) -> None:
        Path("given.json").write_text(json.dumps(given))

    async def dataset_size(self) -> int:
        return 1

    async def seed(self, idx: int) -> SeedResult:
        return SeedResult(prompt="7", expected_answer="7")

    async def verify(self, response, expected, sandbox=None, **metadata) -> VerifyResult:
        return VerifyResult(reward=1.0)
'''


def given(nel: Nel) -> dict[str, object]:
    found: dict[str, object] = json.loads((nel.folder / "given.json").read_text())
    return found


@pytest.mark.parametrize("args", [[], ["--nel-repeats", "2"]], ids=["plain", "overridden"])
def test_text_that_looks_like_something_else_stays_text(nel: Nel, args: list[str]) -> None:
    nel.write("bench_params.py", CLASS)
    values = {f"v{number}": value for number, value in enumerate(ODD)}
    nel.suite("bench_params.py", more=f"params: {json.dumps(values)}")

    ended = nel.run("my.nel.yaml", *args, model=False)

    assert ended.code == 0, ended.text
    assert given(nel) == values


def test_values_from_the_environment_stay_references_on_disk(nel: Nel, how: list[str]) -> None:
    nel.write("bench_params.py", CLASS)
    nel.suite("bench_params.py", more='params: {judge_token: "${JUDGE_TOKEN}", home: "$${HOME}"}')

    ended = nel.run("my.nel.yaml", *how, model=False, env={"JUDGE_TOKEN": "t0p-s3cr3t"})

    assert ended.code == 0, ended.text
    assert given(nel) == {"judge_token": "t0p-s3cr3t", "home": "${HOME}"}
    files = [path for path in ended.run_dir.rglob("*") if path.is_file()]
    assert len(files) >= 6
    assert [path for path in files if b"t0p-s3cr3t" in path.read_bytes()] == []
    suite = (ended.run_dir / "suite.nel.yaml").read_text(encoding="utf-8")
    assert "judge_token: ${JUDGE_TOKEN}" in suite
    assert "home: $${HOME}" in suite
    assert ended.bundle("params")["config"]["params"]["judge_token"] == "${JUDGE_TOKEN}"  # noqa: S105


@pytest.mark.parametrize("name", ["bench_sums.py", "${WHERE}/bench_sums.py:sums"])
def test_a_suite_run_is_repeated_from_its_snapshot(nel: Nel, name: str) -> None:
    nel.bench(rows("7", "8"), file="suites/sub/bench_sums.py")
    nel.suite(f'"{name}"', file="suites/sub/my.nel.yaml", more="repeats: 2")
    where = {"WHERE": "../sub"}
    first = nel.run("suites/sub/my.nel.yaml", "--nel-temperature", "0.5", model=False, env=where)
    suite = first.run_dir / "suite.nel.yaml"
    (nel.folder / "elsewhere").mkdir()
    nel.folder = nel.folder / "elsewhere"

    again = nel.run(str(suite), model=False, env=where)

    assert (first.code, again.code) == (0, 0), first.text + again.text
    assert first.outcomes() == again.outcomes()
    plans: list[dict[str, object]] = [
        json.loads(Path(ended.run_dir, "sums", "plan.json").read_text()) for ended in (first, again)
    ]
    assert plans[0]["fingerprint"] == plans[1]["fingerprint"]
