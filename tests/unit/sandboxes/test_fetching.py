"""Images come in threads that nobody has to wait for."""

import asyncio
import threading

import pytest

from pytest_nel.sandboxes._docker_daemon import Daemon

pytestmark = pytest.mark.asyncio


async def test_who_is_cancelled_does_not_wait_for_the_image() -> None:
    daemon = Daemon(1)
    began, over = threading.Event(), threading.Event()

    def pull() -> None:
        began.set()
        over.wait(60)

    fetching = asyncio.create_task(daemon.fetch(pull))
    await asyncio.to_thread(began.wait)
    fetching.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asyncio.wait_for(fetching, 5)
    await asyncio.wait_for(daemon.close(), 5)
    over.set()


async def test_an_image_is_what_the_call_returns() -> None:
    daemon = Daemon(1)

    found = await daemon.fetch(str.upper, "image")
    await daemon.close()

    assert found == "IMAGE"
