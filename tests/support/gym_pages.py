"""Gym servers made of functions, and the environments that ask them."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import httpx

from pytest_nel.environments._gym_http import GymClient
from pytest_nel.environments.gym import GymEnvironment

Answer = Callable[[httpx.Request], httpx.Response]
KEY = "a-token-of-some-length"


def environment(answer: Answer, waits: list[float] | None = None, **params: Any) -> GymEnvironment:
    """One that asks a function."""
    made = GymEnvironment.from_name("gym://h:1", base=Path("/"), limit=None, params=params)

    async def sleep(seconds: float) -> None:
        if waits is not None:
            waits.append(seconds)

    transport = httpx.MockTransport(answer)
    made.at("http://h:1", GymClient("http://h:1", key=KEY, transport=transport, sleep=sleep))
    return made


def pages(found: Mapping[str, Any]) -> Answer:
    """A server with these pages; a number is a status, a list is taken apart request by request."""
    left = {path: list(said) if isinstance(said, list) else said for path, said in found.items()}

    def answer(request: httpx.Request) -> httpx.Response:
        said = left.get(request.url.path, 404)
        one = said.pop(0) if isinstance(said, list) else said
        if isinstance(one, Exception):
            raise one
        if isinstance(one, httpx.Response):
            return one
        return httpx.Response(one) if isinstance(one, int) else httpx.Response(200, json=one)

    return answer


def at_address(name: str, answer: Answer, /, **params: Any) -> GymEnvironment:
    """One whose name says where it is, and that asks a function."""
    made = GymEnvironment.from_name(name, base=Path("/"), limit=None, params=params)
    made.at("http://any:1", GymClient("http://any:1", transport=httpx.MockTransport(answer)))
    return made
