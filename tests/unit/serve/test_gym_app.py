"""What a served benchmark answers, to right requests and to wrong ones."""

import asyncio
import json
import threading
import time
from collections.abc import Callable
from typing import Any

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_nel import ScorerInput, benchmark, exact_match, scorer
from pytest_nel.core.protocols import EvalEnvironment
from pytest_nel.core.sandbox import Sandbox
from pytest_nel.core.types import SeedResult, VerifyResult
from pytest_nel.environments.builtin import BenchmarkEnvironment
from pytest_nel.serve.bodies import text_of
from pytest_nel.serve.gym import GymApp
from pytest_nel.serve.served import Served
from tests.support.gym import URL, served

TOKEN = "a-token-that-nobody-guesses"  # noqa: S105 - of these tests
ROWS = [{"q": "France?", "target": "Paris"}, {"q": "Spain?", "target": "Madrid"}]
MADRID = {"response": "Madrid", "expected": "Madrid", "metadata": {"problem_idx": 1}}


def judge(sample: ScorerInput) -> object:
    """Some answers are orders."""
    if sample.response == "crash":
        msg = "the scorer broke"
        raise RuntimeError(msg)
    if sample.response == "exit":
        raise SystemExit(3)
    if sample.response == "interrupt":
        raise KeyboardInterrupt
    if sample.response == "two":
        return 2.0
    return exact_match(sample)


def capitals(function: Callable[[ScorerInput], object] = judge, **more: Any) -> Served:
    made = benchmark(name="capitals", dataset=ROWS, prompt="{q}", **more)(scorer(function))
    return served(BenchmarkEnvironment(made))


async def ask(app: GymApp, path: str, body: object = None, **more: Any) -> httpx.Response:
    """One request: a GET, or a POST of JSON or of bytes."""
    transport = httpx.ASGITransport(app=app.asgi)
    async with httpx.AsyncClient(transport=transport, base_url=URL) as http:
        if body is None:
            return await http.get(path, **more)
        content = body if isinstance(body, bytes) else json.dumps(body).encode()
        return await http.post(path, content=content, **more)


@pytest.mark.asyncio
async def test_the_pages_say_what_is_served_and_in_which_protocol() -> None:
    app = GymApp(capitals(min_score=0.5, endpoint_type="completions"), gym_compat=True)

    health = (await ask(app, "/health")).json()
    size = (await ask(app, "/dataset_size")).json()
    page = await ask(app, "/docs")

    known = {name: health[name] for name in ("status", "benchmark", "dataset_size", "protocol")}
    assert known == {
        "status": "ok",
        "benchmark": "capitals",
        "dataset_size": 2,
        "protocol": "gym",
    }
    assert health["pass_at"] == 1.0
    assert (health["min_score"], health["endpoint_type"]) == (0.5, "completions")
    assert size == {"size": 2}
    assert "/seed_session" in page.text
    assert "http://" not in page.text.replace("openapi.json", "")


@pytest.mark.asyncio
async def test_a_problem_has_the_fields_of_the_protocol_and_the_first_is_the_default() -> None:
    app = GymApp(capitals())

    first = (await ask(app, "/seed_session", b"")).json()
    last = (await ask(app, "/seed_session", {"idx": 1, "session": "of a trainer"})).json()

    assert first["prompt"] == "France?"
    assert last == {
        "prompt": "Spain?",
        "expected_answer": "Madrid",
        "metadata": {"source": "byob", "benchmark": "capitals", "q": "Spain?", "problem_idx": 1},
        "messages": [{"role": "user", "content": "Spain?"}],
        "system": None,
        "sandbox_spec": None,
    }


