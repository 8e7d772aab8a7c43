"""A Gym resource server: it seeds and verifies what an environment asks of it; no model."""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, ClassVar

from pydantic import Field, field_validator, model_validator

from pytest_nel.config.urls import secret_in, split_url
from pytest_nel.core.types import Endpoint
from pytest_nel.services._container import EVERYWHERE, INSIDE, Container, in_container
from pytest_nel.services._deployment import Deployment, probe_of, resource
from pytest_nel.services._options import RunOptions
from pytest_nel.services._placeholders import check, fill, named
from pytest_nel.services._process import HOST
from pytest_nel.services._readiness import Probe
from pytest_nel.services._server import Launch
from pytest_nel.services._shell import before, script


class GymService(Deployment):
    """A resource server that the run starts, or one that is there."""

    answers_by: ClassVar[tuple[str, ...]] = ("url", "image", "server_cmd")

    class Config(RunOptions):
        """Options of a service of type ``gym``.

        Attributes:
            url: The base URL of a server that is there; null starts one.
            server_cmd: The line for ``sh -c`` that starts one, with ``{port}`` and ``{host}``.
            image: The image in which it runs; null runs it on this machine.
            startup_timeout: Seconds until it is ready.
        """

        refused: ClassVar[Mapping[str, tuple[object, str]]] = {
            "benchmark": (
                None,
                "serving a benchmark of ours is not supported yet: give `server_cmd` or `url`",
            ),
        }

        url: str | None = None
        server_cmd: Annotated[str, Field(min_length=1)] | None = None
        image: Annotated[str, Field(min_length=1)] | None = None
        startup_timeout: Annotated[float, Field(gt=0)] = 120.0

        @field_validator("url")
        @classmethod
        def _a_base_url(cls, url: str | None) -> str | None:
            if url is None:
                return None
            parts = split_url(url)
            if parts.scheme not in ("http", "https") or not parts.hostname or secret_in(parts):
                msg = "expected http(s)://host… without credentials"
                raise ValueError(msg)
            return url.rstrip("/")

        @field_validator("server_cmd")
        @classmethod
        def _filled_in(cls, command: str | None) -> str | None:
            if command is not None:
                check(command)
            return command

        @model_validator(mode="after")
        def _one_of_them(self) -> "GymService.Config":
            if (self.url is None) == (self.server_cmd is None):
                msg = "expected `url` of a server that is there, or `server_cmd` to start one"
                raise ValueError(msg)
            told = self.port is not None and self.image is None
            if self.server_cmd is not None and not told and "port" not in named(self.server_cmd):
                msg = "server_cmd does not say {port}, so the server would not learn its port"
                raise ValueError(msg)
            return self

    def __init__(self, name: str, config: Config, *, log_dir: Path) -> None:
        super().__init__(name, log_dir)
        self._config = config

    def start(self) -> Endpoint:
        """Start it and wait until it is up; nothing to do for one that is there.

        Raises:
            ConfigError: The port cannot be used.
            InfraError: It ended or was not ready in time; the message has its last words.
        """
        config = self._config
        if config.url is not None:
            return resource(self._name, config.url)
        return resource(self._name, self._start(1, config.port, config.max_restarts)[0].url)

    def _launch(self, port: int, replica: int) -> Launch:
        del replica  # there is one
        config = self._config
        assert config.server_cmd is not None
        inside = (HOST, port) if config.image is None else (EVERYWHERE, INSIDE)
        facts = {"host": inside[0], "port": str(inside[1])}
        line = fill(config.server_cmd, facts)
        if config.image is None:
            return Launch(before(["sh", "-c", line], config.setup_commands), {})
        container = Container(
            config.image,
            entrypoint=["sh"],
            command=["-c", line],
            script=script(config.setup_commands),
        )
        return in_container(container, self._where, port, {})

    def _probe(self, port: int) -> Probe:
        return probe_of(
            self._where,
            port,
            None,
            health=("/health", "/openapi.json"),
            patience=self._config.startup_timeout,
        )
