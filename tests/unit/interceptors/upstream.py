"""A real model server for the adapter proxy: starlette behind uvicorn, in the test's loop."""

import asyncio
import json
import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import uvicorn
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from pytest_nel.interceptors._asgi import Server

Answer = Callable[[dict[str, Any]], Awaitable[Response] | Response]


class ModelServer:
    """Answers by a function of the body; remembers what it was asked."""

    def __init__(self, answer: Answer) -> None:
        self.answer = answer
        self.asked: list[dict[str, Any]] = []
        self.headers: list[dict[str, str]] = []
        self.paths: list[str] = []
        self.left = asyncio.Event()  # a client went before its answer was whole
        self.came = asyncio.Event()  # the first request
        self.port = 0

    @property
    def url(self) -> str:
        """Its chat completions."""
        return f"http://127.0.0.1:{self.port}/v1/chat/completions"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope, receive)
        body = json.loads(await request.body())
        self.asked.append(body)
        self.came.set()
        self.headers.append(dict(request.headers))
        self.paths.append(scope["path"])
        try:
            response = self.answer(body)
            if not isinstance(response, Response):
                answering = asyncio.ensure_future(response)
                gone = asyncio.ensure_future(receive())
                await asyncio.wait({answering, gone}, return_when=asyncio.FIRST_COMPLETED)
                if not answering.done():
                    answering.cancel()
                    self.left.set()
                    return
                gone.cancel()
                response = answering.result()
            await response(scope, receive, send)
        except asyncio.CancelledError:
            self.left.set()
            raise

    @asynccontextmanager
    async def running(self) -> AsyncIterator["ModelServer"]:
        """Serve during the block."""
        listener = socket.create_server(("127.0.0.1", 0))
        self.port = listener.getsockname()[1]
        config = uvicorn.Config(self, log_config=None, lifespan="off", ws="none")
        config.timeout_graceful_shutdown = 1
        server = Server(config)
        task = asyncio.create_task(server.serve(sockets=[listener]))
        while not server.started:  # noqa: ASYNC110 - uvicorn has no event for it
            await asyncio.sleep(0.005)
        try:
            yield self
        finally:
            server.should_exit = True
            await task