@pytest.mark.asyncio
async def test_both_forms_are_judged_and_differ_in_what_comes_back() -> None:
    app = GymApp(capitals())
    params = {"input": [{"role": "user", "content": "Spain?"}]}
    answer = "<think>Lisbon? No.</think>\nMadrid"
    chat = {"choices": [{"message": {"role": "assistant", "content": answer}}]}
    form = {"expected_answer": "Madrid", "metadata": {"problem_idx": 1}}

    evaluator = (await ask(app, "/verify", MADRID)).json()
    gym = await ask(app, "/verify", {"response": chat, "responses_create_params": params, **form})

    details = {"method": "exact_match", "rule": "whole", "correct": True}
    verdict = {
        "reward": 1.0,
        "extracted_answer": "Madrid",
        "scoring_details": details,
        "parsed": True,
    }
    assert evaluator == {**verdict, "metadata": {}}
    more = {"expected_answer": "Madrid", "responses_create_params": params, "response": chat}
    assert gym.json() == {**verdict, **more}


@pytest.mark.asyncio
async def test_without_a_gold_answer_that_of_the_problem_counts() -> None:
    app = GymApp(capitals())

    reply = await ask(
        app, "/verify", {"response": "Paris", "verifier_metadata": {"problem_idx": 0}}
    )

    assert reply.json()["reward"] == 1.0
    assert reply.json()["expected_answer"] == "Paris"


@pytest.mark.parametrize(
    ("path", "body", "status", "detail"),
    [
        ("/seed_session", {"idx": 7}, 400, "idx=7 out of range [0, 2)"),
        ("/seed_session", {"idx": -1}, 400, "idx=-1 out of range [0, 2)"),
        ("/seed_session", {"idx": "1"}, 422, "idx: "),
        ("/seed_session", {"idx": True}, 422, "idx: "),
        ("/seed_session", b"{", 400, "expected a JSON object"),
        ("/seed_session", b"[" * 100_000, 400, "expected a JSON object"),
        ("/seed_session", b"\xff\xfe", 400, "expected a JSON object"),
        ("/seed_session", [1], 400, "expected a JSON object, got list"),
        ("/verify", b"", 400, "expected a JSON object"),
        ("/verify", {}, 422, "response: Field required"),
        ("/verify", {"expected": "Paris"}, 422, "response: Field required"),
        ("/verify", {**MADRID, "response": None}, 422, "response: "),
        ("/verify", {**MADRID, "expected": 3}, 422, "expected: "),
        ("/verify", {**MADRID, "metadata": []}, 422, "metadata: "),
        ("/verify", {**MADRID, "metadata": {}}, 422, "metadata.problem_idx: expected that of"),
        ("/verify", {**MADRID, "metadata": {"problem_idx": 2}}, 422, "from 0 to 1, got 2"),
        ("/verify", {"response": {"no": "text"}}, 422, "response: expected text"),
        ("/verify", {"response": "Paris"}, 422, "metadata.problem_idx"),
        ("/verify", {"response": "x" * 3000}, 413, "at most 2000 bytes"),
        ("/nothing", {}, 404, "POST /nothing: Not Found"),
        ("/health", {}, 405, "Method Not Allowed"),
    ],
)
@pytest.mark.asyncio
async def test_a_wrong_request_is_told_what_is_wrong_with_it(
    path: str, body: object, status: int, detail: str
) -> None:
    largest = 2000 if status == 413 else 1_000_000

    reply = await ask(GymApp(capitals(), largest=largest), path, body)

    assert reply.status_code == status
    assert detail in reply.json()["detail"]


@pytest.mark.parametrize(
    ("answer", "said"),
    [("crash", "broke"), ("exit", "3"), ("two", "2"), ("interrupt", "KeyboardInterrupt")],
)
@pytest.mark.asyncio
async def test_a_scorer_that_fails_gives_no_reward(answer: str, said: str) -> None:
    app = GymApp(capitals())

    reply = await ask(app, "/verify", {**MADRID, "response": answer})

    assert reply.status_code == 500
    assert reply.json()["failure"] == "scorer_error"
    assert said in reply.json()["detail"]
    assert "reward" not in reply.json()


