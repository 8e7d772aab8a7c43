"""The ``proxy:`` block of a service: what happens to requests between solver and endpoint."""

import re
from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import ConfigDict, Field, field_validator

from pytest_nel.config.schema import MAX_CONCURRENT, Model
from pytest_nel.core.values import is_secret

HOP_BY_HOP = frozenset(
    {"host", "content-length", "connection", "transfer-encoding", "keep-alive", "te", "trailers"}
    | {"trailer", "upgrade", "proxy-connection", "proxy-authorization", "proxy-authenticate"}
)
"""Headers about one connection, which the HTTP client alone may set."""

_TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_CLIENTS = ("model", "messages", "prompt", "stream")
_COOKIES = {"cookie", "set-cookie"}


def secret_header(name: str) -> bool:
    """Whether a header's name says that its value is a secret."""
    return is_secret(name) or name.lower() in _COOKIES or name.lower().endswith("-key")


def checked_header(name: str, value: str | None = None) -> str:
    """The header's name, when it and its value may be sent; for a pydantic validator.

    Args:
        name: Its name.
        value: Its value, where there is one.

    Raises:
        ValueError: It is about one connection, cannot be sent, or holds a secret as it is.
    """
    if not _TOKEN.fullmatch(name):
        msg = f"expected a header name such as X-Team, got {name!r}"
        raise ValueError(msg)
    if name.lower() in HOP_BY_HOP:
        msg = f"{name} belongs to one connection: the HTTP client sets it itself"
        raise ValueError(msg)
    if value is None:
        return name
    if not value.isascii() or not value.isprintable():
        msg = f"the value of {name} (not shown) holds characters that no header may carry"
        raise ValueError(msg)
    if secret_header(name) and "${" not in value:
        msg = (
            f"expected a reference such as ${{NAME}} in the value of {name}, got something else "
            "(not shown): a literal key would be written to the run directory"
        )
        raise ValueError(msg)
    return name


class InterceptorSpec(Model):
    """One entry of ``interceptors``.

    Attributes:
        name: The interceptor's name.
        config: Its options; checked by itself while the run is planned.
    """

    name: str
    config: dict[str, Any] = Field(default_factory=dict)

    @field_validator("name")
    @classmethod
    def _not_the_end(cls, name: str) -> str:
        if name == "endpoint":
            msg = "'endpoint' is where the chain ends, always: leave it out"
            raise ValueError(msg)
        return name


class ModelTraffic(Model):
    """What is written of each exchange, to ``model_traffic.jsonl`` of the benchmark.

    Attributes:
        capture_tool_calls: Tool calls of replies.
        capture_reasoning: Reasoning of replies.
        capture_messages: Messages or prompt of requests, and content of replies.
        capture_request_body: The whole request body.
        max_content_chars: Characters kept of each text; 0 means all.
    """

    capture_tool_calls: bool = True
    capture_reasoning: bool = True
    capture_messages: bool = True
    capture_request_body: bool = False
    max_content_chars: Annotated[int, Field(ge=0)] = 0


class Proxy(Model):
    """Options of ``proxy:`` of a service.

    Attributes:
        interceptors: What changes or watches requests and replies.
        verbose: Log each request and reply, as the interceptor ``logging`` does.
        extra_body: Parameters of every request, unless ``generation`` or the solver sets them.
        extra_headers: Headers of every request; ``${NAME}`` is read when the client is made.
        request_timeout: Seconds for one request in all; null leaves it to ``timeout``.
        max_retries: Further requests after the first; null leaves it to the service.
        retry_on_status: Statuses after which to ask again; null means those that may pass.
        max_concurrent_upstream: Requests in flight at most; null leaves it to the service.
        model_traffic: What to write of each exchange; null writes nothing.
        finish_reason_fixup: Say ``length`` where an answer was cut and the server says ``stop``.
    """

    # A header may be a secret: no error may quote it.
    model_config = ConfigDict(hide_input_in_errors=True)

    interceptors: list[InterceptorSpec] = Field(default_factory=list)
    verbose: bool = False
    extra_body: dict[str, Any] = Field(default_factory=dict)
    extra_headers: dict[str, str] = Field(default_factory=dict)
    request_timeout: Annotated[float, Field(gt=0)] | None = None
    max_retries: Annotated[int, Field(ge=0)] | None = None
    retry_on_status: list[Annotated[int, Field(ge=400, le=599)]] | None = None
    max_concurrent_upstream: Annotated[int, Field(ge=1, le=MAX_CONCURRENT)] | None = None
    model_traffic: ModelTraffic | None = None
    finish_reason_fixup: bool = True

    @field_validator("extra_body")
    @classmethod
    def _not_the_clients(cls, body: dict[str, Any]) -> dict[str, Any]:
        for name in _CLIENTS:
            if name in body:
                advice = "the interceptor streaming" if name == "stream" else "the solver"
                msg = f"{name} is no parameter to add: {advice} says it"
                raise ValueError(msg)
        return body

    @field_validator("extra_headers")
    @classmethod
    def _may_be_sent(cls, headers: dict[str, str]) -> dict[str, str]:
        for name, value in headers.items():
            checked_header(name, value)
        return headers


_SAME = (
    ("request_timeout", "timeout"),
    ("max_retries", "max_retries"),
    ("max_concurrent_upstream", "max_concurrent"),
)


def contradictions(options: Mapping[str, Any], where: str) -> list[str]:
    """What a service's options and its ``proxy`` block say differently; one line each.

    Args:
        options: The service's options as written, defaults left out.
        where: Where they stand, ``services.model``.
    """
    proxy = options.get("proxy")
    if not isinstance(proxy, Mapping):
        return []
    found = []
    for name, same in _SAME:
        here, there = proxy.get(name), options.get(same)
        if here is not None and there is not None and here != there:
            found.append(
                f"{where}.proxy.{name}: {here} here, but {where}.{same} is {there}: say it once"
            )
    generation = options.get("generation")
    body = proxy.get("extra_body")
    if isinstance(generation, Mapping) and isinstance(body, Mapping):
        inner = generation.get("extra_body")
        generation = {**(inner if isinstance(inner, Mapping) else {}), **generation}
        found += [
            f"{where}.proxy.extra_body.{name}: another value than in {where}.generation: "
            "say it once"
            for name in body
            if generation.get(name) is not None and generation[name] != body[name]
        ]
    return found
