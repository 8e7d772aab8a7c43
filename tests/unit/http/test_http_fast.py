"""The fast transport against real sockets."""

import asyncio
import gzip
from collections.abc import Awaitable, Callable

import httpx
import pytest

from pytest_nel.http.fast import FastTransport
from tests.unit.http.asking import client_of
from tests.unit.http.raw_server import Peer, RawServer, reply

pytestmark = pytest.mark.asyncio
Serve = Callable[..., Awaitable[RawServer]]


async def test_a_body_with_a_length_arrives_whole(serve: Serve, fast: FastTransport) -> None:
    server = await serve(reply("hello", headers=["X-Empty:", "X-Two: a", "X-Two: b"]))

    response = await client_of(fast).post(server.url, content=b"body")

    assert (response.status_code, response.text) == (200, "hello")
    assert response.headers.get_list("x-two") == ["a", "b"]
    assert response.headers["x-empty"] == ""
    assert server.requests[0][1] == b"body"
    assert server.requests[0][0].startswith(b"POST /v1/chat/completions HTTP/1.1\r\n")


async def test_the_next_request_uses_the_same_connection(serve: Serve, fast: FastTransport) -> None:
    server = await serve(reply("1"), reply("2"))
    client = client_of(fast)

    texts = [(await client.get(server.url)).text for _ in range(2)]

    assert texts == ["1", "2"]
    assert server.connections == 1


async def test_the_connection_used_last_is_used_first(serve: Serve, fast: FastTransport) -> None:
    async def slow(peer: Peer) -> None:
        await asyncio.sleep(0.05)
        await peer.send(reply())

    server = await serve(slow, slow, slow, reply())
    client = client_of(fast)
    await asyncio.gather(*[client.get(server.url) for _ in range(3)])

    for _ in range(4):
        await client.get(server.url)

    assert server.connections == 3
    assert fast.open_connections == 3


async def test_a_chunked_body_is_put_together(serve: Serve, fast: FastTransport) -> None:
    async def chunked(peer: Peer) -> None:
        await peer.send(
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n",
            b"3\r\nabc\r",
            b"\n5;ext=1\r\ndefgh\r\n0\r\nTrailer: x\r\n\r\n",
            pause=0.005,
        )

    server = await serve(chunked)
    client = client_of(fast)

    texts = [(await client.get(server.url)).text for _ in range(2)]

    assert texts == ["abcdefgh"] * 2
    assert server.connections == 1


async def test_a_body_may_end_with_the_connection(serve: Serve, fast: FastTransport) -> None:
    async def until_eof(peer: Peer) -> None:
        await peer.send(b"HTTP/1.1 200 OK\r\n\r\nfirst ", b"second", pause=0.01)
        peer.close()

    server = await serve(until_eof)
    client = client_of(fast)

    texts = [(await client.get(server.url)).text for _ in range(2)]

    assert texts == ["first second"] * 2
    assert server.connections == 2


@pytest.mark.parametrize(
    "last",
    [
        reply("bye", headers=["Connection: close"]),
        b"HTTP/1.0 200 OK\r\nContent-Length: 3\r\n\r\nbye",
    ],
    ids=["connection-close", "http-1.0"],
)
async def test_a_connection_that_shall_close_is_not_used_again(
    serve: Serve, fast: FastTransport, last: bytes
) -> None:
    server = await serve(last)
    client = client_of(fast)

    texts = [(await client.get(server.url)).text for _ in range(2)]

    assert texts == ["bye", "bye"]
    assert server.connections == 2


async def test_interim_responses_are_skipped(serve: Serve, fast: FastTransport) -> None:
    server = await serve(
        b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n"
        + reply("final")
    )

    response = await client_of(fast).post(server.url, content=b"x")

    assert (response.status_code, response.text) == (200, "final")
    assert "link" not in response.headers


async def test_head_and_204_have_no_body(serve: Serve, fast: FastTransport) -> None:
    server = await serve(
        b"HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\n", b"HTTP/1.1 204 No Content\r\n\r\n"
    )
    client = client_of(fast, read=2)

    head = await client.head(server.url)
    empty = await client.get(server.url)

    assert (head.status_code, head.content) == (200, b"")
    assert (empty.status_code, empty.content) == (204, b"")


