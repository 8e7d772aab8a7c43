"""Clients that hang up on an adapter proxy, and servers that hang, wait or answer behind it."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any

import httpx
from starlette.responses import JSONResponse, Response, StreamingResponse

from pytest_nel.interceptors.proxy import AdapterProxy
from tests.unit.interceptors.chains import answer
from tests.unit.interceptors.proxies import proxy_before
from tests.unit.interceptors.upstream import Answer, ModelServer

LONG = 30.0  # seconds: of a service that answers in time, however busy this machine is
HI: dict[str, Any] = {"messages": [{"role": "user", "content": "hi"}]}
STREAMED = {**HI, "stream": True}
COUNTED = {**answer("42"), "usage": {"prompt_tokens": 3, "completion_tokens": 2}}
PIECE = 'data: {"choices": [{"index": 0, "delta": {"content": "4"}}]}\n\n'
END = (
    'data: {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}\n\n'
    'data: {"choices": [], "usage": {"prompt_tokens": 3, "completion_tokens": 2}}\n\n'
    "data: [DONE]\n\n"
)


def fine(_body: dict[str, Any]) -> Response:
    return JSONResponse(COUNTED)


async def hanging(_body: dict[str, Any]) -> Response:
    await asyncio.Event().wait()
    raise AssertionError


def waiting(goes_on: asyncio.Event, answers: Answer = fine) -> Answer:
    """Answers when it may."""

    async def reply(body: dict[str, Any]) -> Response:
        await goes_on.wait()
        response = answers(body)
        assert isinstance(response, Response)
        return response

    return reply


def streaming(goes_on: asyncio.Event, more: int = 0) -> Answer:
    """Begins, and ends when it may; with so many large pieces."""

    async def events() -> AsyncIterator[str]:
        yield PIECE
        for _ in range(more):
            yield PIECE.replace("4", "4" * 100_000)
        await goes_on.wait()
        yield END

    return lambda _body: StreamingResponse(events(), media_type="text/event-stream")


def busy(_body: dict[str, Any]) -> Response:
    return JSONResponse({"error": {"message": "busy"}}, 503)


def late(_body: dict[str, Any]) -> Response:
    return JSONResponse({"error": {"message": "gateway time-out"}}, 504)


def then(*said: Answer) -> Answer:
    """One after the other; the last again and again."""
    left = list(said)

    def reply(body: dict[str, Any]) -> Awaitable[Response] | Response:
        return (left.pop(0) if len(left) > 1 else left[0])(body)

    return reply


def proxied(
    said: Answer, folder: Path, *, seconds: float = 1.0, tries: int = 2, **more: Any
) -> AbstractAsyncContextManager[tuple[AdapterProxy, ModelServer]]:
    """A server that answers so, with so much time, and the adapter proxy before it."""
    return proxy_before(said, folder, timeout=seconds, max_retries=tries - 1, **more)


async def post(url: str, body: dict[str, Any] = HI, patience: float = 10.0) -> httpx.Response:
    async with httpx.AsyncClient(trust_env=False, timeout=patience) as client:
        return await client.post(f"{url}/chat/completions", json=body)


@contextlib.asynccontextmanager
async def asking(
    url: str, server: ModelServer, body: dict[str, Any] = HI
) -> AsyncIterator["asyncio.Task[httpx.Response]"]:
    """A client that waits for its answer; within the block its request has come to the service."""
    server.came.clear()
    asks = asyncio.create_task(post(url, body, LONG))
    await server.came.wait()
    try:
        yield asks
    finally:
        asks.cancel()
        await asyncio.wait([asks])


async def left(url: str, server: ModelServer, body: dict[str, Any] = HI) -> None:
    """Ask, and hang up when the request has come to the service."""
    async with asking(url, server, body):
        pass
