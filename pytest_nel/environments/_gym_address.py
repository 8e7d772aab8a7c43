"""What a ``gym://`` name says: a server that is there, or one that the run starts for itself."""

import re
import sys
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple
from urllib.parse import parse_qsl

from pydantic import Field, ValidationError

from pytest_nel.authoring.catalog import anchored
from pytest_nel.config.schema import KeyReference, Model
from pytest_nel.core.errors import ConfigError
from pytest_nel.core.registry import unknown

Kind = Literal["remote", "command", "module", "benchmark"]

#: Stands for the port in the words of a managed server's command.
PORT = "{port}"
_REMOTE = re.compile(
    r"(?P<host>[A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\]):(?P<port>[0-9]{1,5})(?P<path>/[^\s]*)?"
)
_MODULE = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*(:[A-Za-z_][\w.]*)?")
_OF_QUERY = ("protocol", "data", "tls")
_FORMS = (
    "gym://host:port, gym://cmd:<shell command>, gym://module:<package.module>, gym://<benchmark>"
)
_LABEL = 24


class GymOptions(Model):
    """``params`` of a ``gym://`` benchmark; the first three may stand in its query, too.

    Attributes:
        protocol: How it is spoken to; null: ``native`` where ``data`` is given, else
            ``evaluator``.
        data: The rows of a native server, a file relative to the suite.
        tls: Whether a server that is there speaks https.
        api_key: ``${NAME}`` of the variable with the server's bearer token.
        name: What the benchmark is called in results; null: as its address says.
        pass_at: The reward from which an answer is correct; null: what the server says, else 1.
        timeout: Seconds for one request.
        connect_timeout: Seconds to open a connection.
        max_retries: Further requests after one that found nobody, 429 or 503.
        startup_timeout: Seconds until a managed server is ready.
    """

    protocol: Literal["evaluator", "native"] | None = None
    data: Annotated[str, Field(min_length=1)] | None = None
    tls: bool = False
    api_key: KeyReference | None = None
    name: Annotated[str, Field(min_length=1)] | None = None
    pass_at: Annotated[float, Field(gt=0, le=1)] | None = None
    timeout: Annotated[float, Field(gt=0)] = 600.0
    connect_timeout: Annotated[float, Field(gt=0)] = 10.0
    max_retries: Annotated[int, Field(ge=0, le=100)] = 3
    startup_timeout: Annotated[float, Field(gt=0)] = 120.0

    @property
    def native(self) -> bool:
        """Whether it is spoken to as a server of NeMo Gym."""
        return self.protocol == "native" or (self.protocol is None and self.data is not None)


class Managed(NamedTuple):
    """A server that the run starts on a free loopback port, and ends.

    Attributes:
        name: What its log is called.
        words: The program and its arguments; :data:`PORT` stands for the port, which is also in
            the variable ``PORT``.
        patience: Seconds until it is ready.
        bench: The benchmark that it serves; None where the server is somebody else's.
    """

    name: str
    words: tuple[str, ...]
    patience: float
    bench: str | None = None

    def command(self, port: int, suite: Path | None = None) -> list[str]:
        """What is run; a shell command learns its port from the variable alone.

        Args:
            port: Where it is to listen.
            suite: The file with its benchmark's entry, where that says more than the name.
        """
        words = [str(port) if word == PORT else word for word in self.words]
        if suite is not None:
            words.insert(words.index(_SERVE) + 1, str(suite))
        return words


