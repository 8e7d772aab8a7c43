"""No score is made of old and new judgements, or of answers to other questions, together."""

from pathlib import Path

import pytest

from tests.plugin.running import Ended, Nel, rows, sums
from tests.plugin.test_resume import RUN, bundle, first, outcomes
from tests.support.endpoint import RunningEndpoint, running_endpoint


def resumed(nel: Nel, *args: str, model: bool = True) -> Ended:
    return nel.run(*RUN, "--nel-resume", *args, model=model)


def judging(file: Path, old: str, new: str) -> None:
    file.write_text(file.read_text().replace(old, new))


def test_scores_of_an_earlier_scorer_do_not_count(
    nel: Nel, endpoint: RunningEndpoint, how: list[str]
) -> None:
    nel.untested()
    file = nel.bench(sums(10))
    first(nel)
    endpoint.reset()
    judging(file, "return numeric_match(sample)", "return True")

    ended = resumed(nel, "-k", "sums[3-", *how)
    shown = len(outcomes(nel))
    rest = resumed(nel)

    assert shown == 1, ended.text
    assert "evaluated 1 of 10" in ended.out
    assert rest.code == 0, rest.text
    assert set(outcomes(nel).values()) == {"correct"}
    assert len(outcomes(nel)) == 10
    assert endpoint.stats()["requests"] == 0


def test_answers_to_rows_that_moved_do_not_count(nel: Nel) -> None:
    nel.bench(rows("7", "8", "9"))
    first(nel, "--nel-shuffle-seed", "none")
    nel.bench(rows("5", "7", "8", "9"))

    ended = resumed(nel, "--nel-shuffle-seed", "none", "-k", "sums[0-")

    assert ended.code == 0, ended.text
    assert list(outcomes(nel)) == [(0, 0)]
    assert "evaluated 1 of 4" in ended.out


def test_answers_to_another_prompt_and_other_rows_do_not_count(nel: Nel) -> None:
    file = nel.bench(rows("7", "8", "9"))
    first(nel)
    nel.bench(rows("7", "8", "10"))
    judging(file, 'prompt="{say}"', 'prompt="{say} "')

    resumed(nel, "-k", "sums[2-")

    assert list(outcomes(nel)) == [(2, 0)]


def test_while_the_endpoint_is_dead_old_answers_stand_for_nothing(nel: Nel) -> None:
    nel.bench(rows(*"7777777777"))
    first(nel)
    nel.bench(rows(*"8888888888"))
    with running_endpoint(status=400) as dead:
        nel.url = dead.url
        ended = resumed(nel, "--nel-max-consecutive-unscored", "3")

    assert ended.code == 7, ended.text
    assert set(outcomes(nel).values()) <= {"unscored"}
    assert bundle(nel)["n_scored"] == 0


def test_an_interrupted_rescoring_shows_what_was_judged_and_no_more(nel: Nel) -> None:
    nel.untested()
    file = nel.bench(sums(6))
    first(nel)
    judging(file, "return numeric_match(sample)", "return True")
    text = file.read_text().replace(
        'if sample.response == "crash":',
        "if sample.target == '4':\n        raise KeyboardInterrupt",
    )
    file.write_text(text.replace('        raise RuntimeError("the scorer broke")\n', ""))

    ended = nel.run(*RUN, "--nel-rescore", "--nel-shuffle-seed", "none", model=False)

    assert ended.code == 2, ended.text
    assert set(outcomes(nel).values()) == {"correct"}
    assert len(outcomes(nel)) == 3
    assert "evaluated 3 of 6" in ended.out


UNNAMED = """services:
  {name}: {{type: api, url: "{url}/chat/completions", protocol: chat_completions}}
benchmarks:
  - {{name: bench_sums.py, solver: {{type: simple, service: {name}}}}}
output: {{dir: run, timestamped: false}}
"""


def test_a_service_that_names_no_model_is_known_by_its_own_name(
    nel: Nel, endpoint: RunningEndpoint
) -> None:
    nel.bench(sums(4))
    nel.write("my.nel.yaml", UNNAMED.format(name="llama-70b", url=nel.url))
    nel.run("my.nel.yaml", "--nel-cache", "cache", model=False)
    endpoint.reset()
    nel.write("my.nel.yaml", UNNAMED.format(name="llama-8b", url=nel.url))

    ended = nel.run("my.nel.yaml", "--nel-resume", "--nel-cache", "cache", model=False)

    assert ended.code == 0, ended.text
    assert endpoint.stats()["requests"] == 4
    assert "begun afresh, since model: 'llama-70b' → 'llama-8b'" in ended.out


def test_a_second_try_that_fails_takes_nothing_and_leaves_a_mark(nel: Nel) -> None:
    nel.bench(rows("1", "2", "3", "4"))
    first(nel)
    with running_endpoint(status=400) as dead:
        alive, nel.url = nel.url, dead.url
        tried = resumed(nel, "--nel-only", "wrong")
    kept = outcomes(nel)
    with running_endpoint(mode="fixed", answer="7") as better:
        nel.url = better.url
        plain = resumed(nel)
        again = resumed(nel, "--nel-only", "wrong")
    nel.url = alive

    assert tried.code == 7, tried.text
    assert set(kept.values()) == {"wrong"}
    assert plain.code == 0, plain.text
    assert (again.code, bundle(nel)["n_made_again"]) == (6, 4), again.text


