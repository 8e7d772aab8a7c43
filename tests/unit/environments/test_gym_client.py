"""How a Gym server is asked: by both protocols, and when it does not do what it should."""

import json
from pathlib import Path
from typing import Any

import httpx
import pytest

from pytest_nel.core.errors import ConfigError, FailureKind, InfraError
from pytest_nel.environments.gym import GymEnvironment
from tests.support.gym_pages import KEY, environment, pages

LONG = "9" * ((1 << 20) + 64)

SEED: dict[str, Any] = {
    "prompt": "2+2?",
    "expected_answer": "4",
    "metadata": {"level": 1},
    "messages": None,
}


@pytest.mark.asyncio
async def test_a_foreign_server_is_told_from_others_by_its_problems() -> None:
    found = {"/dataset_size": {"size": 3}, "/seed_session": SEED}
    same, other = environment(pages(found)), environment(pages(found))
    changed = environment(pages({**found, "/seed_session": {**SEED, "prompt": "2+3?"}}))

    sizes = [await each.dataset_size() for each in (same, other, changed)]

    assert sizes == [3, 3, 3]
    assert same.fingerprint() == other.fingerprint()
    assert same.fingerprint()["hashed"] == 3
    assert same.fingerprint()["content_hash"] != changed.fingerprint()["content_hash"]
    assert same.pass_at == 1.0
    assert same.another_size is None
    assert (same.min_score, same.endpoint_type) == (None, "chat")


@pytest.mark.asyncio
async def test_what_a_server_says_of_its_data_and_scorer_counts() -> None:
    health = {
        "benchmark": "b",
        "pass_at": 0.5,
        "fingerprint": {"x": 1},
        "judging": "sha256:1",
        "note": "2 of 9",
        "min_score": 0.75,
        "endpoint_type": "completions",
    }
    asked: list[str] = []

    def answer(request: httpx.Request) -> httpx.Response:
        asked.append(request.url.path)
        return pages({"/health": health, "/dataset_size": {"size": 2}})(request)

    served = environment(answer)
    judged_by_another = environment(
        pages({"/health": {**health, "judging": "sha256:2"}, "/dataset_size": {"size": 2}})
    )
    await served.dataset_size()
    await served.dataset_size()
    await judged_by_another.dataset_size()

    assert asked == ["/health", "/health", "/dataset_size"]
    assert served.pass_at == 0.5
    assert served.another_size == "2 of 9"
    assert (served.min_score, served.endpoint_type) == (0.75, "completions")
    assert served.fingerprint() == judged_by_another.fingerprint()
    assert served.judging() != judged_by_another.judging()


@pytest.mark.parametrize(
    ("found", "said"),
    [
        ({"/dataset_size": 404}, "GET http://h:1/dataset_size: status 404"),
        ({"/dataset_size": {"size": -1}}, 'expected {"size": N}, got size -1'),
        ({"/dataset_size": {"size": "7"}}, "got size '7'"),
        ({"/dataset_size": {"size": 99_999_999_999}}, "at most, which a run can hold, got 99,999,"),
        ({"/health": [httpx.ConnectError("refused")] * 4}, "no answer (4 times): ConnectError"),
        ({"/health": 401, "/dataset_size": 401}, "status 401"),
        ({"/dataset_size": {"size": 1}, "/seed_session": {}}, "/seed_session: expected prompt"),
        *(
            ({"/dataset_size": {"size": 1}, "/seed_session": {**SEED, **blank}}, "say anything")
            for blank in ({"prompt": ""}, {"prompt": " \n", "messages": []})
        ),
    ],
)
@pytest.mark.asyncio
async def test_a_server_whose_size_is_not_known_is_a_mistake(
    found: dict[str, Any], said: str
) -> None:
    with pytest.raises(ConfigError) as caught:
        await environment(pages(found)).dataset_size()

    assert said in str(caught.value)
    assert "start the server (nel serve -b NAME -p PORT)" in str(caught.value)


@pytest.mark.asyncio
async def test_a_verdict_is_taken_over_as_it_is() -> None:
    bodies: list[Any] = []
    reply = {
        "reward": 0.25,
        "extracted_answer": "5",
        "scoring_details": {"method": "m", "correct": "B"},
        "metadata": {"seen": True},
    }

    def answer(request: httpx.Request) -> httpx.Response:
        bodies.append(json.loads(request.content))
        return httpx.Response(200, json=reply)

    result = await environment(answer).verify("5 \ud800", "4", None, level=1)

    assert bodies == [{"response": "5 \ud800", "expected": "4", "metadata": {"level": 1}}]
    assert (result.reward, result.extracted_answer, result.parsed) == (0.25, "5", True)
    assert result.scoring_details == {"method": "m", "server_correct": "B"}
    assert result.metadata == {"seen": True}


