"""A reply that was read to its end, whichever way it came."""

from typing import NamedTuple

import httpx

from pytest_nel.http._h1 import Reply


class Whole(NamedTuple):
    """What a server answered.

    Attributes:
        status: The HTTP status.
        headers: By names in lower case; several of one name are joined by commas.
        content: The body, decompressed.
        elapsed: Seconds from sending to the last byte.
    """

    status: int
    headers: dict[str, str]
    content: bytes
    elapsed: float = 0.0

    @property
    def is_success(self) -> bool:
        """Whether the status says so."""
        return 200 <= self.status < 300

    @property
    def kind(self) -> str:
        """The media type in lower case, empty where none is said."""
        return self.headers.get("content-type", "").lower()


def of_response(response: httpx.Response, elapsed: float = 0.0) -> Whole:
    """What httpx has read.

    Args:
        response: With its body.
        elapsed: Seconds, where the transport does not tell them itself.
    """
    headers = {name.lower(): value for name, value in response.headers.items()}
    seconds = response.extensions.get("nel_elapsed", elapsed)
    return Whole(response.status_code, headers, response.content, seconds)


def of_reply(reply: Reply) -> Whole:
    """What came over a connection of ours.

    Raises:
        httpx.DecodingError: It is not compressed as it says.
    """
    headers: dict[str, str] = {}
    for raw, value in reply.headers:
        name = raw.decode("latin-1").lower()
        text = _text(value)
        headers[name] = f"{headers[name]}, {text}" if name in headers else text
    if "content-encoding" in headers:
        response = httpx.Response(reply.status, headers=reply.headers, content=reply.body)
        return of_response(response, reply.elapsed)
    return Whole(reply.status, headers, reply.body, reply.elapsed)


def _text(value: bytes) -> str:
    try:
        return value.decode("utf-8")
    except UnicodeDecodeError:
        return value.decode("latin-1")
