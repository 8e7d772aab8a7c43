"""Streams of the adapter proxy before several servers that answer alike."""

from collections.abc import AsyncIterator
from typing import Any

import pytest
from starlette.responses import Response, StreamingResponse

from pytest_nel.core.exchange import Request
from pytest_nel.core.types import Endpoint
from pytest_nel.http.client import ModelClient
from pytest_nel.http.stream import StreamClient
from tests.unit.interceptors.upstream import ModelServer

pytestmark = pytest.mark.asyncio
ASKED = {"model": "m", "messages": [{"role": "user", "content": "hi"}], "stream": True}


async def events() -> AsyncIterator[bytes]:
    yield b'data: {"choices": [{"delta": {"content": "42"}, "finish_reason": "stop"}]}\n\n'
    yield b"data: [DONE]\n\n"


def streamed(_body: dict[str, Any]) -> Response:
    return StreamingResponse(events(), media_type="text/event-stream")


async def read(streams: StreamClient) -> bytes:
    async with streams.open(Request("/chat/completions", dict(ASKED))) as response:
        assert not isinstance(response, tuple), response
        return await response.aread()


async def test_streams_go_round_and_to_those_that_are_left() -> None:
    async with ModelServer(streamed).running() as first:
        async with ModelServer(streamed).running() as second:
            urls = (first.url, second.url)
            endpoint = Endpoint("s", urls[0], "chat_completions", "m", replicas=urls)
            client = ModelClient(endpoint)
            await client.open()
            streams = StreamClient(client)

            both = [await read(streams) for _ in range(4)]
            shared = (len(first.asked), len(second.asked))
        alone = [await read(streams) for _ in range(3)]  # the second has ended

        await streams.close()
        await client.close()

    assert all(b"42" in one for one in [*both, *alone])
    assert shared == (2, 2)
    assert len(first.asked) == 5
