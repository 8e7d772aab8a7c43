"""Further scorers in a run: recorded, resumed, merged, rebuilt."""

import json
import re
from typing import Any

from tests.plugin.running import Nel, rows, sums
from tests.support.endpoint import RunningEndpoint

FURTHER = """scoring:
      metrics:
        - {{name: numeric_match, type: scorer}}
        - {{name: strict, type: scorer, scorer: exact_match{config}}}
"""
RUN = ("my.nel.yaml", "--nel-output-dir", "run")


def suite(nel: Nel, config: str = "") -> None:
    """A suite with one benchmark and two further scorers."""
    text = nel.suite("bench_sums.py").read_text()
    text = text.replace(
        "{name: bench_sums.py, solver: {type: simple, service: model}}",
        "name: bench_sums.py\n    solver: {type: simple, service: model}\n    "
        + FURTHER.format(config=config),
    )
    nel.write("my.nel.yaml", text)


def results(nel: Nel) -> list[dict[str, Any]]:
    text = (nel.folder / "run/sums/results.jsonl").read_text(encoding="utf-8")
    return [json.loads(line) for line in text.splitlines()]


def rewards(nel: Nel) -> list[Any]:
    """Of the further scorers, by problem."""
    found = sorted(results(nel), key=lambda row: row["problem_idx"])
    return [row["scorer_rewards"] for row in found]


def plan(nel: Nel) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((nel.folder / "run/sums/plan.json").read_text())
    return found


def test_each_judges_every_answer(nel: Nel, how: list[str]) -> None:
    nel.bench(rows("7", "it is 7", "8"))
    suite(nel)

    ended = nel.run(*RUN, *how, model=False)

    assert ended.code == 0, ended.text
    assert rewards(nel) == [
        {"numeric_match": 1.0, "strict": 1.0},
        {"numeric_match": 1.0, "strict": 0.0},
        {"numeric_match": 0.0, "strict": 0.0},
    ]
    row = next(row for row in results(nel) if row["problem_idx"] == 1)
    assert row["outcome"] == "correct"
    assert row["scoring_details"]["scorer:strict"]["extracted"] == "it is 7"
    assert row["scoring_details"]["scorer:numeric_match"]["reward"] == 1.0


def test_a_fraction_is_not_cut_to_zero_or_one(nel: Nel) -> None:
    file = nel.bench(rows("7", "1 7"), more="scorers={'brief': brief}")
    text = file.read_text().replace(
        "@benchmark",
        "def brief(sample):\n    return 1 / len(sample.response.split())\n\n\n@benchmark",
    )
    file.write_text(text)

    ended = nel.run("bench_sums.py", "--nel-output-dir", "run")

    assert ended.code == 0, ended.text
    assert rewards(nel) == [{"brief": 1.0}, {"brief": 0.5}]


def test_one_that_fails_is_missing_and_the_run_is_whole(nel: Nel) -> None:
    file = nel.bench(rows("7", "8"), more="scorers={'picky': picky}")
    text = file.read_text().replace(
        "@benchmark",
        "def picky(sample):\n    return {'7': 0.25}[sample.response]\n\n\n@benchmark",
    )
    file.write_text(text)

    ended = nel.run("bench_sums.py", "--nel-output-dir", "run")

    assert ended.code == 0, ended.text
    assert rewards(nel) == [{"picky": 0.25}, {"picky": None}]
    (failed,) = [row for row in results(nel) if row["problem_idx"] == 1]
    assert failed["outcome"] == "wrong"
    assert "KeyError: '8'" in failed["scoring_details"]["scorer:picky"]["error"]


FLAKY = """import os


def flaky(sample):
    with open("calls", "a") as file:
        file.write("x")
    if "REPAIRED" not in os.environ:
        raise RuntimeError("no helper")
    return 0.5


{marks}"""


def flaky(nel: Nel) -> None:
    file = nel.bench(rows("7", "8", "9"), more="scorers={'flaky': flaky}")
    text = file.read_text()
    own = "def measured(sample: ScorerInput) -> object:"
    counted = f'{own}\n    with open("own", "a") as file:\n        file.write("x")'
    text = text.replace(own, counted)
    file.write_text(text.replace("@benchmark", FLAKY.format(marks="@benchmark")))


def calls(nel: Nel, name: str = "calls") -> int:
    return len((nel.folder / name).read_text())


def test_one_that_fails_is_named_in_the_summary(nel: Nel, how: list[str]) -> None:
    flaky(nel)

    ended = nel.run("bench_sums.py", "--nel-output-dir", "run", *how)

    assert ended.code == 0, ended.text
    assert "sums: scorer flaky failed on 3 answers: " in ended.out
    assert "RuntimeError: no helper" in ended.out


