"""What tests of interceptors share: a block, a pipeline of it, one request through it."""

import copy
from pathlib import Path
from typing import Any

from pytest_nel.config.proxy import Proxy
from pytest_nel.core.exchange import Exchange, Reply, Request, Session
from pytest_nel.interceptors.pipeline import Chain, build
from pytest_nel.interceptors.place import Place

JSON = {"content-type": "application/json"}
USER = {"role": "user", "content": "6 x 7?"}


def chain(*specs: tuple[str, dict[str, Any]], folder: Path = Path(), **block: Any) -> Chain:
    """The pipeline of interceptors given by name and options."""
    interceptors = [{"name": name, "config": config} for name, config in specs]
    proxy = Proxy.model_validate({"interceptors": interceptors, **block})
    built = build(proxy, Place(folder, "model", "m", "http://models.example/v1"), always=True)
    assert built is not None
    return built


class Upstream:
    """An endpoint that remembers what it was asked and gives one reply after another."""

    def __init__(self, *replies: Any) -> None:
        self.asked: list[Request] = []
        self._replies = replies or (answer("42"),)

    async def __call__(self, request: Request) -> Reply:
        self.asked.append(copy.deepcopy(request))
        given = self._replies[min(len(self.asked), len(self._replies)) - 1]
        return given if isinstance(given, Reply) else Reply(200, dict(JSON), copy.deepcopy(given))

    @property
    def body(self) -> dict[str, Any]:
        """The last body."""
        return self.asked[-1].body


def answer(content: Any, **message: Any) -> dict[str, Any]:
    """A whole reply to a chat request."""
    said = {"role": "assistant", "content": content, **message}
    return {"choices": [{"index": 0, "message": said, "finish_reason": "stop"}]}


async def through(
    pipeline: Chain, upstream: Upstream, session: Session | None = None, **body: Any
) -> Reply:
    """Send one chat request."""
    request = Request("/chat/completions", {"model": "m", "messages": [USER], **body})
    return await pipeline.run(request, Exchange(session), upstream)


def message_of(reply: Reply) -> dict[str, Any]:
    """The message of the first choice."""
    assert isinstance(reply.body, dict)
    message: dict[str, Any] = reply.body["choices"][0]["message"]
    return message
