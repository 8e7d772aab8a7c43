"""What the two plain solvers send, and what they say about the answer."""

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import pytest
import pytest_asyncio
from pydantic import ValidationError

from pytest_nel.core.errors import ConfigError, DataError, InfraError
from pytest_nel.core.sandbox import NoSandbox
from pytest_nel.core.types import Endpoint, SeedResult
from pytest_nel.http.client import ModelClient
from pytest_nel.solvers import REGISTRY
from pytest_nel.solvers.completion import CompletionSolver
from pytest_nel.solvers.simple import SimpleSolver

pytestmark = pytest.mark.asyncio
USER = {"role": "user", "content": "Q"}
OWN = {"role": "system", "content": "benchmark"}
MINE = {"role": "system", "content": "mine"}


class Model:
    """An endpoint that answers 42, or what a test sets, and keeps what it was sent."""

    def __init__(self) -> None:
        self.sent: list[dict[str, Any]] = []
        self.choice: dict[str, Any] = {
            "message": {"content": "42"},
            "text": "42",
            "finish_reason": "stop",
        }
        self.status = 200
        self.http = httpx.AsyncClient(transport=httpx.MockTransport(self.answer))

    def answer(self, request: httpx.Request) -> httpx.Response:
        self.sent.append(json.loads(request.content))
        return httpx.Response(self.status, json={"choices": [self.choice]})

    def client(self, protocol: str = "chat_completions", **changes: Any) -> ModelClient:
        settings = {"name": "s", "url": "http://m.test/", "model": "m", "protocol": protocol}
        return ModelClient(Endpoint(**settings | changes), http=self.http)


@pytest_asyncio.fixture
async def model() -> AsyncIterator[Model]:
    made = Model()
    yield made
    await made.http.aclose()


def simple(model: Model, client: ModelClient | None = None, **config: Any) -> SimpleSolver:
    return SimpleSolver(
        client or model.client(), SimpleSolver.Config.model_validate({"service": "s"} | config)
    )


def completion(model: Model, client: ModelClient | None = None, **config: Any) -> CompletionSolver:
    return CompletionSolver(
        client or model.client("completions"),
        CompletionSolver.Config.model_validate({"service": "s"} | config),
    )


async def test_the_answer_is_the_replys_content(model: Model) -> None:
    result = await simple(model).solve(SeedResult("Q"), NoSandbox())

    assert result.response == "42"
    assert result.model_response is not None
    assert result.model_response.content == "42"
    assert result.scoring_details == {}
    assert result.reward is None


@pytest.mark.parametrize(
    ("seed", "prompt", "messages"),
    [
        (SeedResult("Q"), None, [USER]),
        (SeedResult("Q", system="benchmark"), None, [OWN, USER]),
        (SeedResult("Q", system="benchmark"), "mine", [MINE, USER]),
        (SeedResult("Q", system="benchmark"), "", [USER]),
        (SeedResult("-", messages=[USER]), None, [USER]),
        (SeedResult("-", messages=[USER]), "mine", [MINE, USER]),
        (SeedResult("-", messages=[USER], system="benchmark"), None, [OWN, USER]),
        (SeedResult("-", messages=[OWN, USER]), None, [OWN, USER]),
        (SeedResult("-", messages=[OWN, USER]), "mine", [MINE, USER]),
        (SeedResult("-", messages=[{**OWN, "role": "developer"}, USER]), "mine", [MINE, USER]),
        (SeedResult("-", messages=[OWN, USER], system="other"), None, [OWN, USER]),
        (SeedResult("-", messages=[OWN, USER]), "", [USER]),
    ],
)
async def test_the_solvers_system_prompt_is_honoured_everywhere(
    model: Model, seed: SeedResult, prompt: str | None, messages: list[dict[str, str]]
) -> None:
    await simple(model, system_prompt=prompt).solve(seed, NoSandbox())

    assert model.sent[0]["messages"] == messages


async def test_the_seeds_messages_are_not_changed(model: Model) -> None:
    messages = [OWN, USER]

    await simple(model, system_prompt="mine").solve(SeedResult("-", messages=messages), NoSandbox())

    assert messages == [OWN, USER]


async def test_solver_sampling_wins_and_null_inherits(model: Model) -> None:
    client = model.client(generation={"temperature": 0.5, "max_tokens": 10})
    solver = simple(model, client, generation={"temperature": 0.0, "max_tokens": None, "seed": 3})

    result = await solver.solve(SeedResult("Q"), NoSandbox())

    sampling = {"temperature": 0.0, "max_tokens": 10, "seed": 3}
    assert model.sent[0] == {"model": "m", "messages": [USER], **sampling}
    assert result.model_response is not None
    assert result.model_response.sampling == sampling


@pytest.mark.parametrize(
    ("choice", "flags"),
    [
        ({"message": {"content": "a"}, "finish_reason": "length"}, {"truncated": True}),
        ({"message": {"content": None}}, {"empty": True}),
        ({"message": {"content": None, "refusal": "no"}}, {"refusal": True}),
        ({"message": {"content": None, "tool_calls": [{"id": "1"}]}}, {"tool_call": True}),
    ],
    ids=str,
)
async def test_what_is_special_about_an_answer_is_flagged(
    model: Model, choice: dict[str, Any], flags: dict[str, bool]
) -> None:
    model.choice = choice

    result = await simple(model).solve(SeedResult("Q"), NoSandbox())

    assert result.scoring_details == flags


