"""SimpleQA: rows as the hub has them, and grades as a judge says them."""

from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks.simpleqa import simpleqa
from pytest_nel import DataError
from pytest_nel.engine.run import run_evaluation
from tests.benchmarks.judging import Row, environment, problem, tried
from tests.benchmarks.recorded_judge import GARBAGE, GRADES
from tests.support.endpoint import RunningEndpoint
from tests.unit.engine.judging import Judge, metric, said
from tests.unit.engine.parts import Says

ROW: Row = {
    "metadata": (
        "{'topic': 'Geography', 'answer_type': 'Place', 'urls': "
        "['https://en.example/Australia', \"https://en.example/Canberra's_lake\"]}"
    ),
    "problem": "Which city has been the capital of Australia since 1927?",
    "answer": "Canberra",
}
MINE = replace(simpleqa, dataset=[ROW])
REWARDS = {"c": 1.0, "i": 0.0, "n": 0.0}
WORDS = {"c": "CORRECT", "i": "INCORRECT", "n": "NOT_ATTEMPTED"}


@pytest.mark.asyncio
@pytest.mark.parametrize("reply", GRADES)
async def test_the_three_grades_are_read_and_only_the_first_is_worth_anything(
    judged: Judge, reply: str
) -> None:
    record = await judged(f"It is Canberra. reply={reply}", metric(), benchmark=MINE)

    assert record.scored.reward == REWARDS[reply[0]]
    assert record.scored.outcome == ("correct" if reply[0] == "c" else "wrong")
    assert said(record)["verdict"] == WORDS[reply[0]]


@pytest.mark.asyncio
@pytest.mark.parametrize("reply", GARBAGE)
async def test_a_judge_without_a_verdict_leaves_the_answer_unscored(
    judged: Judge, reply: str
) -> None:
    record = await judged(f"Canberra reply={reply}", metric(max_retries=0), benchmark=MINE)

    assert (record.scored.outcome, record.scored.reward) == ("unscored", None)
    assert record.scored.failure == "judge_error"


@pytest.mark.asyncio
async def test_an_empty_answer_is_unparsed_and_the_judge_is_shown_the_gold_answer(
    judged: Judge, recorded: RunningEndpoint
) -> None:
    blank = await judged(" \n", metric(), benchmark=MINE)
    unasked = recorded.stats()["requests"]
    await judged("reply=c1", metric(), benchmark=MINE)

    assert (blank.scored.outcome, blank.scored.reward, unasked) == ("unparsed", 0.0, 0)
    assert said(blank)["verdict"] == "NOT_ATTEMPTED"
    assert "Canberra" in recorded.bodies()[-1]


@pytest.mark.asyncio
async def test_the_metrics_of_the_paper_stand_beside_the_score(
    tmp_path: Path, recorded: RunningEndpoint
) -> None:
    spec = {"type": "api", "url": f"{recorded.url}/chat/completions", "model": "g"}
    services = {"grader": {**spec, "protocol": "chat_completions"}}
    rows = [{**ROW, "problem": f"{ROW['problem']} ({at})"} for at in range(4)]
    answers = [f"reply={name}" for name in ("c1", "c2", "i1", "n1")]

    bundle = await run_evaluation(
        replace(simpleqa, dataset=rows),
        Says(*answers),
        tmp_path / "run",
        services=services,
        scoring={"metrics": [metric(service="grader")]},
        max_concurrent=1,
        shuffle_seed=None,
    )

    scores = bundle["benchmark"]["scores"]
    assert scores["mean_reward"]["value"] == 0.5
    assert scores["scorer:j"]["verdicts"] == {"CORRECT": 2, "INCORRECT": 1, "NOT_ATTEMPTED": 1}
    assert scores["scorer:j"]["accuracy_given_attempted"] == pytest.approx(2 / 3, abs=1e-6)
    assert scores["scorer:j"]["f_score"] == pytest.approx(4 / 7, abs=1e-6)


def test_the_topic_is_the_category_and_the_bare_question_is_asked() -> None:
    seed = problem(simpleqa, ROW).seed

    assert (seed.prompt, seed.expected_answer) == (ROW["problem"], "Canberra")
    assert (seed.metadata["category"], seed.metadata["answer_type"]) == ("Geography", "Place")
    assert "answer" not in seed.metadata
    assert tried(simpleqa, [ROW]).status.startswith("not possible")


@pytest.mark.parametrize(
    "metadata", ["", "['Art']", "{'topic': open('x')}", "{" * 500, "{'topic': 'Art'", "x" * 200_000]
)
def test_metadata_that_is_no_dict_is_refused_and_not_run(metadata: str) -> None:
    with pytest.raises(DataError, match="simpleqa: expected the field metadata as a dict"):
        environment(simpleqa, [{**ROW, "metadata": metadata}])


def test_metadata_may_be_a_mapping_already_and_an_answer_must_be_there() -> None:
    made = problem(simpleqa, {**ROW, "metadata": {"topic": "Art"}})

    assert made.seed.metadata["category"] == "Art"
    with pytest.raises(DataError, match="there is no answer"):
        environment(simpleqa, [{**ROW, "answer": " "}])
