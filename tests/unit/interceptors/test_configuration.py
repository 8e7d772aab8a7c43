"""A ``proxy:`` block: what is refused with its place, and what determines answers."""

from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from pytest_nel.config.proxy import Proxy
from pytest_nel.config.schema import PluginSpec
from pytest_nel.core.errors import ConfigError
from pytest_nel.core.types import Endpoint
from pytest_nel.engine.fingerprint import answering
from pytest_nel.engine.routes import Route
from pytest_nel.engine.runtime import Parts
from pytest_nel.interceptors.pipeline import plan

SERVICE = {
    "type": "api",
    "url": "http://127.0.0.1:1/v1/chat/completions",
    "protocol": "chat_completions",
}


def spec(block: dict[str, Any], **more: Any) -> PluginSpec:
    return PluginSpec.model_validate({**SERVICE, **more, "proxy": block})


def refusal(folder: Path, block: dict[str, Any], **more: Any) -> str:
    parts = Parts({"m": spec(block, **more)}, log_dir=folder)
    with pytest.raises(ConfigError) as caught:
        parts.service("m")
    return str(caught.value)


@pytest.mark.parametrize(
    ("block", "said"),
    [
        (
            {"interceptors": [{"name": "reasoning"}, {"name": "cachin"}]},
            "services.m.proxy.interceptors[1].name: unknown interceptor 'cachin'. Did you mean",
        ),
        (
            {"interceptors": [{"name": "caching", "config": {"cache_dri": "x"}}]},
            "proxy.interceptors[0].config.cache_dri: unknown option 'cache_dri'. Did you mean",
        ),
        (
            {"interceptors": [{"name": "turn_counter", "config": {"interval": 0}}]},
            "services.m.proxy.interceptors[0].config.interval: expected at least 1",
        ),
        ({"interceptors": [{"name": "endpoint"}]}, "'endpoint' is where the chain ends"),
        (
            {"max_retires": 1},
            "unknown option at services.m.proxy 'max_retires'. Did you mean 'max_retries'?",
        ),
        ({"request_timeout": 0}, "services.m.proxy.request_timeout"),
        ({"extra_headers": {"Host": "x"}}, "Host belongs to one connection"),
        ({"extra_headers": {"X-Api-Key": "literal"}}, "expected a reference such as ${NAME}"),
        ({"extra_body": {"messages": []}}, "messages is no parameter to add"),
    ],
)
def test_a_mistake_is_named_with_its_place(
    tmp_path: Path, block: dict[str, Any], said: str
) -> None:
    message = refusal(tmp_path, block)

    assert said in message
    assert "literal:" not in message


@pytest.mark.parametrize(
    ("block", "more", "said"),
    [
        ({"request_timeout": 30}, {"timeout": 60}, "proxy.request_timeout: 30 here, but"),
        ({"max_retries": 1}, {"max_retries": 2}, "services.m.max_retries is 2: say it once"),
        ({"max_concurrent_upstream": 1}, {"max_concurrent": 2}, "max_concurrent is 2"),
        ({"extra_body": {"seed": 1}}, {"generation": {"seed": 2}}, "extra_body.seed"),
    ],
)
def test_what_is_said_twice_must_agree(
    tmp_path: Path, block: dict[str, Any], more: dict[str, Any], said: str
) -> None:
    assert said in refusal(tmp_path, block, **more)


def test_each_limit_counts_though_nothing_else_is_set() -> None:
    endpoint = Endpoint("m", "http://x/v1/chat/completions", "chat_completions", "m")
    block = {"request_timeout": 7.0, "max_retries": 1, "max_concurrent_upstream": 3}

    routed = Route.of("m", spec(block)).endpoint(endpoint)

    assert (routed.timeout, routed.max_retries, routed.max_concurrent) == (7.0, 1, 3)


def test_extra_body_stands_below_generation() -> None:
    endpoint = Endpoint("m", "http://x", "chat_completions", "m", generation={"top_p": 0.5})

    routed = Route.of("m", spec({"extra_body": {"top_p": 0.5, "top_k": 3}})).endpoint(endpoint)

    assert routed.generation == {"top_p": 0.5, "top_k": 3}


def facts(block: dict[str, Any] | None) -> dict[str, Any]:
    service = PluginSpec.model_validate({**SERVICE, "proxy": block})
    return answering(None, {"type": "simple", "service": "m"}, service)


@pytest.mark.parametrize(
    "block",
    [
        {"interceptors": [{"name": "logging"}, {"name": "log_tokens"}]},
        {"interceptors": [{"name": "caching", "config": {"cache_dir": "x"}}]},
        {"interceptors": [{"name": "http_pairs_dump", "config": {"dump_path": "x"}}]},
        {"request_timeout": 3, "max_retries": 9, "verbose": True, "model_traffic": {}},
        {"extra_headers": {"Authorization": "Bearer ${X}"}},
        {"extra_body": {}},
    ],
)
def test_what_only_watches_determines_no_answer(block: dict[str, Any]) -> None:
    assert facts(block) == facts(None)


def test_what_changes_requests_determines_answers() -> None:
    blocks: list[dict[str, Any]] = [
        {"interceptors": [{"name": "system_message", "config": {"system_message": "a"}}]},
        {"interceptors": [{"name": "system_message", "config": {"system_message": "b"}}]},
        {"interceptors": [{"name": "caching", "config": {"cache_dir": "x", "share": True}}]},
        {"extra_body": {"top_k": 1}},
        {"extra_headers": {"X-Variant": "b"}},
    ]

    found = [facts(block) for block in [None, *blocks]]

    assert all(one != other for i, one in enumerate(found) for other in found[:i])
    assert found[4]["sampling.top_k"] == 1


def test_where_the_user_wrote_an_interceptor_that_watches_does_not_matter() -> None:
    drop = {"name": "drop_params", "config": {"params": ["x"]}}

    one = facts({"interceptors": [drop, {"name": "log_tokens"}]})
    other = facts({"interceptors": [{"name": "log_tokens"}, drop]})

    assert one == other


def test_a_secret_is_in_no_message_of_a_wrong_block() -> None:
    with pytest.raises(ValidationError) as caught:
        Proxy(extra_headers={"Authorization": "Bearer sk-planted"})

    assert "sk-planted" not in str(caught.value)


@pytest.mark.parametrize(
    ("name", "config"),
    [
        ("payload_modifier", {"params_to_add": {"model": "other"}}),
        ("payload_modifier", {"params_to_remove": ["messages"]}),
        ("payload_modifier", {"params_to_rename": {"top_k": "prompt"}}),
        ("drop_params", {"params": ["input"]}),
    ],
)
def test_who_is_asked_what_is_not_changed_behind_the_records(
    name: str, config: dict[str, object]
) -> None:
    block = Proxy.model_validate({"interceptors": [{"name": name, "config": config}]})

    with pytest.raises(ConfigError, match="who is asked what is said by the service's `model`"):
        plan(block, "services.m.proxy")
