"""A workflow of the NeMo Agent Toolkit, served by ``nat serve``: an agent, no model."""

from pathlib import Path
from typing import Annotated, ClassVar

from pydantic import Field

from pytest_nel.config.env_map import EnvMap, resolve, secret_names
from pytest_nel.core.errors import ConfigError
from pytest_nel.core.types import Endpoint
from pytest_nel.services._container import EVERYWHERE, INSIDE, Container, in_container
from pytest_nel.services._deployment import Deployment, probe_of, resource
from pytest_nel.services._options import RunOptions
from pytest_nel.services._process import HOST
from pytest_nel.services._readiness import Probe
from pytest_nel.services._server import Launch
from pytest_nel.services._shell import before, script

_CONFIG_INSIDE = "/nel/config.yml"


class NatService(Deployment):
    """A workflow that the run starts."""

    answers_by: ClassVar[tuple[str, ...]] = ("image", "nat_config_file")

    class Config(RunOptions):
        """Options of a service of type ``nat``.

        Attributes:
            nat_config_file: The workflow's file; with an image it is mounted there.
            image: The image in which it runs; null runs ``nat`` of this machine.
            extra_env: Variables, ``host:VAR``, ``runtime:VAR`` or ``lit:text``.
            startup_timeout: Seconds until it is ready.
        """

        nat_config_file: Annotated[str, Field(min_length=1)] = "config.yml"
        image: Annotated[str, Field(min_length=1)] | None = None
        extra_env: EnvMap = Field(default_factory=dict)
        startup_timeout: Annotated[float, Field(gt=0)] = 120.0

    def __init__(self, name: str, config: Config, *, log_dir: Path) -> None:
        super().__init__(name, log_dir)
        self._config = config

    def start(self) -> Endpoint:
        """Start it and wait until it is up.

        Raises:
            ConfigError: The file, the program, a variable or the port cannot be used.
            InfraError: It ended or was not ready in time; the message has its last words.
        """
        config = self._config
        return resource(self._name, self._start(1, config.port, config.max_restarts)[0].url)

    def _launch(self, port: int, replica: int) -> Launch:
        del replica  # there is one
        config, env = self._config, resolve(self._config.extra_env, f"{self._where}.extra_env")
        file = Path(config.nat_config_file).expanduser().resolve()
        if not file.is_file():
            msg = (
                f"{self._where}.nat_config_file: expected an existing file, "
                f"got {config.nat_config_file!r}"
            )
            raise ConfigError(msg)
        if config.image is None:
            words = _command(str(file), HOST, port)
            return Launch(before(words, config.setup_commands), env)
        program, *arguments = _command(_CONFIG_INSIDE, EVERYWHERE, INSIDE)
        container = Container(
            config.image,
            entrypoint=[program],
            command=arguments,
            mounts=[f"{file}:{_CONFIG_INSIDE}:ro"],
            script=script(config.setup_commands),
        )
        return in_container(container, self._where, port, env)

    def _probe(self, port: int) -> Probe:
        config = self._config
        hidden = secret_names(config.extra_env)
        values = resolve(config.extra_env, f"{self._where}.extra_env")
        probe = probe_of(
            self._where,
            port,
            None,
            health=("/health",),
            patience=config.startup_timeout,
        )
        return probe._replace(hidden=tuple(values[name] for name in hidden))


def _command(file: str, host: str, port: int) -> list[str]:
    return ["nat", "serve", "--config_file", file, "--port", str(port), "--host", host]
