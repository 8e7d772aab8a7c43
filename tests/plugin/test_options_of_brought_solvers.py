"""Options beside a ``nel_solver`` of one's own are used, or refused by name."""

import json

import pytest

from tests.plugin.running import Nel, rows
from tests.plugin.test_resume_changes import WRAPPER
from tests.plugin.test_solver_fixture import FIXED
from tests.support.endpoint import RunningEndpoint

ASKING = '''"""Asks the run's model."""
import pytest
from pytest_nel import SolveResult

class Asking:
    def __init__(self, model):
        self.model = model

    async def solve(self, seed, sandbox):
        reply = await self.model.chat([{"role": "user", "content": seed.prompt}])
        return SolveResult(response=reply.content, model_response=reply)

@pytest.fixture(scope="session")
def nel_solver(nel_model):
    return Asking(nel_model)
'''


@pytest.mark.parametrize("model", [True, False], ids=["model", "none"])
@pytest.mark.parametrize(
    "option",
    ["--nel-temperature=0.9", "--nel-max-tokens=9", "--nel-timeout=5", "--nel-system-prompt=Hi"],
)
def test_an_option_that_nobody_would_see_is_refused(
    nel: Nel, endpoint: RunningEndpoint, option: str, *, model: bool
) -> None:
    nel.bench(rows("7"))
    nel.write("conftest.py", FIXED.format(text="7"))

    ended = nel.run("bench_sums.py", option, model=model)

    assert ended.code == 4, ended.text
    name = option.partition("=")[0]
    assert f"{name}: sums is answered by the fixture nel_solver" in ended.text
    assert "Traceback" not in ended.text
    assert endpoint.stats()["requests"] == 0
    assert nel.runs() == []


def test_a_solver_that_asks_the_model_sends_what_the_command_line_says(
    nel: Nel, endpoint: RunningEndpoint, how: list[str]
) -> None:
    nel.bench(rows("7"))
    nel.write("conftest.py", ASKING)

    ended = nel.run("bench_sums.py", "--nel-temperature", "0.9", "--nel-max-tokens", "9", *how)

    assert ended.code == 0, ended.text
    (body,) = [json.loads(text) for text in endpoint.bodies()]
    assert (body["temperature"], body["max_tokens"]) == (0.9, 9)
    fingerprint = ended.bundle()["fingerprint"]
    assert fingerprint["model"] == "m"
    assert ended.bundle()["config"]["solver"] == {"type": "fixture"}


def test_a_system_prompt_is_refused_even_where_the_model_is_asked(nel: Nel) -> None:
    nel.bench(rows("7"))
    nel.write("conftest.py", ASKING)

    ended = nel.run("bench_sums.py", "--nel-system-prompt", "Be brief.")

    assert ended.code == 4, ended.text
    assert "--nel-system-prompt: sums is answered by the fixture nel_solver" in ended.text


def test_the_record_claims_no_model_that_was_not_asked(nel: Nel, how: list[str]) -> None:
    nel.bench(rows("7"))
    nel.write("conftest.py", FIXED.format(text="7"))

    ended = nel.run("bench_sums.py", *how)

    assert ended.code == 0, ended.text
    assert ended.bundle()["fingerprint"]["model"] is None
    assert ended.bundle()["config"]["solver"] == {"type": "fixture"}
    assert "service: model" not in (ended.run_dir / "suite.nel.yaml").read_text(encoding="utf-8")


def test_what_is_wrapped_sees_every_option(nel: Nel, endpoint: RunningEndpoint) -> None:
    nel.bench(rows("7"))
    nel.write("conftest.py", WRAPPER)
    options = ["--nel-temperature=0.9", "--nel-system-prompt=Hi", "--nel-output-dir=run"]

    ended = nel.run("bench_sums.py", *options)

    assert ended.code == 0, ended.text
    (body,) = (json.loads(text) for text in endpoint.bodies())
    assert body["temperature"] == 0.9
    assert body["messages"][0] == {"role": "system", "content": "Hi"}
    assert "system_prompt: Hi" in (nel.folder / "run/suite.nel.yaml").read_text()


def test_an_override_that_wraps_nothing_below_another_that_does_refuses(nel: Nel) -> None:
    nel.bench(rows("7"), file="below/bench_sums.py")
    nel.write("conftest.py", WRAPPER)
    nel.write("below/conftest.py", FIXED.format(text="7"))

    ended = nel.run("below/bench_sums.py", "--nel-system-prompt=Hi")

    assert ended.code == 4, ended.text
    assert "--nel-system-prompt: sums is answered by the fixture nel_solver" in ended.text
