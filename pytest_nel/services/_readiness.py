"""When a model server is ready: its health page says so, and then it completes a prompt."""

import time
from collections.abc import Callable, Mapping
from typing import Final, NamedTuple

import httpx

from pytest_nel.core.errors import InfraError
from pytest_nel.core.text import showable
from pytest_nel.core.types import JsonObject, Protocol
from pytest_nel.services._process import SupervisedProcess, without

PATHS: Mapping[Protocol, str] = {
    "chat_completions": "/v1/chat/completions",
    "completions": "/v1/completions",
    "responses": "/v1/responses",
}
TOO_SLOW: Final = "was not ready in time"
DIED: Final = "ended before it was ready"

_PROBES: Mapping[Protocol, JsonObject] = {
    "chat_completions": {"messages": [{"role": "user", "content": "Hi"}]},
    "completions": {"prompt": "Hi"},
    "responses": {"input": "Hi", "store": False},
}
_CAPS: Mapping[Protocol, JsonObject] = {
    "chat_completions": {"max_tokens": 1},
    "completions": {"max_tokens": 1},
    "responses": {"max_output_tokens": 16},  # the least that the protocol's owner takes
}
_NOT_YET = (429, 502, 503, 504)  # loading, or a proxy before what is still loading
_FIRST_PAUSE, _LONGEST_PAUSE = 0.05, 1.0
_HEALTH_PATIENCE = 5.0
_ALIVE_PATIENCE = 30.0


class Probe(NamedTuple):
    """What a server must do to count as ready.

    Attributes:
        where: The place to blame, such as ``services.model``.
        url: The full request URL.
        protocol: The wire format behind it; None where no model is asked, so that health is all.
        model: The model name to send.
        health_urls: One of them must answer 2xx first; none leaves it to the completion.
        api_key: Bearer token or None.
        patience: Seconds in all.
        hidden: Values that no message may show.
    """

    where: str
    url: str
    protocol: Protocol | None
    model: str
    health_urls: tuple[str, ...]
    api_key: str | None
    patience: float
    hidden: tuple[str, ...] = ()


def wait_until_ready(
    process: SupervisedProcess,
    probe: Probe,
    deadline: float,
    *,
    wanted: Callable[[], bool] = lambda: True,
) -> None:
    """Ask until the server is ready (blocking).

    Args:
        process: The server.
        probe: What to ask.
        deadline: On the clock of :func:`time.monotonic`.
        wanted: Whether anybody still waits for it.

    Raises:
        InfraError: It ended, was not ready in time or refused; with the end of its log.
    """
    seen = ""
    pause = _FIRST_PAUSE
    healthy = not probe.health_urls
    with httpx.Client(trust_env=False) as http:  # a proxy has no business on loopback
        while wanted() and (left := deadline - time.monotonic()) > 0:
            if not process.running:
                raise failure(process, probe, DIED)
            try:
                if healthy:
                    reply = _complete(http, probe, left)
                else:
                    reply = _health(http, probe, min(left, _HEALTH_PATIENCE))
            except httpx.TransportError:  # not up yet, or it ended: seen in the next round
                time.sleep(min(pause, max(0.0, deadline - time.monotonic())))
                pause = min(pause * 1.5, _LONGEST_PAUSE)
                continue
            if reply.is_success and process.status is None:
                if healthy or probe.protocol is None:
                    return
                healthy, pause = True, _FIRST_PAUSE
                continue
            seen = f"; the last answer: {reply.request.url.path} {reply.status_code}"
            if healthy and not reply.is_success and reply.status_code not in _NOT_YET:
                raise failure(process, probe, _refusal(reply, probe))
            time.sleep(pause)
            pause = min(pause * 1.5, _LONGEST_PAUSE)
    raise failure(process, probe, TOO_SLOW + seen)


def _health(http: httpx.Client, probe: Probe, patience: float) -> httpx.Response:
    """What the first page that says yes says, else the last."""
    *others, last = probe.health_urls
    for url in others:
        reply = http.get(url, timeout=patience)
        if reply.is_success:
            return reply
    return http.get(last, timeout=patience)


def is_healthy(probe: Probe) -> bool:
    """Whether a health page answers now, and no error of the server's (blocking)."""
    with httpx.Client(trust_env=False) as http:
        try:
            return _health(http, probe, _ALIVE_PATIENCE).status_code < 500
        except httpx.TransportError:
            return False


def _complete(http: httpx.Client, probe: Probe, patience: float) -> httpx.Response:
    """Ask for one token: only that proves the whole path."""
    assert probe.protocol is not None
    body = {"model": probe.model, **_CAPS[probe.protocol], **_PROBES[probe.protocol]}
    headers = {} if probe.api_key is None else {"Authorization": f"Bearer {probe.api_key}"}
    return http.post(probe.url, json=body, headers=headers, timeout=patience)


def _refusal(reply: httpx.Response, probe: Probe) -> str:
    said = without(reply.text, (*probe.hidden, probe.api_key or ""))  # before it is cut
    return f"answered {reply.status_code} {showable(said, 300)}"


def failure(process: SupervisedProcess, probe: Probe, what: str) -> InfraError:
    """What a server did instead of becoming ready, with its last words, secrets taken out."""
    status = process.status
    ended = f" (status {status})" if what == DIED and status is not None else ""
    hidden = (*probe.hidden, probe.api_key or "")
    return InfraError(
        f"{probe.where}: the model server {what}{ended} "
        f"(startup_timeout: {probe.patience:g} s). "
        f"The end of {process.log}:\n{process.tail(hidden)}",
        retryable=False,
    )
