"""A key that a server echoes is in nothing that is kept or shown, however it is written."""

import json
from collections.abc import Awaitable, Callable
from dataclasses import asdict
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_nel.core.types import ModelResponse
from pytest_nel.http.secret import Secret
from tests.unit.http.asking import ask, failure
from tests.unit.http.raw_server import RawServer, answer, reply

Serve = Callable[..., Awaitable[RawServer]]

KEY = "sk/planted+4d9f1c77/e0b24a6e"  # nobody's
KEYS = st.text(st.characters(min_codepoint=33, max_codepoint=126), min_size=16, max_size=40)
WAYS: dict[str, Callable[[str], str]] = {
    "plain": lambda text: text,
    "slashes": lambda text: text.replace("/", r"\/"),
    "unicode": lambda text: text.replace("/", r"\u002F").replace("+", r"\u002b"),
    "all": lambda text: "".join(f"\\u{ord(character):04x}" for character in text),
}


@pytest.mark.asyncio
@pytest.mark.parametrize("way", list(WAYS))
async def test_an_echoed_key_is_in_no_field_of_the_reply(serve: Serve, way: str) -> None:
    calls = [{"function": {"name": "f", "arguments": json.dumps({"auth": KEY})}}]
    data = answer(f"you sent Bearer {KEY}", reasoning_content=KEY, tool_calls=calls)
    body = json.dumps(data).replace(KEY, WAYS[way](KEY))
    server = await serve(reply(body.encode()))

    response = await ask(server, api_key=KEY)

    assert response.content == "you sent Bearer [API key]"
    assert KEY not in json.dumps(asdict(response))


@pytest.mark.asyncio
async def test_a_key_that_a_stream_cuts_in_two_is_found(serve: Serve) -> None:
    pieces = [{"choices": [{"delta": {"content": part}}]} for part in ("sk/planted+4d9f", KEY[15:])]
    end = {"choices": [{"delta": {}, "finish_reason": "stop"}]}
    lines = (
        "".join(f"data: {json.dumps(piece)}\n\n" for piece in (*pieces, end)) + "data: [DONE]\n\n"
    )
    server = await serve(reply(lines.encode(), "200 OK", ["Content-Type: text/event-stream"]))

    response = await ask(server, api_key=KEY)

    assert response.content == "[API key]"


@pytest.mark.asyncio
@pytest.mark.parametrize("way", list(WAYS))
async def test_an_echoed_key_is_in_no_error(serve: Serve, way: str) -> None:
    body = f'{{"sent": "Bearer {WAYS[way](KEY)}"}}'
    server = await serve(reply(body.encode(), "400 Bad Request"))

    error = await failure(server, api_key=KEY)

    assert "[API key]" in str(error)
    assert "planted" not in str(error)


@given(key=KEYS, before=st.text(), after=st.text(), ascii_only=st.booleans())
def test_whatever_the_key_it_is_taken_out_of_what_json_made_of_it(
    key: str, before: str, after: str, *, ascii_only: bool
) -> None:
    body = json.dumps({"content": before + key + after}, ensure_ascii=ascii_only)
    nested = json.dumps({"arguments": body}, ensure_ascii=ascii_only)
    secret = Secret(key)

    def kept(text: str) -> Any:
        response = ModelResponse(json.loads(text).get("content", ""), raw_response=json.loads(text))
        return asdict(secret.out_of_reply(response, text.encode("utf-8", "replace")))

    assert key not in kept(body)["content"]
    assert key not in kept(nested)["raw_response"]["arguments"]
    assert json.dumps(key)[1:-1] not in kept(nested)["raw_response"]["arguments"]


def test_a_short_key_is_a_word_that_an_answer_may_hold() -> None:
    response = ModelResponse("the answer is EMPTY")

    kept = Secret("EMPTY").out_of_reply(response, b'{"content": "the answer is EMPTY"}')

    assert kept is response


def test_a_reply_without_the_key_is_left_alone() -> None:
    response = ModelResponse("forty-two\n", raw_response={"content": "forty-two\n"})

    kept = Secret("sk-0123456789abcdef").out_of_reply(response, b'{"content": "forty-two\\n"}')

    assert kept is response
