"""Our own solvers pass the interceptors without any hop, and records say what was sent."""

import asyncio
import json
from pathlib import Path
from typing import Any

import httpx
import pytest

from pytest_nel.core.errors import EndpointRefused, FailureKind, GracefulError, InfraError
from pytest_nel.core.exchange import begin_session
from pytest_nel.core.types import AttemptKey, Endpoint, ModelResponse
from pytest_nel.http.client import ModelClient
from pytest_nel.http.retry import Exponential, Retry
from tests.unit.interceptors.chains import USER, answer, chain

pytestmark = pytest.mark.asyncio


class Asked:
    """An endpoint of fixed replies, and a client of it with interceptors."""

    def __init__(self, *replies: httpx.Response, **endpoint: Any) -> None:
        self.bodies: list[dict[str, Any]] = []
        self.headers: list[httpx.Headers] = []
        self._replies = replies or (httpx.Response(200, json=answer("42")),)
        settings: dict[str, Any] = {"generation": {"temperature": 0.0}, **endpoint}
        url = "http://models.example/v1/chat/completions"
        self._endpoint = Endpoint("s", url, "chat_completions", "m", **settings)

    def handle(self, request: httpx.Request) -> httpx.Response:
        self.bodies.append(json.loads(request.content))
        self.headers.append(request.headers)
        given = self._replies[min(len(self.bodies), len(self._replies)) - 1]
        return httpx.Response(given.status_code, headers=given.headers, content=given.content)

    async def ask(self, *specs: Any, folder: Path = Path(), **equipment: Any) -> ModelResponse:
        http = httpx.AsyncClient(transport=httpx.MockTransport(self.handle))
        retry = Retry(attempts=3, wait=Exponential(first=0.001))
        client = ModelClient(self._endpoint, http=http, retry=retry)
        block = equipment.pop("block", {})
        client.equip(chain(*specs, folder=folder, **block), **equipment)
        try:
            return await client.chat([USER], seed=1)
        finally:
            await client.close()
            await http.aclose()


async def test_the_record_says_what_was_really_sent() -> None:
    asked = Asked()
    options = {"params_to_add": {"temperature": 0.6, "top_k": 3}, "params_to_remove": ["seed"]}

    reply = await asked.ask(("payload_modifier", options))

    assert asked.bodies == [{"model": "m", "messages": [USER], "temperature": 0.6, "top_k": 3}]
    assert reply.sampling == {"temperature": 0.6, "top_k": 3}
    assert (reply.content, reply.requests) == ("42", 1)


async def test_a_cached_answer_is_asked_no_second_time(tmp_path: Path) -> None:
    asked = Asked()
    begin_session(AttemptKey("b", 1, 0))
    spec = ("caching", {"cache_dir": str(tmp_path)})

    first = await asked.ask(spec)
    begin_session(AttemptKey("b", 1, 0))
    second = await asked.ask(spec)

    assert len(asked.bodies) == 1
    assert (first.content, second.content) == ("42", "42")
    assert (first.requests, second.requests, second.latency_ms) == (1, 0, 0.0)
    assert first.sampling == second.sampling


async def test_failures_are_what_they_are_without_interceptors() -> None:
    busy, wrong = httpx.Response(503, text="busy"), httpx.Response(401, text="who?")

    with pytest.raises(InfraError, match="the last of 3 requests") as caught:
        await Asked(busy).ask(("logging", {}))
    with pytest.raises(EndpointRefused, match="who"):
        await Asked(wrong).ask(("logging", {}))

    assert caught.value.kind is FailureKind.SERVER_ERROR
    assert caught.value.requests == 3


async def test_a_reply_that_is_no_answer_is_asked_for_again() -> None:
    asked = Asked(httpx.Response(200, text="{}"), httpx.Response(200, json=answer("42")))

    reply = await asked.ask(("logging", {}))

    assert (reply.content, reply.requests) == ("42", 2)


async def test_only_the_named_statuses_are_asked_again() -> None:
    asked = Asked(httpx.Response(500, text="no"))

    with pytest.raises(InfraError, match="the request to"):
        await asked.ask(statuses=[502])

    assert len(asked.bodies) == 1


async def test_finish_reasons_stay_where_the_suite_says_so() -> None:
    cut = {**answer("x"), "usage": {"completion_tokens": 5, "prompt_tokens": 1}}
    said, settings = httpx.Response(200, json=cut), {"generation": {"max_tokens": 5}}

    mended = await Asked(said, **settings).ask()
    left = await Asked(said, **settings).ask(block={"finish_reason_fixup": False})

    assert (mended.finish_reason, left.finish_reason) == ("length", "stop")


async def test_a_forced_stream_is_one_answer() -> None:
    events = 'data: {"choices": [{"delta": {"content": "42"}, "finish_reason": "stop"}]}\n\n'
    stream = httpx.Response(
        200, text=events + "data: [DONE]\n\n", headers={"content-type": "text/event-stream"}
    )
    asked = Asked(stream)

    reply = await asked.ask(("streaming", {"force": True}))

    assert asked.bodies[0]["stream"] is True
    assert reply.content == "42"
    assert reply.sampling == {"temperature": 0.0, "seed": 1}


async def test_turns_that_are_used_up_are_the_models_failure() -> None:
    asked = Asked()
    pipeline = chain(("turn_counter", {"max_turns": 1}))
    http = httpx.AsyncClient(transport=httpx.MockTransport(asked.handle))
    endpoint = Endpoint("s", "http://models.example/v1/chat/completions", "chat_completions", "m")
    client = ModelClient(endpoint, http=http)
    client.equip(pipeline)
    begin_session(AttemptKey("b", 1, 0))
    await client.chat([USER])

    with pytest.raises(GracefulError, match="Turn budget exhausted"):
        await client.chat([USER])
    begin_session(AttemptKey("b", 1, 0))  # another try of it
    await client.chat([USER])
    await client.close()
    await http.aclose()

    assert len(asked.bodies) == 2


async def test_headers_of_the_service_are_sent_and_hidden_when_they_are_secret() -> None:
    secret = "hf-0123456789abcdef"  # noqa: S105 - nobody's
    asked = Asked(httpx.Response(400, text=f"bad header {secret}"))

    with pytest.raises(InfraError) as caught:
        await asked.ask(headers={"X-Token": secret, "X-Team": "a"}, hidden=[secret])

    assert asked.headers[0]["x-token"] == secret
    assert asked.headers[0]["x-team"] == "a"
    assert secret not in str(caught.value)


async def test_requests_that_come_while_it_is_opened_pass_the_interceptors(tmp_path: Path) -> None:
    asked = Asked()
    http = httpx.AsyncClient(transport=httpx.MockTransport(asked.handle))
    endpoint = Endpoint("s", "http://models.example/v1/chat/completions", "chat_completions", "m")
    client = ModelClient(endpoint, http=http)
    client.equip(chain(("caching", {"cache_dir": str(tmp_path), "share": True})))

    await asyncio.gather(*(client.chat([USER]) for _ in range(4)))
    await client.close()
    await http.aclose()

    assert len(asked.bodies) == 1
