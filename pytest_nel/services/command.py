"""Any command that starts an OpenAI-compatible server: started, watched, restarted, ended.

The command runs under a supervisor, so nothing of it outlives this process; see
:mod:`pytest_nel.services._supervisor`.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, ClassVar

from pydantic import ConfigDict, Field, field_validator, model_validator

from pytest_nel.config.interpolate import expand, getenv, resolve_secret
from pytest_nel.config.schema import KeyReference
from pytest_nel.core.errors import ConfigError
from pytest_nel.core.types import Endpoint
from pytest_nel.core.values import is_secret
from pytest_nel.services._deployment import ModelDeployment, probe_of
from pytest_nel.services._identity import OF_A_PLACE, given, hides
from pytest_nel.services._options import DeployedOptions, endpoint_of
from pytest_nel.services._placeholders import check, fill, named, words
from pytest_nel.services._process import HOST
from pytest_nel.services._readiness import Probe
from pytest_nel.services._server import Launch
from pytest_nel.services._shell import before

_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_Path = Annotated[str, Field(pattern=r"^/[!-~]*$")]
_OF_A_SHELL = re.compile(r"\$(?:\{([A-Za-z_]\w*)|([A-Za-z_]\w*))")


class CommandService(ModelDeployment):
    """A server of the user's own, on a loopback port, gone when this process is gone."""

    answers_by: ClassVar[tuple[str, ...]] = (
        *("protocol", "model", "generation"),
        *("command", "env", "path"),
    )

    class Config(DeployedOptions):
        """Options of a service of type ``command``.

        ``{port}`` and ``{host}`` in ``command`` and in the values of ``env`` are replaced;
        ``{{port}}`` is the literal text ``{port}``; braces around anything but one word, and
        ``${…}`` of a shell, stay as they are.

        Attributes:
            command: A line for ``sh -c``, or a program and its arguments. It must stay in the
                foreground: when it ends, the server counts as dead.
            model: The model name to send; null means the service's own name.
            path: The path of requests; null means that of the protocol.
            env: Variables for the command, beside ours; ``${NAME}`` is read at the start and
                stays out of the run directory.
            cwd: The folder it runs in; null means where pytest was started.
            api_key: ``${NAME}`` of the environment variable with the key; null sends none.
        """

        # An invalid api_key or variable may be a secret: no error may quote it.
        model_config = ConfigDict(hide_input_in_errors=True)

        command: Annotated[str, Field(min_length=1)] | Annotated[list[str], Field(min_length=1)]
        model: str | None = None
        path: _Path | None = None
        env: dict[str, str] = Field(default_factory=dict)
        cwd: str | None = None
        api_key: KeyReference | None = None

        @field_validator("command")
        @classmethod
        def _filled_in(cls, command: str | list[str]) -> str | list[str]:
            for word in words(command):
                check(word)
            return command

        @field_validator("env")
        @classmethod
        def _variables(cls, env: dict[str, str]) -> dict[str, str]:
            for name, value in env.items():
                if not _VARIABLE.fullmatch(name):
                    msg = f"expected names of variables, such as HF_HOME, got {name!r}"
                    raise ValueError(msg)
                if is_secret(name) and value and "${" not in value:
                    msg = (
                        f"{name} is named like a secret, and its value would be written to the run "
                        f"directory: export it and write ${{{name}}}"
                    )
                    raise ValueError(msg)
                check(value)
            return env

        @model_validator(mode="after")
        def _port_is_told(self) -> "CommandService.Config":
            texts = [*words(self.command), *self.env.values()]
            told = any("port" in set(named(text)) for text in texts)
            if not told and self.replicas > 1:
                msg = "replicas: each has a port of its own: write {port} in command or env"
                raise ValueError(msg)
            if not told and self.port is None:
                msg = (
                    "a free port is taken, but neither command nor env says {port}: the server "
                    "would not learn it; write {port} there, or name the server's own port"
                )
                raise ValueError(msg)
            return self

    def __init__(self, name: str, config: Config, *, log_dir: Path) -> None:
        super().__init__(name, log_dir)
        self._config = config
        self._key: str | None = None

    @staticmethod
    def identity(options: Mapping[str, Any]) -> Mapping[str, object]:
        """What determines answers and stands in no option as it is.

        Args:
            options: As written in the suite.

        Returns:
            ``env`` with references replaced, the folder it runs in, and the values of inherited
            variables that the command names; what is named as a secret is left out.
        """
        hidden = {*_asks(str(options.get("api_key") or "")), *OF_A_PLACE}
        written = {str(name): str(value) for name, value in (options.get("env") or {}).items()}
        cwd = Path(str(options.get("cwd") or ".")).expanduser()
        lines = [*words(options.get("command") or ""), *(options.get("setup_commands") or ())]
        return {
            "env": {
                name: _value(value)
                for name, value in written.items()
                if not any(hides(each, hidden) for each in (name, *_asks(value)))
            },
            "cwd": str(cwd.resolve()),
            "variables": {
                name: getenv(name)
                for line in lines
                for name in _asks(line)
                if name not in written and not hides(name, hidden)
            },
            **given(options),
        }

    def start(self) -> Endpoint:
        """Start the command and wait until it completes a prompt; then keep an eye on it.

        Raises:
            ConfigError: The key, a variable, the folder, the program or the port cannot be used.
            InfraError: The server ended or was not ready in time; the message has its last words.
        """
        config, self._key = self._config, self._read_key()
        probes = self._start(config.replicas, config.port, config.max_restarts)
        return self._endpoint([probe.url for probe in probes])

    def _endpoint(self, urls: Sequence[str]) -> Endpoint:
        config = self._config
        return endpoint_of(
            self._name,
            config,
            urls=urls,
            protocol=config.protocol,
            model=config.model or self._name,
            api_key=self._read_key(),
        )

    def _read_key(self) -> str | None:
        written = self._config.api_key
        return None if written is None else resolve_secret(written, where=f"{self._where}.api_key")

    @property
    def look_every(self) -> float | None:
        """Seconds between looks at the health page while it serves; None looks at none."""
        return self._config.look_every

    def _probe(self, port: int) -> Probe:
        config = self._config
        env = self._variables(port)
        probe = probe_of(
            self._where,
            port,
            config.protocol,
            model=config.model or self._name,
            health=() if config.health_path is None else (config.health_path,),
            patience=config.startup_timeout,
        )
        if config.path is not None:
            probe = probe._replace(url=f"http://{HOST}:{port}{config.path}")
        hidden = tuple(env[name] for name, written in config.env.items() if "${" in written)
        return probe._replace(api_key=self._key, hidden=hidden)

    def _variables(self, port: int) -> dict[str, str]:
        """``env`` with placeholders and then references replaced: values are taken as they are."""
        facts = {"host": HOST, "port": str(port)}
        filled = {name: fill(value, facts) for name, value in self._config.env.items()}
        return {name: self._read(name, value) for name, value in filled.items()}

    def _read(self, name: str, value: str) -> str:
        try:
            read: str = expand(value)
        except ConfigError as error:
            msg = f"{self._where}.env.{name}: {str(error).removeprefix('value: ')}"
            raise ConfigError(msg) from None
        return read

    def _launch(self, port: int, replica: int) -> Launch:
        config = self._config
        facts = {"host": HOST, "port": str(port)}
        filled = [fill(word, facts) for word in words(config.command)]
        command = ["sh", "-c", *filled] if isinstance(config.command, str) else filled
        cwd = None if config.cwd is None else Path(config.cwd).expanduser()
        if cwd is not None and not cwd.is_dir():
            msg = f"{self._where}.cwd: expected an existing folder, got {config.cwd!r}"
            raise ConfigError(msg)
        env = self._variables(port)
        gpus = config.devices(replica)
        if gpus is not None:
            env["CUDA_VISIBLE_DEVICES"] = ",".join(gpus)
        return Launch(before(command, config.setup_commands), env, cwd)


def _asks(text: str) -> Iterator[str]:
    """The variables that a text refers to as a shell does."""
    return (match[1] or match[2] for match in _OF_A_SHELL.finditer(text))


def _value(written: str) -> str:
    try:
        value: str = expand(written)
    except ConfigError:  # a variable is missing: the start will say so
        return written
    return value
