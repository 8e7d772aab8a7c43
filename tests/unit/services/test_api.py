"""An endpoint elsewhere is described completely and wrong descriptions are refused."""

from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from pytest_nel.core.errors import ConfigError
from pytest_nel.core.types import Endpoint
from pytest_nel.services.api import ApiService

CHAT = "https://host.example/v1/chat/completions"


def endpoint(log_dir: Path, **options: Any) -> Endpoint:
    """What ``start`` returns for these options."""
    given = {"url": CHAT, "protocol": "chat_completions", "model": "m", **options}
    service = ApiService("remote", ApiService.Config.model_validate(given), log_dir=log_dir)
    return service.start()


def test_every_option_reaches_the_endpoint(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOME_KEY", "s3cret")

    made = endpoint(
        tmp_path,
        api_key="${SOME_KEY}",
        generation={"temperature": 0.5, "top_p": None},
        max_concurrent=7,
        connect_timeout=1,
        read_timeout=2,
        timeout=3,
        max_retries=0,
    )

    assert made == Endpoint(
        name="remote",
        url=CHAT,
        protocol="chat_completions",
        model="m",
        api_key="s3cret",
        generation={"temperature": 0.5},
        max_concurrent=7,
        connect_timeout=1.0,
        read_timeout=2.0,
        timeout=3.0,
        max_retries=0,
    )


def test_without_a_model_the_service_name_is_sent(tmp_path: Path) -> None:
    made = endpoint(tmp_path, model=None)

    assert made.model == "remote"


def test_the_key_is_not_in_the_endpoints_text(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SOME_KEY", "s3cret")

    made = endpoint(tmp_path, api_key="${SOME_KEY}")

    assert "s3cret" not in repr(made)


def test_a_missing_variable_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SOME_KEY", raising=False)

    with pytest.raises(ConfigError, match="SOME_KEY"):
        endpoint(tmp_path, api_key="${SOME_KEY}")


@pytest.mark.parametrize("key", ["sk-123456", "${SOME_KEY:-sk-123456}", "x${SOME_KEY}"])
def test_a_literal_key_is_refused_and_not_quoted(tmp_path: Path, key: str) -> None:
    with pytest.raises(ValidationError) as caught:
        endpoint(tmp_path, api_key=key)

    assert "expected a reference" in str(caught.value)
    assert key not in str(caught.value)


@pytest.mark.parametrize("url", ["localhost:8000", "ftp://host/chat/completions", "http:///x", ""])
def test_what_is_no_http_url_is_refused(tmp_path: Path, url: str) -> None:
    with pytest.raises(ValidationError, match=r"expected http\(s\)://"):
        endpoint(tmp_path, url=url)


@pytest.mark.parametrize(
    "url",
    [
        "https://me:s3cret@host/v1/chat/completions",
        "https://h/v1/chat/completions?Key=s3cret",
        "me:s3cret@host/v1/chat/completions",
        "host/v1/chat/completions?api_key=s3cret",
    ],
)
def test_credentials_in_the_url_are_refused_and_not_quoted(tmp_path: Path, url: str) -> None:
    with pytest.raises(ValidationError) as caught:
        endpoint(tmp_path, url=url)

    assert "without credentials" in str(caught.value)
    assert "s3cret" not in str(caught.value)


@pytest.mark.parametrize(
    ("path", "protocol"),
    [
        ("/v1/chat/completions", "completions"),
        ("/v1/chat/completions/?a=1", "completions"),
        ("/v1/completions", "chat_completions"),
        ("/v1/responses", "chat_completions"),
    ],
)
def test_a_url_that_speaks_another_protocol_is_refused(
    tmp_path: Path, path: str, protocol: str
) -> None:
    with pytest.raises(ValidationError, match="which speaks"):
        endpoint(tmp_path, url=f"http://host{path}", protocol=protocol)


def test_a_base_url_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValidationError, match="full request URL"):
        endpoint(tmp_path, url="http://host:8000/v1")


def test_a_path_of_the_servers_own_is_accepted(tmp_path: Path) -> None:
    made = endpoint(tmp_path, url="http://host/generate?api-version=2", protocol="completions")

    assert made.url == "http://host/generate?api-version=2"


def test_a_protocol_that_does_not_exist_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValidationError, match="'responses'"):
        endpoint(tmp_path, url="http://host/v1/other", protocol="other")


def test_an_unknown_option_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValidationError, match="extra_args"):
        endpoint(tmp_path, extra_args=["--x"])