async def test_an_infrastructure_failure_is_raised_not_scored(model: Model) -> None:
    model.status = 400

    with pytest.raises(InfraError):
        await simple(model).solve(SeedResult("Q"), NoSandbox())


async def test_images_follow_the_text_of_the_last_user_message(
    model: Model, tmp_path: Path
) -> None:
    (tmp_path / "a.png").write_bytes(b"\x89PNG")
    url = "https://h.test/b.jpg"
    earlier = [USER, {"role": "assistant", "content": "A"}]
    seed = SeedResult("Q", messages=[*earlier, USER], images=[str(tmp_path / "a.png"), url])

    await simple(model, image_detail="low").solve(seed, NoSandbox())

    *before, asked = model.sent[0]["messages"]
    assert before == earlier
    assert asked["content"] == [
        {"type": "text", "text": "Q"},
        {
            "type": "image_url",
            "image_url": {"url": "data:image/png;base64,iVBORw==", "detail": "low"},
        },
        {"type": "image_url", "image_url": {"url": url, "detail": "low"}},
    ]
    assert USER == {"role": "user", "content": "Q"}


@pytest.mark.parametrize(
    ("images", "message"),
    [(["/nowhere/a.png"], "cannot be read"), (["/nowhere/a.txt"], "name of a picture ends in")],
)
async def test_what_is_no_picture_is_refused_and_nothing_is_sent(
    model: Model, images: list[str], message: str
) -> None:
    with pytest.raises(DataError, match=message):
        await simple(model).solve(SeedResult("Q", images=images), NoSandbox())

    assert model.sent == []


async def test_images_are_refused_by_a_solver_of_plain_text(model: Model) -> None:
    with pytest.raises(ConfigError, match="solver type simple"):
        await completion(model).solve(SeedResult("Q", images=["a.png"]), NoSandbox())

    assert model.sent == []


async def test_further_keys_of_the_body_are_sent_and_recorded(model: Model) -> None:
    generation = {"temperature": 0, "extra_body": {"top_k": 5}}

    result = await simple(model, generation=generation).solve(SeedResult("Q"), NoSandbox())

    assert (model.sent[0]["top_k"], model.sent[0]["temperature"]) == (5, 0)
    assert result.model_response is not None
    assert result.model_response.sampling == {"temperature": 0, "top_k": 5}


async def test_log_probabilities_are_asked_for_as_each_protocol_has_it(model: Model) -> None:
    generation = {"logprobs": True, "top_logprobs": 3}

    await simple(model, generation=generation).solve(SeedResult("Q"), NoSandbox())
    await completion(model, generation=generation).solve(SeedResult("Q"), NoSandbox())

    chat, text = model.sent
    assert (chat["logprobs"], chat["top_logprobs"]) == (True, 3)
    assert (text["logprobs"], "top_logprobs" in text) == (3, False)


async def test_a_parameter_that_the_protocol_has_not_is_refused_before_any_call(
    model: Model,
) -> None:
    client = model.client("responses", generation={"seed": 1})

    with pytest.raises(ConfigError, match="seed: the protocol responses has no such parameter"):
        simple(model, client)


async def test_a_service_of_the_other_protocol_is_refused_before_any_call(model: Model) -> None:
    with pytest.raises(ConfigError, match="solver type completion"):
        simple(model, model.client("completions"))
    with pytest.raises(ConfigError, match="solver type simple"):
        completion(model, model.client("chat_completions"))


@pytest.mark.parametrize(
    ("seed", "prompt"),
    [
        (SeedResult("Q"), "Q"),
        (SeedResult("Q", system="benchmark"), "benchmark\n\nQ"),
        (SeedResult("-", messages=[USER]), "Q"),
        (SeedResult("-", messages=[OWN, USER]), "benchmark\n\nQ"),
        (SeedResult("-", messages=[USER], system="benchmark"), "benchmark\n\nQ"),
    ],
)
async def test_a_completion_gets_one_text(model: Model, seed: SeedResult, prompt: str) -> None:
    result = await completion(model, generation={"max_tokens": 5}).solve(seed, NoSandbox())

    assert model.sent == [{"model": "m", "prompt": prompt, "max_tokens": 5}]
    assert result.response == "42"


@pytest.mark.parametrize(
    "messages",
    [
        [],
        [USER, {"role": "assistant", "content": "A"}, USER],
        [{"role": "assistant", "content": "A"}],
        [{"role": "user", "content": [{"type": "text", "text": "Q"}]}],
    ],
    ids=len,
)
async def test_a_conversation_is_no_completion(model: Model, messages: list[Any]) -> None:
    with pytest.raises(ConfigError, match="solver completion"):
        await completion(model).solve(SeedResult("-", messages=messages), NoSandbox())


async def test_a_completion_has_no_system_prompt() -> None:
    with pytest.raises(ValidationError, match="no system role"):
        CompletionSolver.Config.model_validate({"service": "s", "system_prompt": "x"})

    CompletionSolver.Config.model_validate({"service": "s", "system_prompt": None})


@pytest.mark.parametrize("kind", [SimpleSolver, CompletionSolver])
async def test_an_unknown_option_is_refused(kind: Any) -> None:
    with pytest.raises(ValidationError, match="sytem_prompt"):
        kind.Config.model_validate({"service": "s", "sytem_prompt": "x"})


async def test_both_are_in_the_registry() -> None:
    assert REGISTRY.load("simple") is SimpleSolver
    assert REGISTRY.load("completion") is CompletionSolver