def test_a_repaired_one_gets_the_answers_again_on_which_it_failed(
    nel: Nel, endpoint: RunningEndpoint, how: list[str]
) -> None:
    """What it needs was repaired: its own text is the same."""
    flaky(nel)
    once = ("bench_sums.py", "--nel-output-dir", "run", "--nel-no-selftest", *how)
    assert nel.run(*once).code == 0
    assert rewards(nel) == [{"flaky": None}] * 3
    endpoint.reset()

    ended = nel.run(*once, "--nel-resume", env={"REPAIRED": "1"})

    assert ended.code == 0, ended.text
    assert rewards(nel) == [{"flaky": 0.5}] * 3
    assert [row["outcome"] for row in results(nel)].count("correct") == 1
    assert "error" not in results(nel)[0]["scoring_details"]["scorer:flaky"]
    assert endpoint.stats()["requests"] == 0
    assert calls(nel, "own") == 3
    said = "3 of those given again to further scorers that had failed"
    assert f"3 taken as recorded, {said}" in ended.out
    assert "failed on" not in ended.out


def test_what_has_a_reward_is_not_given_again_and_what_fails_again_is_not_recorded_again(
    nel: Nel,
) -> None:
    flaky(nel)
    once = ("bench_sums.py", "--nel-output-dir", "run", "--nel-no-selftest")
    assert nel.run(*once).code == 0
    (journal,) = (nel.folder / "run/sums/journal").iterdir()

    assert nel.run(*once, "--nel-resume").code == 0
    written = [path.read_text() for path in journal.parent.iterdir() if path != journal]
    assert nel.run(*once, "--nel-resume", env={"REPAIRED": "1"}).code == 0
    assert nel.run(*once, "--nel-resume", env={"REPAIRED": "1"}).code == 0

    assert not any('"scored"' in text for text in written)
    assert calls(nel) == 9


def test_the_fingerprint_names_them(nel: Nel) -> None:
    nel.bench(sums(3))
    suite(nel)

    nel.run(*RUN, model=False)

    scorers = plan(nel)["fingerprint"]["scorers"]
    assert list(scorers) == ["numeric_match", "strict"]
    assert scorers["strict"].startswith("pytest_nel:exact_match sha256:")


def test_one_that_is_added_has_a_resumed_run_judge_again_without_asking(
    nel: Nel, endpoint: RunningEndpoint
) -> None:
    nel.bench(sums(6))
    nel.suite("bench_sums.py")
    assert nel.run(*RUN, model=False).code == 0
    assert rewards(nel) == [{}] * 6
    endpoint.reset()
    suite(nel)

    ended = nel.run(*RUN, "--nel-resume", model=False)

    assert ended.code == 0, ended.text
    assert endpoint.stats()["requests"] == 0
    assert all(set(found) == {"numeric_match", "strict"} for found in rewards(nel))


def test_other_settings_have_a_resumed_run_judge_again_and_the_same_do_not(
    nel: Nel, endpoint: RunningEndpoint
) -> None:
    nel.bench(sums(6))
    suite(nel)
    assert nel.run(*RUN, model=False).code == 0
    endpoint.reset()

    same = nel.run(*RUN, "--nel-resume", model=False)
    suite(nel, config=", config: {a: 1}")
    other = nel.run(*RUN, "--nel-resume", model=False)

    assert "6 taken as recorded" in same.out, same.text
    assert "6 judged" in other.out, other.text
    assert endpoint.stats()["requests"] == 0


def test_their_rewards_come_back_from_the_journal(nel: Nel) -> None:
    nel.bench(sums(4))
    suite(nel)
    assert nel.run(*RUN, model=False).code == 0
    file = nel.folder / "run/sums/results.jsonl"
    before = file.read_bytes()
    file.unlink()

    done = nel.nel("eval", "report", "--rebuild", "run")

    assert done.returncode == 0, done.stderr
    assert file.read_bytes() == before


def test_values_from_the_environment_are_not_written(nel: Nel) -> None:
    nel.bench(sums(2))
    suite(nel, config=", config: {key: '${PLANTED}'}")

    ended = nel.run(*RUN, model=False, env={"PLANTED": "planted-value"})

    assert ended.code == 0, ended.text
    texts = [path.read_text() for path in (nel.folder / "run").rglob("*") if path.is_file()]
    assert [text for text in texts if "planted-value" in text] == []
    assert plan(nel)["config"]["scoring"]["metrics"][1]["config"] == {"key": "${PLANTED}"}


def test_an_unknown_scorer_is_refused_with_its_line_before_anything_is_asked(
    nel: Nel, endpoint: RunningEndpoint
) -> None:
    nel.bench(sums(2))
    suite(nel)
    path = nel.folder / "my.nel.yaml"
    path.write_text(path.read_text().replace("scorer: exact_match", "scorer: exact_mach"))

    ended = nel.run(*RUN, model=False)

    assert ended.code == 4, ended.text
    assert "my.nel.yaml:9: benchmarks[0].scoring.metrics[1].scorer: no scorer is" in ended.text
    assert "Did you mean 'exact_match'?" in ended.text
    assert endpoint.stats()["requests"] == 0


def test_the_summary_has_their_scores_with_intervals(nel: Nel) -> None:
    nel.bench(rows("7", "it is 7", "8"))
    suite(nel)

    ended = nel.run(*RUN, model=False)

    assert ended.code == 0, ended.text
    interval = r"\d\.\d{3}–\d\.\d{3}"
    assert re.search(
        rf"^sums by further scorer: numeric_match 0\.667, {interval} \(3\); "
        rf"strict 0\.333, {interval} \(3\)$",
        ended.out,
        re.MULTILINE,
    )
