"""The adapter proxy before a real server, asked by httpx and by OpenAI's own client."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
from starlette.responses import JSONResponse, Response, StreamingResponse

from pytest_nel.config.schema import PluginSpec
from pytest_nel.core.errors import ConfigError
from pytest_nel.core.types import AttemptKey
from pytest_nel.engine.runtime import Parts
from pytest_nel.interceptors.proxy import AdapterProxy
from tests.unit.interceptors.chains import answer
from tests.unit.interceptors.proxies import proxy_before
from tests.unit.interceptors.upstream import Answer, ModelServer

pytestmark = pytest.mark.asyncio
KEY = "sk-planted-4d9f1c77e0b24a6e9a3c"  # nobody's
HI: dict[str, Any] = {"messages": [{"role": "user", "content": "hi"}]}
KEY_ERROR = {"error": {"message": f"no such key: {KEY}"}}


@asynccontextmanager
async def proxied(
    said: Answer, folder: Path, monkeypatch: pytest.MonkeyPatch, **block: Any
) -> AsyncIterator[tuple[AdapterProxy, ModelServer]]:
    """A server that answers so, and the adapter proxy of a suite's service before it."""
    monkeypatch.setenv("MY_KEY", KEY)
    limits = {} if "max_retries" in block else {"max_retries": 0}
    more: dict[str, Any] = {**limits, "api_key": "${MY_KEY}", "proxy": block}
    async with proxy_before(said, folder, **more) as both:
        yield both


def whole(_body: dict[str, Any]) -> Response:
    return JSONResponse({"model": "m", **answer("42"), "usage": {"completion_tokens": 1}})


async def post(url: str, body: Any = None, **more: Any) -> httpx.Response:
    async with httpx.AsyncClient(trust_env=False, timeout=10) as client:
        return await client.post(
            f"{url}/chat/completions", json=HI if body is None else body, **more
        )


