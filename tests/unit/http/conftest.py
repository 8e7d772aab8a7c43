import ssl
from collections.abc import AsyncIterator, Awaitable, Callable

import pytest_asyncio

from pytest_nel.http.fast import FastTransport
from tests.unit.http.raw_server import RawServer, Step


@pytest_asyncio.fixture
async def serve() -> AsyncIterator[Callable[..., Awaitable[RawServer]]]:
    """Start servers on loopback; they are stopped after the test."""
    running: list[RawServer] = []

    async def start(*steps: Step, context: ssl.SSLContext | None = None) -> RawServer:
        server = RawServer(list(steps))
        await server.start(context)
        running.append(server)
        return server

    yield start
    for server in running:
        await server.stop()


@pytest_asyncio.fixture
async def fast() -> AsyncIterator[FastTransport]:
    transport = FastTransport(connections=8)
    yield transport
    await transport.aclose()