@pytest.mark.asyncio
async def test_a_request_that_a_server_gives_up_to_end_is_told_so_and_has_no_reward() -> None:
    begun = asyncio.Event()

    async def endless(sample: ScorerInput) -> object:
        begun.set()
        await asyncio.sleep(600)
        return exact_match(sample)

    asked = asyncio.create_task(ask(GymApp(capitals(endless)), "/verify", MADRID))
    await begun.wait()
    asked.cancel()
    reply = await asked

    assert (reply.status_code, reply.json()["failure"]) == (503, "infra_error")
    assert "not judged" in reply.json()["detail"]


@pytest.mark.asyncio
async def test_everything_but_health_asks_for_the_token() -> None:
    app = GymApp(capitals(), token=TOKEN)
    right = {"Authorization": f"Bearer {TOKEN}"}
    wrong = [{}, {"Authorization": TOKEN}, {"Authorization": f"Bearer {TOKEN}x"}]

    asked = [await ask(app, "/verify", MADRID, headers=each) for each in [right, *wrong]]
    pages = [await ask(app, page) for page in ("/health", "/dataset_size", "/openapi.json")]

    assert [reply.status_code for reply in asked] == [200, 401, 401, 401]
    assert [reply.status_code for reply in pages] == [200, 401, 401]
    assert all(TOKEN not in reply.text for reply in [*asked, *pages])


@pytest.mark.asyncio
async def test_a_slow_scorer_stops_no_other_request_and_is_never_called_twice_at_once() -> None:
    inside: list[int] = []
    busy = threading.Lock()

    def slow(sample: ScorerInput) -> object:
        assert busy.acquire(blocking=False), "called twice at once"
        time.sleep(0.02)
        inside.append(1)
        busy.release()
        return exact_match(sample)

    app = GymApp(capitals(slow))

    judging = [asyncio.create_task(ask(app, "/verify", MADRID)) for _ in range(30)]
    await asyncio.sleep(0.05)
    done = len(inside)
    await ask(app, "/health")
    meanwhile = len(inside)
    replies = await asyncio.gather(*judging)

    assert done < 30
    assert meanwhile < 30, "the page waited for all scorers"
    assert [reply.json()["reward"] for reply in replies] == [1.0] * 30


class Stateful(EvalEnvironment):
    """A class whose verifier takes only the metadata that it has given."""

    def __init__(self) -> None:
        self.name = "stateful"  # of the object: a class with a name is a benchmark of this file

    async def dataset_size(self) -> int:
        return 3

    async def seed(self, idx: int) -> SeedResult:
        if idx == 2:
            msg = "no such file"
            raise OSError(msg)
        return SeedResult(f"{idx}?", str(idx), {"level": idx})

    async def verify(  # type: ignore[override]  # as users write it
        self, response: str, expected: str, sandbox: Sandbox | None = None, *, level: int = -1
    ) -> VerifyResult:
        del sandbox
        if level < 0:
            msg = "no level"
            raise ValueError(msg)
        found = response == expected
        return VerifyResult(float(found), response, {"level": level}, {"seen": level}, parsed=found)


@pytest.mark.asyncio
async def test_a_class_is_given_its_own_metadata_and_its_failures_are_no_rewards() -> None:
    app = GymApp(served(Stateful()))

    seed = (await ask(app, "/seed_session", {"idx": 1})).json()
    said = {"expected": seed["expected_answer"], "metadata": seed["metadata"]}
    right = (await ask(app, "/verify", {"response": "1", **said})).json()
    unparsed = (await ask(app, "/verify", {"response": "?", **said})).json()
    failed = await ask(app, "/verify", {"response": "1", "expected": "1"})
    broken = await ask(app, "/seed_session", {"idx": 2})

    assert (right["reward"], right["metadata"]) == (1.0, {"seen": 1})
    assert (unparsed["reward"], unparsed["parsed"]) == (0.0, False)
    assert failed.status_code == 422
    assert failed.json()["detail"].startswith("metadata: without the served_idx that /seed_session")
    assert "ValueError: no level" in failed.json()["detail"]
    assert (broken.status_code, broken.json()["failure"]) == (500, "infra_error")


