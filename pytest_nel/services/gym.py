"""A Gym resource server: it seeds and verifies what an environment asks of it; no model."""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, ClassVar

from pydantic import Field, field_validator, model_validator

from pytest_nel.authoring.catalog import anchored
from pytest_nel.config.schema import PluginSpec
from pytest_nel.config.served import suite_file, suite_of, write_suite
from pytest_nel.config.urls import secret_in, split_url
from pytest_nel.core.types import Endpoint
from pytest_nel.http.secret import Secrets
from pytest_nel.services._container import EVERYWHERE, INSIDE, Container, in_container
from pytest_nel.services._deployment import Deployment, probe_of, resource
from pytest_nel.services._options import RunOptions
from pytest_nel.services._placeholders import check, fill, named
from pytest_nel.services._process import HOST
from pytest_nel.services._readiness import Probe
from pytest_nel.services._server import Launch
from pytest_nel.services._shell import before, script


def _no_secrets() -> Secrets:
    return Secrets(())


class GymService(Deployment):
    """A resource server that the run starts, or one that is there.

    Attributes:
        secrets: What no file may hold; looked up each time.
    """

    answers_by: ClassVar[tuple[str, ...]] = ("url", "image", "server_cmd", "benchmark", "sandbox")

    class Config(RunOptions):
        """Options of a service of type ``gym``.

        Attributes:
            url: The base URL of a server that is there; null starts one.
            server_cmd: The line for ``sh -c`` that starts one, with ``{port}`` and ``{host}``.
            benchmark: What ``nel serve`` serves on this machine in place of that line: a name of
                ``nel list``, ``file.py`` or ``file.py:name``, from where pytest is started.
            sandbox: Where the scorers of that benchmark run code; ``none`` and the name of one of
                ``sandboxes`` are short for it.
            image: The image in which it runs; null runs it on this machine.
            startup_timeout: Seconds until it is ready.
        """

        url: str | None = None
        server_cmd: Annotated[str, Field(min_length=1)] | None = None
        benchmark: Annotated[str, Field(min_length=1)] | None = None
        sandbox: PluginSpec = PluginSpec(type="none")
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

        @field_validator("sandbox", mode="before")
        @classmethod
        def _no_other_name(cls, sandbox: Any) -> Any:  # Any: pydantic's
            if not isinstance(sandbox, str):
                return sandbox
            if sandbox == "none":
                return {"type": sandbox}
            msg = (
                f"no sandbox is called {sandbox!r}: name one of `sandboxes`, or say its options, "
                "such as {type: docker}"
            )
            raise ValueError(msg)

        @field_validator("server_cmd")
        @classmethod
        def _filled_in(cls, command: str | None) -> str | None:
            if command is not None:
                check(command)
            return command

        @model_validator(mode="after")
        def _one_of_them(self) -> "GymService.Config":
            given = [each is not None for each in (self.url, self.server_cmd, self.benchmark)]
            if sum(given) != 1:
                msg = (
                    "expected one of `url` of a server that is there, `server_cmd` to start one, "
                    "and `benchmark` to serve one of ours"
                )
                raise ValueError(msg)
            if self.benchmark is None and self.sandbox.type != "none":
                msg = "sandbox: it is that of a `benchmark`: tell a server of your own by its line"
                raise ValueError(msg)
            if self.benchmark is not None and self.image is not None:
                msg = "image: a benchmark is served on this machine: say `server_cmd` for an image"
                raise ValueError(msg)
            told = self.port is not None and self.image is None
            if self.server_cmd is not None and not told and "port" not in named(self.server_cmd):
                msg = "server_cmd does not say {port}, so the server would not learn its port"
                raise ValueError(msg)
            return self

    def __init__(self, name: str, config: Config, *, log_dir: Path) -> None:
        super().__init__(name, log_dir)
        self._config = config
        self.secrets: Callable[[], Secrets] = _no_secrets
        self._bench = None if config.benchmark is None else anchored(config.benchmark, Path.cwd())
        self._suite = suite_of(self._bench, config.sandbox)

    def start(self) -> Endpoint:
        """Start it and wait until it is up; nothing to do for one that is there.

        Raises:
            ConfigError: The port cannot be used, or a secret stands in an option of its sandbox.
            InfraError: It ended or was not ready in time; the message has its last words.
        """
        config = self._config
        if config.url is not None:
            return resource(self._name, config.url)
        if self._suite is not None:
            write_suite(self._suite, self._file, self.secrets().out_of_json, self._where)
        return resource(self._name, self._start(1, config.port, config.max_restarts)[0].url)

    def would_run(self) -> Launch | None:
        """What a start would run; None where the server is there."""
        return None if self._config.url is not None else super().would_run()

    def _launch(self, port: int, replica: int) -> Launch:
        del replica  # there is one
        config = self._config
        if self._bench is not None:
            told = [] if self._suite is None else [str(self._file)]
            words = ["serve", *told, "-b", self._bench, "-p", str(port)]
            command = [sys.executable, "-m", "pytest_nel.cli.main", *words]
            return Launch(before(command, config.setup_commands), {})
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

    @property
    def _file(self) -> Path:
        return suite_file(self._log_dir, self._name)

    def _probe(self, port: int) -> Probe:
        return probe_of(
            self._where,
            port,
            None,
            health=("/health", "/openapi.json"),
            patience=self._config.startup_timeout,
        )
