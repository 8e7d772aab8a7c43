"""What an agent's last requests come to once it has hung up: before a real server."""

import asyncio
import logging
import re
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest

from pytest_nel.core.errors import FailureKind
from pytest_nel.core.exchange import Usage
from pytest_nel.core.under_way import Served
from tests.unit.interceptors.left_requests import (
    HI,
    LONG,
    STREAMED,
    asking,
    busy,
    fine,
    hanging,
    late,
    left,
    post,
    proxied,
    streaming,
    then,
    waiting,
)
from tests.unit.interceptors.upstream import Answer

pytestmark = pytest.mark.asyncio


@pytest.mark.parametrize(
    ("said", "body"), [(hanging, HI), (hanging, STREAMED), (streaming(asyncio.Event()), STREAMED)]
)
async def test_a_service_that_answers_nothing_in_its_time_has_failed_who_hung_up(
    tmp_path: Path, said: Answer, body: dict[str, Any]
) -> None:
    async with proxied(said, tmp_path) as (proxy, server):
        url = proxy.url_for("x", keeps=True)
        began = time.monotonic()
        await left(url, server, body)

        await proxy.settled(url)

        lost = proxy.usage(url).lost

    assert lost is not None
    assert lost.kind in {FailureKind.MODEL_TIMEOUT, FailureKind.SERVER_ERROR}  # as for anybody
    assert re.search("(within|after) 1 ?s", lost.what)
    assert time.monotonic() - began > 0.9
    assert len(server.asked) == 1  # it had all the time there is: that is not repeated


@pytest.mark.parametrize("body", [HI, STREAMED])
async def test_for_a_client_that_waits_what_took_too_long_is_asked_again(
    tmp_path: Path, body: dict[str, Any]
) -> None:
    async with proxied(then(hanging, fine), tmp_path) as (proxy, server):
        url = proxy.url_for("x", keeps=True)

        reply = await post(url, body)

        assert reply.status_code == 200
        assert len(server.asked) == 2
        assert proxy.usage(url) == Usage(requests=1, prompt=3, completion=2, asked=1)


@pytest.mark.parametrize(
    ("said", "body"), [(waiting, HI), (waiting, STREAMED), (streaming, STREAMED)]
)
async def test_who_hangs_up_on_a_service_that_answers_was_impatient(
    tmp_path: Path, said: Callable[[asyncio.Event], Answer], body: dict[str, Any]
) -> None:
    goes_on = asyncio.Event()
    async with proxied(said(goes_on), tmp_path, seconds=LONG) as (proxy, server):
        url = proxy.url_for("x", keeps=True)
        await left(url, server, body)

        settling = asyncio.create_task(proxy.settled(url))
        goes_on.set()
        await settling

        assert proxy.usage(url) == Usage(requests=1, prompt=3, completion=2, asked=1)


@pytest.mark.parametrize(("last", "failed"), [(fine, False), (busy, True)])
async def test_who_hangs_up_while_a_service_is_busy_is_told_by_the_last_retry(
    tmp_path: Path, last: Answer, *, failed: bool
) -> None:
    goes_on = asyncio.Event()
    said = then(waiting(goes_on, busy), last)
    async with proxied(said, tmp_path, seconds=LONG) as (proxy, server):
        url = proxy.url_for("x", keeps=True)
        await left(url, server)
        goes_on.set()

        await proxy.settled(url)

        usage = proxy.usage(url)

    assert len(server.asked) == 2
    assert (usage.lost is not None, usage.requests) == (failed, int(not failed))


@pytest.mark.parametrize(
    ("slow", "body", "waits"),
    [
        (hanging, HI, False),
        (hanging, STREAMED, True),
        (None, HI, True),  # a gateway's time-out
        (None, STREAMED, False),
    ],
)
async def test_a_last_request_that_takes_too_long_twice_is_at_fault_where_a_small_one_is_answered(
    tmp_path: Path, slow: Answer | None, body: dict[str, Any], *, waits: bool
) -> None:
    goes_on = asyncio.Event()
    said = then(fine, slow or waiting(goes_on, late), fine, slow or late)
    async with proxied(said, tmp_path, seconds=3.0 if slow else LONG, tries=1) as (proxy, server):
        url = proxy.url_for("x", keeps=True)
        await post(url)
        async with asking(url, server, body) as asks:
            if not waits:
                asks.cancel()
                await asyncio.wait([asks])
            settling = asyncio.create_task(proxy.settled(url))
            await asyncio.sleep(0)  # it is the end from here on
            goes_on.set()
            await settling

        usage = proxy.usage(url)

    assert usage == Usage(requests=1, prompt=3, completion=2, asked=2, refused=1)  # ours is none
    assert [each.get("max_tokens") for each in server.asked] == [None, None, 1, None]


@pytest.mark.parametrize(("then_says", "body"), [(hanging, HI), (busy, STREAMED)])
async def test_a_last_request_that_takes_too_long_is_lost_where_a_small_one_fails_as_well(
    tmp_path: Path, then_says: Answer, body: dict[str, Any]
) -> None:
    said = then(fine, hanging, then_says)
    async with proxied(said, tmp_path, seconds=2.0) as (proxy, server):
        url = proxy.url_for("x", keeps=True)
        await post(url)
        await left(url, server, body)

        await proxy.settled(url)

        usage = proxy.usage(url)

    assert usage.lost is not None
    assert usage.lost.timed_out
    assert (usage.requests, usage.refused, len(server.asked)) == (1, 0, 3)