async def test_a_session_is_served_and_its_token_and_key_go_no_further(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with proxied(whole, tmp_path, monkeypatch) as (proxy, server):
        url = proxy.url_for(AttemptKey("b", 1, 0))
        headers = {"Authorization": "Bearer agents-own", "X-Agent": "a", "Cookie": "c=1"}

        reply = await post(url, headers=headers)

    assert reply.json()["choices"][0]["message"]["content"] == "42"
    assert server.paths == ["/v1/chat/completions"]
    assert server.asked == [{"model": "m", **HI}]
    sent = server.headers[0]
    assert sent["authorization"] == f"Bearer {KEY}"
    assert sent["x-agent"] == "a"
    assert "cookie" not in sent
    assert url.split("/s/")[1].removesuffix("/v1") not in str(server.headers)


@pytest.mark.parametrize(
    ("asked", "status", "said"),
    [
        (("GET", "/health", b""), 200, "ok"),
        (("POST", "/v1/chat/completions", b"{}"), 401, "unknown session"),
        (("POST", "/s/abc123/v1/chat/completions", b"{}"), 401, "unknown session"),
        (("POST", "/s/XYZ/v1/chat/completions", b"{}"), 401, "unknown session"),
        (("GET", "{mine}/models", b""), 200, '"id":"m"'),
        (("DELETE", "{mine}/models", b""), 405, "Method not allowed"),
        (("POST", "{mine}/chat/completions", b"{"), 400, "Invalid JSON body"),
        (("POST", "{mine}/chat/completions", b"[1]"), 400, "expected a JSON object, got list"),
        (("POST", "{mine}/%2e%2e/admin", b"{}"), 400, "leads out of the service"),
    ],
)
async def test_what_is_no_request_of_a_session_is_refused(  # a table of one behaviour
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    asked: tuple[str, str, bytes],
    status: int,
    said: str,
) -> None:
    method, path, content = asked
    async with (
        proxied(whole, tmp_path, monkeypatch) as (proxy, server),
        httpx.AsyncClient(trust_env=False) as client,
    ):
        mine = proxy.url_for("x")
        base = mine.split("/s/")[0]
        reply = await client.request(
            method, base + path.format(mine=mine.removeprefix(base)), content=content
        )

    assert (reply.status_code, said in reply.text) == (status, True)
    assert server.asked == []


async def test_a_session_that_has_ended_is_unknown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with proxied(whole, tmp_path, monkeypatch) as (proxy, _):
        url = proxy.url_for("x")
        proxy.end(url)

        assert (await post(url)).status_code == 401


async def test_statuses_of_the_endpoint_arrive_and_a_key_in_them_does_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuses(_body: dict[str, Any]) -> Response:
        return JSONResponse(KEY_ERROR, 422)

    options = {"interceptors": [{"name": "raise_client_errors"}]}
    async with proxied(refuses, tmp_path, monkeypatch, **options) as (proxy, _):
        reply = await post(proxy.url_for("x"))

    assert reply.status_code == 422
    assert reply.headers["x-should-retry"] == "false"
    assert KEY not in reply.text
    assert "no such key: [API key]" in reply.text


async def test_a_date_in_retry_after_is_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    replies = [
        JSONResponse({}, 429, {"retry-after": "Wed, 21 Oct 2015 07:28:00 GMT"}),
        whole({}),
    ]
    async with proxied(
        lambda _: replies.pop(0), tmp_path, monkeypatch, max_retries=1, retry_on_status=[429]
    ) as (proxy, server):
        reply = await post(proxy.url_for("x"))

    assert reply.status_code == 200
    assert len(server.asked) == 2


async def test_turns_that_are_used_up_are_429(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    counter = {"name": "turn_counter", "config": {"max_turns": 1}}
    async with proxied(whole, tmp_path, monkeypatch, interceptors=[counter]) as (proxy, server):
        url = proxy.url_for("x")
        replies = [await post(url) for _ in range(2)]

    assert [reply.status_code for reply in replies] == [200, 429]
    assert replies[1].json()["error"]["code"] == "session_budget_exhausted"
    assert len(server.asked) == 1


async def test_no_answer_in_time_is_504(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def slow(_body: dict[str, Any]) -> Response:
        await asyncio.sleep(30)
        return whole({})

    async with proxied(slow, tmp_path, monkeypatch, request_timeout=0.1) as (proxy, _):
        reply = await post(proxy.url_for("x"))

    assert reply.status_code == 504
    assert reply.json() == {
        "error": {"message": "Upstream timed out after 0.1s", "type": "timeout"}
    }


async def test_a_client_that_leaves_takes_its_request_with_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def slow(_body: dict[str, Any]) -> Response:
        await asyncio.sleep(30)
        return whole({})

    async with proxied(slow, tmp_path, monkeypatch) as (proxy, server):
        asking = asyncio.create_task(post(proxy.url_for("x")))
        await server.came.wait()
        asking.cancel()

        await asyncio.wait_for(server.left.wait(), 5)


def chunk(text: str | None = None, reason: str | None = None) -> str:
    delta = f'{{"content": "{text}"}}' if text is not None else "{}"
    said = f'"{reason}"' if reason else "null"
    choice = f'{{"index": 0, "delta": {delta}, "finish_reason": {said}}}'
    return f'data: {{"object": "chat.completion.chunk", "choices": [{choice}]}}\n\n'


USAGE = 'data: {"choices": [], "usage": {"completion_tokens": 2}}\n\n'


async def test_a_stream_passes_while_it_comes_and_its_end_is_mended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = asyncio.Event()

    async def events() -> AsyncIterator[str]:
        yield chunk("4")
        yield ": keep-alive\n\n"
        await asyncio.wait_for(seen.wait(), 5)  # nothing more until the first has arrived
        yield chunk("2")
        yield chunk(None, "stop")
        yield USAGE
        yield "data: [DONE]\n\n"

    def said(_body: dict[str, Any]) -> Response:
        return StreamingResponse(events(), media_type="text/event-stream")

    got = []
    async with (
        proxied(said, tmp_path, monkeypatch, model_traffic={}) as (proxy, server),
        httpx.AsyncClient(trust_env=False) as client,
    ):
        body = {**HI, "stream": True, "max_tokens": 2}
        url = proxy.url_for(AttemptKey("b", 1, 0)) + "/chat/completions"
        async with client.stream("POST", url, json=body) as reply:
            async for line in reply.aiter_lines():
                got.append(line)
                seen.set()

    text = "\n".join(got)
    assert server.asked[0]["stream_options"] == {"include_usage": True}
    assert '"finish_reason": "length"' in text
    assert ": keep-alive" in text
    assert "usage" not in text  # nobody asked for it
    assert [line for line in got if line][-1] == "data: [DONE]"
    traffic = (tmp_path / "b" / "model_traffic.jsonl").read_text()
    assert '"content": "42"' in traffic


async def test_a_stream_that_interceptors_need_whole_is_still_a_stream(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def said(_body: dict[str, Any]) -> Response:
        pieces = [chunk("<think>x</th"), chunk("ink>y"), chunk(None, "stop"), "data: [DONE]\n\n"]
        return Response("".join(pieces), media_type="text/event-stream")

    options = {"interceptors": [{"name": "reasoning"}]}
    async with proxied(said, tmp_path, monkeypatch, **options) as (proxy, _):
        reply = await post(proxy.url_for("x"), {**HI, "stream": True})

    assert reply.headers["content-type"].startswith("text/event-stream")
    assert '"content":"y"' in reply.text
    assert '"reasoning_content":"x"' in reply.text
    assert reply.text.endswith("data: [DONE]\n\n")


async def test_a_stream_that_breaks_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def said(_body: dict[str, Any]) -> Response:
        return Response(chunk("4"), media_type="text/event-stream")

    async with proxied(said, tmp_path, monkeypatch) as (proxy, _):
        reply = await post(proxy.url_for("x"), {**HI, "stream": True})

    assert '"upstream_error"' in reply.text
    assert "[DONE]" not in reply.text


@pytest.mark.parametrize("block", [{}, {"interceptors": [{"name": "reasoning"}]}])
async def test_a_stream_of_another_kind_arrives_as_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, block: dict[str, Any]
) -> None:
    events = (
        'event: response.created\ndata: {"type": "response.created"}\n\n'
        "event: response.completed\n"
        'data: {"type": "response.completed", "response": {"output": []}}\n\n'
    )

    def said(_body: dict[str, Any]) -> Response:
        return Response(events, media_type="text/event-stream")

    async with (
        proxied(said, tmp_path, monkeypatch, **block) as (proxy, server),
        httpx.AsyncClient(trust_env=False) as client,
    ):
        body = {"input": "hi", "stream": True}
        reply = await client.post(f"{proxy.url_for('x')}/responses", json=body)

    assert reply.text == events
    assert server.paths == ["/v1/responses"]
    assert "stream_options" not in server.asked[0]


async def test_a_client_that_leaves_a_stream_ends_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ended = asyncio.Event()

    async def events() -> AsyncIterator[str]:
        try:
            yield chunk("4")
            await asyncio.sleep(30)
        finally:
            ended.set()

    def said(_body: dict[str, Any]) -> Response:
        return StreamingResponse(events(), media_type="text/event-stream")

    async with (
        proxied(said, tmp_path, monkeypatch) as (proxy, _),
        httpx.AsyncClient(trust_env=False) as client,
    ):
        url = proxy.url_for("x") + "/chat/completions"
        async with client.stream("POST", url, json={**HI, "stream": True}) as reply:
            await anext(reply.aiter_lines())

        await asyncio.wait_for(ended.wait(), 5)


async def test_openais_own_client_is_content(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    openai = pytest.importorskip("openai", reason="needs openai (group 'test')")

    def said(body: dict[str, Any]) -> Response:
        if not body.get("stream"):
            return whole(body)
        pieces = [chunk("4"), chunk("2"), chunk(None, "stop"), USAGE, "data: [DONE]\n\n"]
        return Response("".join(pieces), media_type="text/event-stream")

    counter = {"name": "turn_counter", "config": {"max_turns": 2}}
    async with proxied(said, tmp_path, monkeypatch, interceptors=[counter]) as (proxy, server):
        http = httpx.AsyncClient(trust_env=False)
        async with openai.AsyncOpenAI(
            base_url=proxy.url_for("x"), api_key="anything", http_client=http
        ) as client:
            models = [model.id async for model in client.models.list()]
            reply = await client.chat.completions.create(model="m", messages=HI["messages"])
            stream = await client.chat.completions.create(
                model="m", messages=HI["messages"], stream=True
            )
            pieces = [each.choices[0].delta.content async for each in stream]
            with pytest.raises(openai.RateLimitError, match="Turn budget exhausted"):
                await client.chat.completions.create(model="m", messages=HI["messages"])

    assert models == ["m"]
    assert reply.choices[0].message.content == "42"
    assert "".join(filter(None, pieces)) == "42"
    assert len(server.asked) == 2  # the refusal was not asked for again


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "8.8.8.8", "gateway.example"])  # noqa: S104 - refused
async def test_it_never_listens_to_everyone(tmp_path: Path, host: str) -> None:
    raw = {"url": "http://127.0.0.1:1/v1/chat/completions", "protocol": "chat_completions"}
    parts = Parts({"s": PluginSpec(type="api", **raw)}, log_dir=tmp_path)

    with pytest.raises(ConfigError, match="listen on"):
        parts.adapter("s", host=host)


async def test_where_it_cannot_listen_nothing_is_left_open(tmp_path: Path) -> None:
    caching = {"name": "caching", "config": {"cache_dir": str(tmp_path / "kept")}}
    raw = {"url": "http://127.0.0.1:1/v1/chat/completions", "protocol": "chat_completions"}
    more = {"type": "api", "model": "m", "proxy": {"interceptors": [caching]}}
    parts = Parts({"s": PluginSpec.model_validate({**raw, **more})}, log_dir=tmp_path)
    proxy = parts.adapter("s", host="192.0.2.1")  # of no machine

    with pytest.raises(ConfigError, match=r"cannot listen on 192\.0\.2\.1"):
        await proxy.start()
    await parts.close_async()

    assert not (tmp_path / "kept").exists()
