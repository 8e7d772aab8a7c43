"""Which transport is chosen, and the slot transport itself."""

import asyncio
import importlib.util
from collections.abc import Awaitable, Callable

import httpx
import pytest

from pytest_nel.core.errors import ConfigError
from pytest_nel.http._h1 import ReplyTooLarge
from pytest_nel.http.slots import SlotTransport
from pytest_nel.http.transport import make_http_client, proxy_for
from tests.unit.http.raw_server import Peer, RawServer, reply, until

Serve = Callable[..., Awaitable[RawServer]]
NAMES = ("http_proxy", "https_proxy", "all_proxy", "no_proxy")


@pytest.fixture(autouse=True)
def no_proxy_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in NAMES:
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)


@pytest.mark.parametrize(
    ("settings", "url", "proxy"),
    [
        ({}, "http://model.test/v1", None),
        ({"http_proxy": "http://p:1"}, "http://model.test/v1", "http://p:1"),
        ({"http_proxy": "p:1"}, "http://model.test/v1", "http://p:1"),
        ({"http_proxy": "http://p:1"}, "https://model.test/v1", None),
        ({"HTTPS_PROXY": "http://p:1"}, "https://model.test/v1", "http://p:1"),
        ({"ALL_PROXY": "http://p:1"}, "https://model.test/v1", "http://p:1"),
        ({"all_proxy": "http://p:1", "no_proxy": "model.test"}, "http://model.test/v1", None),
        ({"all_proxy": "http://p:1", "no_proxy": ".test"}, "http://model.test/v1", None),
        ({"all_proxy": "http://p:1", "no_proxy": "model.test:99"}, "http://model.test:99/", None),
        ({"all_proxy": "http://p:1", "no_proxy": "*"}, "http://model.test/v1", None),
        ({"all_proxy": "http://p:1", "no_proxy": "other"}, "http://model.test/", "http://p:1"),
    ],
    ids=str,
)
def test_the_environments_proxy_is_respected(
    monkeypatch: pytest.MonkeyPatch, settings: dict[str, str], url: str, proxy: str | None
) -> None:
    for name, value in settings.items():
        monkeypatch.setenv(name, value)

    assert proxy_for(url) == proxy


@pytest.mark.asyncio
async def test_a_proxy_in_the_environment_gets_the_requests(
    serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    proxy = await serve(reply("from the proxy"))
    monkeypatch.setenv("http_proxy", f"http://127.0.0.1:{proxy.port}")

    async with make_http_client("http://model.test/v1", connections=2) as client:
        response = await client.get("http://model.test/v1")

    assert response.text == "from the proxy"
    assert proxy.requests[0][0].startswith(b"GET http://model.test/v1 HTTP/1.1")


@pytest.mark.asyncio
async def test_a_given_transport_wins_over_a_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    mine = httpx.MockTransport(lambda _request: httpx.Response(200, text="mine"))

    async with make_http_client("http://model.test/", connections=2, transport=mine) as client:
        response = await client.get("http://model.test/")

    assert response.text == "mine"


@pytest.mark.asyncio
async def test_without_a_proxy_the_fast_transport_carries_the_request(serve: Serve) -> None:
    server = await serve(reply())

    async with make_http_client(server.url, connections=2) as client:
        response = await client.get(server.url)

    assert response.extensions["nel_elapsed"] > 0


def test_an_unusable_proxy_is_a_config_error_without_its_password(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("http_proxy", "gopher://user:secret@p:1")

    with pytest.raises(ConfigError, match="HTTP_PROXY") as caught:
        make_http_client("http://model.test/", connections=2)

    assert "secret" not in str(caught.value)


@pytest.mark.skipif(importlib.util.find_spec("h2") is not None, reason="h2 is installed")
def test_http2_without_its_package_is_a_config_error() -> None:
    with pytest.raises(ConfigError, match="h2"):
        make_http_client("http://model.test/", connections=2, http2=True)


@pytest.mark.asyncio
async def test_slots_reuse_the_last_connection_and_keep_to_their_number(serve: Serve) -> None:
    busy = most = 0

    async def slow(peer: Peer) -> None:
        nonlocal busy, most
        busy += 1
        most = max(most, busy)
        await asyncio.sleep(0.02)
        busy -= 1
        await peer.send(reply(peer.body))

    server = await serve(slow)

    async with httpx.AsyncClient(transport=SlotTransport(connections=3)) as client:
        replies = await asyncio.gather(
            *[client.post(server.url, content=str(i).encode()) for i in range(9)]
        )

    assert [int(each.text) for each in replies] == list(range(9))
    assert (most, server.connections) == (3, 3)


@pytest.mark.asyncio
async def test_a_failed_or_cancelled_request_frees_its_slot(serve: Serve) -> None:
    async def cut(peer: Peer) -> None:
        peer.close()

    async def silent(peer: Peer) -> None:
        await peer.reader.read()

    server = await serve(cut, silent, reply("free"))

    async with httpx.AsyncClient(transport=SlotTransport(connections=1)) as client:
        with pytest.raises(httpx.RemoteProtocolError):
            await client.get(server.url)
        task = asyncio.create_task(client.get(server.url))
        await until(lambda: len(server.requests) == 2)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        response = await client.get(server.url, timeout=2)

    assert response.text == "free"


@pytest.mark.asyncio
async def test_a_full_slot_transport_times_out_on_its_pool(serve: Serve) -> None:
    async def silent(peer: Peer) -> None:
        await peer.reader.read()

    server = await serve(silent)

    async with httpx.AsyncClient(transport=SlotTransport(connections=1), timeout=None) as client:  # noqa: S113  # the test ends it
        task = asyncio.create_task(client.get(server.url))
        await until(lambda: bool(server.requests))
        with pytest.raises(httpx.PoolTimeout):
            await client.get(server.url, timeout=httpx.Timeout(None, pool=0.02))
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


@pytest.mark.asyncio
async def test_slots_refuse_a_reply_over_the_limit(serve: Serve) -> None:
    server = await serve(reply(b"x" * 5000), reply("next"))

    async with httpx.AsyncClient(transport=SlotTransport(connections=1, max_body=100)) as client:
        with pytest.raises(ReplyTooLarge):
            await client.get(server.url)
        response = await client.get(server.url)

    assert response.text == "next"