async def test_the_next_request_takes_the_place_of_one_that_was_left(tmp_path: Path) -> None:
    async with proxied(then(hanging, fine), tmp_path, seconds=LONG) as (proxy, server):
        url = proxy.url_for("x", keeps=True)
        await left(url, server)
        assert not server.left.is_set()

        await post(url)
        await asyncio.wait_for(server.left.wait(), 20)
        await asyncio.wait_for(proxy.settled(url), 20)

        assert proxy.usage(url) == Usage(requests=1, prompt=3, completion=2, asked=2)


async def test_a_client_that_still_waits_at_the_end_is_sent_away_and_its_request_counts(
    tmp_path: Path,
) -> None:
    goes_on = asyncio.Event()
    async with proxied(waiting(goes_on), tmp_path, seconds=LONG) as (proxy, server):
        url = proxy.url_for("x", keeps=True)
        async with asking(url, server) as asks:
            settling = asyncio.create_task(proxy.settled(url))
            first = await asyncio.wait_for(asks, 20)
            second = await post(url)
            goes_on.set()
            await settling

        assert (first.status_code, second.status_code) == (401, 401)
        assert proxy.usage(url).requests == 1


async def test_a_client_that_reads_a_stream_at_the_end_is_told_that_no_more_comes(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    goes_on = asyncio.Event()
    async with (
        proxied(streaming(goes_on), tmp_path, seconds=LONG) as (proxy, _),
        httpx.AsyncClient(trust_env=False, timeout=LONG) as client,
    ):
        url = proxy.url_for("x", keeps=True)
        asks = client.stream("POST", f"{url}/chat/completions", json=STREAMED)
        async with asks as reply:
            lines = reply.aiter_lines()
            first = await anext(lines)
            settling = asyncio.create_task(proxy.settled(url))
            said = [first, *[line async for line in lines if line]]
            goes_on.set()
            await settling

        assert proxy.usage(url).requests == 1

    assert "the session is over" in said[-1]
    assert "[DONE]" not in "".join(said)  # nobody takes it for a whole answer
    assert [each for each in caplog.records if each.levelno >= logging.ERROR] == []


async def test_a_client_that_reads_nothing_of_its_answer_holds_nobody_up(tmp_path: Path) -> None:
    body = b'{"messages": [{"role": "user", "content": "hi"}], "stream": true}'
    head = f"Host: x\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    goes_on = asyncio.Event()
    goes_on.set()
    said = streaming(goes_on, more=150)  # more than the sockets between hold
    async with proxied(said, tmp_path, seconds=LONG) as (proxy, server):
        url = httpx.URL(proxy.url_for("x", keeps=True))
        _, writer = await asyncio.open_connection(url.host, url.port, limit=1024)
        writer.write(f"POST {url.path}/chat/completions HTTP/1.1\r\n{head}".encode() + body)
        await server.came.wait()
        await asyncio.sleep(0.5)

        await asyncio.wait_for(proxy.settled(str(url)), 25)

        assert proxy.usage(str(url)).requests == 1
        writer.close()


@pytest.mark.parametrize("stops", [False, True])
async def test_nothing_goes_on_beyond_the_sessions_end(tmp_path: Path, *, stops: bool) -> None:
    async with proxied(hanging, tmp_path, seconds=600.0) as (proxy, server):
        url = proxy.url_for("x", keeps=True)
        await left(url, server)
        settling = asyncio.create_task(proxy.settled(url))
        await asyncio.sleep(0)  # it waits from here on

        if stops:
            await proxy.stop()
        else:
            proxy.end(url)

        await asyncio.wait_for(server.left.wait(), 20)
        await asyncio.wait_for(settling, 20)


@pytest.mark.parametrize("first", ["ends", "leaves"])
@pytest.mark.parametrize("keeps", [False, True])
async def test_a_request_ends_with_both_its_session_and_its_client(
    tmp_path: Path, first: str, *, keeps: bool
) -> None:
    async with proxied(hanging, tmp_path, seconds=600.0) as (proxy, server):
        url = proxy.url_for("x", keeps=keeps)
        async with asking(url, server) as asks:
            if first == "ends":
                proxy.end(url)
            asks.cancel()
        proxy.end(url)

        await asyncio.wait_for(server.left.wait(), 20)


@pytest.mark.parametrize("ends", [False, True])
async def test_a_proxy_that_stops_ends_requests_whose_clients_are_still_there(
    tmp_path: Path, *, ends: bool
) -> None:
    async with proxied(hanging, tmp_path, seconds=600.0) as (proxy, server):
        url = proxy.url_for("x", keeps=True)
        async with asking(url, server):
            if ends:
                proxy.end(url)

            await proxy.stop()

            await asyncio.wait_for(server.left.wait(), 20)


async def test_what_fails_without_its_client_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    async def fails() -> None:
        msg = "the disk is full"
        raise OSError(msg)

    session = Served("x", keeps=True)
    answering = asyncio.create_task(fails())
    session.begins(answering, asyncio.create_task(asyncio.sleep(0)))
    session.keep(answering)

    await session.settled()

    assert "the disk is full" in caplog.text
