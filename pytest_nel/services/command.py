"""Any command that starts an OpenAI-compatible server: started, watched, restarted, ended.

The command runs under a supervisor, so nothing of it outlives this process; see
:mod:`pytest_nel.services._supervisor`.
"""

import contextlib
import logging
import re
import threading
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, ClassVar

from pydantic import ConfigDict, Field, field_validator, model_validator

from pytest_nel.config.interpolate import expand, getenv, resolve_secret
from pytest_nel.config.proxy import Proxy
from pytest_nel.config.schema import MAX_CONCURRENT, Generation, KeyReference, Model, Prices
from pytest_nel.core.errors import ConfigError, NelError
from pytest_nel.core.keys import safe_name
from pytest_nel.core.types import Endpoint, Protocol
from pytest_nel.core.values import is_secret
from pytest_nel.services._process import HOST, HeldPort, SupervisedProcess
from pytest_nel.services._readiness import PATHS, Probe, wait_until_ready

_LOG = logging.getLogger(__name__)
#: What a shell or a doubled brace says comes first, so that it is never read as a placeholder.
_PLACEHOLDER = re.compile(
    r"(?P<shell>\$\{)|\{\{(?P<literal>[A-Za-z_]\w*)\}\}|\{(?P<name>[A-Za-z_]\w*)\}"
)
_KNOWN = ("host", "port")
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_Path = Annotated[str, Field(pattern=r"^/[!-~]*$")]
_OF_A_SHELL = re.compile(r"\$(?:\{([A-Za-z_]\w*)|([A-Za-z_]\w*))")
#: Where a run is, not what it asks.
_OF_A_PLACE = {"CUDA_VISIBLE_DEVICES", "HOSTNAME", "TMPDIR"}
_FIRST_PAUSE, _LONGEST_PAUSE = 0.1, 5.0


