"""The client over time: latency, limits, counters, being closed, what it refuses."""

import asyncio
import threading
import time
from collections.abc import Awaitable, Callable

import httpx
import pytest

from pytest_nel.core.errors import (
    ConfigError,
    RunStopped,
)
from pytest_nel.http.client import ModelClient
from pytest_nel.http.retry import Exponential, Retry
from tests.unit.http.asking import ASK, OK, QUICK, ask, endpoint, silent
from tests.unit.http.raw_server import Peer, RawServer, answer, reply, until

pytestmark = pytest.mark.asyncio
Serve = Callable[..., Awaitable[RawServer]]


async def test_latency_is_that_of_the_successful_request_alone(serve: Serve) -> None:
    async def slow(peer: Peer) -> None:
        await asyncio.sleep(0.1)
        await peer.send(OK)

    async def slow_failure(peer: Peer) -> None:
        await asyncio.sleep(0.3)
        await peer.send(reply(b"", "500 Internal Server Error"))

    server = await serve(slow_failure, slow)

    response = await ask(server, retry=Retry(attempts=2, wait=Exponential(first=0.3)))

    assert 100 <= response.latency_ms < 250


async def test_queueing_is_no_latency_and_the_limit_holds(serve: Serve) -> None:
    async def slow(peer: Peer) -> None:
        await asyncio.sleep(0.05)
        await peer.send(OK)

    server = await serve(slow)
    client = ModelClient(endpoint(server.url, max_concurrent=2))

    replies = await asyncio.gather(*[client.chat(ASK) for _ in range(8)])
    await client.close()

    assert server.connections == 2
    assert all(50 <= each.latency_ms < 190 for each in replies)


async def test_backoff_holds_no_slot(serve: Serve) -> None:
    server = await serve(reply(b"", "500 Internal Server Error"), OK)
    client = ModelClient(
        endpoint(server.url, max_concurrent=1),
        retry=Retry(attempts=2, wait=Exponential(first=0.5)),
    )
    failing = asyncio.create_task(client.chat(ASK))
    await until(lambda: bool(client.stats.waiting_retry))
    begin = time.monotonic()

    await client.chat(ASK)
    waited = time.monotonic() - begin
    await failing
    await client.close()

    assert waited < 0.4


async def test_throttling_lowers_the_limit(serve: Serve) -> None:
    server = await serve(reply(b"", "429 Too Many Requests"), OK)
    client = ModelClient(endpoint(server.url, max_concurrent=8), retry=QUICK)

    await client.chat(ASK)
    await client.close()

    assert (client.limiter.limit, client.limiter.ceiling) == (4, 8)


async def test_counters_tell_what_happened_and_can_be_read_from_a_thread(serve: Serve) -> None:
    server = await serve(reply(b"", "500 Internal Server Error"), OK)
    client = ModelClient(endpoint(server.url), retry=QUICK)
    await client.chat(ASK)
    seen: list[int] = []

    reader = threading.Thread(target=lambda: seen.append(client.stats.requests))
    reader.start()
    reader.join()
    await client.close()

    stats = client.stats
    assert seen == [2]
    assert (stats.retries, stats.in_flight, stats.waiting_retry) == (1, 0, 0)
    assert (stats.prompt_tokens, stats.completion_tokens) == (7, 2)
    assert "HTTP 500" in stats.last_retry_reason


async def test_cancelling_frees_slot_and_counters(serve: Serve) -> None:
    server = await serve(silent)
    client = ModelClient(endpoint(server.url))
    task = asyncio.create_task(client.chat(ASK))
    await until(lambda: bool(server.requests))

    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    await client.close()

    assert (client.limiter.in_flight, client.stats.in_flight) == (0, 0)


async def test_the_callers_own_client_keeps_its_headers_and_stays_open() -> None:
    seen: list[httpx.Request] = []

    def handler(request: httpx.Request) -> httpx.Response:
        seen.append(request)
        return httpx.Response(200, json=answer("42"))

    async with httpx.AsyncClient(
        transport=httpx.MockTransport(handler), headers={"X-Team": "evals"}, params={"v": "1"}
    ) as http:
        client = ModelClient(endpoint("http://model.test/v1/x"), http=http)
        response = await client.chat(ASK)
        await client.close()

        assert not http.is_closed

    assert response.content == "42"
    assert seen[0].headers["x-team"] == "evals"
    assert seen[0].headers["content-length"] == str(len(seen[0].content))
    assert str(seen[0].url) == "http://model.test/v1/x?v=1"


async def test_the_wrong_protocol_is_a_config_error(serve: Serve) -> None:
    server = await serve(OK)
    client = ModelClient(endpoint(server.url))

    with pytest.raises(ConfigError, match="speaks chat_completions"):
        await client.complete("x")

    assert server.requests == []


async def test_a_closed_client_says_so(serve: Serve) -> None:
    server = await serve(OK)
    client = ModelClient(endpoint(server.url))
    await client.close()

    with pytest.raises(RunStopped, match="closed"):
        await client.chat(ASK)


async def test_another_loop_is_refused(serve: Serve) -> None:
    server = await serve(OK)
    client = ModelClient(endpoint(server.url))
    await client.chat(ASK)
    caught: list[BaseException] = []

    def elsewhere() -> None:
        with asyncio.Runner() as runner:
            try:
                runner.run(client.chat(ASK))
            except ConfigError as exc:
                caught.append(exc)

    await asyncio.to_thread(elsewhere)
    await client.close()

    assert "another event loop" in str(caught[0])


@pytest.mark.parametrize(
    "url", ["localhost:8000/v1", "/v1", "ftp://x/y", "http://", "http://h:port/"]
)
async def test_an_unusable_url_is_a_config_error(url: str) -> None:
    with pytest.raises(ConfigError, match="service 's'"):
        ModelClient(endpoint(url))


@pytest.mark.parametrize("key", ["sk-1\nX-Evil: 1", "ключ"])
async def test_an_unusable_key_is_refused_and_not_shown(key: str) -> None:
    with pytest.raises(ConfigError, match="API key") as caught:
        ModelClient(endpoint("http://x/", api_key=key))

    assert key[:4] not in str(caught.value)


async def test_the_key_is_in_no_representation() -> None:
    client = ModelClient(endpoint("http://x/", api_key="sk-secret"))

    assert "sk-secret" not in repr(client) + repr(client.endpoint) + repr(client.stats)
