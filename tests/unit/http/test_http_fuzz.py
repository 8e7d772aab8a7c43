"""Any split of a reply reads the same, and no bytes make the connection hang or crash."""

import asyncio
import itertools
from typing import Any

import httpx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_nel.http._h1 import Connection, Limits, Reply


class Wire(asyncio.Transport):
    """Where a connection writes; records nothing but whether it was closed."""

    def __init__(self) -> None:
        super().__init__()
        self.closed = False

    def write(self, data: Any) -> None:
        """Drop it."""

    def abort(self) -> None:
        self.closed = True

    def close(self) -> None:
        self.closed = True

    def is_closing(self) -> bool:
        return self.closed

    def get_write_buffer_size(self) -> int:
        return 0


async def exchange(pieces: list[bytes]) -> Reply:
    """One reply in pieces, then the end of the stream."""
    connection = Connection(asyncio.get_running_loop(), lambda _connection: None)
    connection.connection_made(Wire())
    asking = asyncio.ensure_future(connection.ask(b"GET", Limits(None, None, 10_000)))
    await asyncio.sleep(0)
    for piece in pieces:
        connection.data_received(piece)
    connection.eof_received()
    connection.connection_lost(None)
    return await asyncio.wait_for(asking, 5)


def run(pieces: list[bytes]) -> Reply:
    with asyncio.Runner() as runner:
        return runner.run(exchange(pieces))


def split(data: bytes, cuts: list[int]) -> list[bytes]:
    places = sorted({0, len(data), *[cut % (len(data) + 1) for cut in cuts]})
    return [data[a:b] for a, b in itertools.pairwise(places)]


REPLIES = {
    "length": b"HTTP/1.1 200 OK\r\nX:\r\nContent-Length: 11\r\n\r\nhello world",
    "chunked": (
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
        b"5;a=b\r\nhello\r\n6\r\n world\r\n0\r\nT: 1\r\n\r\n"
    ),
    "eof": b"HTTP/1.1 200 OK\r\nA: b\r\n\r\nhello world",
    "interim": (
        b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 11\r\n\r\nhello world"
    ),
}


@settings(max_examples=150, deadline=None)
@given(st.sampled_from(sorted(REPLIES)), st.lists(st.integers(0, 500), max_size=40))
def test_any_split_of_a_reply_reads_the_same(name: str, cuts: list[int]) -> None:
    reply = run(split(REPLIES[name], cuts))

    assert (reply.status, reply.body) == (200, b"hello world")
    assert reply.headers == run([REPLIES[name]]).headers


@settings(max_examples=150, deadline=None)
@given(
    st.sampled_from(["length", "chunked", "interim"]),
    st.integers(0, 400),
    st.lists(st.integers(0, 500), max_size=5),
)
def test_a_truncated_reply_is_an_error(name: str, keep: int, cuts: list[int]) -> None:
    whole = REPLIES[name]
    kept = whole[: keep % len(whole)]

    with pytest.raises(httpx.RemoteProtocolError):
        run(split(kept, cuts))


@settings(max_examples=300, deadline=None)
@given(
    st.sampled_from(sorted(REPLIES)),
    st.lists(st.tuples(st.integers(0, 200), st.integers(0, 255)), max_size=6),
    st.binary(max_size=60),
    st.lists(st.integers(0, 500), max_size=5),
)
def test_damaged_bytes_give_a_reply_or_an_httpx_error(
    name: str, damage: list[tuple[int, int]], tail: bytes, cuts: list[int]
) -> None:
    data = bytearray(REPLIES[name])
    for place, value in damage:
        data[place % len(data)] = value

    try:
        reply = run(split(bytes(data) + tail, cuts))
    except httpx.TransportError:
        return

    assert 200 <= reply.status <= 999


@settings(max_examples=200, deadline=None)
@given(st.lists(st.binary(max_size=80), max_size=5))
def test_noise_is_an_httpx_error(pieces: list[bytes]) -> None:
    with pytest.raises(httpx.TransportError):
        run(pieces)
