"""Quick mode."""

import json
from pathlib import Path

import pytest

from pytest_nel.config.load import parse_suite
from pytest_nel.config.quick import model_url, quick_suite
from pytest_nel.config.snapshot import write_suite
from pytest_nel.core.errors import ConfigError


@pytest.mark.parametrize(
    ("url", "full", "protocol"),
    [
        ("http://h:1/v1", "http://h:1/v1/chat/completions", "chat_completions"),
        ("http://h:1/v1/", "http://h:1/v1/chat/completions", "chat_completions"),
        ("https://h", "https://h/chat/completions", "chat_completions"),
        ("http://h/v1/chat/completions/", "http://h/v1/chat/completions", "chat_completions"),
        ("http://h/v1/completions", "http://h/v1/completions", "completions"),
        ("http://h/v1?v=2", "http://h/v1/chat/completions?v=2", "chat_completions"),
    ],
)
def test_a_base_url_is_completed(url: str, full: str, protocol: str) -> None:
    assert model_url(url) == (full, protocol)


def test_the_protocol_given_completes_the_url() -> None:
    assert model_url("http://h/v1", "completions") == ("http://h/v1/completions", "completions")


@pytest.mark.parametrize("url", ["localhost:8000", "ftp://h", "http://", "", "/v1"])
def test_something_that_is_no_http_url_is_refused(url: str) -> None:
    with pytest.raises(ConfigError) as caught:
        model_url(url)

    assert str(caught.value) == f"model URL: expected http(s)://…, got {url!r}"


@pytest.mark.parametrize(
    "url",
    [
        "http://u:s3cret@h/v1",
        "http://h/v1?api_key=s3cret",
        "http://h/v1?API_KEY=s3cret",
        "http://h/v1#token=s3cret",
        "h/v1?api_key=s3cret",
        "ftp://u:s3cret@h",
        "u:s3cret@h/v1",
        "http://u:s3cret@[::1/v1",
    ],
)
def test_a_url_that_carries_a_secret_is_refused_and_not_shown(url: str) -> None:
    with pytest.raises(ConfigError) as caught:
        model_url(url)

    assert "s3cret" not in str(caught.value)


@pytest.mark.parametrize(
    ("url", "protocol"),
    [
        ("http://h/v1/responses", "completions"),
        ("http://h/v1/completions", "responses"),
        ("http://h/v1", "chat"),
        ("http://h/v1/completions", "chat_completions"),
        ("http://h/v1/chat/completions", "completions"),
    ],
)
def test_a_protocol_that_cannot_be_right_is_refused(url: str, protocol: str | None) -> None:
    with pytest.raises(ConfigError):
        model_url(url, protocol)


def test_quick_mode_is_a_suite_that_a_file_could_have_been(tmp_path: Path) -> None:
    raw = quick_suite(bench=["gsm8k", "mmlu"], url="http://h/v1", model="m", key_env="MY_KEY")
    path = tmp_path / "suite.nel.yaml"

    write_suite(raw, path)
    config = parse_suite(path.read_text(encoding="utf-8"), "quick", {}).config

    assert [entry.name for entry in config.benchmarks] == ["gsm8k", "mmlu"]
    assert config.benchmarks[1].solver.type == "simple"
    assert config.services["model"].options == {
        "url": "http://h/v1/chat/completions",
        "protocol": "chat_completions",
        "model": "m",
        "api_key": "${MY_KEY}",
        "generation": {"temperature": 0.0},
    }


def test_what_looks_like_a_reference_is_sent_as_it_was_typed() -> None:
    raw = quick_suite(bench="b", url="http://h", model="${M}")

    config = parse_suite(json.dumps(raw), "quick", {}).config

    assert config.services["model"].options["model"] == "${M}"


def test_a_completions_url_gets_the_completion_solver() -> None:
    raw = quick_suite(bench="b", url="http://h/v1/completions", model="m")

    assert raw["benchmarks"][0]["solver"] == {"type": "completion", "service": "model"}


def test_a_benchmark_file_becomes_an_absolute_path() -> None:
    raw = quick_suite(bench=["x/bench.py:one", "bench.py"], url="http://h", model="m")

    names = [entry["name"] for entry in raw["benchmarks"]]

    assert names == [f"{Path('x/bench.py').absolute()}:one", str(Path("bench.py").absolute())]


def test_the_demo_model_is_served_here() -> None:
    raw = quick_suite(bench="basics", model="demo")

    assert raw["services"]["model"] == {
        "type": "llama_cpp",
        "model": "demo",
        "generation": {"temperature": 0.0},
    }


def test_what_is_missing_is_named_by_its_option() -> None:
    with pytest.raises(ConfigError, match="--nel-model-url"):
        quick_suite(bench="b", model="gpt")
    with pytest.raises(ConfigError, match="--nel-model-id"):
        quick_suite(bench="b", url="http://h", model=None)


def test_a_key_in_place_of_its_variable_is_refused_and_not_shown() -> None:
    with pytest.raises(ConfigError) as caught:
        quick_suite(bench="b", url="http://h", model="m", key_env="sk-s3cret")

    assert "s3cret" not in str(caught.value)
