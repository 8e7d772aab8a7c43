"""The endpoint's end of a pipeline: from requests and replies as interceptors see them to HTTP."""

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, NamedTuple

import httpx

from pytest_nel.core.errors import ConfigError, FailureKind
from pytest_nel.core.exchange import Reply, Request
from pytest_nel.core.text import storable
from pytest_nel.core.types import JsonObject, ModelResponse
from pytest_nel.http import faults
from pytest_nel.http.openai import BadReply, parse_reply
from pytest_nel.http.retry import Fault
from pytest_nel.http.whole import Whole

PATHS: Mapping[str, str] = {
    "chat_completions": "/chat/completions",
    "completions": "/completions",
    "responses": "/responses",
}
"""Where a protocol's requests go, below the base of a service."""

_ENCODE = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode
_NO_SAMPLING = frozenset(
    {
        *("input", "messages", "model", "prompt", "store", "stream", "stream_options"),
        *("tools", "tool_choice"),
    }
)
_OPERATIONS = ("/chat/completions", "/completions", "/embeddings", "/responses")
_OF_A_CONNECTION = frozenset(
    {"connection", "keep-alive", "te", "trailer", "trailers", "transfer-encoding", "upgrade"}
    | {"content-length", "content-encoding", "server", "date"}
)


class Sent(NamedTuple):
    """What became of a request.

    Attributes:
        reply: The reply; where none came, one that says so.
        fault: Why it is no success, or None.
        requests: HTTP requests made.
        elapsed: Seconds of the last of them.
        body: The reply's body as it came.
    """

    reply: Reply
    fault: Fault | None = None
    requests: int = 1
    elapsed: float = 0.0
    body: bytes = b""


def encoded(body: JsonObject) -> bytes:
    """A request body as bytes.

    Raises:
        ConfigError: It cannot be written as JSON.
    """
    try:
        return storable(_ENCODE(body)).encode("utf-8")
    except (TypeError, ValueError, RecursionError) as exc:
        msg = f"the request, as the interceptors left it, cannot be written as JSON: {exc}"
        raise ConfigError(msg) from exc


def sampling_of(request: Request) -> JsonObject:
    """The parameters of a request, as a record has them."""
    return {name: value for name, value in request.body.items() if name not in _NO_SAMPLING}


def address(url: httpx.URL, path: str) -> httpx.URL:
    """Where a path below the base of a service leads; the service's query is kept."""
    own = url.path.rstrip("/")
    operation = next((end for end in _OPERATIONS if own.endswith(end)), "")
    if path == operation or not path.strip("/"):
        return url
    base = own.removesuffix(operation)
    return url.copy_with(path=base + "/" + path.lstrip("/"))


def joined(own: list[tuple[bytes, bytes]], more: Mapping[str, str]) -> list[tuple[bytes, bytes]]:
    """The service's own headers, and those of a request that they leave open."""
    names = {name.lower() for name, _ in own}
    pairs = [
        (name.encode("ascii"), value.encode("latin-1", "replace")) for name, value in more.items()
    ]
    return [*own, *(pair for pair in pairs if pair[0] not in names)]


def reply_headers(headers: Mapping[str, str]) -> dict[str, str]:
    """The headers of a response that are about its content; names in lower case."""
    return {
        name.lower(): value
        for name, value in headers.items()
        if name.lower() not in _OF_A_CONNECTION and not name.lower().startswith("proxy-")
    }


def taken(
    got: Whole | Fault,
    sampling: Mapping[str, Any] | None,
    now: float,
    timeout: float,
) -> Sent:
    """What one request brought.

    Args:
        got: The response, or why there is none.
        sampling: The parameters sent, where an answer is wanted; None takes any success.
        now: Unix time, for Retry-After dates.
        timeout: The seconds it was given.
    """
    if isinstance(got, Fault):
        return Sent(_no_reply(got, timeout), got)
    content = got.content
    headers = reply_headers(got.headers)
    fault = None
    body: JsonObject | bytes = content
    if not got.is_success:
        fault = faults.of_response(got, now)
    elif sampling is not None:
        try:
            body = parse_reply(content, got.kind, sampling).raw_response or {}
        except BadReply as exc:
            fault = faults.of_bad_reply(exc, got, now)
    if isinstance(body, bytes):
        body = as_object(content)
    return Sent(Reply(got.status, headers, body), fault, elapsed=got.elapsed, body=content)


def as_object(content: bytes) -> JsonObject | bytes:
    """The JSON object, or the bytes where they hold none."""
    if not content.lstrip().startswith(b"{"):
        return content
    try:
        data = json.loads(content, parse_constant=lambda _name: None)
    except (ValueError, RecursionError):
        return content
    return data if isinstance(data, dict) else content


def read_reply(
    reply: Reply, sampling: Mapping[str, Any], fault: Fault | None, now: float
) -> ModelResponse | Fault:
    """The answer that a pipeline returns, or why it is none.

    Args:
        reply: What it returns.
        sampling: The parameters sent.
        fault: What the endpoint's last reply was, if it was none of success.
        now: Unix time, for Retry-After dates.
    """
    if fault is not None:
        return fault
    if not reply.ok:
        return faults.of_response(_response(reply), now)
    response = _response(reply)
    try:
        return parse_reply(response.content, "application/json", sampling)
    except BadReply as exc:
        return faults.of_bad_reply(exc, response, now)


def fault_in(reply: Reply, now: float) -> Fault | None:
    """Why a reply that was not asked to hold an answer says that it failed; None: it does not.

    Args:
        reply: The endpoint's.
        now: Unix time, for Retry-After dates.
    """
    body = reply.body
    if not reply.ok:
        return faults.of_response(_response(reply), now)
    if not isinstance(body, dict) or not body.get("error") or body.get("output"):
        return None
    response = _response(reply)
    try:
        parse_reply(response.content, "application/json")
    except BadReply as exc:
        return faults.of_bad_reply(exc, response, now)
    return None


def as_said(answer: ModelResponse) -> ModelResponse:
    """The answer with the finish reason that the server gave it."""
    choices = (answer.raw_response or {}).get("choices") or [{}]
    reason = choices[0].get("finish_reason")
    return replace(answer, finish_reason=reason if isinstance(reason, str) else None)


def _response(reply: Reply) -> Whole:
    body = reply.body
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    return Whole(
        reply.status, {name.lower(): said for name, said in reply.headers.items()}, content
    )


def _no_reply(fault: Fault, timeout: float) -> Reply:
    """What a client of ours is told when the endpoint said nothing."""
    if fault.kind is FailureKind.MODEL_TIMEOUT:
        status, message, kind = 504, f"Upstream timed out after {timeout:g}s", "timeout"
    else:
        status, message, kind = 502, f"no reply from upstream: {fault.reason}", "upstream_error"
    error = {"message": message, "type": kind}
    return Reply(status, {"content-type": "application/json"}, {"error": error})
