"""A request that took too long and that nobody waits for is made once more, by what answers."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from pytest_nel.core.exchange import Usage
from tests.unit.interceptors.left_requests import (
    LONG,
    busy,
    fine,
    late,
    left,
    post,
    proxied,
    then,
    waiting,
)
from tests.unit.interceptors.upstream import Answer

pytestmark = pytest.mark.asyncio


async def after_a_time_out(folder: Path, *then_says: Answer, **more: Any) -> tuple[Usage, int]:
    """What is counted of a client that had an answer and left a request, and requests in all."""
    goes_on = asyncio.Event()
    said = then(fine, waiting(goes_on, late), fine, *then_says)
    async with proxied(said, folder, seconds=LONG, tries=1, **more) as (proxy, server):
        url = proxy.url_for("x", keeps=True)
        await post(url)
        await left(url, server)
        goes_on.set()

        await proxy.settled(url)

        return proxy.usage(url), len(server.asked)


async def test_one_that_is_answered_then_was_the_services_delay(tmp_path: Path) -> None:
    usage, _ = await after_a_time_out(tmp_path, fine)

    assert usage == Usage(requests=2, prompt=6, completion=4, asked=2)


@pytest.mark.parametrize(
    ("more", "requests"),
    [
        ({}, 4),  # its second try fails otherwise
        ({"replicas": 2}, 2),  # another of them may be the one that hangs
        ({"proxy": {"interceptors": [{"name": "turn_counter", "config": {"max_turns": 2}}]}}, 3),
    ],
    ids=["otherwise", "replicas", "no more turns"],
)
async def test_where_nothing_is_proven_the_service_has_failed_it(
    tmp_path: Path, more: dict[str, Any], requests: int
) -> None:
    usage, asked = await after_a_time_out(tmp_path, busy, **more)

    assert usage.lost is not None
    assert (usage.requests, usage.refused, asked) == (1, 0, requests)