def test_zero_and_zero_point_zero_are_one_temperature(nel: Nel, endpoint: RunningEndpoint) -> None:
    nel.bench(sums(4))
    suite = nel.suite("bench_sums.py:sums")
    text = suite.read_text().replace("model: m}", "model: m, generation: {temperature: 0}}")
    suite.write_text(text)
    args = ["my.nel.yaml", "--nel-output-dir", "run"]
    nel.run(*args, model=False)
    endpoint.reset()
    suite.write_text(text.replace("temperature: 0}", "temperature: 0.0}"))

    ended = nel.run(*args, "--nel-resume", model=False)

    assert ended.code == 0, ended.text
    assert endpoint.stats()["requests"] == 0


@pytest.mark.parametrize(
    ("fewer", "more"),
    [
        (["--nel-repeats", "1"], ["--nel-repeats", "2", "-k", "r0"]),
        (["--nel-repeats", "2", "--nel-max-problems", "2"], ["--nel-repeats", "2", "-k", "r0"]),
    ],
    ids=["repeats", "problems"],
)
@pytest.mark.parametrize("judge", ["--nel-resume", "--nel-rescore"])
def test_what_a_smaller_plan_left_out_is_no_part_of_a_larger_one(
    nel: Nel, judge: str, fewer: list[str], more: list[str]
) -> None:
    nel.untested()
    file = nel.bench(rows("7", "7", "7", "7"))
    first(nel, "--nel-repeats", "2")
    judging(file, "return numeric_match(sample)", "return False")
    nel.run(*RUN, judge, *fewer, model=judge == "--nel-resume")

    ended = resumed(nel, *more)

    assert set(outcomes(nel).values()) == {"wrong"}, ended.text
    assert len(outcomes(nel)) < 8


SEEDED = """
from pathlib import Path
from pytest_nel import ScorerInput, SeedResult, benchmark, numeric_match, scorer

HERE = Path(__file__).parent
ROWS = [{"say": str(n)} for n in range(4)]


def seed(row, idx):
    gold = (HERE / "gold.txt").read_text().split()[idx]
    return SeedResult(row["say"], gold, images=[str(HERE / "picture.png")] if PICTURES else None)


PICTURES = False


@benchmark(name="sums", dataset=ROWS, seed_fn=seed)
@scorer
def measured(sample: ScorerInput) -> object:
    return numeric_match(sample)
"""


def test_a_gold_answer_that_a_seed_function_reads_counts_as_it_is_now(
    nel: Nel, endpoint: RunningEndpoint
) -> None:
    nel.write("bench_sums.py", SEEDED)
    nel.write("gold.txt", "0 1 2 3")
    first(nel)
    nel.write("gold.txt", "0 9 9 9")
    endpoint.reset()

    part = resumed(nel, "-k", "sums[0-")
    shown = outcomes(nel)
    resumed(nel)

    assert shown == {(0, 0): "correct"}, part.text
    assert sorted(outcomes(nel).values()) == ["correct", "wrong", "wrong", "wrong"]
    assert endpoint.stats()["requests"] == 0


CLASS = """
from pytest_nel import EvalEnvironment, SeedResult, VerifyResult, register


@register("sums")
class Sums(EvalEnvironment):
    name = "sums"

    def __len__(self):
        return 4

    async def seed(self, idx):
        if idx == 2:
            raise ValueError("row is bad")
        return SeedResult(str(idx), str(idx))

    async def verify(self, response, expected, sandbox=None, **metadata):
        return VerifyResult(float(response == expected))
"""


def test_a_problem_that_cannot_be_made_keeps_no_run_from_going_on(
    nel: Nel, endpoint: RunningEndpoint
) -> None:
    file = nel.write("bench_sums.py", CLASS)
    first(nel, code=7)
    endpoint.reset()
    judging(file, "float(response == expected)", "0.0")

    ended = resumed(nel)

    assert ended.code == 7, ended.text
    assert "row is bad" in ended.out
    assert sorted(outcomes(nel).values()) == ["unscored", "wrong", "wrong", "wrong"]
    assert endpoint.stats()["requests"] == 0


def test_some_attempts_alone_are_not_judged_by_another_scorer(
    nel: Nel, endpoint: RunningEndpoint, how: list[str]
) -> None:
    nel.untested()
    file = nel.bench(rows("1", "2", "7"))
    first(nel)
    before = outcomes(nel)
    endpoint.reset()
    judging(file, "return numeric_match(sample)", "return True")

    ended = resumed(nel, "--nel-only", "wrong", *how)

    assert ended.code == 4, ended.text
    assert "judging changed since its answers were judged: first say --nel-resume" in ended.out
    assert endpoint.stats()["requests"] == 0
    assert outcomes(nel) == before