class Address(NamedTuple):
    """A ``gym://`` name, taken apart.

    Attributes:
        written: The whole, for messages.
        kind: What it names.
        target: ``host:port/path``, the command, the module or the benchmark.
    """

    written: str
    kind: Kind
    target: str

    def url(self, *, tls: bool) -> str:
        """The base URL of a server that is there."""
        return f"{'https' if tls else 'http'}://{self.target.rstrip('/')}"

    def label(self) -> str:
        """What tells it from others, the same in every run."""
        if self.kind != "command":
            return Path(self.target).name if self.kind == "benchmark" else self.target.rstrip("/")
        first = re.sub(r"[^A-Za-z0-9._]+", "-", self.target)[:_LABEL].strip("-")
        mark = sha256(self.target.encode("utf-8", "surrogatepass")).hexdigest()[:8]
        return f"{first}-{mark}"

    def managed(self, name: str, base: Path, patience: float) -> Managed | None:
        """The server that is to be started for it, or None where it is there."""
        words: tuple[str, ...]
        if self.kind == "remote":
            return None
        if self.kind == "command":
            words = ("sh", "-c", self.target)
        elif self.kind == "module":
            app = self.target if ":" in self.target else f"{self.target}:app"
            words = (*_PYTHON, "uvicorn", app, "--host", "127.0.0.1", "--port", PORT)
        else:
            bench = anchored(self.target, base)
            words = (*_PYTHON, "pytest_nel.cli.main", _SERVE, "-b", bench, "-p", PORT)
            return Managed(name, words, patience, bench)
        return Managed(name, words, patience)


_PYTHON = (sys.executable, "-m")
_SERVE = "serve"


def read_address(name: str, params: Mapping[str, Any]) -> tuple[Address, GymOptions]:
    """Take a benchmark's name and its ``params`` apart.

    Raises:
        ConfigError: It names nothing that can be asked or started, or an option is wrong.
    """
    rest = name.partition("://")[2]
    scheme, found, command = rest.partition(":")
    if found and scheme == "cmd":
        if not command.strip():
            raise ConfigError(_refusal(name, "no command stands after cmd:"))
        return Address(name, "command", command), _options(name, {}, params)
    target, _, query = rest.partition("?")
    options = _options(name, _query(name, query), params)
    if found and scheme == "module":
        module = target.removeprefix("module:")
        if not _MODULE.fullmatch(module):
            raise ConfigError(_refusal(name, f"{module!r} is no name of a module"))
        return Address(name, "module", module), options
    remote = _REMOTE.fullmatch(target)
    if remote is None:
        if not target or "@" in target or "/" in target.partition(".py")[2]:
            raise ConfigError(_refusal(name, "neither host and port nor a benchmark stand in it"))
        return _started(Address(name, "benchmark", target), options)
    if not 0 < int(remote["port"]) < 65_536:
        raise ConfigError(_refusal(name, f"port {remote['port']} is none"))
    return Address(name, "remote", target), options


def _started(address: Address, options: GymOptions) -> tuple[Address, GymOptions]:
    if options.tls:
        what = "a server that the run starts listens on loopback, without tls"
        raise ConfigError(_refusal(address.written, what))
    return address, options


def _query(name: str, query: str) -> dict[str, str]:
    found: dict[str, str] = {}
    for key, value in parse_qsl(query, keep_blank_values=True):
        if key not in _OF_QUERY:
            error = unknown(f"option in the query of {name}", key, list(_OF_QUERY))
            raise error
        if key in found:
            raise ConfigError(_refusal(name, f"{key} stands in it twice"))
        found[key] = value
    return found


def _options(name: str, query: Mapping[str, str], params: Mapping[str, Any]) -> GymOptions:
    for key in params:
        if key not in GymOptions.model_fields:
            error = unknown(f"param of benchmark {name}", key, list(GymOptions.model_fields))
            raise error
        if key in query:
            raise ConfigError(_refusal(name, f"{key} stands in it and in params: write it once"))
    try:
        options = GymOptions(**{**query, **params})
    except ValidationError as error:
        lines = [
            f"benchmark {name}: {'.'.join(map(str, one['loc']))}: "
            f"{one['msg'].removeprefix('Value error, ')}"
            for one in error.errors(include_input=False, include_url=False, include_context=False)
        ]
        raise ConfigError("\n".join(lines)) from None
    if options.native and options.data is None:
        what = "a native server has no list of its problems: name the rows by data=FILE.jsonl"
        raise ConfigError(_refusal(name, what))
    if not options.native and options.data is not None:
        what = "data belongs to the native protocol: an evaluator server has the rows itself"
        raise ConfigError(_refusal(name, what))
    return options


def _refusal(name: str, what: str) -> str:
    return f"benchmark {name}: {what}; expected one of {_FORMS}"
