"""Images of sandboxes are not waited for when the run is to end."""

import asyncio
import time

import pytest

from pytest_nel.core.errors import ConfigError, RunStopped
from pytest_nel.engine.loop import LoopThread
from pytest_nel.hooks.sandboxes import waited


def test_a_stop_ends_the_wait_for_an_image() -> None:
    loop = LoopThread()
    cancelled = []

    async def pull() -> None:
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            cancelled.append(True)
            raise

    began = time.monotonic()
    with pytest.raises(RunStopped, match="SIGTERM"):
        waited(loop.submit(pull()), lambda: "SIGTERM received")
    loop.close()

    assert time.monotonic() - began < 5
    assert cancelled


def test_an_image_that_cannot_be_had_says_so() -> None:
    loop = LoopThread()

    async def pull() -> None:
        msg = "no such image"
        raise ConfigError(msg)

    with pytest.raises(ConfigError, match="no such image"):
        waited(loop.submit(pull()), lambda: None)
    loop.close()
