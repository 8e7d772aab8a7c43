"""The model client: one endpoint, its limit, its retries."""

import asyncio
import re
import time
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import httpx

from pytest_nel.core.errors import (
    ConfigError,
    EndpointRefused,
    FailureKind,
    InfraError,
    RunStopped,
)
from pytest_nel.core.exchange import Exchange, Pipeline, Reply, Request, current_session
from pytest_nel.core.types import Endpoint, JsonObject, Message, ModelResponse, Protocol
from pytest_nel.http import faults, responses, upstream
from pytest_nel.http._tool_fields import ToolChoice, tool_fields
from pytest_nel.http.balance import balanced
from pytest_nel.http.limiter import AdaptiveLimiter
from pytest_nel.http.openai import BadReply, parse_reply, request_body, request_fields
from pytest_nel.http.reasoning import without
from pytest_nel.http.retry import Fault, Retry
from pytest_nel.http.sampling import as_sent
from pytest_nel.http.secret import Secrets
from pytest_nel.http.sending import Sender
from pytest_nel.http.stats import ClientStats
from pytest_nel.http.target import checked_key, patience, pointed
from pytest_nel.http.transport import make_http_client, make_transport
from pytest_nel.http.whole import Whole

DEFAULT_CONCURRENT = 32


class ModelClient:
    """Asks one model endpoint, be it one server or several that answer alike.

    Bound to the event loop on which it is opened, or first used.

    Args:
        endpoint: Where and how to ask.
        http: The caller's own client, whose headers, auth and transport are kept and which the
            caller closes; None makes one.
        limiter: Requests in flight; None allows ``endpoint.max_concurrent``. Share one between
            the clients of one endpoint.
        retry: When to ask again; None takes ``endpoint.max_retries``.
        clock: Unix time, for Retry-After dates.
        sleep: Waits before asking again; holds no slot of the limiter.

    Raises:
        ConfigError: The URL or the API key cannot be sent.
    """

    def __init__(  # the edges, all by keyword
        self,
        endpoint: Endpoint,
        *,
        http: httpx.AsyncClient | None = None,
        limiter: AdaptiveLimiter | None = None,
        retry: Retry | None = None,
        clock: Callable[[], float] = time.time,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self.endpoint = endpoint
        self._connections = endpoint.max_concurrent or DEFAULT_CONCURRENT
        self.limiter = limiter or AdaptiveLimiter(self._connections)
        self.stats = ClientStats()
        self.comes: Callable[[], Awaitable[Endpoint]] | None = None  # where it is started late
        self._url, self._shown_url = pointed(endpoint)
        self._key = checked_key(endpoint)
        self._secrets = Secrets([self._key])
        pattern = endpoint.reasoning_pattern
        self._reasoning = None if pattern is None else re.compile(pattern, re.DOTALL)
        self.gone: Callable[[], bool] = bool  # whether nobody will ever answer there again
        self._retry = retry or Retry(attempts=endpoint.max_retries + 1)
        self._clock = clock
        self._sleep = sleep
        self._http = http
        self._owned = http is None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._opening = asyncio.Lock()
        self._closed = False
        self._more: Mapping[str, str] = {}
        self._pipeline: Pipeline | None = None
        self._headers: list[tuple[bytes, bytes]] = []
        self._sender: Sender | None = None

    def equip(
        self,
        pipeline: Pipeline | None,
        *,
        headers: Mapping[str, str] | None = None,
        hidden: Iterable[str] = (),
        statuses: Iterable[int] | None = None,
    ) -> None:
        """Send through interceptors; to be called before the client is opened.

        Args:
            pipeline: What every request passes; None costs nothing.
            headers: Further headers of every request.
            hidden: What nobody may see of them.
            statuses: Those after which to ask again; None keeps the rule.
        """
        self._pipeline = pipeline
        self._more = {name.lower(): value for name, value in (headers or {}).items()}
        self._secrets = Secrets([self._key, *hidden])
        if statuses is not None:
            self._retry = replace(self._retry, statuses=frozenset(statuses))

    async def open(self) -> None:
        """Bind to the running loop; done by the first request otherwise.

        Raises:
            RunStopped: The client was closed.
            ConfigError: It is bound to another loop.
        """
        loop = asyncio.get_running_loop()
        if self._closed:
            msg = f"the client of service {self.endpoint.name!r} is closed"
            raise RunStopped(msg)
        if self._loop is loop:
            return
        if self._loop is not None:
            msg = (
                f"the client of service {self.endpoint.name!r} was opened on another event loop: "
                "make one client per loop"
            )
            raise ConfigError(msg)
        async with self._opening:
            if self._loop is None:
                if self.comes is None:
                    self._connect()
                if self._pipeline is not None:
                    await self._pipeline.open()
                self._loop = loop  # only now: a request that comes meanwhile waits as well

    async def arrive(self) -> None:
        """:meth:`open`, and wait for a server that is started late."""
        await self.open()
        async with self._opening:
            if self.comes is not None:
                found = await self.comes()
                self.endpoint = replace(self.endpoint, url=found.url, replicas=found.replicas)
                self._url, self._shown_url = pointed(self.endpoint)
                self._connect()
                self.comes = None

    async def close(self) -> None:
        """Close our connections; a client that was handed in stays open."""
        self._closed = True
        if self._pipeline is not None:
            await self._pipeline.close()
        if self._owned and self._http is not None:
            await self._http.aclose()

    async def release(self) -> None:
        """Close our connections and let go of the loop; the next request binds to its own."""
        self._loop, self._opening = None, asyncio.Lock()
        if self._owned and (http := self._http) is not None:
            self._http = None
            await http.aclose()

    async def chat(
        self,
        messages: Sequence[Message],
        *,
        tools: Sequence[JsonObject] = (),
        tool_choice: ToolChoice | None = None,
        **sampling: Any,
    ) -> ModelResponse:
        """Ask an endpoint of chat completions or responses.

        Args:
            messages: The conversation.
            tools: What the model may call, as chat completions describe it.
            tool_choice: Whether it has to.
            **sampling: Parameters that override the endpoint's; None inherits.

        Raises:
            EndpointRefused: 401, 403 or 404.
            InfraError: No answer; what a retry may cure was retried.
            ConfigError: The endpoint speaks another protocol, or a parameter cannot be sent.
        """
        if self.endpoint.protocol == "responses":
            asked = responses.fields(messages) | tool_fields("responses", tools, tool_choice)
            return await self._ask("responses", asked, sampling)
        asked = {"messages": list(messages), **tool_fields("chat_completions", tools, tool_choice)}
        return await self._ask("chat_completions", asked, sampling)

    async def complete(self, prompt: str, **sampling: Any) -> ModelResponse:
        """Ask a text-completions endpoint; see :meth:`chat`."""
        return await self._ask("completions", {"prompt": prompt}, sampling)

    async def _ask(
        self, protocol: Protocol, asked: Mapping[str, Any], sampling: Mapping[str, Any]
    ) -> ModelResponse:
        endpoint = self.endpoint
        if endpoint.protocol != protocol:
            msg = (
                f"service {endpoint.name!r} speaks {endpoint.protocol}, but {protocol} is asked "
                "for: change the service's protocol or the solver"
            )
            raise ConfigError(msg)
        if self._loop is not asyncio.get_running_loop() or self._closed or self.comes is not None:
            await (self.arrive() if self._pipeline is None else self.open())
        given = {key: what for key, what in sampling.items() if what is not None}
        sent = as_sent({**endpoint.generation, **given}, protocol)
        if self._pipeline is not None:
            fields = request_fields(endpoint.model, asked, sent, stream=endpoint.stream)
            return await self._through(self._pipeline, Request(upstream.PATHS[protocol], fields))
        body = request_body(endpoint.model, asked, sent, stream=endpoint.stream)
        made = 0
        while True:
            made += 1
            async with self.limiter.slot():
                outcome = await self._request(body, sent)
            if isinstance(outcome, ModelResponse):
                return self._count(outcome, made)
            await self._pause(outcome, made)

    async def _through(self, pipeline: Pipeline, request: Request) -> ModelResponse:
        """Ask by way of the interceptors; what is recorded is what they made of it."""
        exchange = Exchange(current_session())
        last: upstream.Sent | None = None

        async def ask(request: Request) -> Reply:
            nonlocal last
            last = await self.exchange(request, answers=True)
            exchange.latency_ms = last.elapsed * 1000.0
            return last.reply

        reply = await pipeline.run(request, exchange, ask)
        sampling = upstream.sampling_of(exchange.sent or request)
        made = 0 if last is None else last.requests
        fault = None if last is None else last.fault
        answer = upstream.read_reply(reply, sampling, fault, self._clock())
        if isinstance(answer, Fault):
            raise self._failure(answer, made)
        if not pipeline.fixes_finish_reason:
            answer = upstream.as_said(answer)
        answer = without(self._reasoning, answer)
        answer = replace(answer, latency_ms=exchange.latency_ms, requests=made)
        return self._count(answer, 1) if made else answer  # a stored one costs no tokens

    async def exchange(
        self, request: Request, *, answers: bool = False, asks_again: Callable[[Fault], bool] = bool
    ) -> upstream.Sent:
        """Send a request as it is, and again where that may help.

        Args:
            request: What to send; its path is that below the service's base.
            answers: A success without an answer in it counts as a fault.
            asks_again: Whether to do so after a fault, where it may help.
        """
        if self._loop is not asyncio.get_running_loop() or self._closed or self.comes is not None:
            await self.arrive()
        body, url = upstream.encoded(request.body), self.address(request.path)
        headers = self.headers(request)
        sampling = upstream.sampling_of(request) if answers else None
        made = 0
        while True:
            made += 1
            async with self.limiter.slot():
                got = await self._fetch(body, url, headers)
            sent = upstream.taken(got, sampling, self._clock(), self.endpoint.timeout)
            self.clean(sent)
            fault = sent.fault
            if fault is None or not asks_again(fault) or not await self.again(fault, made):
                return sent._replace(requests=made)

    def address(self, path: str) -> httpx.URL:
        """Where a path below the service's base leads."""
        return upstream.address(self._url, path)

    def redacted(self, text: str) -> str:
        """A text, of JSON or about to be, without the secrets of the service."""
        return self._secrets.out_of_json(text)

    def clean(self, sent: upstream.Sent) -> None:
        """Take the secrets of the service out of a reply that echoes them."""
        sent.reply.body = self._secrets.out_of_body(sent.reply.body, sent.body)

    def headers(self, request: Request) -> list[tuple[bytes, bytes]]:
        """The headers of a request; the service's own stand before those it came with."""
        return upstream.joined(self._headers, request.headers)

    async def again(self, fault: Fault, made: int) -> bool:
        """Wait before the next request; False at once when there is to be none."""
        try:
            await self._pause(fault, made)
        except InfraError:
            return False
        return True

    async def _request(self, body: bytes, sent: Mapping[str, Any]) -> ModelResponse | Fault:
        got = await self._fetch(body, self._url, self._headers)
        if isinstance(got, Fault):
            return got
        if not got.is_success:
            return faults.of_response(got, self._clock())
        try:
            reply = parse_reply(got.content, got.kind, sent, seconds=got.elapsed)
        except BadReply as exc:
            return faults.of_bad_reply(exc, got, self._clock())
        reply = self._secrets.out_of_reply(reply, got.content)
        return without(self._reasoning, reply)

    async def _fetch(
        self, body: bytes, url: httpx.URL, headers: list[tuple[bytes, bytes]]
    ) -> Whole | Fault:
        """One request: what was answered, or why nothing was."""
        stats = self.stats
        stats.requests += 1
        stats.in_flight += 1
        assert self._sender is not None
        deadline = asyncio.timeout(self.endpoint.timeout)
        try:
            async with deadline:
                return await self._sender.post(body, url, headers)
        except (httpx.HTTPError, httpx.StreamError, httpx.InvalidURL, OSError) as exc:
            if isinstance(exc, TimeoutError) and deadline.expired():
                return faults.of_deadline(self.endpoint.timeout)
            return faults.of_exception(exc)
        finally:
            stats.in_flight -= 1

    async def _pause(self, fault: Fault, made: int) -> None:
        """Wait before the next request, or raise what ends the call."""
        stats = self.stats
        fault = self._retry.judged(fault)
        if fault.retryable and fault.status in faults.THROTTLED:
            told = None if self._retry.told_too_long(fault) else fault.retry_after
            self.limiter.throttled(told)
        seconds = None if self.gone() else self._retry.pause(fault, made)
        if seconds is None:
            raise self._failure(fault, made)
        stats.retries += 1
        stats.last_retry_reason = self._secrets.out_of_text(str(fault))
        stats.waiting_retry += 1
        try:
            await self._sleep(seconds)
        finally:
            stats.waiting_retry -= 1

    def _failure(self, fault: Fault, made: int) -> InfraError:
        failure = self._error(fault, made)
        failure.requests, failure.status = made, fault.status
        return failure

    def _error(self, fault: Fault, made: int) -> InfraError:
        name, what = self.endpoint.name, self._secrets.out_of_text(str(fault))
        if fault.status in faults.REFUSED:
            check = faults.advice(fault, self.endpoint)
            return EndpointRefused(
                f"service {name!r}: {what} (from {self._shown_url}). Check {check}."
            )
        if fault.retryable and self._retry.told_too_long(fault):
            message = (
                f"service {name!r} at {self._shown_url} asks to wait {fault.retry_after:g} s "
                f"(Retry-After), more than the {self._retry.longest_told:g} s allowed: {what}"
            )
            return InfraError(message, kind=FailureKind.RATE_LIMIT, retryable=False)
        tries = f"the last of {made} requests" if made > 1 else "the request"
        message = f"service {name!r}: {what} ({tries} to {self._shown_url})"
        return InfraError(message, kind=fault.kind, retryable=False)

    def _count(self, reply: ModelResponse, made: int) -> ModelResponse:
        self.stats.prompt_tokens += reply.prompt_tokens or 0
        self.stats.completion_tokens += reply.completion_tokens or 0
        return reply if made == 1 else replace(reply, requests=made)

    def _made(self) -> tuple[httpx.AsyncClient, httpx.AsyncBaseTransport | None]:
        """A client of ours, and its transport unless httpx is to authenticate by the URL."""
        url, room = str(self._url), self._connections
        among = balanced(self.endpoint.replicas, connections=room)
        transport = among or make_transport(url, connections=room)
        http = make_http_client(url, connections=room, transport=transport)
        return http, None if self._url.userinfo else transport

    def _connect(self) -> None:
        """Let httpx merge its client's headers, cookies and URL once, for all requests."""
        own = None
        if self._http is None:
            self._http, own = self._made()
        http, timeout = self._http, patience(self.endpoint)
        headers = {"content-type": "application/json"}
        if self._key:
            headers["authorization"] = f"Bearer {self._key}"
        headers |= self._more
        model = http.build_request("POST", self._url, headers=headers, content=b"", timeout=timeout)
        self._url = model.url
        self._headers = [pair for pair in model.headers.raw if pair[0].lower() != b"content-length"]
        self._sender = Sender(http, own, model.extensions)
