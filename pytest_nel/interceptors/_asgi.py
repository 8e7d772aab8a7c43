"""The adapter proxy's HTTP side: starlette's requests and replies, uvicorn's server."""

import asyncio
import contextlib
import json
import logging
import re
import time
from collections.abc import Callable, Iterator, Mapping

import uvicorn
from starlette.requests import ClientDisconnect
from starlette.requests import Request as HttpRequest
from starlette.responses import JSONResponse, Response
from starlette.types import Receive, Scope, Send

from pytest_nel.config.proxy import HOP_BY_HOP, secret_header
from pytest_nel.core.errors import FailureKind, GracefulError, NelError
from pytest_nel.core.exchange import Exchange, Lost, Reply, Request, Usage
from pytest_nel.core.types import JsonObject
from pytest_nel.core.under_way import Served
from pytest_nel.http import faults
from pytest_nel.http.client import ModelClient
from pytest_nel.http.retry import Fault
from pytest_nel.http.sse import (
    as_events,
    event,
    event_blocks,
    final_of,
    is_of_another_kind,
    is_stream,
    merged,
    outcome,
    wants_stream,
)
from pytest_nel.http.stream import BrokenStream, StreamClient
from pytest_nel.http.upstream import PATHS, Sent, as_object, fault_in, reply_headers
from pytest_nel.interceptors._events import Client, Outlet
from pytest_nel.interceptors.pipeline import Chain

_LOG = logging.getLogger(__name__)
_PATH = re.compile(r"/s/(?P<token>[0-9a-f]+)(?P<rest>/.*)?")
_SENDABLE = re.compile(r"[^\x00-\x1f\x7f]{1,4096}")  # a path
_PROBE = 60.0  # seconds at most
_LARGEST = 64 * 1024 * 1024  # bytes of a request
_OURS = HOP_BY_HOP | {"accept-encoding", "accept", "content-type"}
_STREAM = "text/event-stream"
_NEVER = {"x-should-retry": "false"}


class Server(uvicorn.Server):
    """A server that leaves signals to pytest."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Capture none."""
        yield


