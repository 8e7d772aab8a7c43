"""Requests that come to no service: whether it is their own fault, or that of the proxy."""

from pathlib import Path

import httpx
import pytest

from pytest_nel.core.errors import FailureKind
from pytest_nel.core.exchange import Exchange, Interceptor, Request, Usage
from pytest_nel.core.types import Endpoint
from pytest_nel.http.client import ModelClient
from pytest_nel.interceptors.pipeline import Chain
from pytest_nel.interceptors.proxy import AdapterProxy
from tests.unit.interceptors.left_requests import busy, fine, post, proxied, then
from tests.unit.interceptors.upstream import Answer, ModelServer

pytestmark = pytest.mark.asyncio
HIDDEN = "key-1234567890"
BAD = {"messages": [{"role": "user", "content": "bad"}]}
DEEP = b"[" * 900 + b"]" * 900


class Breaks(Interceptor):
    """One of a user's, with a fault."""

    on_request = True

    async def request(self, request: Request, exchange: Exchange) -> Request:
        del exchange
        if request.body["messages"] == BAD["messages"]:
            msg = f"no such table: {HIDDEN}"
            raise RuntimeError(msg)
        return request


async def test_a_request_on_which_an_interceptor_breaks_is_not_the_clients_fault() -> None:
    async with ModelServer(fine).running() as server:
        endpoint = Endpoint("s", server.url, "chat_completions", "m", api_key=HIDDEN)
        proxy = AdapterProxy(ModelClient(endpoint), Chain([("breaks", Breaks())], service="s"))
        await proxy.start()
        url = proxy.url_for("x", keeps=True)
        await post(url)

        usage = proxy.usage(url)
        reply = await post(url, BAD)
        lost = usage.lost
        await post(url)
        await proxy.stop()

    assert reply.status_code == 500
    assert lost is not None
    assert lost.kind is FailureKind.INFRA
    assert "the adapter proxy itself failed: RuntimeError: no such table" in lost.what
    assert HIDDEN not in lost.what
    assert usage == Usage(requests=2, prompt=6, completion=4, asked=3)  # it went on


@pytest.mark.parametrize(
    ("path", "content"),
    [
        ("/chat/completions", b'{"messages": [], "temperature": NaN}'),
        ("/chat/completions", b'{"messages": [], "temperature": 1e999}'),
        ("/chat/completions", b'{"messages": ' + DEEP + b"}"),
        ("/a%00b", b'{"messages": []}'),
    ],
    ids=["NaN", "infinite", "deep", "path"],
)
@pytest.mark.parametrize("first", [fine, busy])
async def test_a_request_that_cannot_be_sent_on_is_itself_at_fault(
    tmp_path: Path, first: Answer, path: str, content: bytes
) -> None:
    async with proxied(then(first, fine), tmp_path, tries=1) as (proxy, server):
        url = proxy.url_for("x", keeps=True)
        await post(url)
        async with httpx.AsyncClient(trust_env=False) as client:
            reply = await client.post(url + path, content=content)

        found = proxy.usage(url)

    assert reply.status_code == 400
    assert (found.refused, found.lost, len(server.asked)) == (1, None, 1)