class CommandService:
    """A server of the user's own, on a loopback port, gone when this process is gone."""

    deploys: ClassVar[bool] = True
    answers_by: ClassVar[tuple[str, ...]] = (
        *("protocol", "model", "generation"),
        *("command", "env", "path"),
    )

    class Config(Model):
        """Options of a service of type ``command``.

        ``{port}`` and ``{host}`` in ``command`` and in the values of ``env`` are replaced;
        ``{{port}}`` is the literal text ``{port}``; braces around anything but one word, and
        ``${…}`` of a shell, stay as they are.

        Attributes:
            command: A line for ``sh -c``, or a program and its arguments. It must stay in the
                foreground: when it ends, the server counts as dead.
            port: Where the server listens; null takes a free port.
            protocol: The wire format behind it.
            model: The model name to send; null means the service's own name.
            path: The path of requests; null means that of the protocol.
            health_path: Answers 2xx when the server is up; null asks for a completion alone.
            startup_timeout: Seconds until the first completion.
            env: Variables for the command, beside ours; ``${NAME}`` is read at the start and
                stays out of the run directory.
            cwd: The folder it runs in; null means where pytest was started.
            api_key: ``${NAME}`` of the environment variable with the key; null sends none.
            generation: Sampling parameters of every request, unless the solver sets its own.
            max_concurrent: Requests in flight at most; null leaves it to the benchmarks.
            connect_timeout: Seconds to open a connection.
            read_timeout: Seconds without a byte; null leaves it to ``timeout``.
            timeout: Seconds for one request in all.
            max_retries: Further requests after the first.
            max_restarts: How often a server that died is started again.
            prices: What tokens cost; null where that is not known.
            proxy: What happens to requests on their way; null changes nothing.
        """

        # An invalid api_key or variable may be a secret: no error may quote it.
        model_config = ConfigDict(hide_input_in_errors=True)

        command: Annotated[str, Field(min_length=1)] | Annotated[list[str], Field(min_length=1)]
        protocol: Protocol
        port: Annotated[int, Field(ge=1, le=65_535)] | None = None
        model: str | None = None
        path: _Path | None = None
        health_path: _Path | None = "/health"
        startup_timeout: Annotated[float, Field(gt=0)] = 600.0
        env: dict[str, str] = Field(default_factory=dict)
        cwd: str | None = None
        api_key: KeyReference | None = None
        generation: Generation = Generation()
        max_concurrent: Annotated[int, Field(ge=1, le=MAX_CONCURRENT)] | None = None
        connect_timeout: Annotated[float, Field(gt=0)] = 10.0
        read_timeout: Annotated[float, Field(gt=0)] | None = None
        timeout: Annotated[float, Field(gt=0)] = 600.0
        max_retries: Annotated[int, Field(ge=0)] = 5
        max_restarts: Annotated[int, Field(ge=0)] = 3
        prices: Prices | None = None
        proxy: Proxy | None = None

        @field_validator("command")
        @classmethod
        def _filled_in(cls, command: str | list[str]) -> str | list[str]:
            for word in _words(command):
                _check(word)
            return command

        @field_validator("env")
        @classmethod
        def _variables(cls, env: dict[str, str]) -> dict[str, str]:
            for name, value in env.items():
                if not _VARIABLE.fullmatch(name):
                    msg = f"expected names of variables, such as HF_HOME, got {name!r}"
                    raise ValueError(msg)
                _check(value)
            return env

        @model_validator(mode="after")
        def _port_is_told(self) -> "CommandService.Config":
            texts = [*_words(self.command), *self.env.values()]
            if self.port is None and not any("port" in set(_named(text)) for text in texts):
                msg = (
                    "a free port is taken, but neither command nor env says {port}: the server "
                    "would not learn it; write {port} there, or name the server's own port"
                )
                raise ValueError(msg)
            return self

    def __init__(self, name: str, config: Config, *, log_dir: Path) -> None:
        self._name = name
        self._config = config
        self._where = f"services.{name}"
        self._process = SupervisedProcess(self._where, log_dir / f"server-{safe_name(name)}.log")
        self._stopping = threading.Event()
        self._changing = threading.Lock()
        self._watcher: threading.Thread | None = None
        self._trouble: str | None = None
        self._held: HeldPort | None = None

    @staticmethod
    def identity(options: Mapping[str, Any]) -> Mapping[str, object]:
        """What determines answers and stands in no option as it is.

        Args:
            options: As written in the suite.

        Returns:
            ``env`` with references replaced, the folder it runs in, and the values of inherited
            variables that the command names; what is named as a secret is left out.
        """
        hidden = {*_asks(str(options.get("api_key") or "")), *_OF_A_PLACE}
        written = {str(name): str(value) for name, value in (options.get("env") or {}).items()}
        cwd = Path(str(options.get("cwd") or ".")).expanduser()
        words = _words(options.get("command") or "")
        return {
            "env": {
                name: _value(value)
                for name, value in written.items()
                if not any(_hides(each, hidden) for each in (name, *_asks(value)))
            },
            "cwd": str(cwd.resolve()),
            "variables": {
                name: getenv(name)
                for word in words
                for name in _asks(word)
                if name not in written and not _hides(name, hidden)
            },
        }

    @property
    def trouble(self) -> str | None:
        """Why the server is gone for good, or None."""
        return self._trouble

    def start(self) -> Endpoint:
        """Start the command and wait until it completes a prompt; then keep an eye on it.

        Raises:
            ConfigError: The key, a variable, the folder, the program or the port cannot be used.
            InfraError: The server ended or was not ready in time; the message has its last words.
        """
        config = self._config
        key = None
        if config.api_key is not None:
            key = resolve_secret(config.api_key, where=f"{self._where}.api_key")
        self._release()
        self._held = HeldPort.take(self._where, config.port)
        port = self._held.number
        ready = False
        self._stopping.clear()
        try:
            probe = self._probe(port, key)
            self._bring_up(probe, port)
            ready = True
        finally:
            if not ready:
                self.stop()
        self._watcher = threading.Thread(
            target=self._watch, args=(probe, self._held), name=f"nel-{self._name}", daemon=True
        )
        self._watcher.start()
        return Endpoint(
            name=self._name,
            url=probe.url,
            protocol=config.protocol,
            model=probe.model,
            api_key=key,
            generation=config.generation.given(),
            max_concurrent=config.max_concurrent,
            connect_timeout=config.connect_timeout,
            read_timeout=config.read_timeout,
            timeout=config.timeout,
            max_retries=config.max_retries,
        )

    def stop(self) -> None:
        """End the server and all it has started; harmless when it is not running."""
        self._stopping.set()
        with self._changing:
            self._process.stop()
        watcher, self._watcher = self._watcher, None
        if watcher is not None:
            watcher.join()
        self._release()

    def _release(self) -> None:
        held, self._held = self._held, None
        if held is not None:
            held.release()

    def _probe(self, port: int, key: str | None) -> Probe:
        config = self._config
        base = f"http://{HOST}:{port}"
        env = self._variables(port)
        return Probe(
            where=self._where,
            url=base + (config.path or PATHS[config.protocol]),
            protocol=config.protocol,
            model=config.model or self._name,
            health_url=None if config.health_path is None else base + config.health_path,
            api_key=key,
            patience=config.startup_timeout,
            hidden=tuple(env[name] for name, written in config.env.items() if "${" in written),
        )

    def _variables(self, port: int) -> dict[str, str]:
        """``env`` with placeholders and then references replaced: values are taken as they are."""
        facts = {"host": HOST, "port": str(port)}
        filled = {name: _fill(value, facts) for name, value in self._config.env.items()}
        return {name: self._read(name, value) for name, value in filled.items()}

    def _read(self, name: str, value: str) -> str:
        try:
            read: str = expand(value)
        except ConfigError as error:
            msg = f"{self._where}.env.{name}: {str(error).removeprefix('value: ')}"
            raise ConfigError(msg) from None
        return read

    def _bring_up(self, probe: Probe, port: int) -> None:
        """Launch the command and wait for it, or raise."""
        config = self._config
        facts = {"host": HOST, "port": str(port)}
        words = [_fill(word, facts) for word in _words(config.command)]
        command = ["sh", "-c", *words] if isinstance(config.command, str) else words
        cwd = None if config.cwd is None else Path(config.cwd).expanduser()
        if cwd is not None and not cwd.is_dir():
            msg = f"{self._where}.cwd: expected an existing folder, got {config.cwd!r}"
            raise ConfigError(msg)
        deadline = time.monotonic() + config.startup_timeout
        with self._changing:
            if self._stopping.is_set():
                return
            self._process.launch(command, env=self._variables(port), cwd=cwd)
        wait_until_ready(self._process, probe, deadline, wanted=lambda: not self._stopping.is_set())

    def _watch(self, probe: Probe, held: HeldPort) -> None:
        """Wait for the server's death; start it again as often as allowed."""
        restarts = 0
        while True:
            status = self._process.wait()
            if self._stopping.is_set():
                return
            if restarts >= self._config.max_restarts:
                break
            restarts += 1
            self._say(f"{_ended(status)}; restart {restarts} of {self._config.max_restarts}")
            if self._stopping.wait(min(_FIRST_PAUSE * 2 ** (restarts - 1), _LONGEST_PAUSE)):
                return
            try:
                held.check(self._where)
                self._bring_up(probe, held.number)
            except (NelError, OSError) as error:
                if self._stopping.is_set():
                    return
                self._say(str(error).splitlines()[0])
                with self._changing:
                    self._process.stop()
            else:
                self._say("the server is ready again")
        allowed = f"after {restarts} restarts" if restarts else "and max_restarts is 0"
        self._trouble = (
            f"{self._where}: {_ended(status)} {allowed}, so it is gone; see {self._process.log}"
        )
        self._say(self._trouble)

    def _say(self, text: str) -> None:
        text = text.removeprefix(f"{self._where}: ")
        _LOG.warning("%s: %s", self._where, text)
        with contextlib.suppress(OSError):  # a full disk: the run has worse problems
            self._process.note(text)


