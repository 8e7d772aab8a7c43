"""What has changed since: answers are judged again, solved again, or begun afresh with a reason."""

import json
from pathlib import Path

import pytest

from tests.plugin.running import Nel, rows, sums
from tests.plugin.test_resume import RUN, again, first, outcomes, results
from tests.support.endpoint import RunningEndpoint, running_endpoint


def test_another_scorer_judges_stored_answers(
    nel: Nel, endpoint: RunningEndpoint, how: list[str]
) -> None:
    nel.untested()
    file = nel.bench(sums(12))
    first(nel, *how)
    before = set(outcomes(nel).values())
    endpoint.reset()
    file.write_text(file.read_text().replace("return numeric_match(sample)", "return True"))

    ended = again(nel, *how)

    assert endpoint.stats()["requests"] == 0
    assert before == {"correct", "wrong"}
    assert set(outcomes(nel).values()) == {"correct"}
    assert "12 judged from stored answers" in ended.out


def test_a_helper_of_the_scorer_that_changed_judges_again(
    nel: Nel, endpoint: RunningEndpoint
) -> None:
    nel.untested()
    file = nel.bench(sums(6))
    helper = nel.write("helper.py", "def judge(sample):\n    return False\n")
    text = file.read_text().replace("return numeric_match(sample)", "return judge(sample)")
    file.write_text(text.replace("ROWS =", "from helper import judge\n\nROWS ="))
    first(nel)
    endpoint.reset()
    helper.write_text("def judge(sample):\n    return len(sample.response) > 0\n")

    again(nel)

    assert endpoint.stats()["requests"] == 0
    assert set(outcomes(nel).values()) == {"correct"}


def test_another_gold_answer_judges_again_and_is_shown(nel: Nel, endpoint: RunningEndpoint) -> None:
    nel.bench(rows("7", "8"))
    first(nel)
    endpoint.reset()
    nel.bench(rows("7", "8", target="8"))

    again(nel)

    assert endpoint.stats()["requests"] == 0
    assert outcomes(nel) == {(0, 0): "wrong", (1, 0): "correct"}
    shown = [json.loads(line) for line in results(nel).splitlines()]
    assert {row["expected_answer"] for row in shown} == {"8"}


def test_a_row_that_changed_is_solved_again_and_no_other(
    nel: Nel, endpoint: RunningEndpoint
) -> None:
    nel.bench(rows("7", "8", "9"))
    first(nel)
    endpoint.reset()
    nel.bench(rows("7", "07", "9"))

    ended = again(nel)

    assert endpoint.stats()["requests"] == 1
    assert outcomes(nel)[1, 0] == "correct"
    assert "1 solved again: another problem stands in their place" in ended.out


AFRESH = {
    "model": (["--nel-model-id", "other"], "model: 'm' → 'other'"),
    "temperature": (["--nel-temperature", "0.5"], "sampling.temperature: 0.0 → 0.5"),
    "max_tokens": (["--nel-max-tokens", "9"], "sampling.max_tokens: None → 9"),
    "system prompt": (["--nel-system-prompt", "think"], "solver.system_prompt"),
}


@pytest.mark.parametrize("name", AFRESH)
def test_what_changes_every_answer_begins_afresh_and_is_named(
    nel: Nel, endpoint: RunningEndpoint, name: str, how: list[str]
) -> None:
    options, why = AFRESH[name]
    nel.bench(sums(6))
    first(nel, *how)
    endpoint.reset()

    ended = again(nel, *options, *how)

    assert endpoint.stats()["requests"] == 6
    assert f"sums: begun afresh, since {why}" in ended.out
    assert len(outcomes(nel)) == 6
    kept = nel.folder / "run/sums/earlier-1/results.jsonl"
    assert len(kept.read_text().splitlines()) == 6


def test_another_prompt_begins_afresh(nel: Nel, endpoint: RunningEndpoint) -> None:
    file = nel.bench(sums(6))
    first(nel)
    endpoint.reset()
    file.write_text(file.read_text().replace('prompt="{say}"', 'prompt="{say} "'))

    ended = again(nel)

    assert endpoint.stats()["requests"] == 6
    assert "begun afresh, since prompt" in ended.out


def test_another_url_changes_nothing(nel: Nel) -> None:
    nel.bench(sums(6))
    first(nel)
    script = str(Path(__file__).parent / "answers.py")

    with running_endpoint(script=script) as elsewhere:
        nel.url = elsewhere.url
        again(nel, "--nel-timeout", "5")
        asked = elsewhere.stats()["requests"]

    assert asked == 0


SOLVER = """
import os
import pytest
from pytest_nel import SolveResult


class Own:
    def __init__(self):
        self.answer = {answer!r}
        self.api_key = os.environ.get("KEY", "")

    async def solve(self, seed, sandbox):
        with open("asked.txt", "a") as file:
            file.write("x")
        return SolveResult(response=self.answer)


@pytest.fixture(scope="session")
def nel_solver():
    return Own()
"""


def test_a_solver_of_ones_own_is_known_by_its_settings_and_not_by_its_key(nel: Nel) -> None:
    nel.bench(rows("1", "2", "3"))
    nel.write("conftest.py", SOLVER.format(answer="7"))
    asked = nel.folder / "asked.txt"

    for args, env, text in [
        ([], {"KEY": "a"}, "xxx"),
        (["--nel-resume"], {"KEY": "b"}, "xxx"),
    ]:
        assert nel.run(*RUN, *args, model=False, env=env).code == 0
        assert asked.read_text() == text
    nel.write("conftest.py", SOLVER.format(answer="8"))
    ended = nel.run(*RUN, "--nel-resume", model=False)

    assert asked.read_text() == "x" * 6
    assert "begun afresh, since solver.answer" in ended.out
    assert set(outcomes(nel).values()) == {"wrong"}


WRAPPER = """
import pytest


class Wrapper:
    reads_row = False

    def __init__(self, inner):
        self.inner = inner

    async def solve(self, seed, sandbox):
        return await self.inner.solve(seed, sandbox)


@pytest.fixture(scope="session")
def nel_solver(nel_solver):
    return Wrapper(nel_solver)
"""


def test_a_wrapped_solver_is_what_it_wraps_as_well(nel: Nel, endpoint: RunningEndpoint) -> None:
    nel.bench(sums(4))
    nel.write("conftest.py", WRAPPER)
    suite = nel.suite("bench_sums.py:sums")
    args = ["my.nel.yaml", "--nel-output-dir", "run"]
    assert nel.run(*args, model=False).code == 0
    endpoint.reset()

    same = nel.run(*args, "--nel-resume", model=False)
    kept = endpoint.stats()["requests"]
    suite.write_text(suite.read_text().replace("model: m}", "model: n}"))
    other = nel.run(*args, "--nel-resume", model=False)

    assert (same.code, other.code, kept) == (0, 0, 0), other.text
    assert endpoint.stats()["requests"] == 4
    assert "begun afresh, since model: 'm' → 'n'" in other.out


def test_the_right_model_again_brings_its_records_back(
    nel: Nel, endpoint: RunningEndpoint, how: list[str]
) -> None:
    nel.bench(sums(6))
    first(nel, *how)
    before = results(nel)
    again(nel, "--nel-model-id", "wrong", *how)
    endpoint.reset()

    ended = again(nel, *how)

    assert endpoint.stats()["requests"] == 0
    assert results(nel) == before
    assert "sums: going on with earlier-1, since model: 'wrong' → 'm'" in ended.out
    assert (nel.folder / "run/sums/earlier-2/results.jsonl").exists()
