"""What tests of the client share: an endpoint, one question, quick retries."""

import asyncio
from typing import Any

import httpx
import pytest

from pytest_nel.core.errors import (
    InfraError,
)
from pytest_nel.core.types import Endpoint, ModelResponse
from pytest_nel.http.client import ModelClient
from pytest_nel.http.retry import Exponential, Retry
from tests.unit.http.raw_server import Peer, RawServer, answer, reply

ASK = [{"role": "user", "content": "6 x 7?"}]
OK = reply(answer("42"))
QUICK = Retry(attempts=4, wait=Exponential(first=0.001))


def endpoint(url: str, **changes: Any) -> Endpoint:
    return Endpoint(
        **{"name": "s", "url": url, "protocol": "chat_completions", "model": "m"} | changes
    )


async def ask(server: RawServer, *, retry: Retry = QUICK, **changes: Any) -> ModelResponse:
    client = ModelClient(endpoint(server.url, **changes), retry=retry)
    try:
        return await client.chat(ASK)
    finally:
        await client.close()


async def failure(server: RawServer, **changes: Any) -> InfraError:
    with pytest.raises(InfraError) as caught:
        await ask(server, **changes)
    assert not caught.value.retryable
    return caught.value


async def silent(_peer: Peer) -> None:
    await asyncio.sleep(5)


def client_of(transport: httpx.AsyncBaseTransport, **timeout: float | None) -> httpx.AsyncClient:
    return httpx.AsyncClient(
        transport=transport,
        trust_env=False,
        timeout=httpx.Timeout(**{"timeout": None, **timeout}),
    )
