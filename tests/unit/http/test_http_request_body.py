"""Request bodies, and what only some replies have."""

import json
from typing import Any

import pytest

from pytest_nel.core.errors import ConfigError
from pytest_nel.http.openai import parse_reply, request_body

ENDED = 'data: {"choices": [{"index": 0, "finish_reason": "stop"}]}\n\ndata: [DONE]\n\n'


def test_a_request_is_compact_json_in_utf8() -> None:
    body = request_body("m", {"messages": [{"role": "user", "content": "é"}]}, {"top_p": 1})

    assert body == '{"model":"m","messages":[{"role":"user","content":"é"}],"top_p":1}'.encode()


def test_a_lone_surrogate_in_a_prompt_can_be_sent() -> None:
    assert json.loads(request_body("m", {"prompt": "a\ud800b"}, {}))["prompt"] == "a\ufffdb"


@pytest.mark.parametrize(
    "sampling",
    [{"temperature": float("nan")}, {"x": object()}, {"model": "other"}],
    ids=["nan", "object", "reserved"],
)
def test_a_parameter_that_cannot_be_sent_is_a_config_error(sampling: dict[str, Any]) -> None:
    with pytest.raises(ConfigError):
        request_body("m", {"prompt": "p"}, sampling)


def test_a_streamed_request_asks_for_its_tokens_to_be_counted() -> None:
    body = json.loads(request_body("m", {"prompt": "p"}, {}, stream=True))

    assert body["stream"] is True
    assert body["stream_options"] == {"include_usage": True}


def test_log_probabilities_are_kept_streamed_or_not() -> None:
    token = {"token": "4", "logprob": -0.1}
    plain = {
        "choices": [{"message": {"content": "4"}, "logprobs": {"content": [token]}}],
    }
    piece = {"choices": [{"delta": {"content": "4"}, "logprobs": {"content": [token]}}]}
    stream = f"data: {json.dumps(piece)}\n\ndata: {json.dumps(piece)}\n\n{ENDED}"

    found = [parse_reply(json.dumps(plain).encode()), parse_reply(stream.encode())]

    assert [reply.logprobs for reply in found] == [
        {"content": [token]},
        {"content": [token, token]},
    ]


def test_log_probabilities_of_streamed_text_completions_are_kept() -> None:
    pieces = [
        {"choices": [{"text": text, "logprobs": {"tokens": [text], "token_logprobs": [-0.5]}}]}
        for text in ("4", "2")
    ]
    stream = "".join(f"data: {json.dumps(piece)}\n\n" for piece in pieces) + ENDED

    read = parse_reply(stream.encode())

    assert read.content == "42"
    assert read.logprobs == {"tokens": ["4", "2"], "token_logprobs": [-0.5, -0.5]}
