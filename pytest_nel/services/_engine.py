"""An engine that serves weights, on this machine or in a container: vLLM, SGLang and the like."""

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

from pytest_nel.config.env_map import resolve, secret_names
from pytest_nel.core.types import Endpoint
from pytest_nel.services import _identity
from pytest_nel.services._container import EVERYWHERE, INSIDE, Container, in_container
from pytest_nel.services._deployment import ModelDeployment, probe_of
from pytest_nel.services._options import ContainerOptions, EngineOptions, endpoint_of
from pytest_nel.services._process import HOST
from pytest_nel.services._readiness import Probe
from pytest_nel.services._server import Launch
from pytest_nel.services._shell import before, script

ANSWERS_BY = (
    *("protocol", "model", "generation"),
    *("image", "extra_args", "pre_cmd"),
)


class Contained(ModelDeployment):
    """A model server with the options of a container; a subclass says what is run."""

    answers_by: ClassVar[tuple[str, ...]] = ANSWERS_BY

    def __init__(self, name: str, config: ContainerOptions, *, log_dir: Path) -> None:
        super().__init__(name, log_dir)
        self._options = config

    @staticmethod
    def identity(options: Mapping[str, Any]) -> Mapping[str, object]:
        """What determines answers and stands in no option as it is.

        Args:
            options: As written in the suite.

        Returns:
            The weights, which the model's name in a request does not tell, and the values of
            ``extra_env`` that are no secrets and say nothing about a place.
        """
        return _identity.engine(options)

    @property
    def look_every(self) -> float | None:
        """Seconds between looks at the health page while it serves; None looks at none."""
        return self._options.look_every

    @property
    def served(self) -> str:
        """The model name that requests carry."""
        return self._options.served_model_name or self._name

    def start(self) -> Endpoint:
        """Start the servers and wait until each completes a prompt; then keep an eye on them.

        Raises:
            ConfigError: A variable, the program or the port cannot be used.
            InfraError: A server ended or was not ready in time; the message has its last words.
        """
        options = self._options
        probes = self._start(options.replicas, options.port, options.max_restarts)
        return self._endpoint([probe.url for probe in probes])

    def _endpoint(self, urls: Sequence[str]) -> Endpoint:
        options = self._options
        return endpoint_of(
            self._name,
            options,
            urls=urls,
            protocol=options.protocol,
            model=self.served,
        )

    def _variables(self) -> dict[str, str]:
        return resolve(self._options.extra_env, f"{self._where}.extra_env")

    def _hidden(self) -> dict[str, str]:
        """Variables whose values no message may show."""
        names = secret_names(self._options.extra_env)
        return {name: value for name, value in self._variables().items() if name in names}

    def _probe(self, port: int) -> Probe:
        options = self._options
        probe = probe_of(
            self._where,
            port,
            options.protocol,
            model=self.served,
            health=() if options.health_path is None else (options.health_path,),
            patience=options.startup_timeout,
        )
        return probe._replace(hidden=tuple(self._hidden().values()))


class Engine(Contained):
    """One that is started by a command line, with or without an image."""

    def __init__(self, name: str, config: EngineOptions, *, log_dir: Path) -> None:
        super().__init__(name, config, log_dir=log_dir)
        self._engine = config

    @abstractmethod
    def _command(self, host: str, port: int) -> list[str]:
        """Program and arguments, without ``extra_args``."""

    def _launch(self, port: int, replica: int) -> Launch:
        options, env = self._engine, self._variables()
        gpus = options.devices(replica)
        if options.image is None:
            if gpus is not None:
                env["CUDA_VISIBLE_DEVICES"] = ",".join(gpus)
            words = [*self._command(HOST, port), *options.extra_args]
            return Launch(before(words, options.setup_commands, options.pre_cmd), env)
        program, *arguments = [*self._command(EVERYWHERE, INSIDE), *options.extra_args]
        container = Container(
            options.image,
            entrypoint=[program],
            command=arguments,
            mounts=self._mounts(),
            gpus=gpus,
            shm_size=options.shm_size,
            script=script(options.setup_commands, options.pre_cmd),
        )
        return in_container(container, self._where, port, env)

    def _mounts(self) -> list[str]:
        """Those that are asked for, and a folder of weights, where the command line names it."""
        model = Path(self._engine.model)
        weights = [f"{model}:{model}:ro"] if model.is_absolute() and model.exists() else []
        return [*self._engine.container_mounts, *weights]


def sizes(options: EngineOptions, flags: Mapping[str, str]) -> list[str]:
    """Arguments for those of the parallel sizes that are set; ``flags``: option → argument."""
    return [
        word
        for option, flag in flags.items()
        if (size := getattr(options, option)) is not None
        for word in (flag, str(size))
    ]