@pytest.mark.asyncio
async def test_the_openapi_page_is_valid_and_replies_are_as_it_says() -> None:
    jsonschema = pytest.importorskip("jsonschema")
    app = GymApp(capitals(), token=TOKEN)
    headers = {"Authorization": f"Bearer {TOKEN}"}

    page = (await ask(app, "/openapi.json", headers=headers)).json()
    replies = {
        "Health": await ask(app, "/health"),
        "DatasetSize": await ask(app, "/dataset_size", headers=headers),
        "SeedSessionReply": await ask(app, "/seed_session", {}, headers=headers),
        "VerifyReply": await ask(app, "/verify", MADRID, headers=headers),
        "Problem": await ask(app, "/verify", {}, headers=headers),
    }

    assert page["openapi"] == "3.1.0"
    served_paths = {"/health", "/dataset_size", "/seed_session", "/verify"}
    assert set(page["paths"]) == served_paths
    for name, schema in page["components"]["schemas"].items():
        jsonschema.Draft202012Validator.check_schema(schema)
        if name in replies:
            whole = {**schema, "components": page["components"]}
            jsonschema.Draft202012Validator(whole).validate(replies[name].json())
    references = set(_references(page))
    assert references
    assert {each.rpartition("/")[2] for each in references} <= set(page["components"]["schemas"])
    asked = page["paths"]["/verify"]["post"]
    assert asked["security"] == [{"token": []}]
    assert "security" not in page["paths"]["/health"]["get"]


def _references(value: object) -> list[str]:
    if isinstance(value, dict):
        own = [value["$ref"]] if isinstance(value.get("$ref"), str) else []
        return own + [each for inner in value.values() for each in _references(inner)]
    inner = value if isinstance(value, list) else []
    return [each for one in inner for each in _references(one)]


TEXT = st.text(max_size=20)


@given(st.lists(st.lists(TEXT, max_size=3), max_size=3))
def test_the_text_of_a_response_is_that_of_the_assistants_messages(said: list[list[str]]) -> None:
    messages = [
        {
            "type": "message",
            "role": "assistant",
            "content": [{"type": "output_text", "text": text} for text in texts],
        }
        for texts in said
    ]
    others = [
        {"type": "reasoning", "summary": []},
        {"type": "function_call", "name": "f", "arguments": "{}"},
        {"type": "message", "role": "user", "content": "no answer"},
    ]
    refusal = {
        "type": "message",
        "role": "assistant",
        "content": [{"type": "refusal", "refusal": "no"}],
    }

    found = text_of({"output": [others[0], *messages, *others[1:], refusal]})

    joined = ["\n".join(texts) for texts in said]
    assert found == "\n".join(text for text in joined if text)


@pytest.mark.asyncio
async def test_data_that_are_not_the_whole_set_are_said_to_be_so() -> None:
    part = (await ask(GymApp(capitals(size=9)), "/health")).json()
    whole = (await ask(GymApp(capitals()), "/health")).json()

    assert "2 problems were loaded, and the whole set has 9" in part["note"]
    assert "note" not in whole


@pytest.mark.asyncio
async def test_an_output_that_holds_what_is_no_object_is_refused() -> None:
    body = {"response": {"output": ["Paris"]}, "metadata": {"problem_idx": 0}}

    reply = await ask(GymApp(capitals()), "/verify", body)

    assert reply.status_code == 422
    assert "a list of objects" in reply.json()["detail"]


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=5,
)
KEYS = st.sampled_from(["output", "choices", "output_text", "message", "content", "type", "role"])


@given(
    JSON
    | st.dictionaries(
        KEYS, JSON | st.lists(st.dictionaries(KEYS, JSON, max_size=2), max_size=2), max_size=3
    )
)
def test_any_response_has_a_text_or_none(response: object) -> None:
    found = text_of(response)

    assert found is None or isinstance(found, str)
