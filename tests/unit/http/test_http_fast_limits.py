"""The fast transport at its limits: time, size, cancelling, TLS, a second real server."""

import asyncio
import datetime as dt
import ipaddress
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import httpx
import pytest
import uvicorn
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from pytest_nel.http._h1 import ReplyTooLarge
from pytest_nel.http.fast import FastTransport
from tests.unit.http.asking import client_of
from tests.unit.http.raw_server import Peer, RawServer, reply, until

pytestmark = pytest.mark.asyncio
Serve = Callable[..., Awaitable[RawServer]]


async def test_silence_beyond_the_read_limit_is_a_read_timeout(
    serve: Serve, fast: FastTransport
) -> None:
    async def silent(peer: Peer) -> None:
        await peer.send(b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n")
        await asyncio.sleep(5)

    server = await serve(silent)

    with pytest.raises(httpx.ReadTimeout, match=r"0\.05 s"):
        await client_of(fast, read=0.05).get(server.url)

    await asyncio.sleep(0.01)
    assert fast.open_connections == 0


async def test_slow_bytes_within_the_read_limit_are_waited_for(
    serve: Serve, fast: FastTransport
) -> None:
    async def slow(peer: Peer) -> None:
        head = b"HTTP/1.1 200 OK\r\nContent-Length: 8\r\n\r\n"
        await peer.send(head, *[b"x"] * 8, pause=0.03)

    server = await serve(slow)

    response = await client_of(fast, read=0.15).get(server.url)

    assert response.text == "x" * 8
    assert response.extensions["nel_elapsed"] >= 0.2


async def test_a_shorter_limit_than_the_request_before_holds(
    serve: Serve, fast: FastTransport
) -> None:
    async def silent(_peer: Peer) -> None:
        await asyncio.sleep(5)

    server = await serve(reply(), silent)
    client = client_of(fast, read=30)
    await client.get(server.url)

    with pytest.raises(httpx.ReadTimeout):
        await asyncio.wait_for(client.get(server.url, timeout=0.05), 2)


async def test_a_server_that_reads_nothing_is_a_write_timeout(fast: FastTransport) -> None:
    stop = asyncio.Event()

    async def deaf(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.transport.pause_reading()  # type: ignore[attr-defined]  # a socket transport
        await stop.wait()
        writer.transport.abort()

    server = await asyncio.start_server(deaf, "127.0.0.1", 0, limit=1024)
    port = server.sockets[0].getsockname()[1]

    with pytest.raises(httpx.WriteTimeout):
        await client_of(fast, write=0.1).post(
            f"http://127.0.0.1:{port}/", content=b"x" * 32_000_000
        )

    stop.set()
    server.close()
    await server.wait_closed()


async def test_a_large_request_body_arrives_whole(serve: Serve, fast: FastTransport) -> None:
    server = await serve(reply())
    body = bytes(range(256)) * 8192

    await client_of(fast, read=5, write=5).post(server.url, content=body)

    assert server.requests[0][1] == body


async def test_a_streamed_request_body_is_sent_with_its_length(
    serve: Serve, fast: FastTransport
) -> None:
    async def pieces() -> AsyncIterator[bytes]:
        yield b"ab"
        yield b"cd"

    server = await serve(reply())

    await client_of(fast).post(server.url, content=pieces())

    head, body = server.requests[0]
    assert body == b"abcd"
    assert b"content-length: 4" in head.lower()
    assert b"transfer-encoding" not in head.lower()


async def test_a_handshake_that_never_ends_is_a_connect_timeout(
    serve: Serve, fast: FastTransport
) -> None:
    server = await serve(reply())  # speaks no TLS: it waits for more of the "request"

    with pytest.raises(httpx.ConnectTimeout):
        await client_of(fast, connect=0.05).get(f"https://127.0.0.1:{server.port}/")


async def test_a_closed_port_is_a_connect_error(serve: Serve, fast: FastTransport) -> None:
    server = await serve(reply())
    await server.stop()

    with pytest.raises(httpx.ConnectError, match=f"127.0.0.1:{server.port}"):
        await client_of(fast).get(server.url)


@pytest.mark.parametrize("framing", ["length", "chunked", "eof"])
async def test_a_body_over_the_limit_is_refused(serve: Serve, framing: str) -> None:
    head = {
        "length": b"HTTP/1.1 200 OK\r\nContent-Length: 5000\r\n\r\n",
        "chunked": b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1388\r\n",
        "eof": b"HTTP/1.1 200 OK\r\n\r\n",
    }[framing]
    server = await serve(head + b"x" * 5000)
    fast = FastTransport(max_body=1000)

    with pytest.raises(ReplyTooLarge, match="1000 bytes"):
        await client_of(fast, read=2).get(server.url)

    await fast.aclose()


async def test_endless_headers_are_refused(serve: Serve, fast: FastTransport) -> None:
    async def endless(peer: Peer) -> None:
        await peer.send(b"HTTP/1.1 200 OK\r\n")
        while True:
            await peer.send(b"X-More: " + b"y" * 60_000 + b"\r\n")

    server = await serve(endless)

    with pytest.raises(ReplyTooLarge, match="headers"):
        await client_of(fast, read=2).get(server.url)


async def test_cancelling_closes_the_connection(serve: Serve, fast: FastTransport) -> None:
    async def silent(peer: Peer) -> None:
        await peer.reader.read()  # returns when the client hangs up

    server = await serve(silent)
    task = asyncio.create_task(client_of(fast).get(server.url))
    await until(lambda: bool(server.requests))

    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    await asyncio.sleep(0.05)

    assert task.cancelled()
    assert fast.open_connections == 0
    assert server.hang_ups == 1


async def test_closing_ends_busy_and_idle_connections(serve: Serve) -> None:
    async def silent(_peer: Peer) -> None:
        await asyncio.sleep(5)

    server = await serve(reply(), silent)
    fast = FastTransport()
    client = client_of(fast)
    await client.get(server.url)
    busy = asyncio.create_task(client.get(server.url))
    await until(lambda: len(server.requests) == 2)

    await fast.aclose()
    (outcome,) = await asyncio.gather(busy, return_exceptions=True)

    assert isinstance(outcome, httpx.TransportError)
    assert fast.open_connections == 0


async def test_a_header_with_a_line_break_is_refused_and_not_shown(fast: FastTransport) -> None:
    with pytest.raises(httpx.LocalProtocolError) as caught:
        await client_of(fast).get("http://127.0.0.1:9/", headers={"X-Key": "secret\r\nX: y"})

    assert "X-Key" in str(caught.value)
    assert "secret" not in str(caught.value)


async def test_many_requests_at_once_get_their_own_answers(serve: Serve) -> None:
    async def echo(peer: Peer) -> None:
        await asyncio.sleep(int(peer.body) % 7 / 500)
        await peer.send(reply(peer.body))

    server = await serve(echo)
    fast = FastTransport(connections=64)
    client = client_of(fast)

    replies = await asyncio.gather(
        *[client.post(server.url, content=str(i).encode()) for i in range(200)]
    )
    await fast.aclose()

    assert [int(each.text) for each in replies] == list(range(200))


def certificate(directory: Path) -> tuple[ssl.SSLContext, ssl.SSLContext]:
    """Contexts of a server with a fresh self-signed certificate and of a client trusting it."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "loopback")])
    now = dt.datetime.now(dt.UTC)
    address = x509.IPAddress(ipaddress.ip_address("127.0.0.1"))
    signed = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - dt.timedelta(minutes=5))
        .not_valid_after(now + dt.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([address]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    path = directory / "cert.pem"
    path.write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
        + signed.public_bytes(serialization.Encoding.PEM)
    )
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server.load_cert_chain(path)
    return server, ssl.create_default_context(cafile=str(path))


async def test_tls_works_with_a_trusted_certificate(serve: Serve, tmp_path: Path) -> None:
    server_side, client_side = certificate(tmp_path)
    server = await serve(reply("1"), reply("x" * 200_000), context=server_side)
    fast = FastTransport(verify=client_side)
    client = client_of(fast)

    texts = [(await client.get(server.url)).text for _ in range(2)]
    await fast.aclose()

    assert texts == ["1", "x" * 200_000]
    assert server.connections == 1


async def test_tls_refuses_an_unknown_certificate(serve: Serve, tmp_path: Path) -> None:
    server_side, _ = certificate(tmp_path)
    server = await serve(reply(), context=server_side)
    fast = FastTransport()

    with pytest.raises(httpx.ConnectError, match="CERTIFICATE_VERIFY_FAILED"):
        await client_of(fast).get(server.url)

    await fast.aclose()
    assert server.requests == []


async def application(_scope: Any, receive: Any, send: Any) -> None:
    """An ASGI application: echoes the body in three chunks."""
    body = b""
    more = True
    while more:
        event = await receive()
        body += event.get("body", b"")
        more = event.get("more_body", False)
    await send({"type": "http.response.start", "status": 200, "headers": []})
    for piece in (b"<", body, b">"):
        await send({"type": "http.response.body", "body": piece, "more_body": True})
    await send({"type": "http.response.body", "body": b""})


async def test_uvicorn_chunks_are_read_on_a_kept_connection(fast: FastTransport) -> None:
    config = uvicorn.Config(
        application, port=0, lifespan="off", ws="none", http="h11", log_level="error"
    )
    server = uvicorn.Server(config)
    running = asyncio.create_task(server.serve())
    await until(lambda: bool(server.started))
    port = server.servers[0].sockets[0].getsockname()[1]
    client = client_of(fast, read=5)

    replies = [
        await client.post(f"http://127.0.0.1:{port}/", content=b"z" * size)
        for size in (1, 100_000, 0)
    ]
    opened = fast.open_connections
    server.should_exit = True
    await running

    assert [len(each.content) for each in replies] == [3, 100_002, 2]
    assert {each.headers["transfer-encoding"] for each in replies} == {"chunked"}
    assert opened == 1
