"""The model client: one endpoint, its limit, its retries."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import httpx

from pytest_nel.core.errors import (
    ConfigError,
    EndpointRefused,
    FailureKind,
    InfraError,
    RunStopped,
)
from pytest_nel.core.types import Endpoint, Message, ModelResponse, Protocol
from pytest_nel.http import faults
from pytest_nel.http.limiter import AdaptiveLimiter
from pytest_nel.http.openai import BadReply, parse_reply, request_body
from pytest_nel.http.retry import Fault, Retry
from pytest_nel.http.secret import Secret
from pytest_nel.http.transport import make_http_client

DEFAULT_CONCURRENT = 32


@dataclass(slots=True)
class ClientStats:
    """Counters of one client; other threads may read them at any time.

    Attributes:
        requests: HTTP requests sent.
        retries: Those of them that repeated another.
        in_flight: Requests under way now.
        waiting_retry: Calls that wait before asking again.
        last_retry_reason: Why the last of them has to.
        prompt_tokens: Sum over replies that reported it.
        completion_tokens: As above.
    """

    requests: int = 0
    retries: int = 0
    in_flight: int = 0
    waiting_retry: int = 0
    last_retry_reason: str = ""
    prompt_tokens: int = 0
    completion_tokens: int = 0


class ModelClient:
    """Asks one model endpoint.

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
        self._url = _checked_url(endpoint)
        self._shown_url = str(self._url.copy_with(userinfo=b"", query=None, fragment=None))
        self._key = _checked_key(endpoint)
        self._secret = Secret(self._key)
        self._retry = retry or Retry(attempts=endpoint.max_retries + 1)
        self._clock = clock
        self._sleep = sleep
        self._http = http
        self._owned = http is None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._closed = False
        self._headers: list[tuple[bytes, bytes]] = []
        self._extensions: dict[str, Any] = {}  # Any: httpx's own type

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
        self._loop = loop
        if self._http is None:
            self._http = make_http_client(str(self._url), connections=self._connections)
        self._prepare(self._http)

    async def close(self) -> None:
        """Close our connections; a client that was handed in stays open."""
        self._closed = True
        if self._owned and self._http is not None:
            await self._http.aclose()

    async def release(self) -> None:
        """Close our connections and let go of the loop; the next request binds to its own."""
        self._loop = None
        if self._owned and self._http is not None:
            http, self._http = self._http, None
            await http.aclose()

    async def chat(self, messages: Sequence[Message], **sampling: Any) -> ModelResponse:
        """Ask a chat-completions endpoint.

        Args:
            messages: The conversation.
            **sampling: Parameters that override the endpoint's; None inherits.

        Raises:
            EndpointRefused: 401, 403 or 404.
            InfraError: No answer; what a retry may cure was retried.
            ConfigError: The endpoint speaks another protocol, or a parameter cannot be sent.
        """
        return await self._ask("chat_completions", "messages", list(messages), sampling)

    async def complete(self, prompt: str, **sampling: Any) -> ModelResponse:
        """Ask a text-completions endpoint; see :meth:`chat`."""
        return await self._ask("completions", "prompt", prompt, sampling)

    async def _ask(
        self, protocol: Protocol, field: str, value: object, sampling: Mapping[str, Any]
    ) -> ModelResponse:
        endpoint = self.endpoint
        if endpoint.protocol != protocol:
            msg = (
                f"service {endpoint.name!r} speaks {endpoint.protocol}, but {protocol} is asked "
                "for: change the service's protocol or the solver"
            )
            raise ConfigError(msg)
        if self._loop is not asyncio.get_running_loop() or self._closed:
            await self.open()
        given = {key: what for key, what in sampling.items() if what is not None}
        sent = {**endpoint.generation, **given}
        body = request_body(endpoint.model, field, value, sent)
        made = 0
        while True:
            made += 1
            async with self.limiter.slot():
                outcome = await self._request(body, sent)
            if isinstance(outcome, ModelResponse):
                return self._count(outcome, made)
            await self._pause(outcome, made)

    async def _request(self, body: bytes, sent: Mapping[str, Any]) -> ModelResponse | Fault:
        stats = self.stats
        stats.requests += 1
        stats.in_flight += 1
        begin = time.perf_counter()
        deadline = asyncio.timeout(self.endpoint.timeout)
        try:
            async with deadline:
                response = await self._send(body)
        except (httpx.HTTPError, httpx.StreamError, httpx.InvalidURL, OSError) as exc:
            if isinstance(exc, TimeoutError) and deadline.expired():
                return faults.of_deadline(self.endpoint.timeout)
            return faults.of_exception(exc)
        finally:
            stats.in_flight -= 1
        if not response.is_success:
            return faults.of_response(response, self._clock())
        elapsed = response.extensions.get("nel_elapsed", time.perf_counter() - begin)
        try:
            reply = parse_reply(
                response.content, response.headers.get("content-type", "").lower(), sent
            )
        except BadReply as exc:
            return faults.of_bad_reply(exc, response, self._clock())
        reply = self._secret.out_of_reply(reply, response.content)
        return replace(reply, latency_ms=elapsed * 1000.0)

    async def _send(self, body: bytes) -> httpx.Response:
        """Send a request built by hand: httpx's own building costs more than the sending."""
        assert self._http is not None
        request = httpx.Request(
            "POST",
            self._url,
            headers=[*self._headers, (b"Content-Length", b"%d" % len(body))],
            stream=httpx.ByteStream(body),
            extensions=self._extensions,
        )
        return await self._http.send(request, follow_redirects=False)

    async def _pause(self, fault: Fault, made: int) -> None:
        """Wait before the next request, or raise what ends the call."""
        stats = self.stats
        if fault.retryable and fault.status in faults.THROTTLED:
            told = None if self._retry.told_too_long(fault) else fault.retry_after
            self.limiter.throttled(told)
        seconds = self._retry.pause(fault, made)
        if seconds is None:
            failure = self._failure(fault, made)
            failure.requests, failure.status = made, fault.status
            raise failure
        stats.retries += 1
        stats.last_retry_reason = self._secret.out_of_text(str(fault))
        stats.waiting_retry += 1
        try:
            await self._sleep(seconds)
        finally:
            stats.waiting_retry -= 1

    def _failure(self, fault: Fault, made: int) -> InfraError:
        name, what = self.endpoint.name, self._secret.out_of_text(str(fault))
        if fault.status in faults.REFUSED:
            return EndpointRefused(
                f"service {name!r}: {what} (from {self._shown_url}). Check {self._advice(fault)}."
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

    def _advice(self, fault: Fault) -> str:
        if fault.status == 404:
            return f"the path of the URL and the model name {self.endpoint.model!r}"
        if self.endpoint.api_key is None:
            return "whether the endpoint wants an API key: none is configured"
        return "the API key and what it may use"

    def _count(self, reply: ModelResponse, made: int) -> ModelResponse:
        self.stats.prompt_tokens += reply.prompt_tokens or 0
        self.stats.completion_tokens += reply.completion_tokens or 0
        return reply if made == 1 else replace(reply, requests=made)

    def _prepare(self, http: httpx.AsyncClient) -> None:
        """Let httpx merge its client's headers, cookies and URL once, for all requests."""
        timeout = httpx.Timeout(
            None, connect=self.endpoint.connect_timeout, read=self.endpoint.read_timeout
        )
        headers = {"content-type": "application/json"}
        if self._key:
            headers["authorization"] = f"Bearer {self._key}"
        model = http.build_request("POST", self._url, headers=headers, content=b"", timeout=timeout)
        self._url = model.url
        self._headers = [pair for pair in model.headers.raw if pair[0].lower() != b"content-length"]
        self._extensions = dict(model.extensions)


def _checked_url(endpoint: Endpoint) -> httpx.URL:
    try:
        url = httpx.URL(endpoint.url)
    except httpx.InvalidURL as exc:
        msg = f"service {endpoint.name!r}: the URL cannot be read: {exc}"
        raise ConfigError(msg) from exc
    if url.scheme not in ("http", "https") or not url.host:
        shown = f"{url.scheme}:…" if url.scheme else "one without a scheme"
        msg = f"service {endpoint.name!r}: expected http(s)://host/…, got {shown}"
        raise ConfigError(msg)
    return url


def _checked_key(endpoint: Endpoint) -> str:
    key = (endpoint.api_key or "").strip()
    if not key.isascii() or not key.isprintable():
        msg = (
            f"service {endpoint.name!r}: its API key holds characters that no header may carry: "
            "was it copied whole, and nothing else?"
        )
        raise ConfigError(msg)
    return key