async def test_a_stale_connection_is_replaced_once(serve: Serve, fast: FastTransport) -> None:
    async def hang_up(peer: Peer) -> None:
        peer.close()

    server = await serve(reply("1"), hang_up, reply("2"))
    client = client_of(fast)
    await client.get(server.url)

    response = await client.get(server.url)

    assert response.text == "2"
    assert (server.connections, len(server.requests)) == (2, 3)


async def test_a_fresh_connection_that_closes_is_an_error(
    serve: Serve, fast: FastTransport
) -> None:
    async def hang_up(peer: Peer) -> None:
        peer.close()

    server = await serve(reply("1"), hang_up)
    client = client_of(fast)
    await client.get(server.url)

    with pytest.raises(httpx.RemoteProtocolError, match="without sending a reply"):
        await client.get(server.url)

    assert len(server.requests) == 3


async def test_a_connection_cut_after_a_byte_is_not_asked_again(
    serve: Serve, fast: FastTransport
) -> None:
    async def cut(peer: Peer) -> None:
        await peer.send(b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc")
        peer.close()

    server = await serve(reply("1"), cut)
    client = client_of(fast)
    await client.get(server.url)

    with pytest.raises(httpx.RemoteProtocolError, match="middle of its reply"):
        await client.get(server.url)

    assert len(server.requests) == 2


async def test_a_connection_the_server_closed_while_idle_is_not_used(
    serve: Serve, fast: FastTransport
) -> None:
    async def answer_and_close(peer: Peer) -> None:
        await peer.send(reply("1"))
        peer.close()

    server = await serve(answer_and_close, reply("2"))
    client = client_of(fast)
    await client.get(server.url)
    await asyncio.sleep(0.05)
    before = fast.open_connections

    response = await client.get(server.url)

    assert before == 0
    assert response.text == "2"
    assert len(server.requests) == 2


async def test_a_connection_idle_for_too_long_is_not_used(serve: Serve) -> None:
    server = await serve(reply())
    fast = FastTransport(idle_timeout=0.02)
    client = client_of(fast)
    await client.get(server.url)
    await asyncio.sleep(0.05)

    await client.get(server.url)
    await fast.aclose()

    assert server.connections == 2


async def test_a_reset_in_the_body_is_a_read_error(serve: Serve, fast: FastTransport) -> None:
    async def reset(peer: Peer) -> None:
        await peer.send(b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc")
        await asyncio.sleep(0.02)
        peer.reset()

    server = await serve(reset)

    with pytest.raises(httpx.ReadError):
        await client_of(fast).get(server.url)


async def test_a_reset_does_not_end_a_body_without_length(
    serve: Serve, fast: FastTransport
) -> None:
    async def reset(peer: Peer) -> None:
        await peer.send(b"HTTP/1.1 200 OK\r\n\r\nabc")
        await asyncio.sleep(0.02)
        peer.reset()

    server = await serve(reset)

    with pytest.raises(httpx.ReadError):
        await client_of(fast).get(server.url)


@pytest.mark.parametrize(
    "garbage",
    [
        b"\x15\x03\x01\x00\x02\x02\x16",
        b"SSH-2.0-OpenSSH\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\nContent-Length: 4\r\n\r\nabcd",
        b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\nabc",
        b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n",
    ],
    ids=["tls-alert", "ssh", "bad-chunk", "two-lengths", "smuggling", "upgrade"],
)
async def test_bytes_that_are_no_reply_are_a_protocol_error(
    serve: Serve, fast: FastTransport, garbage: bytes
) -> None:
    server = await serve(garbage)

    with pytest.raises(httpx.RemoteProtocolError):
        await client_of(fast, read=2).get(server.url)

    await asyncio.sleep(0.01)
    assert fast.open_connections == 0


async def test_bytes_behind_a_reply_spoil_the_connection_only(
    serve: Serve, fast: FastTransport
) -> None:
    server = await serve(
        reply("1") + b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil", reply("2")
    )
    client = client_of(fast)

    texts = [(await client.get(server.url)).text for _ in range(2)]

    assert texts == ["1", "2"]
    assert server.connections == 2


async def test_compressed_replies_are_decoded_by_httpx(serve: Serve, fast: FastTransport) -> None:
    server = await serve(reply(gzip.compress(b"plain"), headers=["Content-Encoding: gzip"]))

    response = await client_of(fast).get(server.url)

    assert response.text == "plain"