@pytest.mark.parametrize(
    ("reply", "parsed"),
    [
        ({"reward": 0, "extracted_answer": None}, False),
        ({"reward": 0}, True),
        ({"reward": 0, "extracted_answer": "x"}, True),
        ({"reward": 0, "extracted_answer": None, "parsed": True}, True),
        ({"reward": 0, "extracted_answer": "x", "parsed": False}, False),
        ({"reward": 1, "extracted_answer": None}, True),
    ],
)
@pytest.mark.asyncio
async def test_an_answer_that_was_not_found_is_unparsed(
    reply: dict[str, Any], *, parsed: bool
) -> None:
    result = await environment(pages({"/verify": reply})).verify("?", "4")

    assert result.parsed is parsed


@pytest.mark.parametrize(
    ("said", "kind", "text"),
    [
        ([httpx.Response(500, json={"detail": "broke"})], "infra_error", "status 500: broke"),
        (
            [httpx.Response(500, json={"detail": "broke", "failure": "scorer_error"})],
            "scorer_error",
            "status 500: broke",
        ),
        ([httpx.Response(502, text="<html>bad")], "infra_error", "status 502: <html>bad"),
        ([httpx.Response(403, text=f"not {KEY}")], "auth_error", "status 403: not "),
        ([httpx.Response(422, json={"detail": [1]})], "infra_error", "status 422: [1]"),
        ([httpx.Response(503)] * 4, "infra_error", "status 503"),
        ([httpx.Response(429)] * 4, "rate_limit", "status 429"),
        ([httpx.ReadTimeout("")], "infra_error", "no answer: ReadTimeout"),
        ([httpx.ReadError("reset")] * 4, "infra_error", "no answer (4 times): ReadError: reset"),
        ([httpx.Response(200, text="ok")], "protocol_error", "expected a JSON object, got 'ok'"),
        ([{"reward": None}], "protocol_error", "/verify: expected a reward"),
        ([{"reward": True}], "protocol_error", "/verify: expected a reward"),
        ([{"score": 1}], "protocol_error", "/verify: expected a reward"),
        *(
            ([{"reward": 1, name: value}], "protocol_error", f"/verify: expected {name} of 1,048,")
            for name, value in (
                ("extracted_answer", LONG),
                ("scoring_details", {"log": [LONG]}),
                ("metadata", {"seen": LONG}),
            )
        ),
    ],
)
@pytest.mark.asyncio
async def test_whatever_goes_wrong_is_never_a_wrong_answer(
    said: list[Any], kind: str, text: str
) -> None:
    with pytest.raises(InfraError) as caught:
        await environment(pages({"/verify": said})).verify("4", "4")

    assert caught.value.kind == FailureKind(kind)
    assert text in str(caught.value)
    assert KEY not in str(caught.value)


@pytest.mark.asyncio
async def test_what_a_server_echoes_of_its_token_is_not_kept() -> None:
    reply = {"reward": 1, "scoring_details": {"asked": [f"Bearer {KEY}"]}}

    result = await environment(pages({"/verify": reply})).verify("4", "4")

    assert result.scoring_details == {"asked": ["Bearer [API key]"]}


@pytest.mark.asyncio
async def test_an_answer_that_is_long_itself_may_come_back() -> None:
    said = {"reward": 0, "extracted_answer": LONG, "scoring_details": {"judged": LONG}}

    result = await environment(pages({"/verify": said})).verify(LONG, "4")

    assert (result.reward, result.extracted_answer) == (0, LONG)


@pytest.mark.asyncio
async def test_a_busy_server_is_asked_again_when_it_says() -> None:
    waits: list[float] = []
    said = [
        httpx.ConnectError("refused"),
        httpx.Response(503, headers={"Retry-After": "7"}),
        httpx.Response(429, headers={"Retry-After": "nan"}),
        {"reward": 1.0},
    ]

    result = await environment(pages({"/verify": said}), waits).verify("4", "4")

    assert result.reward == 1.0
    assert waits == [0.5, 7.0, 2.0]


GONE = "benchmark gym@b: its server ended with status 9"


@pytest.mark.parametrize("known_after", [0, 1, 5, 10])
@pytest.mark.asyncio
async def test_a_server_that_has_ended_is_said_to_have_however_late_that_is_known(
    known_after: int,
) -> None:
    looks: list[int] = []

    def gone() -> str | None:
        looks.append(1)
        return GONE if len(looks) > known_after else None

    made = environment(pages({"/verify": [httpx.ReadError("cut off")] * 4}))
    made.at("http://h:1", made._client, gone)

    with pytest.raises(InfraError) as caught:
        await made.verify("4", "4")

    assert str(caught.value) == GONE
    assert caught.value.kind == FailureKind.INFRA


@pytest.mark.asyncio
async def test_a_server_that_runs_and_does_not_answer_is_not_said_to_have_ended() -> None:
    made = environment(pages({"/verify": [httpx.ConnectError("refused")] * 4}))
    made.at("http://h:1", made._client, lambda: None)

    with pytest.raises(InfraError, match=r"no answer \(4 times\)"):
        await made.verify("4", "4")


@pytest.mark.asyncio
async def test_a_managed_server_that_nobody_has_started_is_a_mistake() -> None:
    made = GymEnvironment.from_name("gym://gsm8k", base=Path("/"), limit=None, params={})

    with pytest.raises(ConfigError, match="its server is not started: a run starts it"):
        await made.dataset_size()
