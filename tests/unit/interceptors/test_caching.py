"""Replies found again: what counts as the same request, and what is never kept."""

import asyncio
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from pytest_nel.core.errors import ConfigError
from pytest_nel.core.exchange import Exchange, Reply, Request, Session
from pytest_nel.core.types import AttemptKey
from pytest_nel.interceptors.caching import Caching
from pytest_nel.interceptors.place import Place
from tests.unit.interceptors.chains import Upstream, answer, chain, through

pytestmark = pytest.mark.asyncio


def caching(folder: Path, **options: Any) -> tuple[str, dict[str, Any]]:
    return "caching", {"cache_dir": str(folder), **options}


def files(folder: Path) -> list[Path]:
    return list(folder.iterdir())


def attempt(repeat: int = 0) -> Session:
    return Session(attempt=AttemptKey("b", 3, repeat))


async def test_another_run_finds_the_reply_of_the_same_attempt(tmp_path: Path) -> None:
    upstream = Upstream()
    replies = []

    for _ in range(2):  # a run each: nothing but the file goes on
        pipeline = chain(caching(tmp_path))
        await pipeline.open()
        replies.append(await through(pipeline, upstream, attempt()))
        await pipeline.close()

    assert len(upstream.asked) == 1
    assert replies[0].body == replies[1].body


async def test_repeats_are_asked_each_unless_they_share(tmp_path: Path) -> None:
    for share, asked in ((False, 2), (True, 1)):
        upstream = Upstream()
        pipeline = chain(caching(tmp_path / str(share), share=share))
        await pipeline.open()

        for repeat in (0, 1):
            await through(pipeline, upstream, attempt(repeat))
        await pipeline.close()

        assert len(upstream.asked) == asked


async def test_one_attempt_that_asks_twice_the_same_gets_two_answers_also_from_the_file(
    tmp_path: Path,
) -> None:
    upstream = Upstream(answer("first"), answer("second"), answer("third"))
    found = []

    for _ in range(2):
        pipeline = chain(caching(tmp_path))
        await pipeline.open()
        session = attempt()
        found += [(await through(pipeline, upstream, session)).body for _ in range(2)]
        await pipeline.close()

    assert len(upstream.asked) == 2
    assert found[:2] == found[2:]
    assert found[0] != found[1]


async def test_an_attempt_that_is_made_again_is_asked_and_leaves_the_first_reply(
    tmp_path: Path,
) -> None:
    upstream = Upstream(answer("first"), answer("again"))
    pipeline = chain(caching(tmp_path))
    await pipeline.open()
    anew = Session(attempt=AttemptKey("b", 3, 0), again=True)

    replies = [await through(pipeline, upstream, each) for each in (attempt(), anew, attempt())]
    await pipeline.close()

    assert len(upstream.asked) == 2
    assert replies[1].body != replies[0].body == replies[2].body


@pytest.mark.parametrize(
    "other",
    [
        {"prompt": "x"},
        {"stop": ["."]},
        {"response_format": {"type": "json_object"}},
        {"tool_choice": "none"},
        {"temperature": 0.1},
        {"chat_template_kwargs": {"enable_thinking": False}},
        {"messages": []},
    ],
    ids=lambda other: next(iter(other)),
)
async def test_every_field_of_the_body_counts(tmp_path: Path, other: dict[str, Any]) -> None:
    upstream, pipeline = Upstream(), chain(caching(tmp_path, share=True))
    await pipeline.open()

    await through(pipeline, upstream)
    await through(pipeline, upstream, **other)
    await pipeline.close()

    assert len(upstream.asked) == 2


async def test_path_model_and_endpoint_count(tmp_path: Path) -> None:
    upstream = Upstream()
    config = Caching.Config(cache_dir=str(tmp_path), share=True)
    places = [Place(tmp_path, "s", model, tenant) for model, tenant in ("ax", "bx", "ay")]

    for place in places:
        cache = Caching(config, place)
        await cache.open()
        for path in ("/chat/completions", "/completions"):
            await cache.around(Request(path, {"n": 1}), Exchange(), upstream)
        await cache.close()

    assert len(upstream.asked) == 6


@pytest.mark.parametrize(
    "reply",
    [
        Reply(500, {}, {"error": {"message": "no"}}),
        {"error": {"message": "no"}},
        {"choices": []},
        answer(""),
        {"choices": [{"message": {"content": "x"}, "finish_reason": None}]},
        {"choices": [{"message": {"content": "x"}, "finish_reason": "abort"}]},
        Reply(200, {}, b"text"),
    ],
    ids=["status", "error", "none", "empty", "unfinished", "aborted", "bytes"],
)
async def test_what_is_no_answer_is_asked_again(tmp_path: Path, reply: Any) -> None:
    upstream, pipeline = Upstream(reply), chain(caching(tmp_path, share=True))
    await pipeline.open()

    for _ in range(2):
        await through(pipeline, upstream)
    await pipeline.close()

    assert len(upstream.asked) == 2


async def test_a_bypassed_cache_neither_answers_nor_keeps(tmp_path: Path) -> None:
    upstream, pipeline = Upstream(), chain(caching(tmp_path, share=True, bypass=True))
    await pipeline.open()

    for _ in range(2):
        await through(pipeline, upstream)
    await pipeline.close()

    assert len(upstream.asked) == 2
    assert files(tmp_path) == []


async def test_equal_requests_at_once_are_asked_once(tmp_path: Path) -> None:
    pipeline, asked = chain(caching(tmp_path, share=True)), []
    await pipeline.open()

    async def slow(request: Request) -> Reply:
        asked.append(request)
        await asyncio.sleep(0.05)
        return Reply(200, {}, answer("42"))

    request = Request("/chat/completions", {"messages": []})
    await asyncio.gather(*(pipeline.run(request, Exchange(), slow) for _ in range(5)))
    await pipeline.close()

    assert len(asked) == 1


async def test_a_file_that_is_no_cache_is_named(tmp_path: Path) -> None:
    (tmp_path / "adapter_cache.db").write_text("something else, and long enough for a header" * 9)
    pipeline = chain(caching(tmp_path))

    with pytest.raises(ConfigError, match=r"caching cannot use .*adapter_cache\.db"):
        await pipeline.open()


KILLED = """
import asyncio, os, signal, sys
from pathlib import Path
from tests.unit.interceptors.chains import Upstream, chain, through

async def main():
    pipeline = chain(("caching", {"cache_dir": sys.argv[1], "share": True}))
    await pipeline.open()
    for number in range(100):
        await through(pipeline, Upstream(), seed=number)
    os.kill(os.getpid(), signal.SIGKILL)

asyncio.run(main())
"""


async def test_what_was_kept_before_a_kill_is_found(tmp_path: Path) -> None:
    done = subprocess.run(  # noqa: ASYNC221 - nothing else runs here
        [sys.executable, "-c", KILLED, str(tmp_path)], capture_output=True, text=True, check=False
    )
    upstream, pipeline = Upstream(), chain(caching(tmp_path, share=True))
    await pipeline.open()

    for number in range(100):
        await through(pipeline, upstream, seed=number)
    await pipeline.close()

    assert done.returncode == -signal.SIGKILL, done.stderr
    assert upstream.asked == []
