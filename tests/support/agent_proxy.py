"""Stands for the proxy between an agent and its model, where no agent asks."""

import asyncio

from pytest_nel.core.exchange import Lost, Usage


class AgentProxy:
    """What an agent's requests would go through.

    Args:
        used: What it says that was asked.
        fails: What a last request comes to in the end.
        after: Seconds until then.
    """

    def __init__(self, used: Usage, fails: Lost | None = None, after: float = 0.0) -> None:
        self.used = used
        self.fails = fails
        self.after = after

    async def start(self) -> None: ...

    async def stop(self) -> None: ...

    def url_for(self, _key: object, *, keeps: bool) -> str:
        del keeps
        return "http://127.0.0.1:9/v1"

    def usage(self, _url: str) -> Usage:
        return self.used

    async def settled(self, _url: str) -> None:
        await asyncio.sleep(self.after)
        self.used.lost = self.fails or self.used.lost

    def end(self, _url: str) -> None: ...
