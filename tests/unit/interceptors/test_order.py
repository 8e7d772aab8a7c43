"""The order in which interceptors work: no order that a user writes is wrong."""

import itertools
import logging
from pathlib import Path
from typing import Any

import pytest

from pytest_nel.core.exchange import Exchange, Interceptor, Reply, Request
from pytest_nel.interceptors import ALIASES, REGISTRY
from pytest_nel.interceptors.pipeline import Chain
from tests.unit.interceptors.chains import Upstream, answer, chain, message_of, through

pytestmark = pytest.mark.asyncio


async def test_caching_works_in_every_order_with_what_changes_requests_and_replies(
    tmp_path: Path,
) -> None:
    cut = {**answer("<think>x</think>y"), "usage": {"completion_tokens": 5}}
    for number, order in enumerate(
        itertools.permutations(["caching", "finish_reason", "payload_modifier", "reasoning"])
    ):
        options: dict[str, dict[str, Any]] = {
            "caching": {"cache_dir": str(tmp_path / str(number)), "share": True},
            "payload_modifier": {"params_to_add": {"max_tokens": 5}},
        }
        pipeline = chain(*((name, options.get(name, {})) for name in order))
        upstream = Upstream(cut)
        await pipeline.open()

        replies = [await through(pipeline, upstream) for _ in range(2)]
        await pipeline.close()

        assert len(upstream.asked) == 1
        assert upstream.body["max_tokens"] == 5
        for reply in replies:
            assert isinstance(reply.body, dict)
            assert message_of(reply)["content"] == "y"
            assert reply.body["choices"][0]["finish_reason"] == "length"


class Marks(Interceptor):
    """Writes its name on what passes; shapes requests."""

    on_request = True
    on_reply = True

    def __init__(self, name: str) -> None:
        self._name = name

    async def request(self, request: Request, _exchange: Exchange) -> Request:
        request.body["way"] = request.body.get("way", "") + self._name
        return request

    async def reply(self, reply: Reply, _exchange: Exchange) -> Reply:
        assert isinstance(reply.body, dict)
        reply.body["way"] = reply.body.get("way", "") + self._name
        return reply


async def test_a_reply_comes_back_the_other_way() -> None:
    pipeline = Chain([(name, Marks(name)) for name in "abc"], service="s")
    upstream = Upstream({})

    reply = await through(pipeline, upstream)

    assert upstream.body["way"] == "abc"
    assert reply.body == {"way": "cba"}


async def test_the_order_is_in_the_log(caplog: pytest.LogCaptureFixture, tmp_path: Path) -> None:
    specs: list[tuple[str, dict[str, Any]]] = [
        ("caching", {"cache_dir": str(tmp_path)}),
        ("logging", {}),
        ("log_tokens", {}),
    ]
    pipeline = chain(*specs, ("drop_params", {"params": ["x"]}))
    caplog.set_level(logging.INFO)

    await pipeline.open()
    await pipeline.close()

    way = "log_tokens > drop_params > finish_reason > caching > request_logging > endpoint"
    assert f"model: requests pass {way}; replies come back the other way" in caplog.text


class Breaks(Interceptor):
    """Fails on everything, and watches only."""

    on_request = True
    on_reply = True
    observes = True

    async def request(self, _request: Request, _exchange: Exchange) -> Request:
        raise ZeroDivisionError

    async def reply(self, _reply: Reply, _exchange: Exchange) -> Reply:
        raise ZeroDivisionError


async def test_what_only_watches_does_no_harm(caplog: pytest.LogCaptureFixture) -> None:
    reply = await through(Chain([("breaks", Breaks())], service="s"), Upstream())

    assert reply.ok
    assert caplog.text.count("Breaks failed on") == 2


async def test_each_row_of_the_registry_says_where_it_works() -> None:
    for name in REGISTRY:
        kind = REGISTRY.load(name)

        assert issubclass(kind, Interceptor)
        assert kind.on_request or kind.on_reply or kind.stage == "store"
    assert {*ALIASES.values()} <= {*REGISTRY}