class App:
    """What answers: ``/health``, and below each session's path its models and its POSTs.

    Args:
        client: Asks the service.
        chain: What requests and replies pass.
        sessions: Those that are served, by token; may change at any time.
    """

    def __init__(self, client: ModelClient, chain: Chain, sessions: Mapping[str, Served]) -> None:
        self._client = client
        self._chain = chain
        self._sessions = sessions
        self._streams = StreamClient(client)

    async def close(self) -> None:
        """Close what streams are read by."""
        await self._streams.close()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        asked = HttpRequest(scope, receive)
        found = _PATH.fullmatch(scope["path"])
        session = self._sessions.get(found["token"]) if found else None
        if scope["path"] == "/health" and asked.method == "GET":
            await JSONResponse({"status": "ok"})(scope, receive, send)
        elif found is None or session is None:
            await _unknown()(scope, receive, send)
        elif asked.method == "GET" and _below(found["rest"]) == "/models":
            await self._models()(scope, receive, send)
        elif asked.method != "POST":
            await _refusal(405, "Method not allowed", allow="POST")(scope, receive, send)
        else:
            await self._post(asked, session, _below(found["rest"]), send)

    def _models(self) -> Response:
        model = {"id": self._client.endpoint.model, "object": "model", "created": 0}
        return JSONResponse({"object": "list", "data": [{**model, "owned_by": "pytest-nel"}]})

    async def _post(self, asked: HttpRequest, session: Served, path: str, send: Send) -> None:
        """Answer; what a client leaves ends, or goes on without it where the session keeps it."""
        try:
            body = await _body(asked)
        except ClientDisconnect:
            return
        if ".." in path.split("/"):
            body = _refusal(400, "the path leads out of the service")
        elif not _SENDABLE.fullmatch(path):
            body = _refusal(400, "the path is none of a URL")
        if session.over:
            await _unknown()(asked.scope, asked.receive, send)
            return
        session.drop()  # what was left before is not the last request any more
        if isinstance(body, Response):
            session.usage.asked += 1
            session.usage.refuse()
            await body(asked.scope, asked.receive, send)
        else:
            await self._watched(asked, body, session, path, send)

    async def _watched(
        self, asked: HttpRequest, body: JsonObject, session: Served, path: str, send: Send
    ) -> None:
        client = Client(send)
        answer = asyncio.create_task(self._answer(asked, body, session, path, client))
        gone = asyncio.create_task(_gone(asked.receive))
        session.begins(answer, gone)
        ending = {answer, gone}
        try:
            await asyncio.wait(ending, return_when=asyncio.FIRST_COMPLETED)
            if session.keeps and not answer.done():
                session.keep(answer)
                client.leave()
                ending = {gone}
        finally:
            for task in ending:
                task.cancel()
            await asyncio.wait(ending)
        if client.let_go and not client.begun:  # it may be there still, with the session at its end
            await _unknown()(asked.scope, asked.receive, send)
        elif client.let_go:
            await client.dismiss()
        elif answer in ending and not answer.cancelled():
            answer.result()

    async def _answer(
        self, asked: HttpRequest, body: JsonObject, session: Served, path: str, client: Client
    ) -> None:
        send = client.send
        endpoint = self._client.endpoint
        full = {"model": endpoint.model, **endpoint.generation, **body}
        out = self._outlet(send)
        exchange = Exchange(session)
        session.usage.asked += 1
        try:
            reply, exchange, too_much = await self._outcome(
                lambda: Request(path, full, _headers(asked)), exchange, out, client
            )
        except asyncio.CancelledError:
            session.usage.left += out.begun
            raise
        except Exception as error:  # noqa: BLE001 - a plugin may raise anything; the client is told
            said = self._unsent(error, exchange, session.usage)
            if not out.begun:
                await said(asked.scope, asked.receive, send)
            return
        if too_much:
            session.usage.refuse()
            return
        _count(reply, exchange, session.usage)
        if out.begun:
            await out.finish(reply)
        else:
            await _response(reply, full)(asked.scope, asked.receive, send)

    def _unsent(self, error: Exception, exchange: Exchange, usage: Usage) -> Response:
        """What is said of a request that came to no outcome; counts it by whose fault that is."""
        if isinstance(error, GracefulError):
            usage.refuse()
            return _refusal(429, str(error), code="session_budget_exhausted")
        if isinstance(error, RecursionError):
            usage.refuse()
            return _refusal(400, "the request's body is nested too deep")
        _LOG.error("request %s through the adapter proxy failed", exchange.id, exc_info=error)
        what = f"the adapter proxy itself failed: {type(error).__name__}: {error}"
        usage.lost = Lost(FailureKind.INFRA, self._client.redacted(what))
        return _refusal(500, "Internal adapter proxy error", "server_error")

    async def _outcome(
        self, made: Callable[[], Request], exchange: Exchange, out: Outlet, client: Client
    ) -> tuple[Reply, Exchange, bool]:
        """What comes of a request, and whether it takes too long whenever it is made.

        That is tried with those that nobody waits for, of clients that have had answers.
        """
        reply = await self._run(made(), exchange, out, client)
        session = exchange.session
        answered = session is not None and session.usage.requests
        if not (client.let_go and answered and await self._serves(exchange.lost)):
            return reply, exchange, False
        again = Exchange(session)
        try:
            second = await self._run(made(), again, self._outlet(client.send), client)
        except GracefulError:  # it may not be asked again, so nothing is known of it
            return reply, exchange, False
        return second, again, again.lost is not None and again.lost.timed_out

    def _outlet(self, send: Send) -> Outlet:
        return Outlet(send, hold=self._chain.streams == "tail", redact=self._client.redacted)

    async def _run(
        self, request: Request, exchange: Exchange, out: Outlet, client: Client
    ) -> Reply:
        passes = wants_stream(request.body) and self._chain.streams != "whole"
        if passes:
            out.shows_usage = _asks_usage(request.body)
        if wants_stream(request.body) and request.path == "/chat/completions":
            request.body = {"stream_options": {"include_usage": True}, **request.body}

        async def whole(request: Request) -> Reply:
            sent = await self._client.exchange(request, asks_again=client.asks_again)
            exchange.latency_ms = sent.elapsed * 1000.0
            reply = sent.reply
            if isinstance(reply.body, bytes) and reply.ok and is_stream(reply.headers):
                reply = merged(reply)
            exchange.lost = self._lost(request, reply, sent.fault)
            return reply

        async def passing(request: Request) -> Reply:
            if not wants_stream(request.body):  # an interceptor has other plans
                return await whole(request)
            begin = asyncio.get_running_loop().time()
            try:
                reply, fault = await self._pass(request, out, client)
            finally:
                exchange.latency_ms = (asyncio.get_running_loop().time() - begin) * 1000.0
            exchange.lost = self._lost(request, reply, fault)
            return reply

        return await self._chain.run(request, exchange, passing if passes else whole)

    def _lost(self, request: Request, reply: Reply, fault: Fault | None) -> Lost | None:
        """How the service failed, where the reply says that it did.

        Who asks may choose the path: that one leads where the service's key does not is no news.
        """
        fault = fault or fault_in(reply, time.time())
        if fault is None or not faults.of_the_service(fault):
            return None
        if fault.kind is FailureKind.AUTH and request.path not in PATHS.values():
            return None
        return Lost(fault.kind, self._client.redacted(str(fault)), faults.timed_out(fault))

    async def _serves(self, lost: Lost | None) -> bool:
        """Whether a request timed out before a service that answers others: then it is tried again.

        Its client could otherwise have the service fail whenever it likes, by a request that lasts.
        Of replicas another may be the one that hangs.
        """
        if lost is None or not lost.timed_out or len(self._client.endpoint.replicas) > 1:
            return False
        try:
            fault = await self._streams.probe(min(self._client.endpoint.timeout, _PROBE))
        except NelError:  # it is gone for good
            return False
        return fault is None or not faults.of_the_service(fault)

    async def _pass(
        self, request: Request, out: Outlet, client: Client
    ) -> tuple[Reply, Fault | None]:
        """Send on what comes, while it comes; the reply is what it amounts to."""
        seen: list[str] = []
        try:
            async with self._streams.open(request, asks_again=client.asks_again) as got:
                if isinstance(got, Sent):
                    return got.reply, got.fault
                headers = reply_headers(got.headers)
                if not is_stream(headers):
                    content = await got.aread()
                    sent = Sent(Reply(got.status_code, headers, as_object(content)), body=content)
                    self._client.clean(sent)
                    return sent.reply, None
                await out.begin(got.status_code, _shown(headers))
                async for block in event_blocks(got.aiter_bytes()):
                    seen += await out.block(block)
        except BrokenStream as broken:
            await out.fail(broken.reply)
            return broken.reply, None
        if is_of_another_kind(seen):
            return Reply(got.status_code, headers, final_of(seen)), None
        status, body = outcome(seen)
        if status != 200:
            await out.fail(Reply(status, {}, body))
        return Reply(status, headers, body), None


