"""Requests go to the least busy server that is there, and from one that is gone to another."""

import asyncio
import json
from collections import Counter
from collections.abc import Callable, Coroutine
from typing import Any, cast

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_nel.core.errors import InfraError
from pytest_nel.core.types import Endpoint
from pytest_nel.http.balance import BalancedTransport, Target, Targets
from pytest_nel.http.client import ModelClient
from pytest_nel.http.retry import Exponential, Retry
from pytest_nel.http.transport import make_http_client

URLS = tuple(f"http://127.0.0.1:{port}/v1/chat/completions" for port in (9001, 9002, 9003))
MESSAGES = [{"role": "user", "content": "Hi"}]


class Clock:
    """Seconds that a test sets."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


def targets(count: int, clock: Clock | None = None) -> Targets:
    return Targets(URLS[:count], clock=clock or Clock())


def ports(chosen: list[Target]) -> Counter[int | None]:
    return Counter(target.origin.port for target in chosen)


@given(st.lists(st.booleans(), max_size=60))
def test_none_is_asked_more_than_another_that_is_idle(ends: list[bool]) -> None:
    servers, running = targets(3), list[Target]()

    for ended in ends:
        if ended and running:
            servers.give_back(running.pop(0), gone=False)
        else:
            lowest = min(target.in_flight for target in servers.all)
            running.append(servers.take())
            assert running[-1].in_flight == lowest + 1


def test_idle_ones_take_turns() -> None:
    servers = targets(3)

    for _ in range(9):
        servers.give_back(servers.take(), gone=False)
        chosen = servers.take()
        servers.give_back(chosen, gone=False)

    assert len(ports([servers.take() for _ in range(3)])) == 3


def test_one_that_is_gone_is_left_out_and_tried_with_one_request() -> None:
    clock = Clock()
    servers = targets(2, clock)
    gone = servers.take()

    moves = servers.give_back(gone, gone=True)
    meanwhile = [servers.take() for _ in range(4)]
    clock.now = 0.3
    due = [servers.take() for _ in range(3)]

    assert moves
    assert gone not in meanwhile
    assert due.count(gone) == 1


def test_it_is_left_alone_longer_each_time_and_is_back_with_a_reply() -> None:
    clock = Clock()
    servers = targets(2, clock)
    gone = servers.all[0]
    pauses = []
    for _ in range(8):
        gone.in_flight += 1
        servers.give_back(gone, gone=True)
        pauses.append(gone.out_until - clock.now)
        clock.now = gone.out_until

    gone.in_flight += 1
    servers.give_back(gone, gone=False)

    assert pauses == [0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 10.0, 10.0]
    assert (gone.failures, gone.out_until) == (0, 0.0)


def test_when_all_are_gone_nobody_else_is_to_be_asked() -> None:
    servers = targets(2)

    moves = [servers.give_back(servers.take(), gone=True) for _ in range(2)]

    assert moves == [True, False]


Answer = Callable[[httpx.Request], httpx.Response | Coroutine[None, None, httpx.Response]]


def client(answer: Answer, **more: Any) -> ModelClient:
    endpoint = Endpoint(
        name="m", url=URLS[0], protocol="chat_completions", model="m", replicas=URLS, **more
    )
    retry = Retry(attempts=endpoint.max_retries + 1, wait=Exponential(0.0))
    transport = BalancedTransport(httpx.MockTransport(cast("Any", answer)), URLS)
    http = make_http_client(URLS[0], connections=9, transport=transport)
    return ModelClient(endpoint, http=http, retry=retry)


def reply(text: str = "ok") -> httpx.Response:
    choice = {"message": {"content": text}, "finish_reason": "stop"}
    return httpx.Response(200, json={"choices": [choice], "model": "m"})


@pytest.mark.asyncio
async def test_requests_of_one_that_died_are_answered_by_the_others_without_a_retry() -> None:
    asked: Counter[int | None] = Counter()

    async def answer(request: httpx.Request) -> httpx.Response:
        asked[request.url.port] += 1
        assert request.headers["host"] == f"127.0.0.1:{request.url.port}"
        await asyncio.sleep(0.001)
        if request.url.port == 9001:
            message = "Connection refused"
            raise httpx.ConnectError(message)
        return reply()

    model = client(answer, max_retries=0)

    replies = await asyncio.gather(*[model.chat(MESSAGES) for _ in range(60)])

    assert [one.content for one in replies] == ["ok"] * 60
    assert asked[9001] < 25
    assert abs(asked[9002] - asked[9003]) <= asked[9001]
    assert model.stats.retries == 0


@pytest.mark.asyncio
async def test_when_all_are_gone_the_call_fails_after_its_retries() -> None:
    asked: Counter[int | None] = Counter()

    def answer(request: httpx.Request) -> httpx.Response:
        asked[request.url.port] += 1
        return httpx.Response(503)

    model = client(answer, max_retries=2)

    with pytest.raises(InfraError) as caught:
        await model.chat(MESSAGES)

    assert set(asked) == {9001, 9002, 9003}
    assert caught.value.requests == 3
    assert sum(asked.values()) <= 3 + 2


@pytest.mark.parametrize("status", [429, 500, 504])
@pytest.mark.asyncio
async def test_one_that_says_no_is_not_gone(status: int) -> None:
    asked: Counter[int | None] = Counter()

    def answer(request: httpx.Request) -> httpx.Response:
        asked[request.url.port] += 1
        return httpx.Response(status)

    model = client(answer, max_retries=5)

    with pytest.raises(InfraError):
        await model.chat(MESSAGES)

    assert sorted(asked.values()) == [2, 2, 2]


@pytest.mark.asyncio
async def test_a_request_that_is_given_up_makes_nobody_busier() -> None:
    transport = BalancedTransport(httpx.MockTransport(cast("Any", _never)), URLS)
    request = httpx.Request("POST", URLS[0])

    for _ in range(3):
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(transport.handle_async_request(request), 0.01)

    assert [target.in_flight for target in transport._targets.all] == [0, 0, 0]


async def _never(_: httpx.Request) -> httpx.Response:
    await asyncio.Event().wait()
    return httpx.Response(200)


@pytest.mark.asyncio
async def test_reasoning_is_taken_out_of_the_answer_and_kept_apart() -> None:
    sent: list[dict[str, Any]] = []

    def answer(request: httpx.Request) -> httpx.Response:
        sent.append(json.loads(request.content))
        return reply("<think>so\nor so</think>\n 42 ")

    found = await client(answer, reasoning_pattern="<think>.*?</think>").chat(MESSAGES)
    other = await client(answer, reasoning_pattern="nothing like it").chat(MESSAGES)

    assert (found.content, found.reasoning_content) == ("42", "<think>so\nor so</think>")
    assert (other.content, other.reasoning_content) == ("<think>so\nor so</think>\n 42 ", None)
    assert sent[0]["messages"] == MESSAGES
