"""The model client against a real server that misbehaves; the right answer is 42."""

import asyncio
import email.utils
import json
from collections.abc import Awaitable, Callable

import httpx
import pytest

from pytest_nel.core.errors import (
    EndpointRefused,
    FailureKind,
    InfraError,
)
from pytest_nel.http.client import ModelClient
from pytest_nel.http.limiter import AdaptiveLimiter
from pytest_nel.http.retry import Exponential, Retry
from tests.unit.http.asking import ASK, OK, QUICK, ask, endpoint, failure, silent
from tests.unit.http.raw_server import Peer, RawServer, Step, answer, reply, until

pytestmark = pytest.mark.asyncio
Serve = Callable[..., Awaitable[RawServer]]


async def test_a_request_carries_model_messages_key_and_sampling(serve: Serve) -> None:
    server = await serve(OK)
    client = ModelClient(
        endpoint(server.url, api_key="sk-1 ", generation={"temperature": 0.5, "top_p": 0.9})
    )

    response = await client.chat(ASK, temperature=0.1, seed=None, max_tokens=9)
    await client.close()

    head, body = server.requests[0]
    assert b"\r\nauthorization: bearer sk-1\r\n" in head.lower()
    assert b"\r\ncontent-type: application/json\r\n" in head.lower()
    sent = {"temperature": 0.1, "top_p": 0.9, "max_tokens": 9}
    assert json.loads(body) == {"model": "m", "messages": ASK, **sent}
    assert response.sampling == sent
    assert (response.content, response.requests) == ("42", 1)


async def test_a_completion_is_asked_with_a_prompt(serve: Serve) -> None:
    server = await serve(reply({"choices": [{"text": "42"}]}))
    client = ModelClient(endpoint(server.url, protocol="completions"))

    response = await client.complete("6 x 7 =", stop=["\n"])
    await client.close()

    assert response.content == "42"
    assert json.loads(server.requests[0][1]) == {"model": "m", "prompt": "6 x 7 =", "stop": ["\n"]}


async def test_h01_retry_after_is_waited_for(serve: Serve) -> None:
    server = await serve(reply(b"", "429 Too Many Requests", ["Retry-After: 1"]), OK)

    response = await ask(server)

    assert (response.content, response.requests) == ("42", 2)
    assert 1.0 <= server.times[1] - server.times[0] < 3.0
    assert response.latency_ms < 500


async def test_h02_a_retry_after_date_is_waited_for(serve: Serve) -> None:
    now = 1_700_000_000.5
    date = email.utils.formatdate(1_700_000_090, usegmt=True)
    past = email.utils.formatdate(1_600_000_000, usegmt=True)
    steps = [
        reply(b"", "429 Too Many Requests", [f"Retry-After: {value}"])
        for value in (date, past, "soon")
    ]
    server = await serve(*steps, OK)
    slept: list[float] = []

    async def sleep(seconds: float) -> None:
        slept.append(seconds)

    limiter = AdaptiveLimiter(1, clock=lambda: 1000.0 * len(slept))  # blocks end with the sleep
    client = ModelClient(
        endpoint(server.url),
        retry=Retry(attempts=4, wait=Exponential()),
        limiter=limiter,
        clock=lambda: now,
        sleep=sleep,
    )
    response = await client.chat(ASK)
    await client.close()

    assert response.requests == 4
    assert slept == [90.0, 2.0, 4.0]


async def test_retry_after_beside_an_error_in_a_200_reply_counts_too(serve: Serve) -> None:
    overloaded = {"error": {"message": "upstream overloaded", "code": 429}}
    server = await serve(reply(overloaded, headers=["Retry-After: 1"]), OK)

    response = await ask(server)

    assert response.requests == 2
    assert server.times[1] - server.times[0] >= 1.0


async def test_h02_too_long_a_wait_fails_the_attempt_with_a_clear_message(serve: Serve) -> None:
    server = await serve(reply(b"", "429 Too Many Requests", ["Retry-After: 3600"]), OK)

    error = await failure(server)

    assert error.kind is FailureKind.RATE_LIMIT
    assert "3600 s" in str(error)
    assert "120 s" in str(error)
    assert len(server.requests) == 1


