"""A suite's values arrive as its file says them, and in its snapshot as well."""

import json
from pathlib import Path

import pytest

from tests.plugin.running import Nel, rows

ODD = ["123e4567", "1e3", "0o17", "010", "yes", "1:30", "2024-01-01", "1_000", "+.inf", "~", "=", ""]
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
