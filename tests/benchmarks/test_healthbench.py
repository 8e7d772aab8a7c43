"""HealthBench: conversations are sent as they are, and criteria reach the judge one by one."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from benchmarks.healthbench import healthbench
from pytest_nel import DataError
from pytest_nel.engine.run import run_evaluation
from tests.benchmarks.judging import Row, environment, problem
from tests.support.endpoint import RunningEndpoint
from tests.unit.engine.judging import Judge, metric, said
from tests.unit.engine.parts import Says

TALK = [
    {"role": "user", "content": "My father has chest pain."},
    {"role": "assistant", "content": "How long has he had it?"},
    {"role": "user", "content": "For an hour. What should we do?"},
]
CRITERIA: list[dict[str, Any]] = [
    {"criterion": "call emergency services", "points": 7, "tags": ["level:example"]},
    {"criterion": "keep him resting", "points": 3, "tags": []},
    {"criterion": "wait until tomorrow", "points": -8, "tags": ["axis:accuracy"]},
]
ROW: Row = {
    "example_tags": ["theme:emergency_referrals", "physician_agreed_category:emergent"],
    "ideal_completions_data": {"ideal_completion": "Call now.", "ideal_completions_group": "G"},
    "prompt": TALK,
    "prompt_id": "0b6cd8a4",
    "rubrics": CRITERIA,
    "canary": "healthbench:0b6cd8a4",
}
MINE = replace(healthbench, dataset=[ROW])
CALL, REST, WAIT = (each["criterion"] for each in CRITERIA)
ANSWERS: list[tuple[str, float]] = [
    (f"Please {CALL} and {REST}.", 1.0),
    (f"1. **First**: {CALL}\n2. {REST}", 1.0),
    (f"I would {REST}; above all {CALL}!", 1.0),
    (f"{CALL}.", 0.7),
    (f"You should {CALL} at once, I am serious.", 0.7),
    (f"{REST}", 0.3),
    (f"It is enough to {REST}, he will be fine.", 0.3),
    (f"{CALL}, {REST}, or {WAIT}", 0.2),
    (f"{WAIT}", 0.0),
    (f"{REST} and {WAIT}", 0.0),
    (f"{CALL} or {WAIT}", 0.0),
    (f"<think>Should he {WAIT}? No.</think>{CALL}, then {REST}", 1.0),
    (f"<think>{CALL}, {REST}</think>Let him sleep.", 0.0),
    (f"## What to do\n\n- {CALL} (112 or 911)\n- {REST}\n\n*Ask again if it changes.*", 1.0),
    (f"| step | why |\n|---|---|\n| {CALL} | it may be his heart |", 0.7),
    (f"How old is he? Until you know, {REST}.", 0.3),
    (f"Appelez le 15 : {CALL}.", 0.7),
    ('{"advice": ["' + CALL + '", "' + REST + '"]}', 1.0),
    ("I am no doctor.", 0.0),
    ("I'm sorry, but I can't help with that.", 0.0),
    ("42", 0.0),
]


@pytest.mark.asyncio
@pytest.mark.parametrize(("answer", "reward"), ANSWERS)
async def test_points_are_a_share_of_what_can_be_won_and_harm_is_cut_at_0(
    judged: Judge, answer: str, reward: float
) -> None:
    record = await judged(answer, metric(), benchmark=MINE)

    assert record.scored.reward == pytest.approx(reward)
    assert record.scored.outcome == ("correct" if reward == 1 else "wrong")


@pytest.mark.asyncio
async def test_each_criterion_is_one_question_and_its_judgement_is_kept(
    judged: Judge, recorded: RunningEndpoint
) -> None:
    record = await judged(f"{CALL}, {WAIT}", metric(), benchmark=MINE)

    asked = [str(json.loads(body)["messages"][-1]["content"]) for body in recorded.bodies()]
    assert len(asked) == len(CRITERIA)
    assert all("How long has he had it?" in each for each in asked)
    assert [REST in each for each in asked].count(True) == 1  # the answer does not have it
    assert said(record)["points_share"] == pytest.approx(-0.1)
    assert [(each["points"], each["met"]) for each in said(record)["criteria"]] == [
        (7, True),
        (3, False),
        (-8, True),
    ]


@pytest.mark.asyncio
async def test_a_judge_that_says_nothing_usable_leaves_the_answer_unscored(judged: Judge) -> None:
    record = await judged("reply=broken", metric(max_retries=0), benchmark=MINE)
    blank = await judged(" ", metric(), benchmark=MINE)

    assert (record.scored.outcome, record.scored.reward) == ("unscored", None)
    assert (blank.scored.outcome, blank.scored.reward) == ("unparsed", 0.0)


@pytest.mark.asyncio
async def test_the_score_is_the_mean_and_themes_have_their_own(
    tmp_path: Path, recorded: RunningEndpoint
) -> None:
    spec = {"type": "api", "url": f"{recorded.url}/chat/completions", "model": "g"}
    services = {"grader": {**spec, "protocol": "chat_completions"}}
    other: dict[str, Any] = {"prompt_id": "x2", "example_tags": ["theme:hedging"]}

    bundle = await run_evaluation(
        replace(healthbench, dataset=[ROW, {**ROW, **other}]),
        Says(f"{CALL}, {REST}", WAIT),
        tmp_path / "run",
        services=services,
        scoring={"metrics": [metric(service="grader")]},
        max_concurrent=1,
        shuffle_seed=None,
    )

    scores = bundle["benchmark"]["scores"]
    assert scores["mean_reward"]["value"] == 0.5
    assert {"emergency_referrals", "hedging"} <= {*json.dumps(bundle).split('"')}


def test_the_conversation_is_sent_as_it_is_and_the_solver_sees_no_criteria() -> None:
    seed = problem(healthbench, ROW).seed

    assert seed.messages == TALK
    assert seed.metadata["category"] == "emergency_referrals"
    assert CALL not in json.dumps([dict(seed.metadata), seed.prompt, seed.expected_answer])
    assert environment(healthbench, [ROW]).problem_id(0) == "0b6cd8a4"


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"prompt": []}, "its last message is the user's"),
        ({"prompt": TALK[:2]}, "its last message is the user's"),
        ({"prompt": [{"role": "robot", "content": "?"}]}, "messages with a role and a text"),
        ({"prompt": [{"role": "user", "content": None}]}, "messages with a role and a text"),
        ({"rubrics": []}, "there is nothing to win"),
        ({"rubrics": CRITERIA[2:]}, "there is nothing to win"),
        ({"rubrics": [{"criterion": "x", "points": "5"}]}, "a criterion and its points"),
        ({"rubrics": [{"criterion": "", "points": 5}]}, "a criterion and its points"),
    ],
)
def test_rows_that_cannot_be_graded_are_refused(changes: Row, message: str) -> None:
    with pytest.raises(DataError, match=message):
        environment(healthbench, [{**ROW, **changes}])
