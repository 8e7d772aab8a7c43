"""vLLM, SGLang and TensorRT-LLM are started with exactly these words, and end with the service."""

import json
import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from pydantic import ValidationError

from pytest_nel.config.schema import PluginSpec
from pytest_nel.core.errors import ConfigError, InfraError
from pytest_nel.engine.fingerprint import answering
from pytest_nel.services import REGISTRY as SERVICES
from tests.support.processes import command_lines, gone
from tests.unit.services.commands import LINUX
from tests.unit.services.standins import calls, stand_in

PLANTED = "planted-2f9b71c3d0"  # nobody's
Make = Callable[..., Any]


@pytest.fixture
def engine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Make]:
    """Make services named ``mine``; programs of the test come first in the path."""
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}{os.pathsep}{os.environ['PATH']}")
    made: list[Any] = []

    def build(kind: str, **options: Any) -> Any:
        cls: Any = SERVICES.load(kind)
        given = {"model": "org/m", "protocol": "chat_completions", **options}
        made.append(cls("mine", cls.Config.model_validate(given), log_dir=tmp_path / "logs"))
        return made[-1]

    yield build
    for service in made:
        service.stop()


SIZES = {"tensor_parallel_size": 4, "pipeline_parallel_size": 2}
ALL_SIZES = {**SIZES, "data_parallel_size": 3}
WORDS = [
    ("vllm", {}, "vllm serve org/m --port 9 --host 127.0.0.1 --served-model-name mine"),
    (
        "vllm",
        {**ALL_SIZES, "extra_args": ["--max-model-len", "4096"], "served_model_name": "s"},
        """vllm serve org/m --port 9 --host 127.0.0.1 --served-model-name s
        --tensor-parallel-size 4 --pipeline-parallel-size 2 --data-parallel-size 3
        --max-model-len 4096""",
    ),
    (
        "sglang",
        {**ALL_SIZES, "extra_args": ["--enable-metrics"]},
        """sglang serve --model-path org/m --port 9 --host 127.0.0.1 --served-model-name mine
        --tp-size 4 --pp-size 2 --dp-size 3 --enable-metrics""",
    ),
    ("trt_llm", {}, "trtllm-serve org/m --host 127.0.0.1 --port 9"),
    (
        "trt_llm",
        {**SIZES, "served_model_name": "s", "extra_args": ["--ep_size", "2"]},
        """trtllm-serve org/m --host 127.0.0.1 --port 9 --served_model_name s --tp_size 4
        --pp_size 2 --ep_size 2""",
    ),
]


@pytest.mark.parametrize(("kind", "options", "line"), WORDS)
def test_these_are_the_words(engine: Make, kind: str, options: dict[str, Any], line: str) -> None:
    launch = engine(kind, **options)._launch(9, 0)

    assert launch.command == line.split()
    assert launch.env == {}


@LINUX
@pytest.mark.parametrize(
    ("kind", "program", "served"),
    [("vllm", "vllm", "mine"), ("sglang", "sglang", "mine"), ("trt_llm", "trtllm-serve", "org/m")],
)
def test_an_engine_runs_is_asked_by_its_served_name_and_ends(
    engine: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str, program: str,
    served: str,
) -> None:  # fmt: skip
    monkeypatch.setenv("MY_TOKEN", PLANTED)
    names = ("CUDA_VISIBLE_DEVICES", "HF_TOKEN", "DEBUG")
    said = stand_in(tmp_path / "bin", program, names=names)
    env = {"HF_TOKEN": "host:MY_TOKEN", "DEBUG": "lit:yes"}
    service = engine(kind, gpus=[2, 3], tensor_parallel_size=2, extra_env=env)

    endpoint = service.start()
    body = {"model": endpoint.model, "messages": [{"role": "user", "content": "word"}]}
    reply = httpx.post(endpoint.url, json=body, trust_env=False).json()
    lines = command_lines()
    service.stop()

    ((name, words, variables),) = calls(said)
    assert name == program
    assert words[words.index("--port") + 1] == str(httpx.URL(endpoint.url).port)
    assert variables == {"CUDA_VISIBLE_DEVICES": "2,3", "HF_TOKEN": PLANTED, "DEBUG": "yes"}
    assert endpoint.model == served == reply["model"]
    assert [line for line in lines.values() if PLANTED in line] == []
    started = re.findall(r"^started (\d+)$", _log(tmp_path), re.MULTILINE)
    assert gone(int(pid) for pid in started)
    assert len(started) == 1


def _log(tmp_path: Path) -> str:
    return (tmp_path / "logs" / "server-mine.log").read_text()


def test_an_engine_that_is_not_installed_is_named(engine: Make) -> None:
    with pytest.raises(ConfigError, match="cannot run 'sglang'"):
        engine("sglang").start()


@LINUX
def test_set_up_comes_first_in_order_and_may_export(engine: Make, tmp_path: Path) -> None:
    said = stand_in(tmp_path / "bin", "vllm", names=("MADE", "HERE"))
    order = tmp_path / "order"
    setup = [f"echo one >> {order}; export HERE=lost", f"echo two >> {order}"]
    service = engine("vllm", setup_commands=setup, pre_cmd="export MADE=here  # and kept")

    service.start()

    assert order.read_text().split() == ["one", "two"]
    assert [variables for _, _, variables in calls(said)] == [{"MADE": "here", "HERE": None}]


