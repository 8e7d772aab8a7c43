"""What only watches: files, logs and a webhook; bounded, and without secrets."""

import asyncio
import json
import logging
from pathlib import Path
from typing import Any

import pytest
from starlette.responses import JSONResponse, Response

from pytest_nel.config.proxy import Proxy
from pytest_nel.core.exchange import Exchange, Reply, Request, Session
from pytest_nel.core.types import AttemptKey
from pytest_nel.http.secret import Secrets
from pytest_nel.interceptors.model_traffic import FILE
from pytest_nel.interceptors.pipeline import Chain, build
from pytest_nel.interceptors.place import Place
from tests.unit.interceptors.chains import USER, Upstream, answer, chain, through
from tests.unit.interceptors.upstream import ModelServer

pytestmark = pytest.mark.asyncio
KEY = "sk-planted-4d9f1c77e0b24a6e9a3c"  # nobody's


def text_of(path: Path) -> str:
    return path.read_text(encoding="utf-8")


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


async def test_a_dump_holds_the_first_pairs_and_a_bounded_number_of_failures(
    tmp_path: Path,
) -> None:
    options = {"dump_path": "pairs.jsonl", "first_n": 2, "max_failures": 3}
    pipeline = chain(("http_pairs_dump", options), folder=tmp_path)
    refused = Reply(500, {"set-cookie": "x"}, {"error": {"message": "no"}})
    upstream = Upstream(answer("1"), answer("2"), answer("3"), *[refused] * 9)
    await pipeline.open()

    for number in range(12):
        await through(pipeline, upstream, Session("s"), seed=number)
    await pipeline.close()

    found = lines(tmp_path / "pairs.jsonl")
    seeds = [pair["request"]["body"]["seed"] for pair in found[:-1]]
    assert seeds == [0, 1, 3, 4, 5]
    assert found[-1] == {"metrics": {"200": 3, "500": 9}}
    assert found[2]["response"]["status"] == 500
    assert found[2]["response"]["headers"] == {}
    assert found[0]["session_id"] == "s"


async def test_half_a_line_of_a_killed_process_spoils_no_other(tmp_path: Path) -> None:
    (tmp_path / "pairs.jsonl").write_text('{"request_id": "ab')
    pipeline = chain(("http_pairs_dump", {"dump_path": "pairs.jsonl"}), folder=tmp_path)
    await pipeline.open()

    await through(pipeline, Upstream())
    await pipeline.close()

    text = (tmp_path / "pairs.jsonl").read_text().splitlines()
    assert text[0] == '{"request_id": "ab'
    assert json.loads(text[1])["response"]["status"] == 200


async def test_traffic_has_what_was_asked_for(tmp_path: Path) -> None:
    call = {"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    said = answer("a long answer", reasoning_content="why", tool_calls=[call])
    session = Session(attempt=AttemptKey("bench", 3, 1))

    async def row(**capture: Any) -> dict[str, Any]:
        pipeline = chain(model_traffic=capture, folder=tmp_path)
        await pipeline.open()
        await through(pipeline, Upstream(said), session, temperature=0.5)
        await pipeline.close()
        return lines(tmp_path / "bench" / "model_traffic.jsonl")[-1]

    full = await row()
    cut = await row(max_content_chars=3, capture_reasoning=False, capture_tool_calls=False)
    body = await row(capture_request_body=True, capture_messages=False)

    assert (full["problem_idx"], full["repeat"], full["session"]) == (3, 1, "bench/3-r1")
    assert full["request"]["messages"] == [USER]
    assert full["request"]["temperature"] == 0.5
    choice = full["response"]["choices"][0]
    assert (choice["content"], choice["reasoning_content"]) == ("a long answer", "why")
    assert choice["tool_calls"] == [call]
    short = cut["response"]["choices"][0]
    assert short == {"index": 0, "finish_reason": "stop", "content": "a l…"}
    assert body["request"]["body"]["messages"] == [USER]
    assert "content" not in body["response"]["choices"][0]


def secretive(folder: Path, *names: str) -> Chain:
    """All that writes, of a service whose key is KEY."""
    options = {"http_pairs_dump": {"dump_path": "pairs.jsonl"}}
    interceptors = [{"name": name, "config": options.get(name, {})} for name in names]
    secrets = Secrets([KEY])
    place = Place(folder, "s", redact=secrets.out_of_json)
    block = {"interceptors": interceptors, "model_traffic": {}, "verbose": True}
    built = build(Proxy.model_validate(block), place)
    assert built is not None
    return built


async def test_no_secret_is_written_however_it_comes(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    pipeline = secretive(tmp_path, "http_pairs_dump", "log_tokens", "response_stats")
    echo = answer(f"your key is {KEY}, isn't it")
    upstream = Upstream(Reply(200, {"x-echo": KEY, "authorization": f"Bearer {KEY}"}, echo))
    await pipeline.open()

    headers = {"authorization": f"Bearer {KEY}", "x-api-key": KEY, "x-note": f"key={KEY}"}
    # The key also ends where a preview is cut.
    body = {"messages": [{"role": "user", "content": "p" * 440 + KEY}]}
    await pipeline.run(Request("/chat/completions", body, headers), Exchange(), upstream)
    await pipeline.close()

    written = "".join(map(text_of, [tmp_path / "pairs.jsonl", tmp_path / "logs" / FILE]))
    assert "your key is [API key]" in written
    for place in (written, caplog.text):
        assert KEY[:12] not in place


async def test_counts_are_in_the_log(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    pipeline = chain(("log_tokens", {}), ("response_stats", {"every": 2}))
    said = {**answer("x"), "usage": {"prompt_tokens": 5, "completion_tokens": 7}}
    upstream = Upstream(said, Reply(503, {}, b"busy"))
    await pipeline.open()

    for _ in range(2):
        await through(pipeline, upstream)
    await pipeline.close()

    assert "status 200, 5 prompt tokens, 7 completion tokens" in caplog.text
    assert "model: 2 replies (1 x 200, 1 x 503), 2 of them asked for" in caplog.text
    assert caplog.text.count("mean latency") == 1


async def test_a_webhook_is_told_and_nobody_waits_for_it() -> None:
    release = asyncio.Event()

    async def slow(_body: dict[str, Any]) -> Response:
        await release.wait()
        return JSONResponse({}, 500)

    async with ModelServer(slow).running() as hook:
        url = f"http://127.0.0.1:{hook.port}/hook"
        pipeline = chain(("progress_tracking", {"webhook_url": url, "every": 2}))
        await pipeline.open()

        for _ in range(7):
            await asyncio.wait_for(through(pipeline, Upstream()), 1)
        await hook.came.wait()
        release.set()
        await pipeline.close()

    assert hook.asked[-1] == {"completed": 7}
    assert len(hook.asked) <= 3


async def test_a_webhook_that_does_not_answer_is_ignored() -> None:
    options = {"webhook_url": "http://127.0.0.1:9/hook", "every": 1}
    pipeline = chain(("progress_tracking", options))
    await pipeline.open()

    reply = await through(pipeline, Upstream())
    await pipeline.close()

    assert reply.ok