def _ended(status: int | None) -> str:
    return "the server " + (
        "did not come up again" if status is None else f"ended with status {status}"
    )


def _asks(text: str) -> Iterator[str]:
    """The variables that a text refers to as a shell does."""
    return (match[1] or match[2] for match in _OF_A_SHELL.finditer(text))


def _hides(variable: str, hidden: set[str]) -> bool:
    """Whether an environment variable does not count; there, any token is a secret."""
    return variable in hidden or is_secret(variable) or variable.upper().endswith("_TOKEN")


def _value(written: str) -> str:
    try:
        value: str = expand(written)
    except ConfigError:  # a variable is missing: the start will say so
        return written
    return value


def _words(command: str | list[str]) -> list[str]:
    return [command] if isinstance(command, str) else command


def _check(text: str) -> None:
    """Refuse what cannot be filled in; the text itself is not quoted, it may hold a secret."""
    if "\0" in text:
        msg = "expected text without NUL characters"
        raise ValueError(msg)
    for name in _named(text):
        if name not in _KNOWN:
            msg = (
                f"unknown placeholder {{{name}}}: known are {{host}} and {{port}}; "
                f"write {{{{{name}}}}} for the literal text"
            )
            raise ValueError(msg)


def _named(text: str) -> Iterator[str]:
    return (match["name"] for match in _PLACEHOLDER.finditer(text) if match["name"])


def _fill(text: str, facts: Mapping[str, str]) -> str:
    def filled(match: re.Match[str]) -> str:
        if match["shell"]:
            return match["shell"]
        return f"{{{match['literal']}}}" if match["literal"] else facts[match["name"]]

    return _PLACEHOLDER.sub(filled, text)