def _count(reply: Reply, exchange: Exchange, usage: Usage) -> None:
    """Note what became of a request."""
    if exchange.lost is not None:
        usage.lost = exchange.lost
    elif reply.ok:
        usage.add(reply.body)
    else:
        usage.refuse()


async def _body(asked: HttpRequest) -> JsonObject | Response:
    """The request's JSON object, or what to say where it is none."""
    kind = "invalid_request_error"
    pieces = bytearray()
    async for piece in asked.stream():
        pieces += piece
        if len(pieces) > _LARGEST:
            return _refusal(413, f"a body of at most {_LARGEST} bytes is expected", kind)
    try:
        body = json.loads(bytes(pieces))
        json.dumps(body, allow_nan=False)  # what cannot be sent on is refused here
    except (ValueError, RecursionError):
        return _refusal(400, "Invalid JSON body", kind)
    if not isinstance(body, dict):
        return _refusal(400, f"expected a JSON object, got {type(body).__name__}", kind)
    return body


async def _gone(receive: Receive) -> None:
    """Return when the client has left."""
    while (await receive())["type"] != "http.disconnect":
        pass


def _below(rest: str | None) -> str:
    """The path below the service's base: ``/v1`` is how the base is called here."""
    path = rest or "/"
    return path[3:] or "/" if path == "/v1" or path.startswith("/v1/") else path


def _headers(asked: HttpRequest) -> dict[str, str]:
    """What the client says beside the body; what it calls a key is none of ours."""
    return {
        name.lower(): value
        for name, value in asked.headers.items()
        if name.lower() not in _OURS and not secret_header(name)
    }


def _asks_usage(body: JsonObject) -> bool:
    options = body.get("stream_options")
    return isinstance(options, dict) and bool(options.get("include_usage"))


def _shown(headers: dict[str, str]) -> dict[str, str]:
    return {name: value for name, value in headers.items() if not secret_header(name)}


def _response(reply: Reply, asked: JsonObject) -> Response:
    """A whole reply; as events where the client asked for a stream."""
    body, headers = reply.body, _shown(reply.headers)
    if isinstance(body, bytes):
        return Response(body, reply.status, headers)
    headers.pop("content-type", None)
    if reply.ok and wants_stream(asked) and "choices" in body:
        events = as_events(body, usage=_asks_usage(asked))
        content = b"".join(event(payload) for payload in events)
        return Response(content, reply.status, headers, media_type=_STREAM)
    return JSONResponse(body, reply.status, headers)


def _unknown() -> Response:
    return _refusal(401, "unknown session", "authentication_error")


def _refusal(
    status: int,
    message: str,
    kind: str = "invalid_request_error",
    *,
    code: str | None = None,
    allow: str | None = None,
) -> Response:
    error: JsonObject = {"message": message, "type": kind}
    if code is not None:
        error["code"] = code
    headers = {} if status == 500 else dict(_NEVER)
    if allow is not None:
        headers["allow"] = allow
    return JSONResponse({"error": error}, status, headers)