@LINUX
@pytest.mark.parametrize(
    ("options", "named"),
    [
        (
            {"setup_commands": ["true", "echo 'it\\'s' bad; exit 3", "touch never"]},
            "setup_commands[1] failed with status 3: echo",
        ),
        ({"pre_cmd": "cd /nowhere/at/all"}, "pre_cmd failed with status"),
    ],
    ids=["setup", "pre_cmd"],
)
def test_what_fails_before_the_server_is_named_with_its_last_words(
    engine: Make, tmp_path: Path, options: dict[str, Any], named: str
) -> None:
    said = stand_in(tmp_path / "bin", "vllm")
    given = {
        key: [line.replace("\\'", "'\\''") for line in value] if isinstance(value, list) else value
        for key, value in options.items()
    }

    with pytest.raises(InfraError) as caught:
        engine("vllm", **given).start()

    assert "ended before it was ready" in str(caught.value)
    assert named in str(caught.value)
    assert calls(said) == []


@pytest.mark.parametrize(
    ("kind", "options", "said"),
    [
        ("vllm", {"extra_args": ["--port", "1"]}, "--port is set by the option port"),
        ("vllm", {"extra_args": ["--served-model-name=x"]}, "the option served_model_name"),
        ("sglang", {"extra_args": ["--tp", "2"]}, "the option tensor_parallel_size"),
        ("trt_llm", {"data_parallel_size": 2}, "no such argument: use `replicas`"),
        ("vllm", {"container_mounts": ["/a:/b"]}, "there is no container without `image`"),
        ("vllm", {"container_mounts": ["a:b"], "image": "i"}, "absolute paths, got 'a:b'"),
        ("vllm", {"gpus": 3, "replicas": 2}, "3 cannot be divided among 2 replicas"),
        ("vllm", {"gpus": [0], "tensor_parallel_size": 2}, "2 GPUs for a server, which gets 1"),
        ("vllm", {"gpus": ["zero"]}, "expected numbers of GPUs"),
        ("vllm", {"reasoning_pattern": "("}, "expected a regular expression"),
        ("vllm", {"port": 65535, "replicas": 2}, "go beyond 65535"),
        ("vllm", {"extra_env": {"A": PLANTED}}, "must have an explicit prefix"),
    ],
)
def test_what_makes_no_sense_is_refused(
    engine: Make, kind: str, options: dict[str, Any], said: str
) -> None:
    with pytest.raises(ValidationError) as caught:
        engine(kind, **options)

    assert said in str(caught.value)
    assert PLANTED not in str(caught.value)


def facts(**options: Any) -> dict[str, Any]:
    given = {"model": "org/m", "protocol": "chat_completions", **options}
    return answering(None, {"type": "simple"}, PluginSpec(type="vllm", **given))


@pytest.mark.parametrize(
    "other",
    [
        {"model": "org/other"},
        {"extra_args": ["--quantization", "fp8"]},
        {"image": "vllm/vllm-openai:v1"},
        {"extra_env": {"VLLM_USE_V1": "lit:1"}},
        {"pre_cmd": "export A=1"},
        {"setup_commands": ["pip install x"]},
        {"reasoning_pattern": "<think>.*</think>"},
        {"generation": {"seed": 1}},
    ],
    ids=str,
)
def test_another_engine_is_another(other: dict[str, Any]) -> None:
    assert facts() == facts() != facts(**other)


@pytest.mark.parametrize(
    "other",
    [
        {"port": 8000},
        {"gpus": [4, 5]},
        {"replicas": 2, "gpus": 2},
        {"tensor_parallel_size": 8},
        {"startup_timeout": 5, "max_restarts": 0, "max_retries": 1},
        {"extra_env": {"HF_HOME": "lit:/cache", "NCCL_DEBUG": "lit:INFO"}},
        {"extra_env": {"HF_TOKEN": "host:HF_TOKEN"}},
        {"depends_on": ["other"], "share_gpus": True, "shm_size": "1g"},
    ],
    ids=str,
)
def test_the_same_engine_elsewhere_is_the_same(other: dict[str, Any]) -> None:
    assert facts() == facts(**other)


def test_what_solvers_may_know_is_in_the_endpoint(engine: Make, tmp_path: Path) -> None:
    stand_in(tmp_path / "bin", "vllm")
    known = {"max_input_tokens": 4096, "max_output_tokens": 512, "tokenizer": "org/t"}

    endpoint = engine("vllm", **known).start()

    assert {name: getattr(endpoint, name) for name in known} == known


def test_an_image_runs_the_same_words_in_a_container(engine: Make, tmp_path: Path) -> None:
    weights = tmp_path / "weights"
    weights.mkdir()
    service = engine(
        "vllm", model=str(weights), image="vllm/vllm-openai:v1", gpus=[1, 2], shm_size="8g",
        tensor_parallel_size=2, container_mounts=["/data:/data:ro"], setup_commands=["true"],
    )  # fmt: skip

    launch = service._launch(9, 0)

    order = json.loads(launch.command[-1])
    assert order["image"] == "vllm/vllm-openai:v1"
    assert [*order["entrypoint"], *order["command"]] == [
        *("vllm", "serve", str(weights), "--port", "8000", "--host", "0.0.0.0"),  # noqa: S104
        *("--served-model-name", "mine", "--tensor-parallel-size", "2"),
    ]
    assert order["publish"] == ["127.0.0.1", 9]
    assert order["port"] == 8000
    assert order["gpus"] == ["1", "2"]
    assert order["mounts"] == ["/data:/data:ro", f"{weights}:{weights}:ro"]
    assert order["shm_size"] == "8g"
    assert "setup_commands[0]" in order["script"]
    assert "CUDA_VISIBLE_DEVICES" not in launch.env