@pytest.mark.parametrize(
    "fault",
    [
        reply(b"<h1>oops</h1>", "500 Internal Server Error", content_type="text/html"),
        reply(b"<html>Sign in</html>", content_type="text/html"),
        reply({"error": {"message": "upstream overloaded", "code": 429}}),
        reply({"choices": None}),
        reply({"choices": []}),
        reply(b""),
        reply(b"{}", "408 Request Timeout"),
        reply(b"{}", "409 Conflict"),
        reply(b"{}", "503 Service Unavailable"),
        reply(b"{}", "529 Overloaded"),
        reply(b"not gzip", headers=["Content-Encoding: gzip"]),
        b"garbage\r\n\r\n",
    ],
    ids=[
        "h03-500-html", "h04-login-page", "h05-error-429", "h06-null", "h06-empty", "empty-body",
        "408", "409", "503", "529", "bad-gzip", "no-http",
    ],
)  # fmt: skip
async def test_what_a_retry_may_cure_is_retried(serve: Serve, fault: bytes) -> None:
    server = await serve(fault, OK)

    response = await ask(server)

    assert (response.content, response.requests, len(server.requests)) == ("42", 2, 2)


async def reset_in_body(peer: Peer) -> None:
    await peer.send(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{")
    peer.reset()


async def bad_chunk(peer: Peer) -> None:
    await peer.send(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n")


async def cut(peer: Peer) -> None:
    await peer.send(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{")
    peer.close()


@pytest.mark.parametrize("fault", [reset_in_body, bad_chunk, cut], ids=lambda step: step.__name__)
async def test_h17_a_broken_connection_is_retried(serve: Serve, fault: Step) -> None:
    server = await serve(fault, OK)

    response = await ask(server)

    assert (response.content, response.requests) == ("42", 2)


async def dripping(peer: Peer) -> None:
    await peer.send(b"HTTP/1.1 200 OK\r\nContent-Length: 900\r\n\r\n", *[b" "] * 200, pause=0.03)


async def test_h27_silence_ends_with_the_read_timeout(serve: Serve) -> None:
    server = await serve(silent)

    error = await failure(server, read_timeout=0.05, retry=Retry(attempts=1))

    assert error.kind is FailureKind.MODEL_TIMEOUT
    assert "ReadTimeout" in str(error)


async def test_h27_dripping_bytes_end_with_the_total_timeout_and_others_go_on(
    serve: Serve,
) -> None:
    server = await serve(dripping, OK)
    client = ModelClient(endpoint(server.url, timeout=0.5), retry=Retry(attempts=1))

    slow = asyncio.create_task(client.chat(ASK))
    await until(lambda: bool(server.requests))
    other = await client.chat(ASK)
    (error,) = await asyncio.gather(slow, return_exceptions=True)
    await client.close()

    assert other.content == "42"
    assert isinstance(error, InfraError)
    assert error.kind is FailureKind.MODEL_TIMEOUT
    assert "0.5 s" in str(error)


async def test_a_timeout_is_retried(serve: Serve) -> None:
    server = await serve(silent, OK)

    response = await ask(server, timeout=0.4)

    assert (response.content, response.requests) == ("42", 2)
    assert response.latency_ms < 400


async def test_h21_a_context_overflow_is_not_retried(serve: Serve) -> None:
    message = "This model's maximum context length is 8 tokens"
    server = await serve(reply({"error": {"message": message}}, "400 Bad Request"))

    error = await failure(server)

    assert error.kind is FailureKind.CONTEXT_WINDOW
    assert message in str(error)
    assert len(server.requests) == 1


@pytest.mark.parametrize("status", ["400 Bad Request", "413 Too Large", "422 No", "302 Found"])
async def test_other_refusals_are_not_retried(serve: Serve, status: str) -> None:
    server = await serve(reply({"detail": "not like this"}, status))

    error = await failure(server)

    assert status[:3] in str(error)
    assert len(server.requests) == 1


@pytest.mark.parametrize(
    ("status", "hint"),
    [("401 Unauthorized", "API key"), ("403 Forbidden", "API key"), ("404 Not Found", "'m'")],
)
async def test_h22_a_refused_endpoint_says_what_to_check(
    serve: Serve, status: str, hint: str
) -> None:
    server = await serve(reply({"error": {"message": "go away sk-secret"}}, status))
    url = server.url.replace("//", "//user:pass@") + "?token=hidden"

    client = ModelClient(endpoint(url, api_key="sk-secret"), retry=QUICK)

    with pytest.raises(EndpointRefused) as caught:
        await client.chat(ASK)
    await client.close()

    text = str(caught.value)
    assert status[:3] in text
    assert hint in text
    assert "go away" in text
    assert f"http://127.0.0.1:{server.port}/v1/chat/completions" in text
    assert not [word for word in ("sk-secret", "pass", "hidden") if word in text]
    assert "\n" not in text
    assert len(server.requests) == 1


async def test_a_refusal_in_a_200_reply_is_a_refusal(serve: Serve) -> None:
    server = await serve(reply({"error": {"message": "bad key", "code": 401}}))

    with pytest.raises(EndpointRefused, match="bad key"):
        await ask(server)


async def test_exhausted_retries_name_attempts_status_and_body(serve: Serve) -> None:
    server = await serve(reply(b"<b>all\x1b[31m busy</b>" + b"x" * 999, "502 Bad Gateway"))

    error = await failure(server)

    assert error.kind is FailureKind.SERVER_ERROR
    assert "4 requests" in str(error)
    assert "HTTP 502" in str(error)
    assert "<b>all busy</b>" in str(error)
    assert len(str(error)) < 450
    assert len(server.requests) == 4


async def test_the_number_of_retries_is_the_endpoints(serve: Serve) -> None:
    server = await serve(reply(b"", "500 Internal Server Error"))

    client = ModelClient(endpoint(server.url, max_retries=0))

    with pytest.raises(InfraError, match="HTTP 500"):
        await client.chat(ASK)
    await client.close()

    assert len(server.requests) == 1


async def test_a_closed_port_is_a_server_error(serve: Serve) -> None:
    server = await serve(OK)
    await server.stop()

    error = await failure(server)

    assert error.kind is FailureKind.SERVER_ERROR
    assert "4 requests" in str(error)


async def test_h15_h16_h23_odd_bodies_give_the_answer(serve: Serve) -> None:
    stream = (
        b": OPENROUTER PROCESSING\n\n: ping\n\ndata: : keepalive\n\n"
        b'data: {"choices":[{"delta":{"content":"42"},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n'
    )
    server = await serve(
        reply(stream, content_type="text/event-stream"),
        reply(b'{"choices":[{"message":{"content":"42"},"logprob":NaN}]}'),
        reply(rb'{"choices":[{"message":{"content":"\ud83542"}}]}'),
    )

    texts = [(await ask(server)).content for _ in range(3)]

    assert texts == ["42", "42", "\ufffd42"]


async def test_h26_a_large_reply_is_read_and_a_larger_one_refused(serve: Serve) -> None:
    server = await serve(reply(answer("4" * 60_000_000)))

    response = await ask(server)

    assert len(response.content) == 60_000_000


async def test_h26_a_reply_beyond_the_limit_is_not_asked_for_again(serve: Serve) -> None:
    server = await serve(OK)

    async with httpx.AsyncClient(transport=small_transport(), trust_env=False) as http:
        client = ModelClient(endpoint(server.url), http=http, retry=QUICK)
        with pytest.raises(InfraError, match="larger than 100 bytes") as caught:
            await client.chat(ASK)

    assert caught.value.kind is FailureKind.PROTOCOL
    assert len(server.requests) == 1


def small_transport() -> httpx.AsyncBaseTransport:
    from pytest_nel.http.fast import FastTransport

    return FastTransport(max_body=100)
