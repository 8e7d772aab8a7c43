"""The short way past httpx's layers brings what the long one does."""

import gzip
import json
from collections.abc import Awaitable, Callable

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_nel.core.exchange import Request
from pytest_nel.http import whole
from pytest_nel.http._h1 import Reply
from pytest_nel.http.client import ModelClient
from pytest_nel.http.fast import FastTransport
from tests.unit.http.asking import ASK, OK, ask, endpoint
from tests.unit.http.raw_server import RawServer, answer, reply

Serve = Callable[..., Awaitable[RawServer]]
NAMES = st.sampled_from([b"Content-Type", b"X-A", b"x-a", b"Retry-After"])


@given(
    st.integers(200, 599),
    st.lists(st.tuples(NAMES, st.text(max_size=5).map(str.encode)), max_size=5),
    st.binary(max_size=9),
)
def test_a_reply_reads_the_same_whichever_way_it_came(
    status: int, headers: list[tuple[bytes, bytes]], body: bytes
) -> None:
    response = httpx.Response(status, headers=headers, content=body)
    response.headers = httpx.Headers(headers)  # those of the wire, no length added

    ours = whole.of_reply(Reply(status, b"HTTP/1.1", headers, body, 0.5))

    assert ours == whole.of_response(response, 0.5)
    assert ours.is_success == response.is_success


@pytest.mark.asyncio
async def test_a_compressed_reply_is_an_answer(serve: Serve) -> None:
    packed = gzip.compress(json.dumps(answer("42")).encode())
    server = await serve(reply(packed, headers=["Content-Encoding: gzip", "X-Odd: \u00e9"]))

    response = await ask(server)

    assert (response.content, response.requests) == ("42", 1)
    assert 0 < response.latency_ms < 60_000


@pytest.mark.asyncio
async def test_a_name_and_a_password_in_the_url_authenticate(serve: Serve) -> None:
    server = await serve(OK)
    client = ModelClient(endpoint(server.url.replace("//", "//user:pass@")))

    response = await client.chat(ASK)
    await client.close()

    assert response.content == "42"
    assert b"\r\nauthorization: basic dxnlcjpwyxnz\r\n" in server.requests[0][0].lower()


@pytest.mark.asyncio
async def test_a_client_of_the_users_keeps_its_events_and_its_authentication(
    serve: Serve, fast: FastTransport
) -> None:
    server = await serve(OK)
    seen: list[int] = []

    async def note(response: httpx.Response) -> None:
        seen.append(response.status_code)

    http = httpx.AsyncClient(transport=fast, auth=("me", "x"), event_hooks={"response": [note]})
    client = ModelClient(endpoint(server.url), http=http)

    await client.chat(ASK)
    await client.close()

    assert seen == [200]
    assert b"\r\nauthorization: basic" in server.requests[0][0].lower()


@pytest.mark.asyncio
async def test_requests_of_different_paths_and_headers_are_not_mixed(serve: Serve) -> None:
    server = await serve(OK)
    client = ModelClient(endpoint(server.url))
    asked = [Request("/embeddings", {"n": 1}, {"x-a": "1"}), Request("/completions", {"n": 2}, {})]

    await client.chat(ASK)
    for request in asked:
        await client.exchange(request)
    await client.chat(ASK)
    await client.close()

    heads = [head for head, _ in server.requests]
    paths = [head.split(b" ")[1].removeprefix(b"/v1") for head in heads]
    assert paths == [b"/chat/completions", b"/embeddings", b"/completions", b"/chat/completions"]
    assert [b"x-a: 1\r\n" in head for head in heads] == [False, True, False, False]
    assert all(head.lower().count(b"content-length:") == 1 for head in heads)
